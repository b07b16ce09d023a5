/** A question that failed: what, whose fault, what is safe, what next, with its stable code. */
import { SourceError } from '../data/source.ts'
import { CopyButton } from './copy.tsx'
import { Glyph } from './glyph.tsx'

export function Problem(props: { error: unknown; what: string; retry?: () => void }) {
  const { error } = props
  const known = error instanceof SourceError
  const code = known ? error.code : 'CON_PAGE'
  const message = error instanceof Error ? error.message : String(error)
  return (
    <div className="verdict small error-note" role="status">
      <Glyph name="fail" state="danger" large />
      <div>
        <b>{props.what}</b> <code>{code}</code>
        <p>{message}</p>
        {known && <p>{error.advice}</p>}
        <p className="row">
          {props.retry !== undefined && (
            <button type="button" className="btn small" onClick={props.retry}>
              Retry now
            </button>
          )}
          <CopyButton text={`${code}: ${message}`} label="Copy details" />
        </p>
      </div>
    </div>
  )
}

/** Nothing under 150 ms: the bars appear by a delayed animation, in the geometry of what will come. */
export function Skeleton(props: { rows?: number; what: string }) {
  return (
    <div className="skel" role="status" aria-label={`Loading ${props.what}`}>
      {Array.from({ length: props.rows ?? 4 }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike and never move
        <i key={row} style={{ width: `${92 - ((row * 23) % 40)}%` }} />
      ))}
    </div>
  )
}
