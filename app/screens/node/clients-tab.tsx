/** Who is connected to the node now, and the replicated client table that makes a retried request run once. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { msOf, type NodeView } from '../../../shared/inspection/view.ts'
import { queries } from '../../data/queries.ts'
import { Age } from '../../ui/age.tsx'
import { count, grouped, visible } from '../../ui/format.ts'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { TableExport } from '../../ui/table-export.tsx'

const ROWS_MAX = 200

export function ClientsTab({ id, node }: { id: number; node: NodeView }) {
  const running = node.process?.state === 'running'
  const answer = useQuery({ ...queries.clients(id), enabled: running })
  const data = answer.data?.reporter.node === id ? answer.data : undefined
  if (!data) {
    if (answer.error)
      return (
        <Problem
          error={answer.error}
          what={`node-${id} did not name its clients`}
          retry={() => void answer.refetch()}
        />
      )
    if (!running) return <p className="note">The process does not run: nobody is connected to it.</p>
    return <Skeleton what="clients" rows={8} />
  }
  return (
    <Scroll name="Clients" className="nd-scroll">
      <div className="pane-head sub">
        <h2>Connections</h2>
        <span className="label">{count(data.connections.length, 'connection')}</span>
        <TableExport
          name={`connections of node-${id}`}
          rows={data.connections}
          columns={[
            { id: 'connection', data: item => item.connection },
            { id: 'address', data: item => item.address },
            { id: 'client', data: item => item.client },
            { id: 'session', data: item => (item.session === undefined ? null : BigInt(item.session)) },
            { id: 'user', data: item => item.user },
          ]}
        />
        <Age atMs={msOf(data.reporter.takenWallUs)} by={`node-${id}`} push />
      </div>
      {data.connections.length === 0 ? (
        <p className="note">
          Nobody is connected to this node. Start the load on the cluster screen to see clients come.
        </p>
      ) : (
        <table className="table" data-testid="connections">
          <thead>
            <tr>
              <th scope="col" className="n">
                #
              </th>
              <th scope="col">Address</th>
              <th scope="col">Client</th>
              <th scope="col" className="n">
                session
              </th>
              <th scope="col" className="n">
                user
              </th>
            </tr>
          </thead>
          <tbody>
            {data.connections.slice(0, ROWS_MAX).map(item => (
              <tr key={item.connection}>
                <td className="n">{item.connection}</td>
                <td className="m">{visible(item.address)}</td>
                <td className="m">{item.client === undefined ? 'not signed in' : visible(item.client)}</td>
                <td className="n">{item.session === undefined ? '' : grouped(item.session)}</td>
                <td className="n">{item.user ?? ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div className="pane-head sub">
        <h2>Client table</h2>
        <span className="label">{count(data.table.length, 'session')}, replicated by the metadata group</span>
        <TableExport
          name={`client table of node-${id}`}
          rows={data.table}
          columns={[
            { id: 'client', data: item => item.client },
            { id: 'session', data: item => BigInt(item.session) },
            { id: 'user', data: item => item.user },
            { id: 'watermark', data: item => BigInt(item.watermark) },
            { id: 'repliesKept', data: item => item.cachedReplies },
            { id: 'lastCommit', data: item => BigInt(item.latestCommit) },
          ]}
        />
        <Link to="/clients" className="small">
          node beside node
        </Link>
      </div>
      {data.table.length === 0 ? (
        <p className="note">No session was registered yet.</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Client</th>
              <th scope="col" className="n">
                session
              </th>
              <th scope="col" className="n">
                user
              </th>
              <th scope="col" className="n">
                watermark
              </th>
              <th scope="col" className="n">
                replies kept
              </th>
              <th scope="col" className="n">
                last commit
              </th>
            </tr>
          </thead>
          <tbody>
            {data.table.slice(0, ROWS_MAX).map(item => (
              <tr key={item.client}>
                <td className="m">{visible(item.client)}</td>
                <td className="n">{grouped(item.session)}</td>
                <td className="n">{item.user}</td>
                <td className="n">{grouped(item.watermark)}</td>
                <td className="n">{grouped(item.cachedReplies)}</td>
                <td className="n">{grouped(item.latestCommit)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {Math.max(data.table.length, data.connections.length) > ROWS_MAX && (
        <p className="note micro">The first {ROWS_MAX} of each are listed.</p>
      )}
    </Scroll>
  )
}
