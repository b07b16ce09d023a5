/** The cluster as a whole: what it is, and a new one in its place, with as many nodes or another number. */
import { replicaIds } from '../../../shared/inspection/belief.ts'
import type { ClusterView } from '../../../shared/inspection/view.ts'
import { useForbidden } from '../../data/actions.ts'
import { askToReset, CLUSTER_SIZES } from '../../data/confirming.ts'
import { resetCommand } from '../../data/shell-command.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { CopyCommands } from '../../ui/copy.tsx'
import { count, visible } from '../../ui/format.ts'
import { Scroll } from '../../ui/scroll.tsx'

export default function ClusterSide({ view }: { view: ClusterView }) {
  const forbidden = useForbidden()
  const ids = replicaIds(view)
  const running = [...view.nodes.values()].filter(node => node.process?.state === 'running').length
  const first = view.nodes.get(0)?.process?.dataDirectory
  return (
    <Scroll name="Cluster">
      <section className="card" aria-label="This cluster">
        <header className="card-head">
          <h3>{visible(view.name)}</h3>
          <span className="label">as the console says</span>
        </header>
        <dl className="kv">
          <dt>nodes, running</dt>
          <dd>
            {ids.length}, {running}
          </dd>
          <dt>groups</dt>
          <dd>{view.groups.size}</dd>
          <dt>console run</dt>
          <dd>{view.run ?? '?'}</dd>
          <dt>data of node-0</dt>
          <dd title={first}>{visible(first ?? '?')}</dd>
        </dl>
      </section>
      <section className="card" aria-label="Start anew">
        <header className="card-head">
          <h3>Start anew</h3>
        </header>
        <p className="card-line wrap">
          Stops every node, removes the data of all of them, and starts a cluster of so many nodes in the same
          directory. Recordings stay.
        </p>
        <div className="acts">
          {CLUSTER_SIZES.map(nodes => (
            <ActButton
              key={nodes}
              name={`Start anew with ${nodes === 1 ? 'one node' : `${nodes} nodes`}`}
              pendingKey={['reset']}
              onAct={() => askToReset(nodes)}
              why={forbidden}
              className="btn small destructive"
              testId={`reset-${nodes}`}
            >
              {count(nodes, 'node')}
            </ActButton>
          ))}
          <CopyCommands
            commands={CLUSTER_SIZES.map(nodes => ({
              name: `Start anew with ${nodes === 1 ? 'one node' : `${nodes} nodes`}`,
              text: resetCommand(nodes, location.origin),
            }))}
          />
        </div>
      </section>
    </Scroll>
  )
}
