/** The slots of a pipeline (ui.md §2 row 28): a column a slot, a row a node, filled where that node has acknowledged. */
import type { GroupSnapshotJson } from '../../../shared/inspection/snapshots.ts'
import { grouped } from '../../ui/format.ts'
import { prepared, slotsOf } from './pipeline.ts'
import './pipeline.css'

export function PipelineSlots({ group, ids }: { group: GroupSnapshotJson; ids: readonly number[] }) {
  const slots = slotsOf(group, ids)
  if (slots.length === 0) return null
  const taken = slots.filter(slot => slot !== undefined)
  const words = taken.map(
    ({ op, acks, quorum }) =>
      `op ${grouped(op)} acknowledged by ${
        ids
          .filter((_, index) => acks[index])
          .map(id => `node-${id}`)
          .join(', ') || 'nobody'
      }${quorum ? ', a quorum' : ''}`,
  )
  return (
    <div
      className="slots"
      role="img"
      aria-label={`${prepared(group)} slots taken${words.length > 0 ? `: ${words.join('; ')}` : ''}`}
      data-testid="pipeline-slots"
      data-taken={taken.length}
      data-slots={slots.length}
    >
      {slots.map((slot, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a slot is known by its place
        <span key={index} className={slot ? (slot.quorum ? 'slot quorum' : 'slot taken') : 'slot'}>
          {ids.map((id, at) => (
            <i key={id} className={slot?.acks[at] ? 'acked' : undefined} />
          ))}
        </span>
      ))}
    </div>
  )
}
