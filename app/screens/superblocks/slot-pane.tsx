/** One slot file: its bytes, its fields, and what a checksum can and cannot say about it. */
import { useMemo } from 'react'
import { fromHex } from '../../../shared/bytes/hex.ts'
import { superblockFields } from '../../ui/fields.ts'
import { clockShort, count, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { FieldList, Hex } from '../../ui/hex.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { type BlockGroup, SLOT_LOOK } from './looks.ts'

const BAD: ReadonlySet<string> = new Set(['recordChecksum'])

export function SlotPane(props: {
  node: number
  slot: BlockGroup['slots'][number]
  field: string | undefined
  winner: boolean
  onField: (field: string) => void
}) {
  const { slot } = props
  const raw = useMemo(() => (slot.hex === '' ? undefined : fromHex(slot.hex)), [slot.hex])
  const fields = useMemo(() => (raw ? superblockFields(raw) : []), [raw])
  const look = SLOT_LOOK[slot.state]
  const corrupt = slot.state === 'corrupt'
  const name = `Slot ${slot.slot.toUpperCase()}`
  return (
    <Pane
      title={
        <>
          <Glyph name={look.glyph} state={look.colour} /> {name}
        </>
      }
      name={name}
      label={
        raw
          ? `node-${props.node}, ${count(raw.length, 'byte')}${slot.sequence === undefined ? '' : `, sequence ${grouped(slot.sequence)}`}${slot.modifiedWallMs === undefined ? '' : `, written ${clockShort(slot.modifiedWallMs)}`}${corrupt ? ', nothing in it is trusted' : ''}`
          : `node-${props.node}, ${slot.state}`
      }
      testId={`slot-${slot.slot}`}
      actions={props.winner ? <span className="push chip plain">wins</span> : undefined}
    >
      {raw ? (
        <Scroll name={`${name}: bytes and fields`} className="two">
          <div className={corrupt ? 'covered' : undefined}>
            <Hex
              bytes={raw}
              positionBytes={0}
              fields={fields}
              selected={props.field}
              onSelect={field => props.onField(field.id)}
              name={name}
              {...(corrupt ? { bad: BAD } : {})}
            />
          </div>
          <div>
            {corrupt && slot.failure && (
              <p className="note">
                <b>{visible(slot.failure.code)}</b>: {visible(slot.failure.message)}. A checksum covers the whole
                record; which byte differs, it cannot tell.
              </p>
            )}
            <FieldList
              fields={fields}
              selected={props.field}
              onSelect={field => props.onField(field.id)}
              name={`Fields of ${name}`}
              {...(corrupt ? { bad: BAD } : {})}
            />
          </div>
        </Scroll>
      ) : (
        <div className="empty">
          <p>
            <b>{slot.state === 'absent' ? 'No file.' : 'No bytes.'}</b> <code>{visible(slot.path)}</code>{' '}
            {slot.state === 'absent'
              ? 'does not exist, and need not: it comes with the first view change or checkpoint.'
              : 'could not be read.'}
          </p>
        </div>
      )}
    </Pane>
  )
}
