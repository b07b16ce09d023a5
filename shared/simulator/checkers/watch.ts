/**
 * Checkers that watch a run beside the main one, each in a file of its own and each for one promise (spec drills.md §2.5).
 * They see the wire, the disks, facts and what replicas apply, as it happens; what they find goes to the main checker.
 */
import type { Hash } from '../../bytes/hash.ts'
import type { GroupSnapshotJson } from '../../inspection/snapshots.ts'
import { Command } from '../../protocol/commands.ts'
import type { PrepareHeader } from '../../protocol/headers.ts'
import type { DiskCall, SimulatedDisk } from '../disk.ts'
import type { WorldFact } from '../world.ts'
import type { Checker } from './checker.ts'
import { CheckpointFiles } from './checkpoint-files.ts'
import { CommitQuorum } from './commit-quorum.ts'
import { Damage } from './damage.ts'
import { FormerLife } from './former-life.ts'
import { Leadership } from './leadership.ts'
import { Silence } from './silence.ts'
import { Votes } from './votes.ts'

/** What a watch may look at. */
export interface WatchWorld {
  readonly checker: Checker
  readonly hash: Hash
  readonly nodes: number
  readonly disks: readonly SimulatedDisk[]
  nowMs(): number
  /** What a running node says of a group. */
  group(node: number, group: bigint): GroupSnapshotJson | undefined
}

export interface Watch {
  /** A life begins; the disk is what the last one left. */
  starting?(node: number): void
  booted?(node: number): void
  /** A life has ended and its disk has taken the crash. */
  ended?(node: number): void
  wiped?(node: number): void
  /** A frame as it was handed over; `group` is the one it names. */
  sent?(from: number, to: number, frame: SeenFrame): void
  /** One whose seal verifies. */
  arrived?(from: number, to: number, frame: SeenFrame): void
  applied?(node: number, group: string, header: PrepareHeader): void
  fact?(fact: WorldFact): void
  /** A call completes; what it does happens right after this. */
  diskCall?(node: number, call: DiskCall, path: string): void
}

/** A control frame of consensus, read from the format alone (spec consensus.md §2.4, §2.5). */
export interface SeenFrame {
  readonly command: number
  readonly group: bigint
  readonly view: number
  readonly checksum: bigint
  readonly bytes: DataView
}

/** Where a sealed frame names its group. */
const GROUP_AT: ReadonlyMap<number, number> = new Map([
  [Command.PrepareOk, 200],
  [Command.Commit, 168],
  [Command.StartViewChange, 128],
  [Command.DoViewChange, 144],
  [Command.StartView, 144],
  [Command.RequestStartView, 128],
])

export class Watches implements Required<Omit<Watch, 'sent' | 'arrived'>> {
  private readonly all: readonly Watch[]
  private readonly senders: readonly Watch[]
  private readonly receivers: readonly Watch[]
  private readonly hash: Hash

  constructor(world: WatchWorld) {
    this.hash = world.hash
    this.all = [
      new CheckpointFiles(world),
      new CommitQuorum(world),
      new Damage(world),
      new FormerLife(world),
      new Leadership(world),
      new Silence(world),
      new Votes(world),
    ]
    this.senders = this.all.filter(watch => watch.sent)
    this.receivers = this.all.filter(watch => watch.arrived)
  }

  starting(node: number): void {
    for (const watch of this.all) watch.starting?.(node)
  }

  booted(node: number): void {
    for (const watch of this.all) watch.booted?.(node)
  }

  ended(node: number): void {
    for (const watch of this.all) watch.ended?.(node)
  }

  wiped(node: number): void {
    for (const watch of this.all) watch.wiped?.(node)
  }

  sent(from: number, to: number, bytes: Uint8Array): void {
    const frame = this.read(bytes)
    if (frame) for (const watch of this.senders) watch.sent!(from, to, frame)
  }

  arrived(from: number, to: number, bytes: Uint8Array): void {
    const frame = this.read(bytes)
    if (frame && this.isSealed(bytes, frame)) for (const watch of this.receivers) watch.arrived!(from, to, frame)
  }

  applied(node: number, group: string, header: PrepareHeader): void {
    for (const watch of this.all) watch.applied?.(node, group, header)
  }

  fact(fact: WorldFact): void {
    for (const watch of this.all) watch.fact?.(fact)
  }

  diskCall(node: number, call: DiskCall, path: string): void {
    for (const watch of this.all) watch.diskCall?.(node, call, path)
  }

  /** Undefined for a frame of another kind. */
  private read(frame: Uint8Array): SeenFrame | undefined {
    const command = frame[60]!
    const at = GROUP_AT.get(command)
    if (at === undefined) return undefined
    const bytes = new DataView(frame.buffer, frame.byteOffset, frame.length)
    const checksum = bytes.getBigUint64(0, true)
    return { command, group: bytes.getBigUint64(at, true), view: bytes.getUint32(52, true), checksum, bytes }
  }

  /** False for a frame that the network has damaged. */
  private isSealed(frame: Uint8Array, { checksum }: SeenFrame): boolean {
    return this.hash.xxh3(frame.subarray(16, 256)) === checksum
  }
}
