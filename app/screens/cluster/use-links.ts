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

const NOT_KNOWN: Links = { links: [], rates: new Map(), takenWallUs: undefined }

export function useLinks(): Links {
  const { data } = useQuery(queries.links())
  const past = useCell(asOf) !== undefined
  const last = useRef<{ base: LinksAnswer; rates: ReadonlyMap<string, number> } | undefined>(undefined)
  if (data) {
    if (!last.current) last.current = { base: data, rates: new Map() }
    else if (BigInt(data.takenWallUs) - BigInt(last.current.base.takenWallUs) >= RATE_SPAN_US)
      last.current = { base: data, rates: linkRates(last.current.base, data) }
  }
  // Links are asked, not folded: of a moment of the past nothing is known of them.
  if (past) return NOT_KNOWN
  return { links: data?.links ?? [], rates: last.current?.rates ?? new Map(), takenWallUs: data?.takenWallUs }
}
