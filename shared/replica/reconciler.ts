/**
 * Makes the local partitions what the committed metadata says (spec metadata-storage.md §6.5): which there are, how often
 * they were purged, and how far their old segments were deleted. Level-triggered, so a missed wake-up costs time and nothing
 * else. Builds, removals, purges and trims run beside the pump; what they lead to goes through it.
 */
import { EngineError } from '../bytes/errors.ts'
import { GroupId, Offset } from '../bytes/units.ts'
import type { CommittedPartition } from '../metadata/state.ts'
import type { Core } from './core.ts'
import { partitionDirectory, type ReplicatedPartition, type Tombstone } from './partition-host.ts'
import { MetadataBehind, openLocalPartition, PartitionUnreadable, removePartitionDirectory } from './partition-open.ts'
import type { Partitions } from './partitions.ts'

/** Ticks between two passes that nothing woke: 1 s. */
const PERIOD_TICKS = 100
/** Retries after a failure: 1 s, 2 s, … at most 60 s. */
const BACKOFF_TICKS = 100
const BACKOFF_TICKS_MAX = 6000

interface Failure {
  readonly count: number
  readonly retryAt: number
}

export class Reconciler {
  private readonly core: Core
  private readonly partitions: Partitions
  /** Groups with a build or a removal under way. */
  private readonly busy = new Set<GroupId>()
  private readonly failures = new Map<GroupId, Failure>()
  /** Who holds back which deletion, as it was last said. */
  private readonly held = new WeakMap<ReplicatedPartition, string>()
  private nextPass = 0
  private woken = false
  private stopped = false

  constructor(core: Core, partitions: Partitions) {
    this.core = core
    this.partitions = partitions
  }

  /** The topology may have changed. Runs behind the task that is running, so once for a burst of ops costs little. */
  wake(): void {
    if (this.woken) return
    this.woken = true
    this.core.pump.post(() => {
      this.woken = false
      this.pass()
    })
  }

  tick(): void {
    if (this.core.tick >= this.nextPass) this.pass()
  }

  /** No further build begins; those under way end without an effect. */
  stop(): void {
    this.stopped = true
  }

  private pass(): void {
    if (this.stopped) return
    this.nextPass = this.core.tick + PERIOD_TICKS
    const committed = this.core.machine.state.partitions()
    for (const [group, partition] of this.partitions.live) {
      const wanted = committed.get(group)
      // Its directory must not go from under a purge; the end of that brings the next pass.
      if (this.busy.has(group)) continue
      if (wanted?.createdRevision !== partition.createdRevision || partition.startsOver) this.remove(group, partition)
      else if (this.core.tick >= (this.failures.get(group)?.retryAt ?? 0)) {
        this.keepUp(group, partition, wanted)
      }
    }
    for (const [group, tombstone] of this.partitions.tombstones) {
      if (committed.get(group)?.createdRevision !== tombstone.createdRevision) this.partitions.tombstones.delete(group)
    }
    for (const [id, wanted] of committed) {
      const group = GroupId(id)
      const retryAt = this.failures.get(group)?.retryAt ?? 0
      const there = this.partitions.live.has(group) || this.partitions.tombstones.has(group) || this.busy.has(group)
      if (!there && this.core.tick >= retryAt) this.build(group, wanted)
    }
  }

  /** A purge and a delete watermark that the partition has not carried out yet. */
  private keepUp(group: GroupId, partition: ReplicatedPartition, wanted: CommittedPartition): void {
    const { partition: log } = partition
    const { purgeGeneration, deletedUpToOffset } = wanted
    // A partition may be ahead: this boot does not yet know the purge as committed that its last life carried out.
    if (log.purgeGeneration < purgeGeneration) {
      // False: the reset could not be recorded, and nothing was destroyed.
      const refused = new EngineError('PurgeDeferred', 'the purge could not be recorded', {
        path: log.options.directory,
      })
      this.partitions.purging.add(group)
      this.work(group, log.purge(purgeGeneration), done => (done ? 'go_on' : refused))
      return
    }
    if (deletedUpToOffset === 0n) return
    const oldest = log.info().segments[0]
    const behind = oldest?.sealed && oldest.endOffset <= deletedUpToOffset
    // What a consumer's offset holds back is asked for again a period later, not at once.
    if (!behind) return
    this.work(group, log.removeSegments(Offset(deletedUpToOffset)), ({ removed, heldBy }) => {
      this.noteHeld(partition, heldBy, deletedUpToOffset)
      return removed > 0 ? 'go_on' : 'wait'
    })
  }

