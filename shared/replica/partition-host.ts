/**
 * One partition on this node: its consensus group, its segment chain, its superblock (spec consensus.md §3, partition.md §3,
 * metadata-storage.md §1.8). Minting, journalling and acknowledging are one synchronous step; the disk follows behind.
 */
import { EngineError } from '../bytes/errors.ts'
import type { ReplicaId } from '../bytes/units.ts'
import { ClientId, Offset } from '../bytes/units.ts'
import type { ConsensusGroup, GroupAction } from '../consensus/contract.ts'
import type { TopicSettings } from '../metadata/topic-options.ts'
import {
  type Applied,
  isEager,
  type Partition,
  type PartitionHost,
  type PartitionSettings,
} from '../partition/contract.ts'
import { encodeBody } from '../protocol/codec.ts'
import type { PartitionKey } from '../protocol/groups.ts'
import { sendReply } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import { committedReply, VOID_RESULT } from '../protocol/replies.ts'
import { ExitStatus } from '../storage/ports.ts'
import type { Core } from './core.ts'
import { isTransferFrame } from './frame-group.ts'
import { type GroupHooks, GroupHost } from './group-host.ts'
import type { GroupSuperblock } from './group-superblock.ts'
import { PartitionOffers, PartitionTransfer } from './partition-transfer.ts'
import type { Outcome } from './pending.ts'
import type { LinkMark } from './ports.ts'
import { type RoutedFields, routedRequest } from './routed-request.ts'
import { transferFrame } from './transfer-frames.ts'
import { TransferOffers } from './transfer-offers.ts'
import { TransferSession } from './transfer-session.ts'

export const partitionDirectory = ({ stream, topic, partition }: PartitionKey): string =>
  `streams/${stream}/topics/${topic}/partitions/${partition}`

export const partitionSettings = (
  topic: TopicSettings,
  segmentBytesMax = Number.POSITIVE_INFINITY,
): PartitionSettings => ({
  segmentSizeBytes: Math.min(Number(topic.segmentSize), segmentBytesMax),
  enforceFsync: topic.enforceFsync,
  messagesRequiredToSave: topic.messagesRequiredToSave,
  sizeRequiredToSaveBytes: Number(topic.sizeOfMessagesRequiredToSave),
  preallocateSegments: topic.preallocateSegments,
})

/** The ports of one partition, cut from those of the node. */
export function partitionPorts(core: Core, group: string): PartitionHost {
  return {
    disk: core.ports.disk,
    hash: core.ports.hash,
    scheduler: core.ports.scheduler,
    ...(core.ports.pacing && { pacing: core.ports.pacing }),
    post: completion => core.pump.post(completion),
    persistFailed: (error: EngineError) => {
      core.stopping.failed(group, error)
      return core.ports.halt.fatal(ExitStatus.FailedPersist, error)
    },
    note: (kind, cls, data) => core.events.partition(group, kind, cls, data),
  }
}

type Append = Extract<GroupAction, { kind: 'append' }>

export class ReplicatedPartition {
  readonly key: PartitionKey
  readonly createdRevision: bigint
  readonly partition: Partition
  readonly superblock: GroupSuperblock
  readonly host: GroupHost
  readonly transfer: TransferSession
  readonly offers: TransferOffers
  private readonly transferPlane: PartitionTransfer
  private readonly core: Core
  private readonly eager: boolean
  /** Appends that wait for their offsets to be reserved, and all that came behind them, in order. */
  private readonly waiting: Append[] = []
  private closed = false
  /** The group goes on without what is applied here: the partition must be opened anew, from its disk. */
  startsOver = false

  constructor(
    core: Core,
    group: ConsensusGroup,
    partition: Partition,
    superblock: GroupSuperblock,
    createdRevision: bigint,
  ) {
    this.core = core
    this.key = partition.options.key
    this.createdRevision = createdRevision
    this.partition = partition
    this.superblock = superblock
    this.eager = isEager(partition.options.settings)
    this.host = new GroupHost(group, this.hooks(), core.ports.replicaLinks, core.events, () => core.tick)
    partition.journal.purgePending = () => this.committedPurge() > partition.purgeGeneration
    const { transfers } = core
    this.offers = new TransferOffers(core, group, new PartitionOffers(core, partition, transfers))
    this.transferPlane = new PartitionTransfer(core, this.host, partition, transfers, () => this.committedPurge())
    this.transfer = new TransferSession(core, this.host, this.transferPlane)
  }

