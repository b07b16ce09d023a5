/**
 * The checkpoint of the metadata plane (spec metadata-storage.md §3.4), in three phases that are never reordered: snapshot
 * durable, superblock paired with it, log drained. A crash between any two of them boots: before the pairing the snapshot
 * is a newer one that vouches for itself, after it the prefix of the log is merely superfluous.
 *
 * It runs beside the pump. The state is encoded when it starts, synchronously, as of the last applied op (never the commit
 * point, which may be ahead of what is applied); what follows is I/O, and appends go on meanwhile. The entry at the
 * checkpoint's op stays in the log: a DoViewChange must carry its header.
 *
 * One checkpoint or install at a time. A failure leaves the log undrained and is tried again, with a newer op.
 */
import { EngineError } from '../bytes/errors.ts'
import { Micros, Offset, Op } from '../bytes/units.ts'
import type { ConsensusGroup } from '../consensus/contract.ts'
import { snapshotOf } from '../metadata/snapshot.ts'
import type { Rules } from '../protocol/rules.ts'
import { ExitStatus } from '../storage/ports.ts'
import { encodeSnapshot } from '../storage/snapshot-encode.ts'
import { type Pairing, writeSnapshot } from '../storage/snapshot-store.ts'
import type { Wal } from '../storage/wal.ts'
import type { Core } from './core.ts'
import type { GroupSuperblock } from './group-superblock.ts'
import { METADATA_DIRECTORY } from './metadata-log.ts'

/** Free slots at which a checkpoint starts, or the depth of the pipeline if that is more (§3.4). */
const MARGIN_SLOTS = 64
/** Wait after a failure that no append has tried again: 1 s. */
const RETRY_TICKS = 100

export type CheckpointPhase = 'idle' | 'snapshot' | 'pairing' | 'drain' | 'install'

export interface CheckpointFiles {
  readonly wal: Wal
  readonly superblock: GroupSuperblock
}

export class Checkpoint {
  phase: CheckpointPhase = 'idle'
  /** Op of the checkpoint that is under way, or of the last one in this life. */
  op = Op(0n)
  /** Checkpoints that were finished in this life, and attempts that failed. */
  finished = 0
  failed = 0
  private retryAt = Number.POSITIVE_INFINITY
  /** What the last drain of this life took off the log. */
  freed: { readonly fromOp: Op; readonly toOp: Op; readonly entries: number; readonly bytes: number } | undefined
  /** What the last drain took off the log; while it runs, the size of the log before it. */
  private drainedBytes = 0
  private readonly core: Core
  private readonly group: ConsensusGroup
  private readonly files: CheckpointFiles
  private readonly waiting: (() => void)[] = []

  constructor(core: Core, group: ConsensusGroup, files: CheckpointFiles) {
    this.core = core
    this.group = group
    this.files = files
  }

  get marginSlots(): number {
    return Math.max(MARGIN_SLOTS, this.group.config.prepareDepth)
  }

  /**
   * Starts a checkpoint when free slots are scarce. Asked before each append, with the op up to which the state machine is:
   * an append never waits for it.
   */
  consider(applied: Op): void {
    const { wal } = this.files
    if (this.phase !== 'idle' || wal.remainingCapacity() > this.marginSlots) return
    // Nothing would be freed; or the client table is ahead of the state, and a snapshot of both would be of no op.
    if (applied <= wal.floorOp() + 1n || applied < this.core.machine.tableFrontier) return
    this.start(applied)
  }

  /** A log that is full takes no append any more, so nothing else would ask again after a failure. */
  tick(applied: Op): void {
    if (this.core.tick < this.retryAt) return
    this.retryAt = Number.POSITIVE_INFINITY
    this.consider(applied)
  }

  /** Runs `install` alone: after a checkpoint that is under way, and with no other one until `release`. */
  exclusive(install: () => void): void {
    if (this.phase !== 'idle') {
      this.waiting.push(() => this.exclusive(install))
      return
    }
    this.phase = 'install'
    install()
  }

  release(): void {
    this.phase = 'idle'
    this.waiting.shift()?.()
  }

