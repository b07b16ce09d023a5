/**
 * Forwarded writes of a cluster, as the page draws them: the records of both ends joined by nonce (design.md §3, Forwarded
 * writes). The order of steps is that of the protocol and not of the clocks of two machines; times are those of the node
 * that took them.
 */
import { z } from 'zod'
import { decimal } from './envelope.ts'
import {
  type ForwardRecord,
  type ForwardStepName,
  type ForwardsSnapshot,
  forwardRecord,
  reporter,
} from './snapshots.ts'

/** Forwards of one answer. */
export const FORWARDS_LIMIT_MAX = 512

export const forwardChain = z.object({
  nonce: z.string(),
  group: decimal,
  key: z.object({ stream: z.number(), topic: z.number(), partition: z.number() }).optional(),
  operation: z.number(),
  client: z.string(),
  request: decimal.optional(),
  origin: z.number(),
  primary: z.number(),
  /** As the client was told; where the origin does not say (it died, or has forgotten), as the primary decided. */
  state: forwardRecord.shape.state,
  status: z.number().optional(),
  reason: z.string().optional(),
  /** Of one that was accepted: where it stands, as far as an end tells of it. */
  op: decimal.optional(),
  view: decimal.optional(),
  firstOffset: decimal.optional(),
  /** Time of the first step, by the clock of its node. */
  wallUs: decimal,
  /** False when only one end tells of it. */
  matched: z.boolean(),
  /** How it ended at the primary, whatever the client was told: absent when that end does not tell of it. */
  atPrimary: forwardRecord.shape.state.optional(),
  primaryReason: z.string().optional(),
  steps: z.array(forwardRecord.shape.steps.element.extend({ node: z.number() })),
})
export type ForwardChain = z.infer<typeof forwardChain>

/** `GET /api/forwards`: newest first. `nodes` says who was heard, and of what. */
export const forwardsAnswer = z.object({
  forwards: z.array(forwardChain),
  nodes: z.array(
    z.object({
      node: z.number(),
      reporter: reporter.optional(),
      parked: z.number().optional(),
      waiting: z.number().optional(),
      total: z.number().optional(),
      error: z.string().optional(),
    }),
  ),
})
export type ForwardsAnswer = z.infer<typeof forwardsAnswer>

const ORDER: Readonly<Record<ForwardStepName, number>> = {
  received: 0,
  parked: 1,
  sent: 2,
  unsent: 2,
  taken: 3,
  accepted: 4,
  refused: 4,
  answered: 5,
  lost: 5,
}

/** Newest first: the newest `limit`, and behind them those that were not accepted, as long as an end tells of them. */
export function joinForwards(snapshots: readonly ForwardsSnapshot[], limit: number): ForwardChain[] {
  const ends = new Map<string, Partial<Record<ForwardRecord['side'], ForwardRecord>>>()
  for (const { forwards } of snapshots) {
    for (const record of forwards) ends.set(record.nonce, { ...ends.get(record.nonce), [record.side]: record })
  }
  return [...ends.values()]
    .map(chainOf)
    .sort((a, b) => (BigInt(a.wallUs) < BigInt(b.wallUs) ? 1 : -1))
    .filter((chain, index) => index < limit || chain.state !== 'accepted')
}

function chainOf({ origin, primary }: Partial<Record<ForwardRecord['side'], ForwardRecord>>): ForwardChain {
  const about = (origin ?? primary)!
  const told = origin && origin.state !== 'waiting' ? origin : (primary ?? about)
  const steps = [
    ...(origin?.steps ?? []).map(step => ({ ...step, node: about.origin })),
    ...(primary?.steps ?? []).map(step => ({ ...step, node: about.primary })),
  ].sort((a, b) => ORDER[a.step] - ORDER[b.step])
  // The reason of a refusal is known where it was made.
  const reason = primary?.state === told.state ? (primary.reason ?? told.reason) : told.reason
  const placed = { ...placeOf(primary), ...placeOf(origin) }
  return {
    nonce: about.nonce,
    group: about.group,
    ...(about.key && { key: about.key }),
    operation: about.operation,
    client: about.client,
    ...(about.request !== undefined && { request: about.request }),
    origin: about.origin,
    primary: about.primary,
    state: told.state,
    ...(told.status !== undefined && { status: told.status }),
    ...(reason !== undefined && { reason }),
    ...placed,
    wallUs: steps[0]?.wallUs ?? '0',
    matched: origin !== undefined && primary !== undefined,
    ...(primary && { atPrimary: primary.state }),
    ...(primary?.reason !== undefined && { primaryReason: primary.reason }),
    steps,
  }
}

const placeOf = (record: ForwardRecord | undefined): Pick<ForwardChain, 'op' | 'view' | 'firstOffset'> => ({
  ...(record?.op !== undefined && { op: record.op }),
  ...(record?.view !== undefined && { view: record.view }),
  ...(record?.firstOffset !== undefined && { firstOffset: record.firstOffset }),
})
