import { useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import type { LinkStatus, LinksAnswer } from '../../../shared/inspection/links.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { asOf } from '../../data/store.ts'
import { linkRates } from './links.ts'

/** A rate over less than this is noise: an answer that came early (after an act) is not measured against. */
const RATE_SPAN_US = 700_000n

export interface Links {
  readonly links: readonly LinkStatus[]
  readonly rates: ReadonlyMap<string, number>
  readonly takenWallUs: string | undefined
}

export function useLinks(): Links {
  const { data } = useQuery(queries.links())
  const last = useRef<{ base: LinksAnswer; rates: ReadonlyMap<string, number> } | undefined>(undefined)
  // Of a moment one answer is known, and what was asked before depends on the way that led there: it has no rate.
  const past = useCell(asOf) !== undefined
  if (past || (data && last.current && BigInt(data.takenWallUs) < BigInt(last.current.base.takenWallUs)))
    last.current = undefined
  if (data && !past) {
    if (!last.current) last.current = { base: data, rates: new Map() }
    else if (BigInt(data.takenWallUs) - BigInt(last.current.base.takenWallUs) >= RATE_SPAN_US)
      last.current = { base: data, rates: linkRates(last.current.base, data) }
  }
  return { links: data?.links ?? [], rates: last.current?.rates ?? new Map(), takenWallUs: data?.takenWallUs }
}
