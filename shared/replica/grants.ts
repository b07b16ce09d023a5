/**
 * Who may write to a partition and who may read from it (spec wire.md §3.9). Checked at the door of the node that the client
 * dialled, and again by the primary of the partition for what a peer forwards (design.md §3, Forwarded writes).
 */
import type { MetadataState } from '../metadata/state.ts'
import type { PartitionKey } from '../protocol/groups.ts'

const ROOT_USER = 0

/** Positions in the three grant lists of a user (§4.4). */
const Global = { manageStreams: 4, readStreams: 5, manageTopics: 6, readTopics: 7, poll: 8, send: 9 } as const
const OfStream = { manageStream: 0, readStream: 1, manageTopics: 2, readTopics: 3, poll: 4, send: 5 } as const
const OfTopic = { manageTopic: 0, readTopic: 1, poll: 2, send: 3 } as const

interface Rule {
  readonly global: readonly number[]
  readonly stream: readonly number[]
  readonly topic: readonly number[]
}

/** SendMessages. */
export const SEND: Rule = {
  global: [Global.send, Global.manageStreams, Global.manageTopics],
  stream: [OfStream.manageStream, OfStream.manageTopics, OfStream.send],
  topic: [OfTopic.manageTopic, OfTopic.send],
}

/** PollMessages and consumer offsets. */
export const POLL: Rule = {
  global: [Global.poll, Global.readTopics, Global.manageTopics, Global.readStreams, Global.manageStreams],
  stream: [OfStream.poll, OfStream.manageStream, OfStream.readStream, OfStream.manageTopics, OfStream.readTopics],
  topic: [OfTopic.manageTopic, OfTopic.readTopic, OfTopic.poll],
}

/** False also for a user that is gone. */
export function isGranted(
  state: MetadataState,
  userId: number,
  rule: Rule,
  { stream, topic }: Pick<PartitionKey, 'stream' | 'topic'>,
): boolean {
  const user = state.users.get(userId)
  if (!user) return false
  if (userId === ROOT_USER) return true
  if (!user.permissions) return false
  const { global, streams } = user.permissions
  if (rule.global.some(grant => global[grant])) return true
  const ofStream = streams?.find(candidate => candidate.id === stream)
  if (!ofStream) return false
  if (rule.stream.some(grant => ofStream.grants[grant])) return true
  const ofTopic = ofStream.topics?.find(candidate => candidate.id === topic)
  return ofTopic !== undefined && rule.topic.some(grant => ofTopic.grants[grant])
}
