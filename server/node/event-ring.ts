/**
 * The event sink of a node process: stamps drafts into envelopes and keeps the newest of them in a bounded ring, which
 * readers follow by sequence number. Facts are always kept; flow events are built only while somebody reads, all of them
 * for a watched group and else one in `FLOW_SAMPLE`, and never more than `FLOW_PER_SECOND_MAX`: what is above it is counted,
 * and told as `data.leftOutBefore` of the next that is built. Counters are exact always.
 */
import type { EventDraft, EventEnvelope, EventGap, EventSink } from '../../shared/inspection/envelope.ts'
import type { Clock } from '../../shared/storage/ports.ts'

/** Envelopes kept: minutes of facts, and seconds of flow at its highest rate. About 20 MiB when full. */
export const RING_EVENTS = 32_768
/** One flow event in this many is built for groups that nobody watches; `data.sampledOneIn` says so. */
export const FLOW_SAMPLE = 64
/** Above this the page could not draw them, and building them would cost the log its throughput. */
export const FLOW_PER_SECOND_MAX = 2_000
/** A watch ends by itself, so that a reader that died costs nothing. */
export const WATCH_MS = 30_000

export interface RingSlice {
  readonly gap?: EventGap
  readonly events: readonly EventEnvelope[]
  /** Sequence number to ask after next. */
  readonly next: number
}

export interface EventRingOptions {
  readonly node: number
  readonly boot: string
  readonly clock: Clock
  readonly capacity?: number
}

export class EventRing implements EventSink {
  readonly boot: string
  private readonly node: number
  private readonly clock: Clock
  private readonly slots: (EventEnvelope | undefined)[]
  private readonly counters = new Map<string, Map<string, number>>()
  private readonly watches = new Map<string, number>()
  private readonly followers = new Set<() => void>()
  private lastSeq = 0
  private sampleTurn = 0
  private flowSecond = 0
  private flowInSecond = 0
  private leftOut = 0

  constructor({ node, boot, clock, capacity = RING_EVENTS }: EventRingOptions) {
    this.node = node
    this.boot = boot
    this.clock = clock
    this.slots = new Array<EventEnvelope | undefined>(capacity)
  }

  /** Sequence number of the newest event, 0 before the first. */
  get seq(): number {
    return this.lastSeq
  }

  /** Sequence number of the oldest event that is still kept. */
  get firstSeq(): number {
    return Math.max(1, this.lastSeq - this.slots.length + 1)
  }

  emit(draft: EventDraft): number {
    const seq = ++this.lastSeq
    this.slots[seq % this.slots.length] = {
      v: 1,
      node: this.node,
      boot: this.boot,
      seq,
      monoUs: this.clock.monoMicros(),
      wallUs: this.clock.nowMicros().toString(),
      ...draft,
      data: draft.class === 'flow' ? this.flowData(draft) : draft.data,
    }
    for (const follower of this.followers) follower()
    return seq
  }

  /** What a flow event carries of those that are not there. */
  private flowData({ group, data }: EventDraft): EventDraft['data'] {
    const { leftOut } = this
    this.leftOut = 0
    if (leftOut === 0 && this.watches.has(group)) return data
    return {
      ...data,
      ...(!this.watches.has(group) && { sampledOneIn: FLOW_SAMPLE }),
      ...(leftOut > 0 && { leftOutBefore: leftOut }),
    }
  }

  wantsFlow(group: string): boolean {
    if (this.followers.size === 0) return false
    return this.isWatched(group) || this.sampleTurn++ % FLOW_SAMPLE === 0
  }

  takesFlow(): boolean {
    const second = Math.floor(this.clock.monoMicros() / 1_000_000)
    if (second !== this.flowSecond) {
      this.flowSecond = second
      this.flowInSecond = 0
    }
    if (++this.flowInSecond <= FLOW_PER_SECOND_MAX) return true
    this.leftOut += 1
    return false
  }

  count(group: string, kind: string, by = 1): void {
    let kinds = this.counters.get(group)
    if (!kinds) {
      kinds = new Map()
      this.counters.set(group, kinds)
    }
    kinds.set(kind, (kinds.get(kind) ?? 0) + by)
  }

  /** Counters of one group, or the sums over all groups. */
  countersOf(group?: string): Record<string, number> {
    const sums: Record<string, number> = {}
    const sources =
      group === undefined ? this.counters.values() : [this.counters.get(group) ?? new Map<string, number>()]
    for (const kinds of sources) for (const [kind, value] of kinds) sums[kind] = (sums[kind] ?? 0) + value
    return sums
  }

  /** Asks for every flow event of `group` for the next `WATCH_MS`. Renewed by asking again. */
  watch(group: string): void {
    this.watches.set(group, this.clock.monoMicros() + WATCH_MS * 1000)
  }

  private isWatched(group: string): boolean {
    const until = this.watches.get(group)
    if (until === undefined) return false
    if (until > this.clock.monoMicros()) return true
    this.watches.delete(group)
    return false
  }

  /** Calls `follower` after each event until the returned function is called. Flow exists only while somebody follows. */
  follow(follower: () => void): () => void {
    this.followers.add(follower)
    return () => this.followers.delete(follower)
  }

  /** Up to `limit` events after `after`; what has left the ring is named by a gap. */
  read(after: number, limit: number, reason: EventGap['reason'] = 'ring_overflow'): RingSlice {
    const from = Math.max(after + 1, this.firstSeq)
    const to = Math.min(this.lastSeq, from + limit - 1)
    const events: EventEnvelope[] = []
    for (let seq = from; seq <= to; seq++) events.push(this.slots[seq % this.slots.length]!)
    const missed = from > after + 1
    return {
      ...(missed && {
        gap: { v: 1, node: this.node, boot: this.boot, kind: 'gap', fromSeq: after + 1, toSeq: from - 1, reason },
      }),
      events,
      next: Math.max(to, from - 1),
    }
  }
}
