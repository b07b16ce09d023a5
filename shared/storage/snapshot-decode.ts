/** Reads a snapshot record (layout: snapshot-record.ts). Strict: format version 3 has exactly one shape. */
import { DecodeError, EngineError } from '../bytes/errors.ts'
import { ClientId, Micros, Op } from '../bytes/units.ts'
import { fromBase64 } from './base64.ts'
import { MsgpackReader } from './msgpack.ts'
import {
  type ClientEntryRecord,
  type ConsumerGroupRecord,
  GLOBAL_GRANTS,
  type GroupMemberRecord,
  KIND_NAMES,
  type OptionRecord,
  type PartitionRecord,
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

/**
 * @throws EngineError SnapshotVersion for another format version, SnapshotSection when users or streams are missing;
 * DecodeError for anything that is not this shape. Bytes behind the root array are ignored, as the peer does.
 */
export function decodeSnapshot(payload: Uint8Array): SnapshotRecord {
  const r = new MsgpackReader(payload)
  const fields = r.array()
  const version = r.u64()
  if (version !== BigInt(SNAPSHOT_VERSION)) {
    throw new EngineError('SnapshotVersion', `snapshot format version ${version}`, {
      position: 1,
      expected: `${SNAPSHOT_VERSION}`,
      actual: `${version}`,
      advice: 'start the build that wrote this snapshot',
    })
  }
  if (fields !== 7)
    throw new DecodeError('BadCount', 0, 'a snapshot has the wrong number of fields', {
      expected: '7',
      actual: `${fields}`,
    })
  const createdAt = Micros(r.u64())
  const op = Op(r.u64())
  const missing = (section: string): never => {
    throw new EngineError('SnapshotSection', `the snapshot has no ${section}`, { position: r.at, actual: 'nil' })
  }
  const { users, tokens } = r.nil() ? missing('users') : readUsers(r)
  const { streams, revision } = r.nil() ? missing('streams') : readStreams(r)
  const clients = r.nil() ? undefined : readClients(r)
  const writerRelease = r.uint()
  return { createdAt, op, users, tokens, streams, revision, clients, writerRelease }
}

/** `[[key, item]…]`, whose keys must be those of their items. */
function readKeyed<T extends { readonly id: number | bigint }>(r: MsgpackReader, what: string, item: () => T): T[] {
  return r.list(() => {
    r.struct(`a keyed ${what}`, 2)
    const at = r.at
    const key = r.u64()
    const value = item()
    if (BigInt(value.id) !== key)
      throw new DecodeError('BadValue', at, `${what} under another key`, {
        expected: `${value.id}`,
        actual: `${key}`,
      })
    return value
  })
}

function readUsers(r: MsgpackReader): Pick<SnapshotRecord, 'users' | 'tokens'> {
  r.struct('users', 3)
  const users = readKeyed(r, 'user', () => {
    r.struct('a user', 7)
    const [id, username, passwordHash] = [r.uint(), r.text(), r.text()]
    const at = r.at
    const status = r.text()
    if (status !== 'active' && status !== 'inactive') throw notOneOf(at, 'a user status', 'active, inactive', status)
    const createdAt = Micros(r.u64())
    const permissions = r.nil() ? undefined : readPermissions(r)
    return { id, username, passwordHash, status, createdAt, permissions, options: readOptions(r) } as const
  })
  const tokens = r.list(() => {
    r.struct('the tokens of a user', 2)
    const userId = r.uint()
    return {
      userId,
      tokens: r.list(() => {
        r.struct('a named token', 2)
        r.text()
        r.struct('a token', 4)
        const [owner, name, hash] = [r.uint(), r.text(), r.text()]
        return { userId: owner, name, hash, expiryAt: r.nil() ? undefined : Micros(r.u64()) }
      }),
    }
  })
  r.struct('the permission index', PERMISSIONER_ARRAYS)
  for (let index = 0; index < PERMISSIONER_ARRAYS; index++) r.struct('an index that is rebuilt', 0)
  return { users, tokens }
}

const readGrants = (r: MsgpackReader, count: number): boolean[] => Array.from({ length: count }, () => r.bool())

function readPermissions(r: MsgpackReader): PermissionsRecord {
  r.struct('permissions', 2)
  r.struct('global permissions', GLOBAL_GRANTS)
  const global = readGrants(r, GLOBAL_GRANTS)
  if (r.nil()) return { global, streams: undefined }
  const streams = Array.from({ length: r.map() }, () => {
    const id = r.uint()
    r.struct('stream permissions', STREAM_GRANTS + 1)
    const grants = readGrants(r, STREAM_GRANTS)
    if (r.nil()) return { id, grants, topics: undefined }
    const topics = Array.from({ length: r.map() }, () => {
      const topic = r.uint()
      r.struct('topic permissions', TOPIC_GRANTS)
      return { id: topic, grants: readGrants(r, TOPIC_GRANTS) }
    })
    return { id, grants, topics }
  })
  return { global, streams }
}

function readStreams(r: MsgpackReader): Pick<SnapshotRecord, 'streams' | 'revision'> {
  r.struct('streams', 2)
  const streams = readKeyed(r, 'stream', (): StreamRecord => {
    r.struct('a stream', 6)
    const [id, name, createdAt, stats] = [r.uint(), r.text(), Micros(r.u64()), readStats(r)]
    const topics = readKeyed(r, 'topic', () => readTopic(r))
    return { id, name, createdAt, stats, topics, options: readOptions(r) }
  })
  return { streams, revision: r.u64() }
}

function readTopic(r: MsgpackReader): TopicRecord {
  r.struct('a topic', 11)
  const [id, name, createdAt, messageExpiry] = [r.uint(), r.text(), Micros(r.u64()), r.u64()]
  const at = r.at
  const compression = r.text()
  if (compression !== 'none' && compression !== 'gzip') throw notOneOf(at, 'a compression', 'none, gzip', compression)
  const [maxTopicSize, stats] = [r.u64(), readStats(r)]
  const partitions = r.list((): PartitionRecord => {
    r.struct('a partition', 6)
    return {
      id: r.uint(),
      consensusGroup: r.u64(),
      createdAt: Micros(r.u64()),
      createdRevision: r.u64(),
      deletedUpToOffset: r.u64(),
      purgeGeneration: r.u64(),
    }
  })
  const consumerGroups = readKeyed(r, 'group', (): ConsumerGroupRecord => {
    r.struct('a consumer group', 4)
    const [groupId, generation, groupName] = [r.u64(), r.u64(), r.text()]
    const members = readKeyed(r, 'member', (): GroupMemberRecord => {
      r.struct('a member', 4)
      return {
        id: r.uint(),
        client: ClientId(r.u128()),
        partitions: r.list(() => r.uint()),
        pending: r.list(() => {
          r.struct('a pending revocation', 3)
          return { partition: r.uint(), target: r.uint(), at: Micros(r.u64()) }
        }),
      }
    })
    return { id: groupId, generation, name: groupName, members }
  })
  return {
    id,
    name,
    createdAt,
    messageExpiry,
    compression,
    maxTopicSize,
    stats,
    partitions,
    consumerGroups,
    nextConsumerGroupId: r.u64(),
    options: readOptions(r),
  }
}

function readStats(r: MsgpackReader): StatsRecord {
  r.struct('stats', 3)
  return { sizeBytes: r.u64(), messages: r.u64(), segments: r.u64() }
}

function readClients(r: MsgpackReader): ClientEntryRecord[] {
  r.struct('the client table', 1)
  return r.list(() => {
    r.struct('a slot', 2)
    const slot = r.uint()
    r.struct('a client', 6)
    return {
      slot,
      client: ClientId(r.u128()),
      epoch: r.u64(),
      userId: r.uint(),
      watermark: r.u64(),
      watermarkChecksum: r.u128(),
      reply: r.bin(),
    }
  })
}

function readOptions(r: MsgpackReader): OptionRecord[] {
  return Array.from({ length: r.map() }, () => {
    const key = readValue(r)
    r.struct('an option', 2)
    const value = readValue(r)
    return { keyKind: key.kind, key: key.bytes, kind: value.kind, value: value.bytes, explicit: r.bool() }
  })
}

function readValue(r: MsgpackReader): { kind: number; bytes: Uint8Array } {
  r.struct('a tagged value', 2)
  const kindAt = r.at
  const name = r.text()
  const kind = (KIND_NAMES as readonly string[]).indexOf(name) + 1
  if (kind === 0) throw notOneOf(kindAt, 'a value kind', KIND_NAMES.join(', '), name)
  const at = r.at
  const bytes = fromBase64(r.text())
  if (bytes === undefined) throw new DecodeError('BadValue', at, 'a value is no base64')
  return { kind, bytes }
}

const notOneOf = (at: number, what: string, expected: string, actual: string): DecodeError =>
  new DecodeError('BadValue', at, `${what} is unknown`, { expected, actual })
