/**
 * What became of the forwards that this node sent or took, newest last, for the inspection (design.md §3, Forwarded writes).
 * Both ends keep their own record; they belong together by nonce.
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Op, View } from '../bytes/units.ts'
import type { ForwardRecord, ForwardStepName } from '../inspection/snapshots.ts'
import { decodeBody } from '../protocol/codec.ts'
import { sendReply } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import type { Clock } from '../storage/ports.ts'
import type { LinkMark } from './ports.ts'

/** Forwards of which a node still tells; older ones are only counted. */
export const FORWARDS_KEPT = 512
/**
 * Older ones of which it tells all the same, because they were not accepted: under load the others would push them out within
 * seconds, and somebody asks what became of those.
 */
export const ODD_FORWARDS_KEPT = 128

type Place = Pick<ForwardRecord, 'op' | 'view' | 'firstOffset'>
export interface ForwardFields extends Omit<ForwardRecord, 'steps' | 'state' | keyof Place> {}

type Draft = { -readonly [K in keyof ForwardRecord]: ForwardRecord[K] } & { steps: ForwardRecord['steps'][number][] }

/** One forward, at one end. */
export interface ForwardTrace {
  step(name: ForwardStepName, event: number, link?: LinkMark): void
  end(state: Exclude<ForwardRecord['state'], 'waiting'>, status: number, reason: string): void
  /** Where it stands in the log of its group, once it is committed. */
  place(op: Op, reply: Uint8Array, view?: View): void
}

export class ForwardLog {
  private readonly clock: Clock
  /** A ring: the record of number n sits at n modulo its size. */
  private readonly ring: Draft[] = []
  /** Pushed out of the ring without having been accepted, oldest first. */
  private readonly odd: Draft[] = []
  private count = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Forwards since the boot, at both ends. */
  get total(): number {
    return this.count
  }

  begin(fields: ForwardFields): ForwardTrace {
    const record: Draft = { ...fields, state: 'waiting', steps: [] }
    const at = this.count++ % FORWARDS_KEPT
    const old = this.ring[at]
    if (old && old.state !== 'accepted') {
      this.odd.push(old)
      if (this.odd.length > ODD_FORWARDS_KEPT) this.odd.shift()
    }
    this.ring[at] = record
    return {
      place: (op, reply, view) => {
        record.op = op.toString()
        if (view !== undefined) record.view = view.toString()
        const offset = record.operation === Operation.SendMessages ? firstOffset(reply) : undefined
        if (offset !== undefined) record.firstOffset = offset.toString()
      },
      step: (step, event, link) => {
        const at = { wallUs: this.clock.nowMicros().toString(), monoUs: this.clock.monoMicros() }
        record.steps.push({ step, ...at, seq: event, ...(link && { link: { id: link.id, ordinal: link.ordinal } }) })
      },
      end: (state, status, reason) => {
        record.state = state
        record.status = status
        record.reason = reason
      },
    }
  }

  /** Newest first: the newest `limit`, and behind them the older ones that were not accepted. */
  newest(limit: number): ForwardRecord[] {
    const records: ForwardRecord[] = []
    const least = Math.max(0, this.count - Math.min(limit, FORWARDS_KEPT))
    for (let number = this.count - 1; number >= least; number--) records.push(this.ring[number % FORWARDS_KEPT]!)
    return [...records, ...this.odd.toReversed()]
  }
}

/** A reply that confirms nothing has none, and one that a peer has built wrongly is the client's to judge. */
function firstOffset(reply: Uint8Array): bigint | undefined {
  if (reply.length === 0) return undefined
  try {
    return decodeBody(sendReply, reply)[0]?.baseOffset
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}
