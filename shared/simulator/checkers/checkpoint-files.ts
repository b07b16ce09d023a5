/**
 * What a loss of power would leave of a checkpoint must boot at every moment (spec metadata-storage.md §2.5, §3.4): the
 * snapshot that the superblock names is durable before it is named; the log reaches down to that snapshot, its own op
 * included, since a DoViewChange must carry that header; and no rewrite of the log loses what was acknowledged and is
 * committed. Looked at whenever a durable file has been replaced.
 */
import type { DiskCall } from '../disk.ts'
import type { WorldFact } from '../world.ts'
import type { SlotState } from './decode.ts'
import type { Watch, WatchWorld } from './watch.ts'

const DIRECTORY = 'metadata'
const FILES = ['superblock.a', 'superblock.b', 'snapshot.bin', 'journal.wal'] as const

export class CheckpointFiles implements Watch {
  private readonly world: WatchWorld
  /** Per node: the durable files that were looked at last, as one text. */
  private readonly seen: string[]
  private readonly logSeen: number[]
  /** Per node: how often its durable names had changed when it was looked at. */
  private readonly namesSeen: number[]
  /** Per node: ops of snapshots that came from a peer; the log behind such a one may lack its entry. */
  private readonly fetched: Set<bigint>[]

  constructor(world: WatchWorld) {
    this.world = world
    this.seen = world.disks.map(() => '')
    this.logSeen = world.disks.map(() => 0)
    this.namesSeen = world.disks.map(() => -1)
    this.fetched = world.disks.map(() => new Set())
  }

  wiped(node: number): void {
    this.seen[node] = ''
    this.logSeen[node] = 0
    this.fetched[node]!.clear()
  }

  fact({ node, kind, plane, op }: WorldFact): void {
    if (kind === 'transfer_installing' && plane === 'metadata' && op !== undefined) this.fetched[node]!.add(BigInt(op))
  }

  diskCall(node: number, call: DiskCall, path: string): void {
    if (call !== 'read' && call !== 'write' && path.startsWith(DIRECTORY)) this.look(node)
  }

  ended(node: number): void {
    this.look(node)
  }

  private look(node: number): void {
    const { checker, disks } = this.world
    const names = disks[node]!.durableNames
    if (names === this.namesSeen[node]) return
    this.namesSeen[node] = names
    const ids = FILES.map(file => disks[node]!.durable(`${DIRECTORY}/${file}`)?.id ?? 0)
    const now = ids.join(' ')
    if (now === this.seen[node] || checker.isRotten(node)) return
    this.seen[node] = now
    const superblock = checker.durable[node]!.superblock(DIRECTORY)
    if (superblock === 'corrupt') return
    if (superblock && superblock.checkpointOp > 0n) this.pairing(node, superblock)
    if (ids[3] === this.logSeen[node]) return
    const rewritten = this.logSeen[node] !== 0
    this.logSeen[node] = ids[3]!
    if (!rewritten) return
    this.log(node, superblock?.checkpointOp ?? 0n)
    checker.held(node)
  }

  private pairing(node: number, { checkpointOp, checkpointChecksum }: SlotState): void {
    const snapshot = this.world.checker.durable[node]!.snapshot()
    const say = (what: string) =>
      this.world.checker.fail('pairing', `its superblock names a snapshot of op ${checkpointOp}, and ${what}`, node)
    if (snapshot === undefined) say('none is durable')
    else if (snapshot === 'corrupt') say('what is durable does not verify')
    else if (snapshot.op < checkpointOp) say(`the durable one is of op ${snapshot.op}`)
    else if (snapshot.op === checkpointOp && snapshot.checksum !== checkpointChecksum) say('the durable one is another')
  }

  private log(node: number, checkpointOp: bigint): void {
    const log = this.world.checker.durable[node]!.log()
    let lowest: bigint | undefined
    for (const op of log.keys()) if (lowest === undefined || op < lowest) lowest = op
    if (lowest === undefined) return
    let covered = checkpointOp
    for (const op of this.fetched[node]!) if (op > covered) covered = op
    if (lowest > covered + 1n)
      this.world.checker.fail(
        'log-cover',
        `its log begins at metadata op ${lowest}, and its superblock names a snapshot of op ${checkpointOp}`,
        node,
      )
    else if (checkpointOp > 0n && !this.fetched[node]!.has(checkpointOp) && !log.has(checkpointOp))
      this.world.checker.fail('log-cover', `its log has lost the entry at its checkpoint, op ${checkpointOp}`, node)
  }
}
