/** Where each frame of a replica link carries its group, for routing before anything else is read (spec consensus.md §2.5, §10). */
import { GroupId } from '../bytes/units.ts'
import { Command, commandName } from '../protocol/commands.ts'
import { replicaLayouts } from '../protocol/frames.ts'

const CONSENSUS_FRAMES = [
  'Prepare',
  'RepairPrepare',
  'PrepareOk',
  'Commit',
  'StartViewChange',
  'DoViewChange',
  'StartView',
  'RequestStartView',
  'RequestPrepares',
  'RepairDone',
  'RangeEvicted',
  'RequestStateTransfer',
  'StateTransferTarget',
  'RequestStateChunk',
  'StateChunk',
] as const
const GROUP_AT: ReadonlyMap<number, number> = new Map(
  CONSENSUS_FRAMES.map(name => [Command[name], replicaLayouts[name].fields.group.at]),
)

const COMMAND_AT = 60

/** The group of a consensus frame, or undefined for a frame that belongs to none (forwards, handshake, anything else). */
export function frameGroup(frame: Uint8Array): GroupId | undefined {
  const at = GROUP_AT.get(frame[COMMAND_AT] ?? 0)
  if (at === undefined || frame.length < at + 8) return undefined
  return GroupId(new DataView(frame.buffer, frame.byteOffset, frame.length).getBigUint64(at, true))
}

/** Prepares wait for their partition to be built; what else a group sends is repeated by its timers (§3.5). */
export const mayPark = (frame: Uint8Array): boolean => frame[COMMAND_AT] === Command.Prepare

/**
 * Frames whose ends have an event of their own: at the replica that sent it, where that is a fact, and at the one that
 * took it.
 */
const TOLD_FRAMES = {
  [Command.StartViewChange]: { sent: 'start_view_change_sent', received: 'start_view_change_received' },
  [Command.DoViewChange]: { sent: 'do_view_change_sent', received: 'do_view_change_received' },
  [Command.StartView]: { sent: 'start_view_sent', received: 'view_adopted' },
  [Command.PrepareOk]: { sent: undefined, received: 'prepare_acked' },
} as const
export type ToldFrame = (typeof TOLD_FRAMES)[keyof typeof TOLD_FRAMES]

export const toldFrame = (frame: Uint8Array): ToldFrame | undefined =>
  (TOLD_FRAMES as Readonly<Partial<Record<number, ToldFrame>>>)[frame[COMMAND_AT] ?? 0]

/** Where the frames that are about one op carry it. */
const OP_AT: ReadonlyMap<number, number> = new Map(
  (['Prepare', 'RepairPrepare', 'PrepareOk'] as const).map(name => [Command[name], replicaLayouts[name].fields.op.at]),
)

/** The command of a frame, and the op that it is about where it is about one. */
export function frameNames(frame: Uint8Array): { readonly command: string; readonly op: bigint | undefined } {
  const command = frame[COMMAND_AT] ?? 0
  const at = OP_AT.get(command)
  return {
    command: commandName(command) ?? String(command),
    op:
      at === undefined || frame.length < at + 8
        ? undefined
        : new DataView(frame.buffer, frame.byteOffset, frame.length).getBigUint64(at, true),
  }
}

const TRANSFER_COMMANDS: ReadonlySet<number> = new Set([
  Command.RequestStateTransfer,
  Command.StateTransferTarget,
  Command.RequestStateChunk,
  Command.StateChunk,
])

/** Frames of a state transfer are the host's: a group only learns how far it is. */
export const isTransferFrame = (frame: Uint8Array): boolean => TRANSFER_COMMANDS.has(frame[COMMAND_AT] ?? 0)
