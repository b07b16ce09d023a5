/**
 * The 256-byte headers of every frame (spec consensus.md §2.4–2.5, wire.md §1). Each layout is its own table: field,
 * offset, type. `prefix` is common to all.
 *
 *   0 checksum u128 | 16 checksumBody u128 | 32 cluster u128 | 48 size u32 | 52 view u32 | 56 release u32
 *   60 command u8 | 61 replica u8 | 62 reserved 66 | 128 command-specific 128
 */
import {
  checked,
  type Gap,
  getBigUint128,
  ignored,
  type LayoutRecord,
  layout,
  putU8,
  putU32,
  putU64,
  putU128,
  raw,
  type StraightCode,
  u8,
  u32,
  u64,
  u128,
} from '../bytes/layout.ts'
import type { Checksum, ClientId, GroupId, Micros, Op, ReplicaId, View } from '../bytes/units.ts'

export const HEADER_BYTES = 256
/** Default ceiling of a whole frame, header included (spec wire.md §1.1). */
export const FRAME_BYTES_MAX = 64 * 1024 * 1024

export const prefix = {
  checksum: u128<Checksum>(0),
  checksumBody: u128<Checksum>(16),
  cluster: u128(32),
  size: u32(48),
  view: u32<View>(52),
  release: u32(56),
  command: u8(60),
  replica: u8<ReplicaId>(61),
} as const
const prefixGap = ignored(62, 66)
const prefixGapChecked = checked(62, 66)

const header = <const F extends Parameters<typeof layout>[2]>(
  name: string,
  fields: F,
  gaps: readonly Gap[],
  gap = prefixGap,
  straight?: StraightCode<typeof prefix & F>,
) => layout(name, HEADER_BYTES, { ...prefix, ...fields } as typeof prefix & F, [gap, ...gaps], straight)

type Prefix = LayoutRecord<ReturnType<typeof layout<typeof prefix>>>

function writePrefix(view: DataView, at: number, record: Prefix): void {
  putU128(view, at, record.checksum)
  putU128(view, at + 16, record.checksumBody)
  putU128(view, at + 32, record.cluster)
  putU32(view, at + 48, record.size)
  putU32(view, at + 52, record.view)
  putU32(view, at + 56, record.release)
  putU8(view, at + 60, record.command)
  putU8(view, at + 61, record.replica)
}

/** Any frame: the common prefix, and the rest as raw bytes. Handshake frames carry their data there (§2.6). */
export const genericLayout = header('Generic', { body: raw(128, 128) }, [])
export type GenericHeader = LayoutRecord<typeof genericLayout>

/** What a client sends (§2.5, wire.md §1.2). Unsealed. `code` is the legacy command code of a NonReplicated request. */
export const requestLayout = header(
  'Request',
  {
    client: u128<ClientId>(128),
    requestChecksum: u128<Checksum>(144),
    timestamp: u64<Micros>(160),
    request: u64(168),
    operation: u8(176),
    session: u64(184),
    userId: u32(192),
    code: u32(196),
  },
  [ignored(177, 7), ignored(200, 56)],
)
export type RequestHeader = LayoutRecord<typeof requestLayout>

/**
 * A request on a replica link: the client form at the same offsets, plus the nonce and origin of a forward and the group
 * (§2.5, §8.3). `origin` is the sending replica + 1, 0 when the request was not forwarded; `encrypted` says whether the
 * payload is already encrypted; `incarnation` is the created_revision of the partition that the origin means, so that a
 * forward which outlives its topic is not taken by the next one of the same ids.
 */
export const routedRequestLayout = header(
  'RoutedRequest',
  {
    client: u128<ClientId>(128),
    requestChecksum: u128<Checksum>(144),
    timestamp: u64<Micros>(160),
    request: u64(168),
    operation: u8(176),
    session: u64(184),
    userId: u32(192),
    code: u32(196),
    nonce: u128(204),
    origin: u8(220),
    encrypted: u8(221),
    incarnation: u64(224),
    group: u64<GroupId>(248),
  },
  [ignored(177, 7), ignored(200, 4), ignored(222, 2), ignored(232, 16)],
)
export type RoutedRequestHeader = LayoutRecord<typeof routedRequestLayout>

