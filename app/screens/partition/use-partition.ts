import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { primaryOf, replicaIds } from '../../../shared/inspection/belief.ts'
import type { BatchesSnapshot, IndexSnapshot, PartitionSnapshot } from '../../../shared/inspection/snapshots.ts'
import { packGroup } from '../../../shared/protocol/groups.ts'
import { useCell } from '../../data/cell.ts'
import { type PartitionAt, queries } from '../../data/queries.ts'
import { asOf, shown, sourceKind } from '../../data/store.ts'
import { type EachAnswer, useEach } from '../../data/use-each.ts'
import { batchOf, boundaryBefore, estimatePosition, floorEntry, segmentOf } from '../../geometry/lookup.ts'
import type { Search } from '../../search.ts'
import { useNowSeconds } from '../../ui/age.tsx'
import { clampSpan, spanFor, windowStart } from './lens.ts'
import { placeOf } from './offset-place.ts'

const route = getRouteApi('/partitions/$s/$t/$p')

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
  const asked = search.node === undefined ? undefined : Number(search.node)
  const noNode = asked !== undefined && ids.length > 0 && !ids.includes(asked)
  const node =
    asked !== undefined && !noNode ? asked : verdict?.kind === 'primary' ? verdict.node : (alive[0] ?? ids[0] ?? 0)

  // Who does not run is not asked, and keeps its last word: drawn as old, not taken away. A recording has that word too.
  const past = useCell(asOf) !== undefined
  const recorded = useCell(sourceKind) !== 'LIVE'
  const runs = (id: number): boolean => past || recorded || alive.includes(id)
  const chains = useEach(ids, id => queries.partition(id, at), runs)
  const chain = answerOf(chains, node)
  // The chain of the others stays in sight while the node that is looked through says nothing.
  const segments = (chain ?? chains.find(({ data }) => data)?.data)?.segments ?? []
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
  const lookups = useEach(
    offset !== undefined && holders.includes(node) ? [node] : [],
    id => queries.indexFloor(id, at, base ?? '0', String(offset)),
    runs,
  )
  const lookup = answerOf(lookups, node)
  const floor = offset === undefined || !lookup ? undefined : floorEntry(lookup.entries, offset)
  // Until the index has answered, the share of the segment's offsets is the best that is known of the place.
  const start =
    floor ??
    (lookup === undefined && base !== undefined
      ? { entry: { number: -1, offset: base, positionBytes: 0 }, validTo: undefined }
      : undefined)
  const estimate =
    start && offset !== undefined
      ? estimatePosition(start, lookup?.entries ?? [], offset, {
          offset: BigInt(segment?.endOffset ?? 0),
          position: size,
        })
      : undefined
  const answered = floor && {
    from: floor.entry.positionBytes,
    end: lookup?.entries.find(({ number }) => number === floor.entry.number + 1)?.positionBytes ?? size,
  }
  const span =
    search.span === undefined ? spanFor(longest, batchBytes(chain), answered) : clampSpan(Number(search.span))
  const whole = answered && answered.end - answered.from <= span
  const about =
    (whole ? Math.floor((answered.from + answered.end) / 2) : estimate) ??
    (search.batch === undefined ? undefined : Number(search.batch))
  const from = windowStart(search.from, about, { disk: size, longest }, span)
  const following = search.from === undefined && about === undefined

  const indexes = useEach(holders, id => queries.index(id, at, base ?? '0', from, from + span), runs)
  const index = answerOf(indexes, node)
  const lists = useEach(
    holders,
    id => {
      const known = answerOf(indexes, id)
      // While a new window is asked for, the old one is shown; only of this segment it knows where batches begin.
      const entries = known?.startOffset === base ? (known?.entries ?? []) : []
      return queries.batches(id, at, base ?? '0', boundaryBefore(entries, from), BATCHES_MAX)
    },
    runs,
  )
  const batches = answerOf(lists, node)
  const found = offset === undefined ? undefined : batchOf(batches?.batches ?? [], offset)
  const listed = batches?.startOffset === base ? batches : undefined
  const place = offset === undefined ? undefined : placeOf(offset, chain, floor, listed)
  const noSegment =
    search.seg !== undefined && chain !== undefined && !segments.some(item => item.startOffset === search.seg)
  // A position counts in the segment that it was chosen in, and in no other.
  const batch =
    search.batch === undefined || noSegment
      ? found
      : listed?.batches.find(item => item.positionBytes === Number(search.batch))
  // What the address names and the node does not have: removed since, purged, or never there.
  const gone = {
    node: noNode ? asked : undefined,
    segment: noSegment ? search.seg : undefined,
    batch:
      search.batch !== undefined && !noSegment && batch === undefined && listed !== undefined
        ? search.batch
        : undefined,
  }

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
    /** Whether anybody can be asked what a node holds: it runs, or it is a recording that answers. */
    runs,
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
    /** The index has said what it knows of the offset. */
    looked: lookup !== undefined,
    offset,
    place,
    gone,
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

/** Of a batch of this log on average: as its flusher has written them in this life, else as they wait in memory. */
function batchBytes(chain: PartitionSnapshot | undefined): number | undefined {
  if (!chain) return undefined
  const { flusher, journal } = chain
  if (flusher.batches > 0) return Number(flusher.persistedBytes) / flusher.batches
  return journal.batches > 0 ? journal.bytes / journal.batches : undefined
}
