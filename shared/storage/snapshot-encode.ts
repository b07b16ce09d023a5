/** The bytes of a snapshot record (layout: snapshot-record.ts). Writes every collection in the order it is given. */
import { toBase64 } from './base64.ts'
import { MsgpackWriter } from './msgpack.ts'
import {
  type ClientEntryRecord,
  GLOBAL_GRANTS,
  KIND_NAMES,
  type OptionRecord,
  PERMISSIONER_ARRAYS,
  type PermissionsRecord,
  SNAPSHOT_VERSION,
  type SnapshotRecord,
  STREAM_GRANTS,
  type StatsRecord,
  type StreamRecord,
  TOPIC_GRANTS,
  type TopicRecord,
} from './snapshot-record.ts'

export function encodeSnapshot(record: SnapshotRecord): Uint8Array {
  const w = new MsgpackWriter()
  w.array(7)
  w.uint(SNAPSHOT_VERSION)
  w.uint(record.createdAt)
  w.uint(record.op)
  writeUsers(w, record)
  w.array(2)
  writeKeyed(w, record.streams, stream => writeStream(w, stream))
  w.uint(record.revision)
  if (record.clients === undefined) w.nil()
  else writeClients(w, record.clients)
  w.uint(record.writerRelease)
  return w.finish()
}

function writeKeyed<T extends { readonly id: number | bigint }>(
  w: MsgpackWriter,
  items: readonly T[],
  write: (item: T) => void,
): void {
  w.array(items.length)
  for (const item of items) {
    w.array(2)
    w.uint(item.id)
    write(item)
  }
}

function writeUsers(w: MsgpackWriter, { users, tokens }: SnapshotRecord): void {
  w.array(3)
  writeKeyed(w, users, user => {
    w.array(7)
    w.uint(user.id)
    w.text(user.username)
    w.text(user.passwordHash)
    w.text(user.status)
    w.uint(user.createdAt)
    writePermissions(w, user.permissions)
    writeOptions(w, user.options)
  })
  w.array(tokens.length)
  for (const owner of tokens) {
    w.array(2)
    w.uint(owner.userId)
    w.array(owner.tokens.length)
    for (const token of owner.tokens) {
      w.array(2)
      w.text(token.name)
      w.array(4)
      w.uint(token.userId)
      w.text(token.name)
      w.text(token.hash)
      if (token.expiryAt === undefined) w.nil()
      else w.uint(token.expiryAt)
    }
  }
  w.array(PERMISSIONER_ARRAYS)
  for (let index = 0; index < PERMISSIONER_ARRAYS; index++) w.array(0)
}

function writePermissions(w: MsgpackWriter, permissions: PermissionsRecord | undefined): void {
  if (permissions === undefined) {
    w.nil()
    return
  }
  w.array(2)
  w.array(GLOBAL_GRANTS)
  for (const grant of permissions.global) w.bool(grant)
  if (permissions.streams === undefined) {
    w.nil()
    return
  }
  w.map(permissions.streams.length)
  for (const { id, grants, topics } of permissions.streams) {
    w.uint(id)
    w.array(STREAM_GRANTS + 1)
    for (const grant of grants) w.bool(grant)
    if (topics === undefined) {
      w.nil()
      continue
    }
    w.map(topics.length)
    for (const topic of topics) {
      w.uint(topic.id)
      w.array(TOPIC_GRANTS)
      for (const grant of topic.grants) w.bool(grant)
    }
  }
}

function writeStream(w: MsgpackWriter, stream: StreamRecord): void {
  w.array(6)
  w.uint(stream.id)
  w.text(stream.name)
  w.uint(stream.createdAt)
  writeStats(w, stream.stats)
  writeKeyed(w, stream.topics, topic => writeTopic(w, topic))
  writeOptions(w, stream.options)
}

function writeTopic(w: MsgpackWriter, topic: TopicRecord): void {
  w.array(11)
  w.uint(topic.id)
  w.text(topic.name)
  w.uint(topic.createdAt)
  w.uint(topic.messageExpiry)
  w.text(topic.compression)
  w.uint(topic.maxTopicSize)
  writeStats(w, topic.stats)
  w.array(topic.partitions.length)
  for (const partition of topic.partitions) {
    w.array(6)
    w.uint(partition.id)
    w.uint(partition.consensusGroup)
    w.uint(partition.createdAt)
    w.uint(partition.createdRevision)
    w.uint(partition.deletedUpToOffset)
    w.uint(partition.purgeGeneration)
  }
  writeKeyed(w, topic.consumerGroups, group => {
    w.array(4)
    w.uint(group.id)
    w.uint(group.generation)
    w.text(group.name)
    writeKeyed(w, group.members, member => {
      w.array(4)
      w.uint(member.id)
      w.u128(member.client)
      w.array(member.partitions.length)
      for (const partition of member.partitions) w.uint(partition)
      w.array(member.pending.length)
      for (const { partition, target, at } of member.pending) {
        w.array(3)
        w.uint(partition)
        w.uint(target)
        w.uint(at)
      }
    })
  })
  w.uint(topic.nextConsumerGroupId)
  writeOptions(w, topic.options)
}

function writeStats(w: MsgpackWriter, stats: StatsRecord): void {
  w.array(3)
  w.uint(stats.sizeBytes)
  w.uint(stats.messages)
  w.uint(stats.segments)
}

function writeClients(w: MsgpackWriter, clients: readonly ClientEntryRecord[]): void {
  w.array(1)
  w.array(clients.length)
  for (const entry of clients) {
    w.array(2)
    w.uint(entry.slot)
    w.array(6)
    w.u128(entry.client)
    w.uint(entry.epoch)
    w.uint(entry.userId)
    w.uint(entry.watermark)
    w.u128(entry.watermarkChecksum)
    w.bin(entry.reply)
  }
}

function writeOptions(w: MsgpackWriter, options: readonly OptionRecord[]): void {
  w.map(options.length)
  for (const option of options) {
    writeValue(w, option.keyKind, option.key)
    w.array(2)
    writeValue(w, option.kind, option.value)
    w.bool(option.explicit)
  }
}

function writeValue(w: MsgpackWriter, kind: number, bytes: Uint8Array): void {
  const name = KIND_NAMES[kind - 1]
  if (name === undefined) throw new RangeError(`a value of kind ${kind} has no name in a snapshot`)
  w.array(2)
  w.text(name)
  w.text(toBase64(bytes))
}
