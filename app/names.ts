/** Names of groups: `metadata`, or `0.0.1` beside `orders/eu/1` when the streams are known. */

import { GroupId } from '../shared/bytes/units.ts'
import type { TopicNames } from '../shared/inspection/snapshots.ts'
import { METADATA_GROUP, unpackGroup } from '../shared/protocol/groups.ts'
import { visible } from './ui/format.ts'

export const METADATA = METADATA_GROUP.toString()

/** `1.0.2` of a group id in decimal text; `metadata` for the metadata group, the id itself for anything else. */
export function groupName(group: string): string {
  if (group === METADATA) return 'metadata'
  if (!/^\d{1,20}$/.test(group)) return group
  const key = unpackGroup(GroupId(BigInt(group)))
  return key ? `${key.stream}.${key.topic}.${key.partition}` : group
}

/** `orders/eu/1`, or undefined while the names are not known. */
export function pathName(
  names: TopicNames | undefined,
  key: { stream: number; topic: number; partition: number } | undefined,
): string | undefined {
  if (!key) return undefined
  const stream = names?.streams.find(item => item.id === key.stream)
  const topic = stream?.topics.find(item => item.id === key.topic)
  return stream && topic ? `${visible(stream.name)}/${visible(topic.name)}/${key.partition}` : undefined
}

/**
 * Groups in the order people count: metadata first, then by stream, topic and partition. Ids are decimal text without leading
 * zeros, so their order is that of length and digits: no number is made of one while thousands are sorted.
 */
export const byGroup = (a: string, b: string): number => {
  if (a === b) return 0
  if (a === METADATA) return -1
  if (b === METADATA) return 1
  return a.length - b.length || (a < b ? -1 : 1)
}
