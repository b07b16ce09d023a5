/**
 * Retention (spec partition.md §4.2): looks through the partitions of this node now and then and removes what their topics no
 * longer keep. Local to a node and never replicated: replicas remove alike because their segments are alike, at moments of
 * their own. Driven by the ticks of the replica.
 */
import { type Offset, TICK_MS, U64_MAX } from '../bytes/units.ts'
import type { TopicSettings } from '../metadata/topic-options.ts'
import type { RetentionRules } from '../partition/removal.ts'
import type { Core } from './core.ts'
import type { ReplicatedPartition } from './partition-host.ts'
import type { Partitions } from './partitions.ts'

const INTERVAL_MS = 60_000
/** A pass that left something over goes on after this many ticks. */
const AGAIN_TICKS = 10

export class Cleaner {
  private readonly core: Core
  private readonly partitions: Partitions
  private readonly intervalTicks: number
  private next: number
  private readonly busy = new Set<ReplicatedPartition>()
  /** Partitions whose last pass removed as much as one pass may. */
  private again = new Set<ReplicatedPartition>()
  /** Partitions that a consumer holds back; said once each time it begins. */
  private readonly held = new WeakSet<ReplicatedPartition>()

  constructor(core: Core, partitions: Partitions) {
    this.core = core
    this.partitions = partitions
    this.intervalTicks = Math.floor((core.config.cleanerIntervalMs ?? INTERVAL_MS) / TICK_MS)
    this.next = this.intervalTicks
  }

  tick(): void {
    const { tick } = this.core
    if (this.intervalTicks === 0) return
    if (tick >= this.next) {
      this.next = tick + this.intervalTicks
      for (const partition of this.partitions.live.values()) this.look(partition)
    } else if (this.again.size > 0 && tick % AGAIN_TICKS === 0) {
      const some = this.again
      this.again = new Set()
      for (const partition of some) this.look(partition)
    }
  }

  private look(partition: ReplicatedPartition): void {
    if (this.busy.has(partition) || this.partitions.get(partition.group.config.group) !== partition) return
    const upTo = this.unwanted(partition)
    if (upTo === undefined) return
    this.busy.add(partition)
    this.core.pump.settle(
      partition.partition.removeSegments(upTo),
      ({ removed, budgetSpent, heldBy }) => {
        this.busy.delete(partition)
        if (budgetSpent) this.again.add(partition)
        if (heldBy === undefined) this.held.delete(partition)
        else if (!this.held.has(partition)) {
          this.held.add(partition)
          this.core.events.group(partition.group, 'retention_held', 'fact', { consumer: heldBy, upTo: upTo.toString() })
        }
        if (removed > 0)
          this.core.events.group(partition.group, 'retention_removed', 'fact', {
            segments: removed,
            upTo: upTo.toString(),
          })
      },
      cause => {
        this.busy.delete(partition)
        const message = cause instanceof Error ? cause.message : String(cause)
        this.core.events.group(partition.group, 'retention_failed', 'fact', { message })
      },
    )
  }

  private unwanted(partition: ReplicatedPartition): Offset | undefined {
    const rules = retentionOf(this.core, partition)
    return rules && partition.partition.retainedUpTo(rules)
  }
}

/** What the topic of a partition says of it now; undefined when the metadata on this node does not have this incarnation. */
export function retentionOf(
  { machine, ports, config }: Core,
  { key, createdRevision }: ReplicatedPartition,
): RetentionRules | undefined {
  const topic = machine.state.streams.get(key.stream)?.topics.get(key.topic)
  if (topic === undefined || machine.state.partition(key)?.createdRevision !== createdRevision) return undefined
  return retentionRules(topic.settings, topic.partitions.length, ports.clock.nowMicros(), config.messageBytesMax)
}

/** The policy of a topic for one of its `partitions`; the largest number stands for "never" and "unlimited". */
export function retentionRules(
  { messageExpiry, maxTopicSize, segmentSize }: TopicSettings,
  partitions: number,
  nowMicros: bigint,
  messageBytesMax: number,
): RetentionRules {
  const share = maxTopicSize / BigInt(Math.max(1, partitions))
  // A cap below one sealed segment would remove each as soon as it is sealed.
  const least = segmentSize + BigInt(messageBytesMax)
  return {
    nowMicros,
    ...(messageExpiry < U64_MAX && messageExpiry > 0n && { expiryMicros: messageExpiry }),
    ...(maxTopicSize < U64_MAX && maxTopicSize > 0n && { sealedBytesMax: share > least ? share : least }),
  }
}
