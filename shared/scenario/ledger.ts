/**
 * The ledger of a load: what became of every message that was sent, decided by reading the log back.
 *
 * A message is (lane, sequence): a lane is one sender, which sends its sequences in ascending order, each once. Its outcome
 * is what the client was told: acked (with the offset it got), refused (surely not stored) or unknown. A reader walks each
 * partition by ascending offset and reports every message of this run that it meets, and how far it has come. From these
 * two streams, in whatever order they interleave:
 *
 *   readBack      acked, and met at the offset that was acknowledged
 *   lost          acked, and the reader has passed that offset without meeting it there
 *   duplicate     met once more than once
 *   unknownFound  told "unknown", and met
 *   refusedFound  told "surely not stored", and met all the same
 *   corrupt       met with a damaged payload, or at another offset than acknowledged
 *
 * Memory is bounded: each lane has a window of sequences that are not settled yet. `mayStart` is false while it is full,
 * and the sender waits for the reader. What settles without having been met (unknown, refused, lost) is kept as ranges, so
 * that it is still recognised when it turns up late.
 */
import { RangeSet } from './range-set.ts'

/** Sequences that are not settled, over all lanes: 9 bytes each. */
export const WINDOW_MESSAGES = 1 << 20
/** Ranges of unmet sequences kept for each lane and outcome: one for each outage, roughly. */
export const UNMET_RANGES_MAX = 4096

export interface LedgerCounts {
  sent: number
  acked: number
  unknown: number
  refused: number
  readBack: number
  lost: number
  duplicate: number
  unknownFound: number
  refusedFound: number
  corrupt: number
  /** Unmet sequences that were forgotten to stay within bounds: met later, they would count as duplicates. */
  untracked: number
}

const IN_FLIGHT = 0
const ACKED = 1
const UNKNOWN = 2
const REFUSED = 3
const OUTCOME_MASK = 3
const MET = 4

/** No offset known; offsets are below 2^53 in any log that fits on a disk. */
const NO_OFFSET = -1

class Lane {
  readonly state: Uint8Array
  readonly offset: Float64Array
  readonly partition: Uint16Array
  /** Every sequence below is settled. */
  base = 0
  /** Next sequence to be sent. */
  next = 0
  readonly lost = new RangeSet(UNMET_RANGES_MAX)
  readonly unknown = new RangeSet(UNMET_RANGES_MAX)
  readonly refused = new RangeSet(UNMET_RANGES_MAX)

  constructor(window: number) {
    this.state = new Uint8Array(window)
    this.offset = new Float64Array(window)
    this.partition = new Uint16Array(window)
  }

  get window(): number {
    return this.state.length
  }
}

interface PartitionProgress {
  acked: number
  readBack: number
  /** Every offset below was read. */
  readOffset: number
}

export class Ledger {
  readonly counts: LedgerCounts = {
    sent: 0,
    acked: 0,
    unknown: 0,
    refused: 0,
    readBack: 0,
    lost: 0,
    duplicate: 0,
    unknownFound: 0,
    refusedFound: 0,
    corrupt: 0,
    untracked: 0,
  }
  readonly #lanes: Lane[]
  readonly partitions: readonly Readonly<PartitionProgress>[]
  readonly #progress: PartitionProgress[]

  constructor(options: { readonly lanes: number; readonly partitions: number; readonly windowMessages?: number }) {
    const window = Math.max(1, Math.floor((options.windowMessages ?? WINDOW_MESSAGES) / options.lanes))
    this.#lanes = Array.from({ length: options.lanes }, () => new Lane(window))
    this.#progress = Array.from({ length: options.partitions }, () => ({ acked: 0, readBack: 0, readOffset: 0 }))
    this.partitions = this.#progress
  }

  get inFlight(): number {
    return this.counts.sent - this.counts.acked - this.counts.unknown - this.counts.refused
  }

  /** Acked messages that were neither met nor passed yet. */
  get unverified(): number {
    return this.counts.acked - this.counts.readBack - this.counts.lost
  }

  /** True when `lane` may send `count` more messages without leaving its window. */
  mayStart(lane: number, count: number): boolean {
    const { base, next, window } = this.#lane(lane)
    return next + count - base <= window
  }

  /** The lane sends `count` messages to `partition` now; returns the first of their sequences. */
  start(lane: number, partition: number, count: number): number {
    if (!this.mayStart(lane, count)) throw new RangeError(`lane ${lane} has no room for ${count} messages`)
    const it = this.#lane(lane)
    const first = it.next
    for (let seq = first; seq < first + count; seq++) {
      const slot = seq % it.window
      it.state[slot] = IN_FLIGHT
      it.offset[slot] = NO_OFFSET
      it.partition[slot] = partition
    }
    it.next += count
    this.counts.sent += count
    return first
  }

  /** `baseOffset` is undefined when the cluster did not say; such messages are verified by being met, never called lost. */
  acked(lane: number, first: number, count: number, baseOffset: bigint | undefined): void {
    const it = this.#lane(lane)
    this.#finish(it, first, count, ACKED)
    for (let i = 0; i < count; i++) {
      const slot = (first + i) % it.window
      const progress = this.#progress[it.partition[slot]!]!
      progress.acked += 1
      const offset = baseOffset === undefined ? NO_OFFSET : Number(baseOffset) + i
      if (it.state[slot]! & MET) this.#match(progress, it.offset[slot]!, offset)
      else it.offset[slot] = offset
    }
    this.counts.acked += count
    this.#settle(it)
  }

  unknown(lane: number, first: number, count: number): void {
    const it = this.#lane(lane)
    for (let seq = first; seq < first + count; seq++)
      if (it.state[seq % it.window]! & MET) this.counts.unknownFound += 1
    this.#finish(it, first, count, UNKNOWN)
    this.counts.unknown += count
    this.#settle(it)
  }

