/**
 * Bytes as hex, every field underlined across its bytes, linked both ways with a list of fields. Long runs of zeros in
 * reserved fields fold into one line. Keyboard: the field list is the way in; bytes are marks of the same choice.
 */
import { memo, type ReactNode } from 'react'
import { type ByteField, fieldAt } from './fields.ts'
import { grouped } from './format.ts'

const ROW = 16
/** A reserved run that covers at least this many whole rows is folded. */
const FOLD_ROWS = 3
/** Rows drawn at most; more is said, not drawn: a page of bytes is for reading. */
const ROWS_MAX = 400

export interface HexProps {
  readonly bytes: Uint8Array
  /** Position of the first byte in its file. */
  readonly positionBytes: number
  readonly fields: readonly ByteField[]
  readonly selected: string | undefined
  readonly onSelect: (field: ByteField) => void
  /** Fields whose bytes do not verify. */
  readonly bad?: ReadonlySet<string>
  readonly name: string
}

export const Hex = memo(function Hex(props: HexProps) {
  const { bytes, fields } = props
  const rows: ReactNode[] = []
  const digits = Math.max(2, (props.positionBytes + bytes.length).toString(16).length)
  for (let at = 0; at < bytes.length && rows.length < ROWS_MAX; ) {
    const fold = foldAt(fields, bytes, at)
    if (fold > 0) {
      rows.push(
        <div key={at} className="hx skip">
          <span className="addr">{' '.repeat(digits)}</span>
          <span className="ink-3">{grouped(fold)} more reserved bytes, all zero</span>
        </div>,
      )
      at += fold
      continue
    }
    rows.push(<Row key={at} {...props} at={at} digits={digits} />)
    at += ROW
  }
  return (
    <div
      className="hex"
      role="img"
      aria-label={`${props.name}: ${grouped(bytes.length)} bytes, ${fields.length} fields; the fields are listed beside`}
    >
      {rows}
    </div>
  )
})

/** Whole rows from `at` on that lie in a reserved field and are zero; 0 when they are not worth folding. */
function foldAt(fields: readonly ByteField[], bytes: Uint8Array, at: number): number {
  const field = fieldAt(fields, at)
  if (!field?.reserved || at === field.at) return 0
  const rows = Math.floor((field.at + field.size - at) / ROW)
  if (rows < FOLD_ROWS) return 0
  const length = rows * ROW
  return bytes.subarray(at, at + length).every(byte => byte === 0) ? length : 0
}

function Row(props: HexProps & { at: number; digits: number }) {
  const { bytes, fields, at, selected, bad } = props
  const end = Math.min(bytes.length, at + ROW)
  const runs: { field: ByteField | undefined; from: number; to: number }[] = []
  for (let byte = at; byte < end; byte++) {
    const field = fieldAt(fields, byte)
    const run = runs.at(-1)
    // A run ends with its field, and at the gap in the middle of the row, so that lines never bridge fields.
    if (run && run.field === field) run.to = byte + 1
    else runs.push({ field, from: byte, to: byte + 1 })
  }
  return (
    <div className="hx">
      <span className="addr">{(props.positionBytes + at).toString(16).padStart(props.digits, '0')}</span>
      <span>
        {runs.map((run, index) => (
          <span key={run.from}>
            {index > 0 && (run.from - at === 8 ? '  ' : ' ')}
            {run.field === undefined || run.field.reserved ? (
              <Digits bytes={bytes} from={run.from} to={run.to} row={at} />
            ) : (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field list beside is the keyboard's way to the same choice
              // biome-ignore lint/a11y/noStaticElementInteractions: see above
              <u
                className={`${run.field.id === selected ? 'on' : ''}${bad?.has(run.field.id) ? ' bad' : ''}`}
                title={`${run.field.name}, ${run.field.size} bytes at ${grouped(run.field.at)}: ${run.field.value}`}
                onClick={() => props.onSelect(run.field!)}
              >
                <Digits bytes={bytes} from={run.from} to={run.to} row={at} />
              </u>
            )}
          </span>
        ))}
      </span>
    </div>
  )
}

function Digits(props: { bytes: Uint8Array; from: number; to: number; row: number }) {
  const parts: ReactNode[] = []
  let zeros = ''
  let others = ''
  const flush = (): void => {
    if (zeros !== '')
      parts.push(
        <span key={parts.length} className="z">
          {zeros}
        </span>,
      )
    if (others !== '') parts.push(<span key={parts.length}>{others}</span>)
    zeros = ''
    others = ''
  }
  for (let at = props.from; at < props.to; at++) {
    const byte = props.bytes[at]!
    const gap = at === props.from ? '' : at - props.row === 8 ? '  ' : ' '
    const text = gap + byte.toString(16).padStart(2, '0')
    if (byte === 0) {
      if (others !== '') flush()
      zeros += text
    } else {
      if (zeros !== '') flush()
      others += text
    }
  }
  flush()
  return <>{parts}</>
}

/** The same fields as a list of buttons: name, value, and where it stands. */
export function FieldList(props: {
  fields: readonly ByteField[]
  selected: string | undefined
  onSelect: (field: ByteField) => void
  name: string
  bad?: ReadonlySet<string>
}) {
  return (
    <ul className="fieldlist" aria-label={props.name}>
      {props.fields
        .filter(field => !field.reserved)
        .map(field => (
          <li key={field.id}>
            <button
              type="button"
              aria-pressed={field.id === props.selected}
              onClick={() => props.onSelect(field)}
              className={props.bad?.has(field.id) ? 'bad' : undefined}
              title={`${field.size} bytes at ${grouped(field.at)}`}
            >
              <span className="fname">
                {field.id.includes('.') ? `${field.id.slice(0, field.id.indexOf('.'))} ` : ''}
                {field.name}
              </span>
              <span className="fvalue">{field.value}</span>
            </button>
          </li>
        ))}
    </ul>
  )
}
