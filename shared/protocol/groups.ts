/** Consensus group ids (spec consensus.md §0): one metadata group, and one group per partition. */
import { GroupId } from '../bytes/units.ts'

export const METADATA_GROUP: GroupId = GroupId(1n << 63n)

export const STREAMS_MAX = 1 << 20
export const TOPICS_PER_STREAM_MAX = 4096
export const PARTITIONS_PER_TOPIC_MAX = 1_000_000

/** A partition by its place in the metadata: numeric slab ids. */
export interface PartitionKey {
  readonly stream: number
  readonly topic: number
  readonly partition: number
}

/** `(stream << 32) | (topic << 20) | partition`. Throws RangeError outside the widths 20 | 12 | 20. Group 0 is legal: (0,0,0). */
export function packGroup({ stream, topic, partition }: PartitionKey): GroupId {
  if (!(stream >= 0 && stream < STREAMS_MAX)) throw new RangeError(`stream ${stream} is out of range`)
  if (!(topic >= 0 && topic < TOPICS_PER_STREAM_MAX)) throw new RangeError(`topic ${topic} is out of range`)
  if (!(partition >= 0 && partition < PARTITIONS_PER_TOPIC_MAX))
    throw new RangeError(`partition ${partition} is out of range`)
  return GroupId((BigInt(stream) << 32n) | (BigInt(topic) << 20n) | BigInt(partition))
}

/** Inverse of packGroup; undefined for the metadata group and for ids that no partition can have. */
export function unpackGroup(group: GroupId): PartitionKey | undefined {
  if (group >> 52n !== 0n) return undefined
  const key = {
    stream: Number(group >> 32n),
    topic: Number((group >> 20n) & 0xfffn),
    partition: Number(group & 0xfffffn),
  }
  return key.partition < PARTITIONS_PER_TOPIC_MAX ? key : undefined
}
