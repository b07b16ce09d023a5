/**
 * The metadata group on this node: its write-ahead log, its superblock, and the state machines it feeds (spec consensus.md
 * §3, metadata-storage.md §2, §4).
 */
import { EngineError } from '../bytes/errors.ts'
import type { ClientId, Op, ReplicaId } from '../bytes/units.ts'
import { Offset } from '../bytes/units.ts'
import type { ConsensusGroup, GroupAction, RequestToken } from '../consensus/contract.ts'
import { replyLayout } from '../protocol/headers.ts'
import { isMetadataPlane, Operation, operationName } from '../protocol/operations.ts'
import { frameBody } from '../protocol/seal.ts'
import { ExitStatus } from '../storage/ports.ts'
import type { Wal, WalAppendResult } from '../storage/wal.ts'
import type { Core } from './core.ts'
import { isTransferFrame } from './frame-group.ts'
import { type GroupHooks, GroupHost } from './group-host.ts'
import type { GroupSuperblock } from './group-superblock.ts'
import { Checkpoint } from './metadata-checkpoint.ts'
import { installMetadata } from './metadata-install.ts'
import { MetadataOffers } from './metadata-offers.ts'
import { MetadataTransfer } from './metadata-transfer.ts'
import type { Outcome } from './pending.ts'
import type { LinkMark } from './ports.ts'
import { type RoutedFields, routedRequest } from './routed-request.ts'
import { transferFrame } from './transfer-frames.ts'
import { TransferOffers } from './transfer-offers.ts'
import { TransferSession } from './transfer-session.ts'

/** Default time for which the superblock may fail before the node gives up; retries settle at one a second (§1.7). */
const WEDGED_FATAL_MS = 120_000
const RETRY_MS = 1_000

/** A client that has not asked for anything for a minute retries nothing any more. */
const RETRY_WINDOW_MICROS = 60_000_000n

/** Failures of an append that are none of the disk: nothing was written, and the group undoes the op. */
const NOT_THE_DISK: ReadonlySet<string> = new Set(['WAL_TRUNCATED', 'WAL_SLOT_TAKEN', 'WAL_LENGTH'])

export class MetadataHost {
  readonly host: GroupHost
  readonly wal: Wal
  readonly superblock: GroupSuperblock
  readonly checkpoint: Checkpoint
  readonly transfer: TransferSession
  readonly offers: TransferOffers
  readonly topologyChanged: () => void
  /** The op that the state machine is at. The group counts an op as committed before it is applied here. */
  applied: Op
  private readonly core: Core
  /** Clients whose request is queued or in flight, by token: one at a time per client (§3.5). */
  private readonly inFlight = new Map<RequestToken, ClientId>()
  private superblockFailures = 0
  private highestConsensusGroup = 0n

  constructor(core: Core, group: ConsensusGroup, wal: Wal, superblock: GroupSuperblock, topologyChanged: () => void) {
    this.core = core
    this.wal = wal
    this.superblock = superblock
    this.topologyChanged = topologyChanged
    this.applied = group.commitMin
    // Without the rule a client with something in this pipeline is spared, and elsewhere it is not.
    if (!core.config.rules.evictByCommitOrder)
      core.machine.clients.spares = client => [...this.inFlight.values()].includes(client)
    this.checkpoint = new Checkpoint(core, group, { wal, superblock })
    this.host = new GroupHost(group, this.hooks(), core.ports.replicaLinks, core.events, () => core.tick)
    this.offers = new TransferOffers(core, group, new MetadataOffers(core, () => this.applied))
    const plane = new MetadataTransfer(core, this.host, (fetched, done) => installMetadata(core, this, fetched, done))
    this.transfer = new TransferSession(core, this.host, plane)
  }

  get group(): ConsensusGroup {
    return this.host.group
  }

  /** False when the log has no slot for everything that is queued or in flight and one more (§2.2): checkpoints free them. */
  hasRoom(): boolean {
    const { op, requestQueue } = this.group.snapshot()
    return Number(op - this.wal.floorOp()) + requestQueue < this.wal.slots
  }

