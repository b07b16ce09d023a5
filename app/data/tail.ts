/**
 * A live tail that a reader has scrolled into: what he reads stays where it is, and a count says what came since and what of
 * it is not kept any more (known-faults G45). Pure.
 */
import type { Fact } from '../../shared/inspection/view.ts'

/** How many lines came after those that are held, and how many of them are gone already. */
export interface Since {
  readonly newer: number
  readonly dropped: number
}

type Facts = { readonly facts: readonly Fact[]; readonly factsDropped: number }

export function factsSince(held: Facts, now: Facts): Since {
  const newer = Math.max(0, now.facts.length + now.factsDropped - held.facts.length - held.factsDropped)
  return { newer, dropped: Math.max(0, newer - now.facts.length) }
}

/**
 * Of a log of which only the last lines are ever told, as text: what is new is what stands behind the longest end of the
 * held lines that the new ones begin with. Undefined where they have nothing in common: then more came than is told.
 */
export function linesSince(held: readonly string[], now: readonly string[]): number | undefined {
  if (held.length === 0) return now.length
  for (let from = 0; from < held.length; from++) {
    const length = held.length - from
    if (length > now.length) continue
    let same = 0
    while (same < length && held[from + same] === now[same]) same++
    if (same === length) return now.length - length
  }
  return undefined
}
