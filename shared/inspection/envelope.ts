/**
 * Event envelope, version 1 (design.md §3, Inspection). Additive only: kinds and optional fields may be added, nothing
 * changes its meaning. Order is total inside (node, boot) by `seq`; between live nodes only matched frames order events.
 */
import { z } from 'zod'
import type { PrepareHeader } from '../protocol/headers.ts'

/** Decimal text of an unsigned 64-bit or wider value. */
export const decimal = z.string().regex(/^(0|[1-9][0-9]*)$/)

export const linkMark = z.object({
  /** `from>to#connection`: one TCP connection, named alike at both ends. */
  id: z.string(),
  ordinal: z.number().int().nonnegative(),
  dir: z.enum(['in', 'out']),
})

export const eventEnvelope = z.object({
  v: z.literal(1),
  node: z.number().int().min(0).max(255),
  /** Random id of this life of the node, hex. */
  boot: z.string(),
  seq: z.number().int().positive(),
  /** Microseconds since the boot of the node. */
  monoUs: z.number().nonnegative(),
  /** Microseconds since the Unix epoch. */
  wallUs: decimal,
  plane: z.enum(['node', 'metadata', 'partition']),
  /** Group id, or `node` for what concerns no group. */
  group: z.string(),
  kind: z.string(),
  class: z.enum(['fact', 'flow']),
  view: z.number().int().nonnegative().optional(),
  logView: z.number().int().nonnegative().optional(),
  op: decimal.optional(),
  commit: decimal.optional(),
  /** `seq` of the event of the same boot that led to this one. */
  cause: z.number().int().positive().optional(),
  link: linkMark.optional(),
  data: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  /** Number in the console's merged stream; added by the console, absent in a node's own stream. */
  consoleSeq: z.number().int().positive().optional(),
  /** Microseconds since the Unix epoch, by the console's clock: when it got the event from the node. */
  receivedWallUs: decimal.optional(),
  /** The same clock: when the console put it on the streams of its readers. */
  emittedWallUs: decimal.optional(),
})
export type EventEnvelope = z.infer<typeof eventEnvelope>

/**
 * `node` of what the console itself reports (process started, exited, load started): no replica can have this number.
 * The event's `data.node` names the node it is about.
 */
export const CONSOLE_NODE = 255

/** History that is not there: events `from`..`to` of one boot were dropped before the reader got them. With
 * `node` = CONSOLE_NODE the numbers are console sequences and events of every node may be missing. */
export const eventGap = z.object({
  v: z.literal(1),
  node: z.number().int(),
  boot: z.string(),
  kind: z.literal('gap'),
  fromSeq: z.number().int(),
  toSeq: z.number().int(),
  /** `damaged`: it was recorded, and what was recorded can't be read any more. */
  reason: z.enum(['ring_overflow', 'slow_reader', 'node_restarted', 'console_restarted', 'damaged']),
  /** As in an event. */
  consoleSeq: z.number().int().positive().optional(),
})
export type EventGap = z.infer<typeof eventGap>

export const eventBatch = z.array(z.union([eventEnvelope, eventGap]))
export type EventBatch = z.infer<typeof eventBatch>
export const isGap = (item: EventEnvelope | EventGap): item is EventGap => item.kind === 'gap' && 'fromSeq' in item

/** What engine code hands to the sink; the sink adds node, boot, seq and the times. */
export interface EventDraft {
  readonly plane: EventEnvelope['plane']
  readonly group: string
  readonly kind: string
  readonly class: 'fact' | 'flow'
  readonly view?: number
  readonly logView?: number
  readonly op?: string
  readonly commit?: string
  readonly cause?: number
  readonly link?: z.infer<typeof linkMark>
  readonly data: EventEnvelope['data']
}

/**
 * Where events go. Facts are always emitted; a flow event is built only when `wantsFlow(group)` says so (someone watches,
 * or the sample is due) and `takesFlow` has room for it; counters are kept regardless.
 */
export interface EventSink {
  emit(draft: EventDraft): number
  /** Whether flow of a group is told now. Whoever asks once for a stretch of time tells all of that stretch. */
  wantsFlow(group: string): boolean
  /** Whether one more flow event fits; one that does not is counted, and told of with the next that does. */
  takesFlow?(): boolean
  count(group: string, kind: string, by?: number): void
  /** For checkers: every op that this node applies, in order, with the header it has it under. */
  applied?(group: string, header: PrepareHeader): void
}
