/** Where each frame of a replica link carries its group, for routing before anything else is read (spec consensus.md §2.5, §10). */
import { GroupId } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'

const GROUP_AT: ReadonlyMap<number, number> = new Map([
  [Command.Prepare, 216],
  [Command.RepairPrepare, 216],
  [Command.PrepareOk, 200],
  [Command.Commit, 168],
  [Command.StartViewChange, 128],
  [Command.DoViewChange, 144],
  [Command.StartView, 128],
  [Command.RequestStartView, 128],
  [Command.RequestPrepares, 160],
  [Command.RepairDone, 152],
  [Command.RangeEvicted, 152],
  [Command.RequestStateTransfer, 144],
  [Command.StateTransferTarget, 152],
  [Command.RequestStateChunk, 152],
  [Command.StateChunk, 152],
])

const COMMAND_AT = 60

/** The group of a consensus frame, or undefined for a frame that belongs to none (forwards, handshake, anything else). */
export function frameGroup(frame: Uint8Array): GroupId | undefined {
  const at = GROUP_AT.get(frame[COMMAND_AT] ?? 0)
  if (at === undefined || frame.length < at + 8) return undefined
  return GroupId(new DataView(frame.buffer, frame.byteOffset, frame.length).getBigUint64(at, true))
}

/** Prepares wait for their partition to be built; what else a group sends is repeated by its timers (§3.5). */
export const mayPark = (frame: Uint8Array): boolean => frame[COMMAND_AT] === Command.Prepare
