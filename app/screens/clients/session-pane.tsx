/** One session, node beside node: its numbers, the replies that are kept, and what a request that comes again would get. */
import { useState } from 'react'
import type { SessionSnapshot } from '../../../shared/inspection/logs.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { operationName } from '../../../shared/protocol/operations.ts'
import { queries } from '../../data/queries.ts'
import { SourceError } from '../../data/source.ts'
import { type EachAnswer, useEach } from '../../data/use-each.ts'
import { Age } from '../../ui/age.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { TableExport } from '../../ui/table-export.tsx'
import { RETRY_WORDS, retryVerdict, type SessionRow } from './sessions.ts'

export function SessionPane(props: {
  row: SessionRow
  /** Those that answer now. */
  nodes: readonly number[]
  /** Number of a request that comes again, as the address has it. */
  request: string | undefined
  onRequest: (request: string | undefined) => void
  className: string
}) {
  const { row, nodes } = props
  const answers = useEach(nodes, node => queries.session(node, row.client))
  const [typed, setTyped] = useState(props.request ?? '')
  const held = answers.flatMap(answer => (answer.data ? [answer.data] : []))
  const request = isRequest(typed) ? BigInt(typed) : undefined
  const failed = answers.find(answer => tellingOf(answer) === 'not shown')
  const replies = held.flatMap(session => session.replies.map(reply => ({ node: session.reporter.node, ...reply })))
  const oldest = held.map(session => msOf(session.reporter.takenWallUs))
  return (
    <Pane
      title={<span className="mono">{visible(row.client).slice(0, 16)}</span>}
      name={`Session of ${row.client}`}
      label="as each node holds it"
      testId="session"
      className={props.className}
      actions={
        <span className="push row">
          <TableExport
            name="session"
            rows={FIELDS}
            columns={[
              { id: 'field', data: ([name]) => name },
              ...answers.map(answer => ({
                id: `node${answer.node}`,
                data: ([, read]: (typeof FIELDS)[number]) => answer.data && read(answer.data),
              })),
            ]}
          />
          <Age atMs={oldest.length > 0 ? Math.min(...oldest) : undefined} by="oldest answer" />
        </span>
      }
    >
      {failed && <Problem error={failed.error} what={`node-${failed.node} did not show this session in full`} />}
      <Scroll name="Session, node beside node" className="cls-session">
        <table className="table" data-testid="session-fields">
          <thead>
            <tr>
              <th scope="col">Field</th>
              {nodes.map(node => (
                <th key={node} scope="col" className="n">
                  node-{node}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {FIELDS.map(([name, read, title]) => {
              const values = answers.map(answer => (answer.data ? read(answer.data) : tellingOf(answer)))
              const told = values.filter((_, index) => tellingOf(answers[index]!) !== 'not shown')
              const differs = !answers.some(answer => answer.loading) && new Set(told).size > 1
              return (
                <tr key={name}>
                  <th scope="row" title={title}>
                    {name}
                  </th>
                  {answers.map((answer, index) => (
                    <td key={answer.node} className={`n${differs ? ' differs' : ''}`}>
                      {values[index]}
                    </td>
                  ))}
                </tr>
              )
            })}
          </tbody>
        </table>
        <div className="cls-retry">
          <label className="field" data-invalid={typed !== '' && request === undefined}>
            <span className="label">if request</span>
            <input
              aria-label="Request number that comes again"
              inputMode="numeric"
              size={8}
              value={typed}
              aria-invalid={typed !== '' && request === undefined}
              onChange={event => {
                const next = event.target.value
                setTyped(next)
                props.onRequest(isRequest(next) ? BigInt(next).toString() : undefined)
              }}
            />
            <span className="label">came now</span>
          </label>
          {request !== undefined && (
            <ul data-testid="retry">
              {nodes.map((node, index) => {
                const answer = answers[index]!
                if (!answer.data && tellingOf(answer) !== 'none')
                  return (
                    <li key={node}>
                      <Glyph name="unknown" /> node-{node}: {tellingOf(answer)}
                    </li>
                  )
                const verdict = retryVerdict(answer.data, request)
                return (
                  <li key={node} data-verdict={verdict}>
                    <Glyph name={verdict === 'new' ? 'prepared' : verdict === 'no_session' ? 'fail' : 'ok'} /> node-
                    {node}: it {RETRY_WORDS[verdict]}
                  </li>
                )
              })}
            </ul>
          )}
        </div>
      </Scroll>
      <DataTable
        name="replies kept"
        rows={replies}
        rowKey={reply => `${reply.node} ${reply.request} ${reply.commit}`}
        empty={
          held.length > 0
            ? 'No reply is kept.'
            : answers.some(answer => answer.loading)
              ? 'Replies are being read.'
              : 'No node shows the replies that it keeps.'
        }
        columns={[
          { id: 'node', head: 'Node', data: reply => `node-${reply.node}` },
          { id: 'request', head: 'request', align: 'n', data: reply => BigInt(reply.request) },
          { id: 'commit', head: 'commit', align: 'n', data: reply => BigInt(reply.commit) },
          {
            id: 'operation',
            head: 'Operation',
            data: reply => operationName(reply.operation) ?? `operation ${reply.operation}`,
          },
          { id: 'status', head: 'status', align: 'n', data: reply => reply.status },
          { id: 'lengthBytes', head: 'bytes', align: 'n', data: reply => reply.lengthBytes },
        ]}
      />
    </Pane>
  )
}

const isRequest = (text: string): boolean => /^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n

/** What a node tells that shows no session: it holds none, or that is not known. */
function tellingOf({ data, error, loading }: EachAnswer<SessionSnapshot>): 'shown' | 'none' | 'reading' | 'not shown' {
  if (data) return 'shown'
  if (loading) return 'reading'
  return error instanceof SourceError && error.status === 404 && error.code !== 'CON_NOT_RECORDED'
    ? 'none'
    : 'not shown'
}

const FIELDS: readonly (readonly [string, (session: SessionSnapshot) => string, string])[] = [
  ['slot', session => grouped(session.slot), 'Where it stands in the table'],
  ['session epoch', session => grouped(session.session), 'The op of its latest Register'],
  ['user', session => String(session.user), 'Who signed in'],
  ['watermark', session => grouped(session.watermark), 'Highest committed request number'],
  [
    'its checksum',
    session => session.watermarkChecksum,
    'Of the request at the watermark: the same number with another body is refused',
  ],
  [
    'newest reply',
    session => `op ${grouped(session.latestCommit)}`,
    'The smallest one of a full table is let go first',
  ],
]