  /**
   * A backup holds ops that it has not applied: what they made may have been acknowledged to somebody already, and is not
   * to be found here yet.
   */
  get isBehind(): boolean {
    return !this.group.isPrimary() && (this.wal.highestOp() > this.applied || this.group.commitMax > this.applied)
  }

  tick(): void {
    this.host.tick(this.core.ports.clock)
    this.checkpoint.tick(this.applied)
    this.transfer.tick()
    this.offers.tick()
  }

  /** A frame of the group from an authenticated peer: of a state transfer, or for the group itself. */
  frame(from: ReplicaId, bytes: Uint8Array, mark: LinkMark): void {
    if (!isTransferFrame(bytes)) {
      this.host.step({ kind: 'frame', from, bytes, nowMicros: this.core.ports.clock.nowMicros() }, mark)
      return
    }
    transferFrame(this.core, this.group, this, from, bytes)
  }

  /** An op of this client is queued, in flight, or in the log and not applied: it must not be proposed again. */
  isBusy(client: ClientId): boolean {
    for (const held of this.inFlight.values()) if (held === client) return true
    for (let op = this.group.commitMin + 1n; op <= this.wal.highestOp(); op++) {
      if (this.wal.header(op as Op)?.client === client) return true
    }
    return false
  }

  /**
   * Whether a client without an entry may register. Apply evicts whom it must, on every replica alike; but the primary
   * proposes no eviction of a client that may still retry a request, or its retry would be executed again (drills CT-07).
   */
  mayTakeNewClient(): boolean {
    const { clients } = this.core.machine
    if (clients.free > this.inFlight.size || !this.core.config.rules.evictByCommitOrder) return true
    const victim = clients.victim()
    // Others are in flight, and who of them evicts whom is not decided yet.
    if (victim === undefined || this.inFlight.size > 0) return false
    const newest = victim.replies[victim.replies.length - 1]!.frame
    const age = this.core.ports.clock.nowMicros() - replyLayout.decode(newest).timestamp
    return victim.watermark === 0n || age > RETRY_WINDOW_MICROS
  }

  /** One above the highest number seen in the log, committed or not (metadata-storage.md §4.3). */
  allocateConsensusGroup(): bigint {
    const committed = this.core.machine.state.highestConsensusGroup
    if (committed > this.highestConsensusGroup) this.highestConsensusGroup = committed
    this.highestConsensusGroup++
    return this.highestConsensusGroup
  }

  /** Hands a request that passed its checks to the group. `settle` runs once. */
  submit(
    fields: Omit<RoutedFields, 'cluster' | 'replica' | 'group'>,
    body: Uint8Array,
    settle: (outcome: Outcome) => void,
  ): void {
    const { core } = this
    const token = core.pending.open(core.tick, settle)
    this.inFlight.set(token, fields.client)
    const header = routedRequest(
      { ...fields, cluster: core.identity.cluster, replica: core.self, group: this.group.config.group },
      body,
    )
    const nowMicros = core.ports.clock.nowMicros()
    this.host.step({ kind: 'request', request: { header, body, token }, nowMicros })
  }

  private hooks(): GroupHooks {
    const { core } = this
    return {
      append: action => this.append(action),
      apply: action => this.apply(action),
      truncate: fromOp =>
        this.wal.truncateFrom(fromOp, error => {
          if (error) core.ports.halt.fatal(ExitStatus.FailedPersist, error)
        }),
      persistSuperblock: (view, logView, commitMax) => {
        core.pump.settle(
          this.superblock.write(view, logView, commitMax, () => Offset(0n)),
          () => {
            this.superblockFailures = 0
            this.host.step({ kind: 'superblockWritten', view, logView })
          },
          error => this.superblockFailed(error),
        )
      },
      refuse: (token, reason) => {
        this.inFlight.delete(token)
        core.pending.settle(token, { kind: 'refused', reason })
      },
      cancel: tokens => {
        for (const token of tokens) {
          this.inFlight.delete(token)
          core.pending.settle(token, { kind: 'unknown', reason: 'the group changed its view' })
        }
      },
      // Only partitions are covered by other means than their log.
      commitFloor: () => {},
      needTransfer: peer => this.transfer.need(peer),
      unreconcilable: (op, message) => {
        core.ports.halt.fatal(
          ExitStatus.UnreconcilableLogHead,
          new EngineError('UnreconcilableLogHead', message, {
            path: this.wal.path,
            op,
            advice: 'wipe this node and let it rejoin',
          }),
        )
      },
    }
  }

