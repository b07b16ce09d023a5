/**
 * State glyphs, drawn by us because their outlines carry meaning: a state must be told from its shape alone, then its
 * word, then its colour. One sprite in the page; every use is a reference to it.
 */
import { memo, type ReactNode } from 'react'

const symbols = {
  primary: (
    <>
      <path d="M8 .9 15.1 8 8 15.1.9 8z" fill="none" stroke="currentColor" strokeWidth="1.3" />
      <path d="M8 4.1 11.9 8 8 11.9 4.1 8z" fill="currentColor" />
    </>
  ),
  backup: <rect x="2.5" y="2.5" width="11" height="11" rx="1" fill="currentColor" />,
  change: <path d="M8 1.6 15.2 14.2H.8z" fill="currentColor" />,
  recover: (
    <path
      d="M8 1.2 13.9 4.6v6.8L8 14.8 2.1 11.4V4.6z"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.9"
      strokeDasharray="2.6 1.5"
    />
  ),
  transfer: (
    <>
      <path d="M8 1.2 13.9 4.6v6.8L8 14.8 2.1 11.4V4.6z" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <path d="M2.1 8.4h11.8v3L8 14.8l-5.9-3.4z" fill="currentColor" />
    </>
  ),
  down: (
    <>
      <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.8" />
      <path d="M5.4 5.4 10.6 10.6M10.6 5.4 5.4 10.6" stroke="currentColor" strokeWidth="1.8" />
    </>
  ),
  refused: (
    <>
      <path d="M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z" fill="currentColor" />
      <path d="M4.2 8h7.6" stroke="var(--ground-1)" strokeWidth="2.2" />
    </>
  ),
  ok: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="M4.6 8.2 7.1 10.6 11.5 5.7" fill="none" stroke="var(--ground-1)" strokeWidth="1.9" />
    </>
  ),
  acked: (
    <>
      <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <path d="M8 1.8a6.2 6.2 0 0 0 0 12.4z" fill="currentColor" />
    </>
  ),
  prepared: <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.7" strokeDasharray="3 1.7" />,
  unknown: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" strokeWidth="1.6" strokeDasharray="1.6 1.8" />
      <path d="M6 6.4a2 2 0 1 1 2.7 1.9c-.5.2-.7.5-.7 1.1" fill="none" stroke="currentColor" strokeWidth="1.4" />
      <circle cx="8" cy="11.5" r=".95" fill="currentColor" />
    </>
  ),
  absent: (
    <rect
      x="2.5"
      y="2.5"
      width="11"
      height="11"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeDasharray="1.5 1.5"
    />
  ),
  fail: (
    <>
      <rect x="1.5" y="1.5" width="13" height="13" rx="1.5" fill="currentColor" />
      <path d="M4.9 4.9 11.1 11.1M11.1 4.9 4.9 11.1" stroke="var(--ground-1)" strokeWidth="2" />
    </>
  ),
  prepare: <circle cx="8" cy="8" r="4.5" fill="currentColor" />,
  prepareok: <circle cx="8" cy="8" r="4" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  commit: <rect x="6.3" y="2" width="3.4" height="12" fill="currentColor" />,
  svc: <path d="M5 3 10.5 8 5 13" fill="none" stroke="currentColor" strokeWidth="2" />,
  dvc: <path d="M2.5 3 8 8l-5.5 5M8 3l5.5 5L8 13" fill="none" stroke="currentColor" strokeWidth="2" />,
  sv: (
    <path
      d="M.8 3.5 5 8 .8 12.5M5.8 3.5 10 8l-4.2 4.5M10.8 3.5 15 8l-4.2 4.5"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
    />
  ),
  request: <rect x="4.5" y="4.5" width="7" height="7" fill="currentColor" />,
  drop: <path d="M3 3 13 13M13 3 3 13" stroke="currentColor" strokeWidth="2.2" />,
  gap: <path d="M1 8h4M11 8h4M6 4v8M10 4v8" stroke="currentColor" strokeWidth="1.5" fill="none" />,
  lock: (
    <>
      <rect x="3.5" y="7" width="9" height="6.5" rx="1" fill="currentColor" />
      <path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2" fill="none" stroke="currentColor" strokeWidth="1.5" />
    </>
  ),
  table: <path d="M2 3.5h12v9H2zM2 6.5h12M2 9.5h12M6.5 3.5v9" fill="none" stroke="currentColor" strokeWidth="1.3" />,
  theme: (
    <>
      <circle cx="8" cy="8" r="5.6" fill="none" stroke="currentColor" strokeWidth="1.5" />
      <path d="M8 2.4a5.6 5.6 0 0 1 0 11.2z" fill="currentColor" />
    </>
  ),
  help: (
    <>
      <path d="M5.6 6.2a2.4 2.4 0 1 1 3.3 2.2c-.7.3-.9.7-.9 1.5" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <circle cx="8" cy="12.4" r="1" fill="currentColor" />
    </>
  ),
  flag: <path d="M4 2v12M4 3h8.5L10 6l2.5 3H4z" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  pause: <path d="M4 3h3v10H4zM9 3h3v10H9z" fill="currentColor" />,
  play: <path d="M4 2.5 13 8l-9 5.5z" fill="currentColor" />,
  first: (
    <path
      d="M3.5 3v10M12.5 3 6 8l6.5 5z"
      fill="currentColor"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinejoin="round"
    />
  ),
  last: (
    <path
      d="M12.5 3v10M3.5 3 10 8l-6.5 5z"
      fill="currentColor"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinejoin="round"
    />
  ),
  next: <path d="M5 3l6.5 5L5 13z" fill="currentColor" />,
  prev: <path d="M11 3 4.5 8l6.5 5z" fill="currentColor" />,
  // Paused by a signal: a backup square cut by two bars, so that it reads as "held", not as "down".
  stopped: (
    <>
      <rect x="2.2" y="2.2" width="11.6" height="11.6" rx="1" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <path d="M6.2 5v6M9.8 5v6" stroke="currentColor" strokeWidth="1.9" />
    </>
  ),
} satisfies Record<string, ReactNode>
export type GlyphName = keyof typeof symbols
export type StateColour = 'primary' | 'backup' | 'change' | 'recover' | 'danger' | 'ok' | 'none'

/** Rendered once, at the top of the page. */
export const GlyphSprite = memo(function GlyphSprite() {
  return (
    <svg width="0" height="0" style={{ position: 'absolute' }} aria-hidden="true">
      {Object.entries(symbols).map(([name, body]) => (
        <symbol key={name} id={`glyph-${name}`} viewBox="0 0 16 16">
          {body}
        </symbol>
      ))}
    </svg>
  )
})

/** A glyph beside its word. `label` is only for tight cells, where the word moves into the accessible name. */
export function Glyph(props: {
  name: GlyphName
  state?: StateColour
  large?: boolean
  label?: string
  title?: string
}) {
  const className = `g${props.large ? ' g-lg' : ''}${props.state ? ` s-${props.state}` : ''}`
  const use = <use href={`#glyph-${props.name}`} />
  if (props.label === undefined) {
    return (
      <svg className={className} aria-hidden="true">
        {use}
      </svg>
    )
  }
  return (
    <svg className={className} role="img" aria-label={props.label}>
      <title>{props.title ?? props.label}</title>
      {use}
    </svg>
  )
}