  refused(lane: number, first: number, count: number): void {
    const it = this.#lane(lane)
    for (let seq = first; seq < first + count; seq++)
      if (it.state[seq % it.window]! & MET) this.counts.refusedFound += 1
    this.#finish(it, first, count, REFUSED)
    this.counts.refused += count
    this.#settle(it)
  }

  /** The reader met a message of this run. `intact` is the verdict on its checksum. */
  met(lane: number, seq: number, partition: number, offset: bigint, intact: boolean): void {
    if (!intact) {
      this.counts.corrupt += 1
      return
    }
    const it = this.#lanes[lane]
    const progress = this.#progress[partition]
    // A sequence that was never sent, or to another partition, cannot come from this run's senders.
    if (!it || !progress || seq >= it.next) {
      this.counts.corrupt += 1
      return
    }
    if (seq < it.base) {
      this.#metLate(it, progress, seq)
      return
    }
    const slot = seq % it.window
    const state = it.state[slot]!
    if (it.partition[slot] !== partition) {
      this.counts.corrupt += 1
      return
    }
    if (state & MET) {
      this.counts.duplicate += 1
      return
    }
    it.state[slot] = state | MET
    switch (state & OUTCOME_MASK) {
      case ACKED:
        this.#match(progress, Number(offset), it.offset[slot]!)
        break
      case UNKNOWN:
        this.counts.unknownFound += 1
        break
      case REFUSED:
        this.counts.refusedFound += 1
        break
      default:
        it.offset[slot] = Number(offset)
    }
    this.#settle(it)
  }

  #metLate(it: Lane, progress: PartitionProgress, seq: number): void {
    if (it.unknown.delete(seq)) this.counts.unknownFound += 1
    else if (it.refused.delete(seq)) this.counts.refusedFound += 1
    else if (it.lost.delete(seq)) {
      // Found after all, at another offset than it was acknowledged for.
      this.counts.lost -= 1
      this.counts.corrupt += 1
      this.counts.readBack += 1
      progress.readBack += 1
    } else this.counts.duplicate += 1
  }

  /** The reader has read every offset of `partition` below `nextOffset`. */
  passed(partition: number, nextOffset: bigint): void {
    const progress = this.#progress[partition]!
    if (Number(nextOffset) <= progress.readOffset) return
    progress.readOffset = Number(nextOffset)
    for (const lane of this.#lanes) this.#settle(lane)
  }

  #match(progress: PartitionProgress, metAt: number, ackedAt: number): void {
    this.counts.readBack += 1
    progress.readBack += 1
    if (ackedAt !== NO_OFFSET && metAt !== ackedAt) this.counts.corrupt += 1
  }

  #lane(lane: number): Lane {
    const it = this.#lanes[lane]
    if (!it) throw new RangeError(`there is no lane ${lane}`)
    return it
  }

  #finish(it: Lane, first: number, count: number, outcome: number): void {
    for (let seq = first; seq < first + count; seq++) {
      const slot = seq % it.window
      if (seq < it.base || seq >= it.next || (it.state[slot]! & OUTCOME_MASK) !== IN_FLIGHT) {
        throw new RangeError(`sequence ${seq} has an outcome already, or was never sent`)
      }
      it.state[slot] = outcome | (it.state[slot]! & MET)
    }
  }

  /** Moves the base over everything that needs no more watching. */
  #settle(it: Lane): void {
    while (it.base < it.next) {
      const slot = it.base % it.window
      const state = it.state[slot]!
      const outcome = state & OUTCOME_MASK
      if (outcome === IN_FLIGHT) return
      if (!(state & MET)) {
        if (outcome === UNKNOWN) this.counts.untracked += it.unknown.add(it.base)
        else if (outcome === REFUSED) this.counts.untracked += it.refused.add(it.base)
        else if (this.#isPassed(it, slot)) {
          this.counts.lost += 1
          this.counts.untracked += it.lost.add(it.base)
        } else return
      }
      it.base += 1
    }
  }

  #isPassed(it: Lane, slot: number): boolean {
    const offset = it.offset[slot]!
    return offset !== NO_OFFSET && this.#progress[it.partition[slot]!]!.readOffset > offset
  }
}

/** What the counts say, as one sentence a person can rely on. */
export type LedgerVerdict = 'none' | 'nothing_lost' | 'lost' | 'duplicate' | 'corrupt' | 'not_all_read'

export function verdictOf(ledger: Ledger): { kind: LedgerVerdict; words: string } {
  const { acked, lost, duplicate, corrupt, refusedFound, readBack, unknown } = ledger.counts
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`
  if (lost > 0) return { kind: 'lost', words: `${count(lost, 'acknowledged message')} not in the log` }
  if (corrupt > 0) return { kind: 'corrupt', words: `${count(corrupt, 'message')} damaged or out of place` }
  if (refusedFound > 0)
    return { kind: 'corrupt', words: `${count(refusedFound, 'refused message')} stored all the same` }
  if (duplicate > 0) return { kind: 'duplicate', words: `${count(duplicate, 'message')} stored twice` }
  if (acked === 0) return { kind: 'none', words: 'nothing acknowledged yet' }
  const rest = unknown > 0 ? `; ${unknown} with unknown outcome` : ''
  if (ledger.unverified > 0) {
    return { kind: 'not_all_read', words: `${readBack} of ${acked} acknowledged messages read back so far${rest}` }
  }
  return { kind: 'nothing_lost', words: `all ${acked} acknowledged messages read back, none lost${rest}` }
}
