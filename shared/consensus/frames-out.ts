/** Builds the control frames of a group from its state (spec consensus.md §2.5). All are complete and sealed. */
import type { Checksum, GroupId, Op, ReplicaId, View } from '../bytes/units.ts'
import { encodeSuffix, sealFrame } from '../protocol/frames.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import type { GroupState, StoredDvc } from './state.ts'
import { encodeDvcSuffix } from './suffix.ts'

interface Origin {
  readonly cluster: bigint
  readonly replica: ReplicaId
  readonly group: GroupId
  readonly view: View
}

const origin = (s: GroupState): Origin => ({
  cluster: s.config.cluster,
  replica: s.config.replica,
  group: s.config.group,
  view: s.view,
})
/** Repair frames carry view 0: receivers must not fence on it (§2.4). */
const viewless = (s: GroupState): Origin => ({ ...origin(s), view: 0 as View })

export const prepareOkFrame = (s: GroupState, prepare: PrepareHeader): Uint8Array =>
  sealFrame(s.config.hash, 'PrepareOk', {
    ...origin(s),
    parent: prepare.parent,
    prepareChecksum: prepare.checksum,
    op: prepare.op,
    commit: s.commitMax,
    timestamp: prepare.timestamp,
    request: prepare.request,
    operation: prepare.operation,
  })

/** The heartbeat. It carries what is applied, not what is known committed. */
export const commitFrame = (s: GroupState): Uint8Array =>
  sealFrame(s.config.hash, 'Commit', {
    ...origin(s),
    commitChecksum: 0n as Checksum,
    timestampMonotonic: s.heartbeatTimestamp,
    commit: s.commitMin,
    checkpointOp: 0n as Op,
  })

export const startViewChangeFrame = (s: GroupState): Uint8Array =>
  sealFrame(s.config.hash, 'StartViewChange', origin(s))

export function doViewChangeFrame(s: GroupState, vote: Omit<StoredDvc, 'replica' | 'logView'>): Uint8Array {
  const { body, nackBitset, presentBitset } = encodeDvcSuffix(vote.suffix)
  const { op, commit, heldFrontier, reservedFrontier, committedFrontier } = vote
  const { known, logStart, firstBase, jumpBase } = vote.origin
  return sealFrame(
    s.config.hash,
    'DoViewChange',
    {
      ...origin(s),
      op,
      commit,
      logView: s.logView,
      forgetful: vote.forgetful ? 1 : 0,
      heldFrontier,
      reservedFrontier,
      committedFrontier,
      originKnown: known ? 1 : 0,
      logStart,
      firstBase,
      jumpBase,
      nackBitset,
      presentBitset,
    },
    body,
  )
}

export const startViewFrame = (
  s: GroupState,
  op: Op,
  headers: readonly PrepareHeader[],
  incarnation: bigint,
): Uint8Array =>
  sealFrame(
    s.config.hash,
    'StartView',
    {
      ...origin(s),
      op,
      commit: s.commitMax < op ? s.commitMax : op,
      jumpBase: s.origin.jumpBase,
      logStart: s.origin.logStart,
      originKnown: s.origin.known ? 1 : 0,
      firstBase: s.origin.firstBase,
      incarnation,
    },
    encodeSuffix(headers),
  )

export const requestStartViewFrame = (s: GroupState): Uint8Array =>
  sealFrame(s.config.hash, 'RequestStartView', { ...origin(s), incarnation: s.config.incarnation })

export const requestPreparesFrame = (s: GroupState, nonce: bigint, fromOp: Op, toOp: Op): Uint8Array =>
  sealFrame(s.config.hash, 'RequestPrepares', { ...viewless(s), nonce, fromOp, toOp })

export const repairDoneFrame = (s: GroupState, nonce: bigint, op: Op): Uint8Array =>
  sealFrame(s.config.hash, 'RepairDone', { ...viewless(s), nonce, op, logEnd: 0n })

export const rangeEvictedFrame = (s: GroupState, nonce: bigint, op: Op): Uint8Array =>
  sealFrame(s.config.hash, 'RangeEvicted', {
    ...viewless(s),
    nonce,
    op,
    logEnd: s.journal.heldFrontier?.().held ?? 0n,
  })
