/** The batches that the lens shows, as a list: the way to one by keyboard, and into a file. */
import { count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { TableExport } from '../../ui/table-export.tsx'
import { VERDICTS } from './chain-picture.tsx'
import type { PartitionScreenState } from './use-partition.ts'
import { WriteForm } from './write-form.tsx'

export function BatchesPane({ state }: { state: PartitionScreenState }) {
  const { batches, lens, change, segment, batch, lists, node } = state
  const answer = lists.find(item => item.node === node)
  const held = (batches?.startOffset === segment?.startOffset ? batches?.batches : undefined) ?? []
  const inside = held.filter(
    item => item.positionBytes + item.lengthBytes > lens.from && item.positionBytes < lens.from + lens.span,
  )
  const shown = inside.slice(-LIST_MAX)
  const messages = inside.reduce((sum, item) => sum + item.messages, 0)
  const cut = batches?.nextPositionBytes !== undefined && batches.nextPositionBytes < lens.from + lens.span
  return (
    <Pane
      title="Batches in the lens"
      label={`${count(inside.length, 'batch', 'batches')}, ${count(messages, 'message')} on node-${node}`}
      testId="batches"
      actions={
        <span className="push">
          <TableExport
            name="batches"
            rows={inside}
            columns={[
              { id: 'baseOffset', data: item => BigInt(item.baseOffset) },
              { id: 'messages', data: item => item.messages },
              { id: 'position', data: item => item.positionBytes },
              { id: 'bytes', data: item => item.lengthBytes },
              { id: 'checksum', data: item => item.checksum },
              { id: 'verdict', data: item => item.verdict },
            ]}
          />
        </span>
      }
    >
      {answer?.error && !answer.data ? <Problem error={answer.error} what="The batches could not be listed" /> : null}
      <Scroll name="Batches">
        <table className="table">
          <thead>
            <tr>
              <th scope="col" className="n">
                base offset
              </th>
              <th scope="col" className="n">
                messages
              </th>
              <th scope="col" className="n">
                position
              </th>
              <th scope="col" className="n">
                bytes
              </th>
              <th scope="col">Verdict</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(item => {
              const good = item.verdict === 'valid'
              const picked = item.positionBytes === batch?.positionBytes
              const choose = (): void =>
                change({
                  seg: segment?.startOffset,
                  batch: String(item.positionBytes),
                  from: String(lens.from),
                  span: String(lens.span),
                })
              return (
                <tr key={item.positionBytes} className="pick" aria-selected={picked} onClick={choose}>
                  <td className="n">
                    <button type="button" className="pick-btn" aria-pressed={picked}>
                      {grouped(item.baseOffset)}
                    </button>
                  </td>
                  <td className="n">{grouped(item.messages)}</td>
                  <td className="n">{grouped(item.positionBytes)}</td>
                  <td className="n">{grouped(item.lengthBytes)}</td>
                  <td>
                    <span className="state">
                      <Glyph name={good ? 'ok' : 'fail'} state={good ? 'ok' : 'danger'} />
                      {good ? 'agrees' : VERDICTS[item.verdict]}
                    </span>
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
        {inside.length > shown.length && (
          <p className="note micro">The last {LIST_MAX} of them are listed; narrow the lens to see the others.</p>
        )}
        {cut && (
          <p className="note micro">
            The window holds more batches than one answer: the picture ends at byte{' '}
            {grouped(batches.nextPositionBytes!)}.
          </p>
        )}
        {inside.length === 0 && answer?.data && <p className="note">No batch of this node lies in the window.</p>}
      </Scroll>
      <WriteForm state={state} />
    </Pane>
  )
}
/** Rows of the list; more would be scrolled past, not read. */
const LIST_MAX = 120