  private start(op: Op): void {
    const { machine, ports, config } = this.core
    this.op = op
    const createdAt = this.files.wal.header(op)?.timestamp ?? Micros(0n)
    const payload = encodeSnapshot(snapshotOf(machine.state, machine.clients, op, createdAt, config.rules))
    this.say('checkpoint_started', { bytes: payload.length, free: this.files.wal.remainingCapacity() })
    const paired = { op, checksum: ports.hash.xxh3(payload) }
    const work = {
      snapshot: (then: () => void) => this.store(payload, then),
      pairing: (then: () => void) => this.pair(paired, then),
      drain: (then: () => void) => this.drain(then),
    }
    const [first, second, third] = phaseOrder(config.rules)
    work[first](() => work[second](() => work[third](() => this.finish())))
  }

  private store(payload: Uint8Array, then: () => void): void {
    const { disk, hash } = this.core.ports
    this.phase = 'snapshot'
    this.core.pump.settle(
      writeSnapshot(disk, METADATA_DIRECTORY, payload, hash),
      checksum => {
        this.say('checkpoint_snapshot_durable', { checksum: checksum.toString(16) })
        then()
      },
      cause => this.fail(cause),
    )
  }

  private pair(paired: Pairing, then: () => void): void {
    const { superblock } = this.files
    this.phase = 'pairing'
    superblock.pairing = paired
    this.core.pump.settle(
      // Whatever the group is in when the turn comes: a pair that is captured earlier could lower a newer one.
      superblock.writeWith(() => ({ ...pairOf(this.group), frontier: Offset(0n) })),
      () => {
        this.say('checkpoint_paired', {})
        then()
      },
      cause => this.fail(cause),
    )
  }

  private drain(then: () => void): void {
    const { wal } = this.files
    this.phase = 'drain'
    this.drainedBytes = wal.sizeBytes
    const before = wal.entries().map(({ header }) => header.op)
    // A DoViewChange must carry the header at the commit point.
    const upTo = this.core.config.rules.drainKeepsCommitPoint ? this.op - 1n : this.op
    wal.drain(Op(upTo), error => {
      if (error) {
        // Past its rename a drain that fails leaves a log that nobody may use any more.
        if (!wal.mayAcknowledge()) this.core.ports.halt.fatal(ExitStatus.FailedPersist, error)
        this.fail(error)
        return
      }
      this.drainedBytes = Math.max(0, this.drainedBytes - wal.sizeBytes)
      const gone = before.filter(op => op <= upTo)
      if (gone.length > 0)
        this.freed = { fromOp: gone[0]!, toOp: gone.at(-1)!, entries: gone.length, bytes: this.drainedBytes }
      then()
    })
  }

  private finish(): void {
    this.finished++
    this.say('checkpoint_finished', { drainedBytes: this.drainedBytes, walBytes: this.files.wal.sizeBytes })
    this.release()
  }

  private fail(cause: unknown): void {
    this.failed++
    const error = cause instanceof EngineError ? cause : undefined
    this.say('checkpoint_failed', {
      phase: this.phase,
      code: error?.code ?? 'Unknown',
      message: cause instanceof Error ? cause.message : String(cause),
    })
    this.retryAt = this.core.tick + RETRY_TICKS
    this.release()
  }

  private say(kind: string, data: Record<string, string | number>): void {
    this.core.events.group(this.group, kind, 'fact', data, { op: this.op.toString() })
  }
}

/** Snapshot, pairing, drain; each of the two rules that is off swaps a step with the one before it. */
function phaseOrder({ pairAfterSnapshotSync, drainAfterPairing }: Rules): readonly [Step, Step, Step] {
  if (!pairAfterSnapshotSync) return ['pairing', 'snapshot', 'drain']
  return drainAfterPairing ? ['snapshot', 'pairing', 'drain'] : ['snapshot', 'drain', 'pairing']
}

type Step = 'snapshot' | 'pairing' | 'drain'

/** View, log view and commit point of a group as they are now, for a write of its superblock. */
export function pairOf(group: ConsensusGroup) {
  const { view, logView, commitMax } = group.snapshot()
  return { view, logView, commitMax }
}
