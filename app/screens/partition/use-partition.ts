import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { primaryOf, replicaIds } from '../../../shared/inspection/belief.ts'
import type { BatchesSnapshot, IndexSnapshot, PartitionSnapshot } from '../../../shared/inspection/snapshots.ts'
import { packGroup } from '../../../shared/protocol/groups.ts'
import { useCell } from '../../data/cell.ts'
import { type PartitionAt, queries } from '../../data/queries.ts'
import { shown } from '../../data/store.ts'
import { type EachAnswer, useEach } from '../../data/use-each.ts'
import { batchOf, boundaryBefore, estimatePosition, floorEntry, segmentOf } from '../../geometry/lookup.ts'
import type { Search } from '../../search.ts'
import { useNowSeconds } from '../../ui/age.tsx'

const route = getRouteApi('/partitions/$s/$t/$p')

/** Bytes in the lens unless the address says otherwise: some twenty batches of the usual load. */
export const SPAN_DEFAULT = 65_536
export const SPAN_MIN = 1024
export const SPAN_MAX = 2 ** 30
/** Batches of one answer; a window with more says so. */
export const BATCHES_MAX = 500

export type Patch = Partial<Record<keyof Search<'partition'>, string | undefined>>

export function usePartitionScreen() {
  const params = route.useParams()
  const search: Search<'partition'> = route.useSearch()
  const navigate = useNavigate()
  const now = useNowSeconds()
  const view = useCell(shown, state => state.view)
  const at: PartitionAt = { stream: params.s, topic: params.t, partition: params.p }
  const group = groupOf(at)
  const ids = replicaIds(view)
  const alive = ids.filter(id => view.nodes.get(id)?.process?.state === 'running')
  const verdict = group === undefined ? undefined : primaryOf(view, group, now)
  const node =
    search.node !== undefined ? Number(search.node) : verdict?.kind === 'primary' ? verdict.node : (alive[0] ?? 0)

  const chains = useEach(alive, id => queries.partition(id, at))
  const chain = answerOf(chains, node)
  const segments = chain?.segments ?? []
  const offset = search.offset === undefined ? undefined : BigInt(search.offset)
  const segment =
    segments.find(item => item.startOffset === search.seg) ??
    (offset === undefined ? undefined : segmentOf(segments, offset)) ??
    segments.at(-1)
  const base = segment?.startOffset

  const holders =
    base === undefined
      ? []
      : chains.filter(item => item.data?.segments.some(other => other.startOffset === base)).map(item => item.node)
  const size = segment?.sizeBytes ?? 0
  const memory = segment && !segment.sealed ? (chain?.journal.bytes ?? 0) : 0
  const longest = Math.max(
    size + memory,
    ...chains.map(item => item.data?.segments.find(other => other.startOffset === base)?.sizeBytes ?? 0),
  )
  const span = clamp(Number(search.span ?? SPAN_DEFAULT), SPAN_MIN, SPAN_MAX)
  const lookups = useEach(offset !== undefined && holders.includes(node) ? [node] : [], id =>
    queries.indexFloor(id, at, base ?? '0', String(offset)),
  )
  const lookup = answerOf(lookups, node)
  const floor = offset === undefined || !lookup ? undefined : floorEntry(lookup.entries, offset)
  // Until the index has answered, the share of the segment's offsets is the best that is known of the place.
  const start =
    floor ??
    (lookup === undefined && base !== undefined
      ? { entry: { number: -1, offset: base, positionBytes: 0 }, validTo: undefined }
      : undefined)
  const about =
    start && offset !== undefined
      ? estimatePosition(start, lookup?.entries ?? [], offset, {
          offset: BigInt(segment?.endOffset ?? 0),
          position: size,
        })
      : undefined
  const from = windowStart(search.from, about, { disk: size, longest }, span)
  const following = search.from === undefined && search.offset === undefined

  const indexes = useEach(holders, id => queries.index(id, at, base ?? '0', from, from + span))
  const index = answerOf(indexes, node)
  const lists = useEach(holders, id => {
    const known = answerOf(indexes, id)
    // While a new window is asked for, the old one is shown; only of this segment it knows where batches begin.
    const entries = known?.startOffset === base ? (known?.entries ?? []) : []
    return queries.batches(id, at, base ?? '0', boundaryBefore(entries, from), BATCHES_MAX)
  })
  const batches = answerOf(lists, node)
  const found = offset === undefined ? undefined : batchOf(batches?.batches ?? [], offset)
  const batch =
    search.batch === undefined
      ? found
      : (batches?.batches.find(item => item.positionBytes === Number(search.batch)) ?? undefined)

  const change = (patch: Patch, replace = false): void =>
    void navigate({
      to: '/partitions/$s/$t/$p',
      params,
      search: old => ({ ...old, ...patch }) as Search<'partition'>,
      replace,
    })
  return {
    search,
    at,
    group,
    view,
    ids,
    alive,
    verdict,
    node,
    chains,
    chain,
    segment,
    indexes,
    index,
    lists,
    batches,
    batch,
    found,
    floor,
    offset,
    lens: { from, span },
    following,
    longest,
    change,
    now,
  }
}
export type PartitionScreenState = ReturnType<typeof usePartitionScreen>

export function groupOf(at: PartitionAt): string | undefined {
  try {
    return packGroup({ stream: Number(at.stream), topic: Number(at.topic), partition: Number(at.partition) }).toString()
  } catch {
    return undefined
  }
}

type Snapshot = PartitionSnapshot | IndexSnapshot | BatchesSnapshot
const answerOf = <T extends Snapshot>(answers: readonly EachAnswer<T>[], node: number): T | undefined =>
  answers.find(item => item.node === node)?.data

const clamp = (value: number, least: number, most: number): number =>
  Math.min(most, Math.max(least, Number.isFinite(value) ? value : least))

/**
 * Asked for, else around the place of the offset looked for, else the end: as much of what is only in memory as leaves most
 * of the window to bytes on disk. Moved in steps, so that a growing log does not slide all the time.
 */
export function windowStart(
  asked: string | undefined,
  about: number | undefined,
  end: { readonly disk: number; readonly longest: number },
  span: number,
): number {
  if (asked !== undefined) return Math.min(Number(asked), Math.max(0, end.longest - 1))
  if (about !== undefined)
    return Math.max(0, Math.min(about - Math.floor(span / 2), end.longest - Math.floor(span / 2)))
  const step = Math.max(1, Math.floor(span / 8))
  const shown = Math.min(end.longest, end.disk + Math.floor(span * MEMORY_SHARE))
  return Math.max(0, Math.ceil((shown - span) / step) * step)
}
/** Of the window, for what no file holds yet. */
const MEMORY_SHARE = 0.3