  private append(action: Extract<GroupAction, { kind: 'append' }>): void {
    this.checkpoint.consider(this.applied)
    const { core } = this
    const { op } = action.header
    const isLate = action.role === 'repair' && op <= this.group.commitMax
    if (isLate && op > core.unwitnessedTo) core.unwitnessedTo = op
    const { replyAfterSync, forwardAfterSync } = this.core.config.rules
    const synced = action.role === 'primary' ? replyAfterSync : forwardAfterSync
    const appended = (result: WalAppendResult) => {
      if (result.ok) {
        this.core.events.count(this.group, 'prepare_journaled')
        this.host.step({ kind: 'appended', header: result.header })
        return
      }
      // Memory and disk disagree now, and only a boot can tell which is right: one policy for every failed persist.
      if (!NOT_THE_DISK.has(result.error.code)) this.core.ports.halt.fatal(ExitStatus.FailedPersist, result.error)
      this.core.events.group(this.group, 'append_failed', 'fact', {
        code: result.error.code,
        message: result.error.message,
      })
      this.host.step({ kind: 'appendFailed', op: action.header.op, checksum: action.header.checksum })
    }
    this.wal.append(action.frame, appended, synced)
  }

  private apply({ op, header, token }: Extract<GroupAction, { kind: 'apply' }>): void {
    const frame = this.wal.frame(op)
    if (!frame || !isMetadataPlane(header.operation)) {
      throw new EngineError('StateMachine', `op ${op} is committed, but the log does not hold it`, {
        path: this.wal.path,
        op,
      })
    }
    const applied = this.core.machine.apply(header, frameBody(frame))
    this.applied = op
    const { core } = this
    if (op <= core.unwitnessedTo) core.unwitnessedRevision = core.machine.state.revision
    if (applied.topologyChanged) this.topologyChanged()
    this.core.events.count(this.group, 'op_applied')
    const name = operationName(header.operation) ?? String(header.operation)
    const session = header.operation === Operation.Register || header.operation === Operation.Logout
    this.core.events.group(
      this.group,
      session ? 'session_changed' : 'metadata_applied',
      'fact',
      {
        operation: name,
        client: header.client.toString(16),
        ...(applied.rejected !== undefined && { rejected: applied.rejected }),
      },
      { op: op.toString() },
    )
    if (token === undefined) return
    this.inFlight.delete(token)
    this.core.pending.settle(token, { kind: 'applied', header, reply: applied.reply })
  }

  private superblockFailed(cause: unknown): void {
    this.superblockFailures++
    const error = cause instanceof Error ? cause.message : String(cause)
    this.core.events.group(this.group, 'superblock_failed', 'fact', { error, failures: this.superblockFailures })
    const fatalMs = this.core.config.superblockWedgedFatalMs ?? WEDGED_FATAL_MS
    if (fatalMs > 0 && this.superblockFailures >= Math.max(1, Math.floor(fatalMs / RETRY_MS))) {
      this.core.ports.halt.fatal(
        ExitStatus.WedgedSuperblock,
        new EngineError(
          'WedgedSuperblock',
          `the superblock could not be written ${this.superblockFailures} times: ${error}`,
          { path: this.superblock.directory, advice: 'look at the disk of this node' },
          { cause },
        ),
      )
    }
    this.host.step({ kind: 'superblockFailed' })
  }
}
