/** The batches that the lens shows, as a list: the way to one by keyboard, and into a file. */
import type { BatchesSnapshot } from '../../../shared/inspection/snapshots.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { bytes, count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { VERDICTS } from './chain-picture.tsx'
import type { PartitionScreenState } from './use-partition.ts'
import { WriteForm } from './write-form.tsx'

type Batch = BatchesSnapshot['batches'][number]

export function BatchesPane({ state }: { state: PartitionScreenState }) {
  const { batches, lens, change, segment, batch, lists, node, runs } = state
  const answer = lists.find(item => item.node === node)
  const listed = batches?.startOffset === segment?.startOffset ? batches : undefined
  const inside = (listed?.batches ?? []).filter(
    item => item.positionBytes + item.lengthBytes > lens.from && item.positionBytes < lens.from + lens.span,
  )
  const messages = inside.reduce((sum, item) => sum + item.messages, 0)
  const cut = listed?.nextPositionBytes !== undefined && listed.nextPositionBytes < lens.from + lens.span
  const stopped = listed?.stopped
  return (
    <Pane
      title="Batches in the lens"
      label={
        listed
          ? `${count(inside.length, 'batch', 'batches')}, ${count(messages, 'message')} on node-${node}`
          : `of node-${node}`
      }
      testId="batches"
    >
      {answer?.error && !answer.data ? <Problem error={answer.error} what="The batches could not be listed" /> : null}
      {answer?.loading && runs(node) && <Skeleton what="batches" rows={4} />}
      {!answer?.data && !runs(node) && (
        <p className="note" data-testid="not-asked">
          node-{node} does not run, and had not listed them before: start it, or look through another node.
        </p>
      )}
      {answer?.data && (
        <DataTable
          name="batches"
          rows={inside}
          rowKey={item => String(item.positionBytes)}
          selected={batch && String(batch.positionBytes)}
          onSelect={item =>
            change({
              seg: segment?.startOffset,
              batch: String(item.positionBytes),
              from: String(lens.from),
              span: String(lens.span),
            })
          }
          empty="No batch of this node lies in the window."
          columns={[
            { id: 'baseOffset', head: 'base offset', align: 'n', data: item => BigInt(item.baseOffset) },
            { id: 'messages', head: 'messages', align: 'n', data: item => item.messages },
            { id: 'position', head: 'position', align: 'n', data: item => item.positionBytes },
            { id: 'bytes', head: 'bytes', align: 'n', data: item => item.lengthBytes },
            { id: 'verdict', head: 'Verdict', data: item => item.verdict, cell: item => <Verdict batch={item} /> },
          ]}
          fileColumns={FILE_COLUMNS}
        />
      )}
      {stopped && (
        <p className="note micro" data-testid="walk-stopped">
          The walk ends at byte {grouped(stopped.positionBytes)}: {stopped.message}. What is behind it,{' '}
          {bytes(listed.sizeBytes - stopped.positionBytes)}, is no batch that can be read.
        </p>
      )}
      {cut && (
        <p className="note micro">
          The window holds more batches than one answer: the picture ends at byte {grouped(listed.nextPositionBytes!)}.
        </p>
      )}
      <WriteForm state={state} />
    </Pane>
  )
}

const FILE_COLUMNS = [
  { id: 'baseOffset', data: (item: Batch) => BigInt(item.baseOffset) },
  { id: 'messages', data: (item: Batch) => item.messages },
  { id: 'position', data: (item: Batch) => item.positionBytes },
  { id: 'bytes', data: (item: Batch) => item.lengthBytes },
  { id: 'checksum', data: (item: Batch) => item.checksum },
  { id: 'verdict', data: (item: Batch) => item.verdict },
  { id: 'problem', data: (item: Batch) => item.problem?.message },
]

function Verdict({ batch }: { batch: Batch }) {
  const good = batch.verdict === 'valid'
  return (
    <span className="state" title={batch.problem?.message}>
      <Glyph name={good ? 'ok' : 'fail'} state={good ? 'ok' : 'danger'} />
      {good ? 'agrees' : VERDICTS[batch.verdict]}
    </span>
  )
}