export const replyLayout = header(
  'Reply',
  {
    requestChecksum: u128<Checksum>(128),
    context: u128(144),
    client: u128<ClientId>(160),
    op: u64(176),
    commit: u64(184),
    timestamp: u64<Micros>(192),
    request: u64(200),
    operation: u8(208),
    status: u32(216),
  },
  [ignored(209, 7), ignored(220, 36)],
  prefixGap,
  {
    read: (view, at) => ({
      checksum: getBigUint128(view, at) as Checksum,
      checksumBody: getBigUint128(view, at + 16) as Checksum,
      cluster: getBigUint128(view, at + 32),
      size: view.getUint32(at + 48, true),
      view: view.getUint32(at + 52, true) as View,
      release: view.getUint32(at + 56, true),
      command: view.getUint8(at + 60),
      replica: view.getUint8(at + 61) as ReplicaId,
      requestChecksum: getBigUint128(view, at + 128) as Checksum,
      context: getBigUint128(view, at + 144),
      client: getBigUint128(view, at + 160) as ClientId,
      op: view.getBigUint64(at + 176, true),
      commit: view.getBigUint64(at + 184, true),
      timestamp: view.getBigUint64(at + 192, true) as Micros,
      request: view.getBigUint64(at + 200, true),
      operation: view.getUint8(at + 208),
      status: view.getUint32(at + 216, true),
    }),
    write(view, at, record) {
      writePrefix(view, at, record)
      putU128(view, at + 128, record.requestChecksum)
      putU128(view, at + 144, record.context)
      putU128(view, at + 160, record.client)
      putU64(view, at + 176, record.op)
      putU64(view, at + 184, record.commit)
      putU64(view, at + 192, record.timestamp)
      putU64(view, at + 200, record.request)
      putU8(view, at + 208, record.operation)
      putU32(view, at + 216, record.status)
    },
  },
)
export type ReplyHeader = LayoutRecord<typeof replyLayout>

export const evictionLayout = header(
  'Eviction',
  { client: u128<ClientId>(128), serverVersion: u32(144), serverVersionMin: u32(148), reason: u8(255) },
  [checked(152, 103)],
  prefixGapChecked,
)
export type EvictionHeader = LayoutRecord<typeof evictionLayout>

/**
 * Prepare and RepairPrepare. Both reserved regions must be zero: they are inside the identity checksum. `purgeGeneration` is
 * this project's use of reserved bytes: the purge behind which a partition's op was minted; always 0 on the metadata plane.
 */
export const prepareLayout = header(
  'Prepare',
  {
    client: u128<ClientId>(128),
    parent: u128<Checksum>(144),
    requestChecksum: u128<Checksum>(160),
    op: u64<Op>(176),
    commit: u64<Op>(184),
    timestamp: u64<Micros>(192),
    request: u64(200),
    operation: u8(208),
    group: u64<GroupId>(216),
    userId: u32(224),
    purgeGeneration: u64(228),
  },
  [ignored(209, 7), checked(236, 20)],
  prefixGapChecked,
  {
    read: (view, at) => ({
      checksum: getBigUint128(view, at) as Checksum,
      checksumBody: getBigUint128(view, at + 16) as Checksum,
      cluster: getBigUint128(view, at + 32),
      size: view.getUint32(at + 48, true),
      view: view.getUint32(at + 52, true) as View,
      release: view.getUint32(at + 56, true),
      command: view.getUint8(at + 60),
      replica: view.getUint8(at + 61) as ReplicaId,
      client: getBigUint128(view, at + 128) as ClientId,
      parent: getBigUint128(view, at + 144) as Checksum,
      requestChecksum: getBigUint128(view, at + 160) as Checksum,
      op: view.getBigUint64(at + 176, true) as Op,
      commit: view.getBigUint64(at + 184, true) as Op,
      timestamp: view.getBigUint64(at + 192, true) as Micros,
      request: view.getBigUint64(at + 200, true),
      operation: view.getUint8(at + 208),
      group: view.getBigUint64(at + 216, true) as GroupId,
      userId: view.getUint32(at + 224, true),
      purgeGeneration: view.getBigUint64(at + 228, true),
    }),
    write(view, at, record) {
      writePrefix(view, at, record)
      putU128(view, at + 128, record.client)
      putU128(view, at + 144, record.parent)
      putU128(view, at + 160, record.requestChecksum)
      putU64(view, at + 176, record.op)
      putU64(view, at + 184, record.commit)
      putU64(view, at + 192, record.timestamp)
      putU64(view, at + 200, record.request)
      putU8(view, at + 208, record.operation)
      putU64(view, at + 216, record.group)
      putU32(view, at + 224, record.userId)
      putU64(view, at + 228, record.purgeGeneration)
    },
  },
)
export type PrepareHeader = LayoutRecord<typeof prepareLayout>

