/**
 * System commands (spec wire.md §3.1): statistics, clients, the catalog of options, snapshots.
 *
 *   ClientInfo:    clientId u32 | userId u32 (2^32-1 = not logged in) | transport u8 | address text32 | groupsCount u32
 *   ClientDetails: ClientInfo | groupsCount × ( streamId u32 | topicId u32 | groupId u32 )
 *   describe:      scope u8      reply: count u32 | key text8 | kind u8 | default u32 length + bytes | description text32
 *   Stats: the order of the members below; `cacheMetrics` with a u32 count
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Micros } from '../bytes/units.ts'
import {
  block32,
  type Codec,
  type CodecValue,
  enum8,
  f32,
  list32,
  listToEnd,
  name,
  orEmpty,
  rest,
  struct,
  text32,
  u8,
  u32,
  u64,
} from './codec.ts'

export const stats = struct({
  processId: u32,
  cpuUsage: f32,
  totalCpuUsage: f32,
  memoryUsage: u64(),
  totalMemory: u64(),
  availableMemory: u64(),
  /** µs */
  runTime: u64(),
  startTime: u64<Micros>(),
  readBytes: u64(),
  writtenBytes: u64(),
  messagesSizeBytes: u64(),
  streamsCount: u32,
  topicsCount: u32,
  partitionsCount: u32,
  segmentsCount: u32,
  messagesCount: u64(),
  clientsCount: u32,
  consumerGroupsCount: u32,
  hostname: text32,
  osName: text32,
  osVersion: text32,
  kernelVersion: text32,
  serverVersion: text32,
  /** Decimal: major·10⁶ + minor·10³ + patch, not the shifted form of a login; 0 = none. */
  serverSemver: u32,
  cacheMetrics: list32(
    struct({ streamId: u32, topicId: u32, partitionId: u32, hits: u64(), misses: u64(), hitRatio: f32 }),
  ),
  threadsCount: u32,
  freeDiskSpace: u64(),
  totalDiskSpace: u64(),
})
export type Stats = CodecValue<typeof stats>

/** User id of a connection without a login. */
export const NO_USER = 0xffff_ffff
export const TransportCode = { tcp: 1, quic: 2, http: 3, websocket: 4 } as const

const clientMembers = {
  clientId: u32,
  userId: u32,
  transport: enum8(TransportCode),
  address: text32,
  groupsCount: u32,
} as const
export const clientInfo = struct(clientMembers)
export type ClientInfo = CodecValue<typeof clientInfo>
const membership = struct({ streamId: u32, topicId: u32, groupId: u32 })
/** ClientInfo whose count is that of the memberships which follow it. */
export const clientDetails: Codec<
  Omit<ClientInfo, 'groupsCount'> & { readonly groups: readonly CodecValue<typeof membership>[] }
> = struct({ ...clientMembersWithoutCount(), groups: list32(membership) })
export type ClientDetails = CodecValue<typeof clientDetails>
export const getClient = struct({ clientId: u32 })
export type GetClient = CodecValue<typeof getClient>
export const getClientReply = orEmpty(clientDetails)
export const listClientsReply = listToEnd(clientInfo)

function clientMembersWithoutCount() {
  const { groupsCount: _, ...members } = clientMembers
  return members
}

export const OptionScope = { topic: 1, stream: 2, user: 3 } as const
export const describeOptions = struct({ scope: enum8(OptionScope) })
export type DescribeOptions = CodecValue<typeof describeOptions>
export const describeOptionsReply = list32(
  struct({ key: name, kind: u8, defaultValue: block32(rest), description: text32 }),
)
export type OptionDescription = CodecValue<typeof describeOptionsReply>[number]

export const SnapshotCompression = { stored: 1, deflated: 2, bzip2: 3, zstd: 4, lzma: 5, xz: 6 } as const
export const SnapshotType = {
  filesystemOverview: 1,
  processList: 2,
  resourceUsage: 3,
  test: 4,
  serverLogs: 5,
  serverConfig: 6,
  all: 100,
} as const
const snapshotTypes: Codec<readonly (keyof typeof SnapshotType)[]> = {
  read(reader) {
    const at = reader.at
    const count = reader.u8()
    if (count > reader.remaining)
      throw new DecodeError('BadCount', at, `${count} types, but ${reader.remaining} bytes are left`)
    return Array.from({ length: count }, () => snapshotType.read(reader))
  },
  write(writer, value) {
    writer.u8(value.length)
    for (const type of value) snapshotType.write(writer, type)
  },
  toJson: value => [...value],
  fromJson: json => (json as readonly unknown[]).map(type => snapshotType.fromJson(type)),
}
const snapshotType = enum8(SnapshotType)
/** The reply is a ZIP file and nothing else. */
export const snapshotRequest = struct({ compression: enum8(SnapshotCompression), types: snapshotTypes })
export type SnapshotRequest = CodecValue<typeof snapshotRequest>
