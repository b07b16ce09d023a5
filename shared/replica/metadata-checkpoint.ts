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
import { type Checksum, Micros, Offset, Op } from '../bytes/units.ts'
import type { ConsensusGroup } from '../consensus/contract.ts'
import { snapshotOf } from '../metadata/snapshot.ts'
import { ExitStatus } from '../storage/ports.ts'
import { encodeSnapshot } from '../storage/snapshot-encode.ts'
import { writeSnapshot } from '../storage/snapshot-store.ts'
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
    const { core } = this
    this.phase = 'snapshot'
    this.op = op
    const { machine } = core
    const createdAt = this.files.wal.header(op)?.timestamp ?? Micros(0n)
    const payload = encodeSnapshot(snapshotOf(machine.state, machine.clients, op, createdAt))
    this.say('checkpoint_started', { bytes: payload.length, free: this.files.wal.remainingCapacity() })
    core.pump.settle(
      writeSnapshot(core.ports.disk, METADATA_DIRECTORY, payload, core.ports.hash),
      checksum => this.pair(checksum),
      cause => this.fail(cause),
    )
  }

  private pair(checksum: Checksum): void {
    const { superblock } = this.files
    superblock.pairing = { op: this.op, checksum }
    this.phase = 'pairing'
    this.say('checkpoint_snapshot_durable', { checksum: checksum.toString(16) })
    this.core.pump.settle(
      // Whatever the group is in when the turn comes: a pair that is captured earlier could lower a newer one.
      superblock.writeWith(() => ({ ...pairOf(this.group), frontier: Offset(0n) })),
      () => this.drain(),
      cause => this.fail(cause),
    )
  }

  private drain(): void {
    const { wal } = this.files
    const before = wal.sizeBytes
    this.phase = 'drain'
    this.say('checkpoint_paired', {})
    wal.drain(Op(this.op - 1n), error => {
      if (error) {
        // Past its rename a drain that fails leaves a log that nobody may use any more.
        if (!wal.mayAcknowledge()) this.core.ports.halt.fatal(ExitStatus.FailedPersist, error)
        this.fail(error)
        return
      }
      this.finished++
      this.say('checkpoint_finished', { drainedBytes: Math.max(0, before - wal.sizeBytes), walBytes: wal.sizeBytes })
      this.release()
    })
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

/** View, log view and commit point of a group as they are now, for a write of its superblock. */
export function pairOf(group: ConsensusGroup) {
  const { view, logView, commitMax } = group.snapshot()
  return { view, logView, commitMax }
}