export const prepareOkLayout = header(
  'PrepareOk',
  {
    parent: u128<Checksum>(128),
    prepareChecksum: u128<Checksum>(144),
    op: u64<Op>(160),
    commit: u64<Op>(168),
    timestamp: u64<Micros>(176),
    request: u64(184),
    operation: u8(192),
    group: u64<GroupId>(200),
  },
  [ignored(193, 7), ignored(208, 48)],
  prefixGap,
  {
    read: (view, at) => ({
      checksum: getBigUint128(view, at) as Checksum,
      checksumBody: getBigUint128(view, at + 16) as Checksum,
      cluster: getBigUint128(view, at + 32),
      size: view.getUint32(at + 48, true),
      view: view.getUint32(at + 52, true) as View,
      release: view.getUint32(at + 56, true),
      command: view.getUint8(at + 60),
      replica: view.getUint8(at + 61) as ReplicaId,
      parent: getBigUint128(view, at + 128) as Checksum,
      prepareChecksum: getBigUint128(view, at + 144) as Checksum,
      op: view.getBigUint64(at + 160, true) as Op,
      commit: view.getBigUint64(at + 168, true) as Op,
      timestamp: view.getBigUint64(at + 176, true) as Micros,
      request: view.getBigUint64(at + 184, true),
      operation: view.getUint8(at + 192),
      group: view.getBigUint64(at + 200, true) as GroupId,
    }),
    write(view, at, record) {
      writePrefix(view, at, record)
      putU128(view, at + 128, record.parent)
      putU128(view, at + 144, record.prepareChecksum)
      putU64(view, at + 160, record.op)
      putU64(view, at + 168, record.commit)
      putU64(view, at + 176, record.timestamp)
      putU64(view, at + 184, record.request)
      putU8(view, at + 192, record.operation)
      putU64(view, at + 200, record.group)
    },
  },
)
export type PrepareOkHeader = LayoutRecord<typeof prepareOkLayout>

export const commitLayout = header(
  'Commit',
  {
    commitChecksum: u128<Checksum>(128),
    timestampMonotonic: u64(144),
    commit: u64<Op>(152),
    checkpointOp: u64<Op>(160),
    group: u64<GroupId>(168),
  },
  [ignored(176, 80)],
  prefixGap,
  {
    read: (view, at) => ({
      checksum: getBigUint128(view, at) as Checksum,
      checksumBody: getBigUint128(view, at + 16) as Checksum,
      cluster: getBigUint128(view, at + 32),
      size: view.getUint32(at + 48, true),
      view: view.getUint32(at + 52, true) as View,
      release: view.getUint32(at + 56, true),
      command: view.getUint8(at + 60),
      replica: view.getUint8(at + 61) as ReplicaId,
      commitChecksum: getBigUint128(view, at + 128) as Checksum,
      timestampMonotonic: view.getBigUint64(at + 144, true),
      commit: view.getBigUint64(at + 152, true) as Op,
      checkpointOp: view.getBigUint64(at + 160, true) as Op,
      group: view.getBigUint64(at + 168, true) as GroupId,
    }),
    write(view, at, record) {
      writePrefix(view, at, record)
      putU128(view, at + 128, record.commitChecksum)
      putU64(view, at + 144, record.timestampMonotonic)
      putU64(view, at + 152, record.commit)
      putU64(view, at + 160, record.checkpointOp)
      putU64(view, at + 168, record.group)
    },
  },
)
export type CommitHeader = LayoutRecord<typeof commitLayout>

export const startViewChangeLayout = header('StartViewChange', { group: u64<GroupId>(128) }, [ignored(136, 120)])
export type StartViewChangeHeader = LayoutRecord<typeof startViewChangeLayout>

/**
 * DoViewChange; body = up to 128 prepare headers, head first. `forgetful` and the frontiers are this project's use of reserved
 * bytes, sent by partition groups only, 0 = not sent (design: what an acknowledgement survives). `forgetful` is 1 when the
 * sender's journal died with its last life and it does not hold again what it may have acknowledged in it.
 */
export const doViewChangeLayout = header(
  'DoViewChange',
  {
    op: u64<Op>(128),
    commit: u64<Op>(136),
    group: u64<GroupId>(144),
    logView: u32<View>(152),
    forgetful: u8(156),
    originKnown: u8(157),
    heldFrontier: u64(160),
    reservedFrontier: u64(168),
    committedFrontier: u64(176),
    logStart: u64(184),
    firstBase: u64(192),
    jumpBase: u64(200),
    nackBitset: u128(224),
    presentBitset: u128(240),
  },
  [ignored(158, 2), ignored(208, 16)],
)
export type DoViewChangeHeader = LayoutRecord<typeof doViewChangeLayout>

/**
 * StartView; body as DoViewChange. `jumpBase` is the announced mint base of a partition group after a whole-cluster restart,
 * 0 = none; with `originKnown` 1, `logStart` is the end of the first leader's segments in front of op 1, and `firstBase` the
 * base of the first batch behind it when that left a gap.
 */
