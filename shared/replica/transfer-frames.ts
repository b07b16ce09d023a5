/** Sorts the frames of a state transfer between the two sides of it (spec consensus.md §6.4, §6.5). */
import { DecodeError } from '../bytes/errors.ts'
import type { ReplicaId } from '../bytes/units.ts'
import type { ConsensusGroup } from '../consensus/contract.ts'
import { parseReplicaFrame, type ReplicaFrame } from '../protocol/frames.ts'
import type { Core } from './core.ts'
import type { TransferOffers } from './transfer-offers.ts'
import type { TransferSession } from './transfer-session.ts'

/** `bytes` is a transfer frame from an authenticated peer; one that is malformed, or of another sender, is dropped. */
export function transferFrame(
  core: Core,
  group: ConsensusGroup,
  { transfer, offers }: { readonly transfer: TransferSession; readonly offers: TransferOffers },
  from: ReplicaId,
  bytes: Uint8Array,
): void {
  let frame: ReplicaFrame
  try {
    frame = parseReplicaFrame(core.ports.hash, bytes)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    core.events.group(group, 'frame_ignored', 'flow', { peer: from, reason: `malformed_${error.code}` })
    return
  }
  const { cluster, replicaCount } = group.config
  if (frame.header.cluster !== cluster || frame.header.replica !== from || from >= replicaCount) return
  if (frame.kind === 'RequestStateTransfer') offers.requested(from, frame.header)
  else if (frame.kind === 'RequestStateChunk') offers.chunkRequested(from, frame.header)
  else if (frame.kind === 'StateTransferTarget') transfer.target(from, frame)
  else if (frame.kind === 'StateChunk') transfer.chunk(from, frame)
}