  get group(): ConsensusGroup {
    return this.host.group
  }

  frame(from: ReplicaId, bytes: Uint8Array, mark: LinkMark): void {
    if (this.closed) return
    if (isTransferFrame(bytes)) {
      transferFrame(this.core, this.group, this, from, bytes)
      return
    }
    this.host.step({ kind: 'frame', from, bytes, nowMicros: this.core.ports.clock.nowMicros() }, mark)
  }

  tick(): void {
    if (this.closed) return
    this.host.tick(this.core.ports.clock)
    // Without peers nothing is ever transferred.
    if (this.core.identity.replicaCount === 1) return
    this.transfer.tick()
    this.transferPlane.tick()
    this.offers.tick()
  }

  submit(
    fields: Omit<RoutedFields, 'cluster' | 'replica' | 'group' | 'client'> & { readonly transport: bigint },
    body: Uint8Array,
    settle: (outcome: Outcome) => void,
  ): void {
    const { core } = this
    const { transport, ...rest } = fields
    // What is minted now would be purged as soon as it is confirmed.
    if (!this.partition.journal.mayAcknowledge()) {
      settle({ kind: 'refused', reason: 'a purge is being applied' })
      return
    }
    // Refused before the op is sequenced: a prepare without an entry behind it would hold up the whole pipeline (§7.5).
    if (fields.operation === Operation.SendMessages && !this.partition.mayReserve()) {
      settle({ kind: 'refused', reason: 'the offset reservation cannot be written' })
      return
    }
    const token = core.pending.open(core.tick, settle)
    const header = routedRequest(
      {
        ...rest,
        client: ClientId(transport),
        cluster: core.identity.cluster,
        replica: core.self,
        group: this.group.config.group,
      },
      body,
    )
    this.host.step({ kind: 'request', request: { header, body, token }, nowMicros: core.ports.clock.nowMicros() })
  }

