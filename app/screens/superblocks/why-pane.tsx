/** Why the chosen pair has its verdict, and how its record differs from a peer's. */
import { groupName } from '../../names.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Picker } from '../../ui/picker.tsx'
import { type Row, VERDICT_LOOK } from './looks.ts'
import { recordOf } from './records.ts'
import { whyWords } from './situation.ts'
import { changeOf, ruleOf, SLOT_STATES } from './verdicts.ts'

export function WhyPane(props: {
  chosen: Row
  other: Row | undefined
  peers: readonly Row[]
  onOther: (node: string) => void
}) {
  const { chosen } = props
  const [a, b] = chosen.block.slots
  const rule = ruleOf(a.state, b.state)
  return (
    <div className="right">
      <Pane
        title={chosen.block.verdict === 'unreadable' ? 'Why it refuses' : 'Why'}
        label={`${groupName(chosen.block.group)} on node-${chosen.node}: two slots, one verdict`}
        testId="why"
      >
        <div className="table-box">
          <table className="matrix">
            <caption className="sr">Verdict by the state of both slots; the marked cell is the chosen pair</caption>
            <thead>
              <tr>
                <td />
                {SLOT_STATES.map(state => (
                  <th key={state} scope="col" className={state === b.state ? 'here' : undefined}>
                    B {state}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {SLOT_STATES.map(rowState => (
                <tr key={rowState}>
                  <th scope="row" className={rowState === a.state ? 'here' : undefined}>
                    A {rowState}
                  </th>
                  {SLOT_STATES.map(colState => {
                    const cell = ruleOf(rowState, colState)
                    const look = VERDICT_LOOK[cell.verdict]
                    const here = rowState === a.state && colState === b.state
                    return (
                      <td
                        key={colState}
                        className={here ? 'now-cell' : undefined}
                        aria-current={here ? 'true' : undefined}
                      >
                        <Glyph name={look.glyph} state={look.colour} /> {look.word}
                        <span className="label">{cell.winner === 'none' ? 'no winner' : `wins: ${cell.winner}`}</span>
                      </td>
                    )
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p className="small why-words">
          {whyWords(chosen.block)}
          {rule.verdict !== chosen.block.verdict && (
            <>
              {' '}
              <b className="differs">
                The node says {VERDICT_LOOK[chosen.block.verdict].word}, the rule says {VERDICT_LOOK[rule.verdict].word}
                .
              </b>
            </>
          )}
        </p>
      </Pane>
      <DiffPane {...props} />
    </div>
  )
}

function DiffPane(props: {
  chosen: Row
  other: Row | undefined
  peers: readonly Row[]
  onOther: (node: string) => void
}) {
  const { chosen, other } = props
  const mine = recordOf(chosen)
  const theirs = recordOf(other)
  const names = [...new Set([...Object.keys(mine?.fields ?? {}), ...Object.keys(theirs?.fields ?? {})])]
  const fields = ['sequence', ...names].map(name => {
    const left = name === 'sequence' ? mine?.sequence : mine?.fields?.[name]
    const right = name === 'sequence' ? theirs?.sequence : theirs?.fields?.[name]
    return {
      name: name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
      left,
      right,
      change: changeOf(left, right),
    }
  })
  const lost = chosen.block.verdict === 'unreadable'
  return (
    <Pane
      title={lost && mine ? `What slot ${mine.slot.toUpperCase()} would have brought back` : 'Field by field'}
      label={
        !other
          ? 'no other node shows this pair'
          : lost
            ? 'against the record of a peer'
            : 'the winning records of two nodes'
      }
      testId="diff"
      actions={
        other && (
          <span className="push">
            <Picker
              name="Compare with"
              value={String(other.node)}
              shown={`node-${other.node}`}
              options={props.peers.map(peer => ({ value: String(peer.node), label: `node-${peer.node}` }))}
              onChange={props.onOther}
            />
          </span>
        )
      }
    >
      {mine?.fields === undefined && theirs?.fields === undefined ? (
        <p className="note">
          {other
            ? 'Neither node has a record to compare: absent slots have no fields.'
            : 'No other node shows this pair, and absent slots have no fields.'}
        </p>
      ) : (
        <DataTable
          name="fields of two records"
          rows={fields}
          rowKey={field => field.name}
          empty=""
          columns={[
            { id: 'field', head: 'Field', data: field => field.name },
            {
              id: `node${chosen.node}`,
              head: `node-${chosen.node} ${mine?.slot.toUpperCase() ?? 'none'}`,
              align: 'n',
              data: field => field.left,
              cell: field => <Value of={field.left} />,
            },
            {
              id: other ? `node${other.node}` : 'peer',
              head: other ? `node-${other.node} ${theirs?.slot.toUpperCase() ?? 'none'}` : 'no peer',
              align: 'n',
              data: field => field.right,
              cell: field => <Value of={field.right} />,
            },
            {
              id: 'change',
              head: 'change',
              align: 'n',
              data: field => field.change,
              cell: field => <span className={field.change === 'equal' ? 'eq' : undefined}>{field.change}</span>,
            },
          ]}
        />
      )}
    </Pane>
  )
}

const Value = ({ of }: { of: string | number | undefined }) => (
  <span title={of === undefined ? undefined : visible(String(of))}>{shown(of)}</span>
)

/** Numbers people count are grouped; what is longer is an identity: its hex, shortened in the middle. */
function shown(value: string | number | undefined): string {
  if (value === undefined) return ''
  const text = String(value)
  if (/^\d{1,15}$/.test(text)) return grouped(text)
  if (!/^\d{16,39}$/.test(text)) return visible(text)
  const hex = BigInt(text).toString(16)
  return hex.length > 16 ? `${hex.slice(0, 8)}…${hex.slice(-6)}` : hex
}
