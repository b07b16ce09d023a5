/** What a link proxy reads of a frame that passes: enough to judge it and to name it in an event. Nothing is verified. */
import { Command, commandName } from '../../../shared/protocol/commands.ts'
import { METADATA_GROUP } from '../../../shared/protocol/groups.ts'
import {
  commitLayout,
  doViewChangeLayout,
  forwardRequestResultLayout,
  prefix,
  prepareLayout,
  prepareOkLayout,
  repairRangeLayout,
  requestPreparesLayout,
  requestStartViewLayout,
  requestStateChunkLayout,
  requestStateTransferLayout,
  routedRequestLayout,
  startViewChangeLayout,
  startViewLayout,
  stateChunkLayout,
  stateTransferTargetLayout,
} from '../../../shared/protocol/headers.ts'

export interface FrameNote {
  readonly command: number
  /** Name of the command, or its number where it has none. */
  readonly name: string
  readonly sizeBytes: number
  readonly view: number
  readonly op?: string
  /** Group id; absent where a command belongs to no group. */
  readonly group?: string
  readonly plane: 'node' | 'metadata' | 'partition'
}

interface Places {
  readonly group: { readonly at: number }
  readonly op?: { readonly at: number }
}

const PLACES = new Map<number, Places>([
  [Command.Request, { group: routedRequestLayout.fields.group }],
  [Command.Prepare, prepareLayout.fields],
  [Command.RepairPrepare, prepareLayout.fields],
  [Command.PrepareOk, prepareOkLayout.fields],
  [Command.Commit, { group: commitLayout.fields.group, op: commitLayout.fields.commit }],
  [Command.StartViewChange, startViewChangeLayout.fields],
  [Command.DoViewChange, doViewChangeLayout.fields],
  [Command.StartView, startViewLayout.fields],
  [Command.RequestStartView, requestStartViewLayout.fields],
  [Command.RequestPrepares, requestPreparesLayout.fields],
  [Command.RepairDone, repairRangeLayout.fields],
  [Command.RangeEvicted, repairRangeLayout.fields],
  [Command.RequestStateTransfer, requestStateTransferLayout.fields],
  [Command.StateTransferTarget, stateTransferTargetLayout.fields],
  [Command.RequestStateChunk, requestStateChunkLayout.fields],
  [Command.StateChunk, stateChunkLayout.fields],
  [Command.ForwardRequestResult, forwardRequestResultLayout.fields],
])

export const sizeOf = (header: Uint8Array): number => viewOf(header).getUint32(prefix.size.at, true)

export const commandOf = (header: Uint8Array): number => header[prefix.command.at]!

/** Frames that make a connection a link; they are not counted by its ends. */
export const isHandshake = (command: number): boolean =>
  command === Command.ReplicaHello || command === Command.ReplicaChallenge || command === Command.ReplicaFinish

/** Name of a command byte, or its number. */
export const nameOf = (command: number): string => commandName(command) ?? String(command)

/** `header`: at least the 256 bytes of a frame's header. */
export function noteOf(header: Uint8Array): FrameNote {
  const bytes = viewOf(header)
  const command = commandOf(header)
  const places = PLACES.get(command)
  const group = places && bytes.getBigUint64(places.group.at, true)
  return {
    command,
    name: nameOf(command),
    sizeBytes: bytes.getUint32(prefix.size.at, true),
    view: bytes.getUint32(prefix.view.at, true),
    ...(places?.op && { op: bytes.getBigUint64(places.op.at, true).toString() }),
    ...(group !== undefined && { group: group.toString() }),
    plane: group === undefined ? 'node' : group === METADATA_GROUP ? 'metadata' : 'partition',
  }
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
