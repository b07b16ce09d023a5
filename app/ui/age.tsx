/** How old a value is. Every number that came from a node stands near one of these. */
import type { ReactNode } from 'react'
import { useCell } from '../data/cell.ts'
import { viewNow } from '../data/store.ts'
import { ageText } from './format.ts'

/** An age is worth a second look from here on. */
export const OLD_MS = 2_000
/** From here on what is shown is hatched (spec ui.md §3.5). */
export const STALE_MS = 5_000

const wholeSeconds = (now: number): number => Math.floor(now / 1000)
/** Now to the second: ages printed in seconds need no more renders than that. */
export const useNowSeconds = (): number => useCell(viewNow, wholeSeconds) * 1000

export function useAgeMs(atMs: number | undefined): number | undefined {
  const now = useNowSeconds()
  return atMs === undefined || atMs === 0 ? undefined : Math.max(0, now - atMs)
}
export function useStale(atMs: number | undefined): boolean {
  const age = useAgeMs(atMs)
  return age !== undefined && age > STALE_MS
}

/** `node-2, < 1 s`; bold from two seconds on. */
export function Age(props: { atMs: number | undefined; by?: string; push?: boolean }) {
  const age = useAgeMs(props.atMs)
  const className = `age${props.push ? ' push' : ''}${age !== undefined && age >= OLD_MS ? ' old-age' : ''}`
  const words = age === undefined ? 'not heard' : `${ageText(age)}${age >= 1000 ? ' ago' : ''}`
  return (
    <span className={className}>
      {props.by !== undefined && `${props.by}, `}
      {words}
    </span>
  )
}

/** Hatches what is inside once it is older than five seconds, and says how old. */
export function StaleArea(props: { atMs: number | undefined; who: string; children: ReactNode; className?: string }) {
  const age = useAgeMs(props.atMs)
  const stale = age !== undefined && age > STALE_MS
  return (
    <div className={`${props.className ?? ''}${stale ? ' stale' : ''}`}>
      {stale && (
        <p className="stale-line">
          <span className="stale-note">
            {props.who} last heard {ageText(age)} ago; these are its last words
          </span>
        </p>
      )}
      {props.children}
    </div>
  )
}