  /** Writes what is committed and lets go of the files. The group takes no further event. */
  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    this.offers.close()
    const accounted = this.isAccounted()
    const { collapseNeedsFlush } = this.core.config.rules
    if (!collapseNeedsFlush) await this.partition.collapse(accounted)
    await this.partition.flush()
    if (collapseNeedsFlush && !(await this.partition.collapse(accounted)))
      this.core.events.group(this.group, 'reservation_kept', 'fact', { reason: 'the superblock could not be written' })
    await this.partition.close()
  }

  /** Lets go of the files without writing anything: the partition is being deleted. */
  async abandon(): Promise<void> {
    if (this.closed) return
    this.closed = true
    this.offers.close()
    this.transfer.cancel('the partition was deleted')
    await this.partition.close()
  }

  /** Lets go of the files with what was committed in them, for those who look for it; the reservation stays as it is. */
  async leave(): Promise<void> {
    if (this.closed) return
    this.closed = true
    this.offers.close()
    await this.partition.flush()
    await this.partition.close()
  }

  /**
   * Whether this replica holds everything that it may have confirmed, so that its reservation may come down. Others lead
   * without it otherwise, and what it reserved tells them where not to mint.
   */
  private isAccounted(): boolean {
    if (this.core.identity.replicaCount === 1) return true
    const { status, op, commitMin, commitMax, repair, transferStage } = this.group.snapshot()
    return (
      status === 'normal' && op === commitMin && op === commitMax && repair === undefined && transferStage === 'idle'
    )
  }

  /** The purge that the metadata on this node wants; 0 once the partition is deleted. */
  committedPurge(): bigint {
    const committed = this.core.machine.state.partition(this.key)
    return committed?.createdRevision === this.createdRevision ? committed.purgeGeneration : 0n
  }

  private hooks(): GroupHooks {
    const { core } = this
    return {
      append: action => this.append(action),
      apply: action => this.apply(action),
      truncate: fromOp => {
        const kept = this.waiting.filter(({ header }) => header.op < fromOp)
        this.waiting.splice(0, this.waiting.length, ...kept)
        this.partition.truncateFrom(fromOp)
      },
      persistSuperblock: (view, logView, commitMax) => {
        core.pump.settle(
          this.superblock.write(view, logView, commitMax, () => this.partition.heldEnd()),
          () => this.host.step({ kind: 'superblockWritten', view, logView }),
          error => {
            const message = error instanceof Error ? error.message : String(error)
            core.events.group(this.group, 'superblock_failed', 'fact', { error: message })
            this.host.step({ kind: 'superblockFailed' })
          },
        )
      },
      refuse: (token, reason) => core.pending.settle(token, { kind: 'refused', reason }),
      cancel: tokens => {
        for (const token of tokens)
          core.pending.settle(token, { kind: 'unknown', reason: 'the group changed its view' })
      },
      commitFloor: floor => this.partition.setCommitFloor(floor),
      startOver: () => {
        this.startsOver = true
        this.transfer.cancel('the group began a new log')
      },
      jump: base => this.partition.jumpTo(Offset(base)),
      needTransfer: peer => this.needTransfer(peer),
      unreconcilable: (op, message) =>
        core.events.group(this.group, 'unreconcilable', 'fact', { message }, { op: op.toString() }),
    }
  }

  private append(action: Append): void {
    if (this.waiting.length > 0) {
      this.waiting.push(action)
      return
    }
    const { role, header, frame } = action
    const result = this.partition.append(role, header, frame)
    if (!result.ok && result.pending) {
      this.waiting.push(action)
      this.partition.whenReserved(() => this.appendWaiting())
      return
    }
    if (result.ok) {
      this.core.events.count(this.group, 'prepare_journaled')
      this.host.step({ kind: 'appended', header: result.header })
      return
    }
    this.core.events.group(
      this.group,
      'append_refused',
      'fact',
      { code: result.error.code, message: result.error.message, role },
      { op: header.op.toString() },
    )
    this.host.step({ kind: 'appendFailed', op: header.op, checksum: header.checksum })
  }

  /** What the log of the group does not hold leaves the segments first: often nothing else was wrong. */
  private needTransfer(peer: ReplicaId): void {
    const { core } = this
    // No view may begin with a disk that is being cut.
    this.host.step({ kind: 'transferStage', stage: 'installing' })
    core.pump.settle(
      this.partition.setTailAside(),
      moved => {
        if (this.closed) return
        if (moved) {
          this.host.step({ kind: 'transferAbandoned' })
          return
        }
        if (!this.transfer.installs) this.host.step({ kind: 'transferStage', stage: 'awaiting_target' })
        this.transfer.need(peer)
      },
      cause => {
        const message = cause instanceof Error ? cause.message : String(cause)
        const error = new EngineError(
          'PersistFailed',
          `a divergent tail could not be set aside: ${message}`,
          {},
          { cause },
        )
        core.ports.halt.fatal(ExitStatus.FailedPersist, error)
      },
    )
  }

  private appendWaiting(): void {
    if (this.closed) return
    for (const action of this.waiting.splice(0)) this.append(action)
  }

  private apply({ op, header, token }: Extract<GroupAction, { kind: 'apply' }>): void {
    const applied = this.partition.apply(header)
    this.core.events.count(this.group, 'op_applied')
    this.core.events.count(this.group, 'message_applied', applied.messages)
    if (token === undefined) return
    const reply = committedReply({ ...header, cluster: this.core.identity.cluster }, this.replyBody(applied))
    const answer = () => this.core.pending.settle(token, { kind: 'applied', header, reply })
    // An offset is in its file before it is confirmed, whatever the topic says of its messages (§9.3).
    const waits = this.eager && this.core.config.rules.eagerPersistsFirst
    if (waits || applied.operation !== Operation.SendMessages) this.partition.whenPersisted(op, answer)
    else answer()
  }

  private replyBody(applied: Applied): Uint8Array {
    if (applied.operation !== Operation.SendMessages) return VOID_RESULT
    const { stream, topic, partition } = this.key
    const { baseOffset } = applied
    return encodeBody(
      sendReply,
      baseOffset === undefined ? [] : [{ streamId: stream, topicId: topic, partitionId: partition, baseOffset }],
    )
  }
}

/** A refused partition: its files stay as they are, and everything addressed to it is answered 58 (§6.4). */
export interface Tombstone {
  readonly key: PartitionKey
  readonly createdRevision: bigint
  readonly code: string
  readonly message: string
  readonly path: string | undefined
  /** What a person should do about it. */
  readonly advice: string | undefined
}