export const startViewLayout = header(
  'StartView',
  {
    op: u64<Op>(128),
    commit: u64<Op>(136),
    group: u64<GroupId>(144),
    jumpBase: u64(152),
    logStart: u64(160),
    originKnown: u8(168),
    firstBase: u64(176),
    incarnation: u128(240),
  },
  [ignored(169, 7), ignored(184, 56)],
)
export type StartViewHeader = LayoutRecord<typeof startViewLayout>

export const requestStartViewLayout = header('RequestStartView', { group: u64<GroupId>(128), incarnation: u128(240) }, [
  ignored(136, 104),
])
export type RequestStartViewHeader = LayoutRecord<typeof requestStartViewLayout>

export const requestPreparesLayout = header(
  'RequestPrepares',
  { nonce: u128(128), fromOp: u64<Op>(144), toOp: u64<Op>(152), group: u64<GroupId>(160) },
  [ignored(168, 88)],
)
export type RequestPreparesHeader = LayoutRecord<typeof requestPreparesLayout>

/**
 * RepairDone (op = last one served) and RangeEvicted (op = oldest one retained). `logEnd`, of this project: one past the last
 * offset that the sender of a RangeEvicted holds, in bytes that are reserved elsewhere; 0: not said.
 */
export const repairRangeLayout = header(
  'RepairRange',
  { nonce: u128(128), op: u64<Op>(144), group: u64<GroupId>(152), logEnd: u64(160) },
  [ignored(168, 88)],
)
export type RepairRangeHeader = LayoutRecord<typeof repairRangeLayout>

export const requestStateTransferLayout = header(
  'RequestStateTransfer',
  { nonce: u128(128), group: u64<GroupId>(144) },
  [ignored(152, 104)],
)
export type RequestStateTransferHeader = LayoutRecord<typeof requestStateTransferLayout>

export const stateTransferTargetLayout = header(
  'StateTransferTarget',
  {
    nonce: u128(128),
    commitOp: u64<Op>(144),
    group: u64<GroupId>(152),
    available: u8(160),
    unavailableTransient: u8(161),
    commitMax: u64<Op>(168),
  },
  [ignored(162, 6), ignored(176, 80)],
)
export type StateTransferTargetHeader = LayoutRecord<typeof stateTransferTargetLayout>

export const requestStateChunkLayout = header(
  'RequestStateChunk',
  { nonce: u128(128), offset: u64(144), group: u64<GroupId>(152), length: u32(160), artifact: u32(164) },
  [ignored(168, 88)],
)
export type RequestStateChunkHeader = LayoutRecord<typeof requestStateChunkLayout>

export const stateChunkLayout = header(
  'StateChunk',
  { nonce: u128(128), offset: u64(144), group: u64<GroupId>(152), artifact: u32(160) },
  [ignored(164, 92)],
)
export type StateChunkHeader = LayoutRecord<typeof stateChunkLayout>

export const forwardRegisterLayout = header(
  'ForwardRegister',
  { client: u128<ClientId>(128), nonce: u128(144), userId: u32(160) },
  [checked(164, 92)],
)
export type ForwardRegisterHeader = LayoutRecord<typeof forwardRegisterLayout>

export const forwardRegisterResultLayout = header(
  'ForwardRegisterResult',
  { nonce: u128(128), client: u128<ClientId>(144), epoch: u64(160), watermark: u64(168), outcome: u8(255) },
  [checked(176, 79)],
)
export type ForwardRegisterResultHeader = LayoutRecord<typeof forwardRegisterResultLayout>

export const forwardLogoutLayout = header(
  'ForwardLogout',
  { client: u128<ClientId>(128), nonce: u128(144), session: u64(160), request: u64(168) },
  [checked(176, 80)],
)
export type ForwardLogoutHeader = LayoutRecord<typeof forwardLogoutLayout>

export const forwardLogoutResultLayout = header(
  'ForwardLogoutResult',
  { nonce: u128(128), client: u128<ClientId>(144), commit: u64<Op>(160), outcome: u8(255) },
  [checked(168, 87)],
)
export type ForwardLogoutResultHeader = LayoutRecord<typeof forwardLogoutResultLayout>

/** Answer to a forwarded partition write (§8.3); body = the reply body. */
export const forwardRequestResultLayout = header(
  'ForwardRequestResult',
  {
    nonce: u128(128),
    client: u128<ClientId>(144),
    status: u32(160),
    operation: u8(164),
    op: u64(168),
    commit: u64(176),
    request: u64(184),
    group: u64<GroupId>(192),
    outcome: u8(255),
  },
  [ignored(165, 3), checked(200, 55)],
)
export type ForwardRequestResultHeader = LayoutRecord<typeof forwardRequestResultLayout>