  /** Once for each consumer and watermark: the wait may last for days. */
  private noteHeld(partition: ReplicatedPartition, consumer: string | undefined, upTo: bigint): void {
    const what = consumer && `${consumer} ${upTo}`
    if (this.held.get(partition) === what) return
    if (consumer === undefined) {
      this.held.delete(partition)
      return
    }
    this.held.set(partition, `${consumer} ${upTo}`)
    this.core.events.group(partition.group, 'retention_held', 'fact', { consumer, upTo: upTo.toString() })
  }

  private work<T>(group: GroupId, work: Promise<T>, judge: (result: T) => 'go_on' | 'wait' | EngineError): void {
    this.busy.add(group)
    const failed = (cause: unknown) => {
      this.partitions.purging.delete(group)
      this.busy.delete(group)
      this.backOff(group, cause)
    }
    this.core.pump.settle(
      work,
      result => {
        const verdict = judge(result)
        if (verdict instanceof EngineError) return failed(verdict)
        this.partitions.purging.delete(group)
        this.busy.delete(group)
        this.failures.delete(group)
        if (verdict === 'go_on') this.pass()
      },
      failed,
    )
  }

  private build(group: GroupId, wanted: CommittedPartition): void {
    this.busy.add(group)
    this.core.pump.settle(
      openLocalPartition(this.core, wanted, 'build'),
      built => {
        this.busy.delete(group)
        this.failures.delete(group)
        this.adopt(group, built)
      },
      cause => {
        this.busy.delete(group)
        if (cause instanceof MetadataBehind || cause instanceof PartitionUnreadable) this.backOff(group, cause)
        else this.refuse(group, wanted, cause)
      },
    )
  }

  /** A finished build counts only while the metadata still wants exactly this incarnation. */
  private adopt(group: GroupId, built: ReplicatedPartition): void {
    const wanted = this.core.machine.state.partition(built.key)
    if (this.stopped || wanted?.createdRevision !== built.createdRevision) {
      this.remove(group, built)
      return
    }
    this.partitions.live.set(group, built)
    this.core.events.group(built.group, 'partition_materialised', 'fact', {
      ...built.key,
      createdRevision: built.createdRevision.toString(),
    })
    this.partitions.parking.deliver(group)
  }

  private refuse(group: GroupId, wanted: CommittedPartition, cause: unknown): void {
    const tombstone = tombstoneOf(wanted, cause)
    this.partitions.tombstones.set(group, tombstone)
    this.partitions.parking.discard(group, tombstone.message)
    this.core.events.partition(group.toString(), 'partition_refused', 'fact', {
      code: tombstone.code,
      message: tombstone.message,
      path: tombstone.path ?? '',
    })
  }

  private remove(group: GroupId, partition: ReplicatedPartition): void {
    if (this.partitions.live.get(group) === partition) this.partitions.live.delete(group)
    // A stop must not delete what it merely came too late to adopt, and what starts over is built again by the next pass.
    const wanted = this.core.machine.state.partition(partition.key)
    const deleted = wanted?.createdRevision !== partition.createdRevision
    if (deleted) this.partitions.parking.discard(group, 'the partition was deleted')
    this.busy.add(group)
    const work = async () => {
      await (deleted ? partition.abandon() : partition.leave())
      if (deleted) await removePartitionDirectory(this.core.ports.disk, partitionDirectory(partition.key))
    }
    this.core.pump.settle(
      work(),
      () => {
        this.busy.delete(group)
        this.failures.delete(group)
        if (deleted) this.core.events.partition(group.toString(), 'partition_removed', 'fact', { ...partition.key })
        this.pass()
      },
      cause => {
        this.busy.delete(group)
        this.backOff(group, cause)
      },
    )
  }

  private backOff(group: GroupId, cause: unknown): void {
    // What waits for the metadata waits for no disk: it is looked at again each second.
    const count = cause instanceof MetadataBehind ? 1 : (this.failures.get(group)?.count ?? 0) + 1
    const wait = Math.min(BACKOFF_TICKS * 2 ** Math.min(count - 1, 10), BACKOFF_TICKS_MAX)
    this.failures.set(group, { count, retryAt: this.core.tick + wait })
    const message = cause instanceof Error ? cause.message : String(cause)
    this.core.events.partition(group.toString(), 'partition_build_deferred', 'fact', { message, attempts: count })
  }
}

export function tombstoneOf(wanted: CommittedPartition, cause: unknown): Tombstone {
  const error = cause instanceof EngineError ? cause : undefined
  return {
    key: wanted.key,
    createdRevision: wanted.createdRevision,
    code: error?.code ?? 'Unknown',
    message: cause instanceof Error ? cause.message : String(cause),
    path: error?.context.path ?? partitionDirectory(wanted.key),
    advice: error?.context.advice,
  }
}
