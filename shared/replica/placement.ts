/** Which partition a write goes to (spec wire.md §3.8.1). */
import type { Hash } from '../bytes/hash.ts'
import type { MetadataState } from '../metadata/state.ts'
import type { PartitionKey } from '../protocol/groups.ts'
import type { Ident } from '../protocol/ident.ts'
import type { Partitioning } from '../protocol/messages.ts'

/** Topics with a round-robin position; beyond that the oldest starts anew, which only evens out less well. */
const POSITIONS_MAX = 65_536

export class Placement {
  private readonly hash: Hash
  private readonly positions = new Map<string, number>()

  constructor(hash: Hash) {
    this.hash = hash
  }

  /** The partition, or undefined when stream, topic or partition do not exist. */
  choose(
    state: MetadataState,
    streamIdent: Ident,
    topicIdent: Ident,
    partitioning: Partitioning,
  ): PartitionKey | undefined {
    const stream = state.stream(streamIdent)
    const topic = stream && state.topic(stream, topicIdent)
    if (!topic || topic.partitions.length === 0) return undefined
    const { partitions } = topic
    const at = (index: number): PartitionKey => ({
      stream: stream.id,
      topic: topic.id,
      partition: partitions[index]!.id,
    })
    if (partitioning.kind === 'partition') {
      const index = partitions.findIndex(partition => partition.id === partitioning.partition)
      return index < 0 ? undefined : at(index)
    }
    if (partitioning.kind === 'key') return at(this.hash.xxh32(partitioning.key) % partitions.length)
    return at(this.nextPosition(`${stream.id}/${topic.id}`) % partitions.length)
  }

  private nextPosition(topic: string): number {
    const position = this.positions.get(topic) ?? 0
    if (!this.positions.has(topic) && this.positions.size >= POSITIONS_MAX) {
      this.positions.delete(this.positions.keys().next().value!)
    }
    this.positions.set(topic, (position + 1) % 0x1_0000_0000)
    return position
  }
}
