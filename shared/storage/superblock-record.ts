/**
 * The superblock record and the verdicts over it (spec metadata-storage.md §1). One slot file holds exactly one record:
 *
 *   0 magic u32 "SBLK" | 4 version u16 = 1 | 6 reserved u16 | 8 sequence u64 | 16 parent checksum u64 = 0
 *   24 payload length u32 | 28 payload | 28+n checksum u64 = XXH3-64 of all bytes before it
 *
 * A slot is classified by its content, never by an exception: what a bad slot means is decided only by the two together.
 * Next to a corrupt slot a valid one proves nothing, because rename is atomic: a settled slot with bad bytes is rot of a
 * record that was durable once and may have been the newer one (§1.4).
 */
import { type DecodeCode, DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { type LayoutRecord, layout, u8, u16, u32, u64, u128 } from '../bytes/layout.ts'
import type { Checksum, Offset, Op, ReplicaId, View } from '../bytes/units.ts'

export const SUPERBLOCK_MAGIC = 0x53424c4b
export const SUPERBLOCK_VERSION = 1
export const SUPERBLOCK_HEADER_BYTES = 28
export const SUPERBLOCK_CHECKSUM_BYTES = 8
/** Bound of the payload; a longer slot file is corrupt and is not read. */
export const SUPERBLOCK_PAYLOAD_BYTES_MAX = 4096
export const SUPERBLOCK_RECORD_BYTES_MIN = SUPERBLOCK_HEADER_BYTES + SUPERBLOCK_CHECKSUM_BYTES
export const SUPERBLOCK_RECORD_BYTES_MAX = SUPERBLOCK_RECORD_BYTES_MIN + SUPERBLOCK_PAYLOAD_BYTES_MAX

/** The frame of a record in front of its payload (§1.2). */
export const superblockHeaderLayout = layout('SuperblockHeader', SUPERBLOCK_HEADER_BYTES, {
  magic: u32(0),
  version: u16(4),
  reserved: u16(6),
  sequence: u64(8),
  parentChecksum: u64<Checksum>(16),
  payloadBytes: u32(24),
})
export type SuperblockHeader = LayoutRecord<typeof superblockHeaderLayout>

const vsr58 = {
  cluster: u128(0),
  replicaId: u8<ReplicaId>(16),
  replicaCount: u8(17),
  view: u32<View>(18),
  logView: u32<View>(22),
  commitMax: u64<Op>(26),
  checkpointOp: u64<Op>(34),
  checkpointChecksum: u128<Checksum>(42),
} as const
const vsr66 = { ...vsr58, offsetFrontier: u64<Offset>(58) } as const
const vsr74 = { ...vsr66, offsetReserved: u64<Offset>(66) } as const

/** The payload as it grew: 58 bytes, 66 with the offset frontier, 74 with the reservation (§1.6). */
export const vsrStateLayouts = {
  58: layout('VsrState58', 58, vsr58),
  66: layout('VsrState66', 66, vsr66),
  74: layout('VsrState', 74, vsr74),
} as const
export type VsrStateBytes = keyof typeof vsrStateLayouts

/** What a group's superblock says. Fields that an older layout lacks read 0. */
export type VsrState = LayoutRecord<(typeof vsrStateLayouts)[74]>

/** Bytes of the payload that this build writes. */
export const VSR_STATE_BYTES = 74

/** The payload that this build writes: always 74 bytes. */
export function encodeVsrState(state: VsrState): Uint8Array {
  return vsrStateLayouts[VSR_STATE_BYTES].encode(state)
}

/**
 * Reads a payload of any known layout; `layoutBytes` says which. For tools: a boot must go through `acceptForBoot`.
 * @throws DecodeError WrongLength, or BadValue when log_view is ahead of view.
 */
export function decodeVsrState(payload: Uint8Array): { readonly layoutBytes: VsrStateBytes; readonly state: VsrState } {
  const layoutBytes = payload.length as VsrStateBytes
  if (!(layoutBytes in vsrStateLayouts)) throw wrongLength(payload.length)
  const widened = new Uint8Array(VSR_STATE_BYTES)
  widened.set(payload)
  const state = vsrStateLayouts[VSR_STATE_BYTES].decode(widened)
  if (state.logView > state.view) {
    throw new DecodeError('BadValue', 22, `log_view ${state.logView} is ahead of view ${state.view}`, {
      expected: `at most ${state.view}`,
      actual: `${state.logView}`,
    })
  }
  return { layoutBytes, state }
}

/**
 * What a boot may take (§1.6): 74 bytes, or 58 zero-extended. A 66-byte record has a frontier but no reservation, and a
 * zero in its place would hand out confirmed offsets again.
 * @throws DecodeError WrongLength or BadValue.
 */
export function acceptForBoot(payload: Uint8Array): VsrState {
  if (payload.length === 66) throw wrongLength(payload.length)
  return decodeVsrState(payload).state
}

function wrongLength(actual: number): DecodeError {
  return new DecodeError(
    'WrongLength',
    0,
    `a superblock payload has ${VSR_STATE_BYTES} bytes (or 58), this one has ${actual}`,
    {
      expected: `${VSR_STATE_BYTES}`,
      actual: `${actual}`,
      advice:
        actual === 66
          ? 'its writer reserved no offsets, so those it has confirmed could be given out again: wipe this directory and let the node rejoin; it cannot be migrated'
          : 'inspect both slot files',
    },
  )
}

/** One whole record. `parentChecksum` and `reserved` default to the zeros that every build writes. */
export function encodeSuperblockRecord(
  record: {
    readonly sequence: bigint
    readonly payload: Uint8Array
    readonly parentChecksum?: Checksum
    readonly reserved?: number
  },
  hash: Hash,
): Uint8Array<ArrayBuffer> {
  const { payload } = record
  if (payload.length > SUPERBLOCK_PAYLOAD_BYTES_MAX) {
    throw new RangeError(
      `superblock payload of ${payload.length} bytes, at most ${SUPERBLOCK_PAYLOAD_BYTES_MAX} are allowed`,
    )
  }
  const sealedAt = SUPERBLOCK_HEADER_BYTES + payload.length
  const bytes = new Uint8Array(sealedAt + SUPERBLOCK_CHECKSUM_BYTES)
  superblockHeaderLayout.encode(
    {
      magic: SUPERBLOCK_MAGIC,
      version: SUPERBLOCK_VERSION,
      reserved: record.reserved ?? 0,
      sequence: record.sequence,
      parentChecksum: record.parentChecksum ?? (0n as Checksum),
      payloadBytes: payload.length,
    },
    bytes,
  )
  bytes.set(payload, SUPERBLOCK_HEADER_BYTES)
  new DataView(bytes.buffer).setBigUint64(sealedAt, hash.xxh3(bytes.subarray(0, sealedAt)), true)
  return bytes
}

export type SlotName = 'a' | 'b'

export interface SlotFailure {
  readonly code: DecodeCode
  /** Byte of the slot file where the check failed. */
  readonly position: number
  readonly message: string
  readonly expected?: string
  readonly actual?: string
}

/** What one slot is (§1.3). `version` is set only when the version itself is what is wrong: nothing after it is trusted. */
export type SlotClass =
  | { readonly kind: 'absent'; readonly reason: 'missing' | 'empty' }
  | { readonly kind: 'corrupt'; readonly failure: SlotFailure; readonly version?: number }
  | {
      readonly kind: 'valid'
      readonly header: SuperblockHeader
      readonly sequence: bigint
      readonly payload: Uint8Array
    }

const corrupt = (
  code: DecodeCode,
  position: number,
  message: string,
  expected?: string,
  actual?: string,
): SlotClass => ({
  kind: 'corrupt',
  failure: {
    code,
    position,
    message,
    ...(expected === undefined ? {} : { expected }),
    ...(actual === undefined ? {} : { actual }),
  },
})

/** Classifies by length alone, before anything is read; undefined when the content decides (§1.3 steps 2 to 4). */
export function classifySlotLength(fileBytes: number): SlotClass | undefined {
  if (fileBytes === 0) return { kind: 'absent', reason: 'empty' }
  if (fileBytes > SUPERBLOCK_RECORD_BYTES_MAX) {
    return corrupt(
      'TooLong',
      SUPERBLOCK_RECORD_BYTES_MAX,
      'longer than any record; not read',
      `at most ${SUPERBLOCK_RECORD_BYTES_MAX}`,
      `${fileBytes}`,
    )
  }
  if (fileBytes < SUPERBLOCK_RECORD_BYTES_MIN) {
    return corrupt(
      'TooShort',
      fileBytes,
      'shorter than any record',
      `at least ${SUPERBLOCK_RECORD_BYTES_MIN}`,
      `${fileBytes}`,
    )
  }
  return undefined
}

/** Classifies the content of a slot file, in the order of §1.3. */
export function classifySlot(bytes: Uint8Array, hash: Hash): SlotClass {
  const byLength = classifySlotLength(bytes.length)
  if (byLength !== undefined) return byLength
  const header = superblockHeaderLayout.decode(bytes)
  if (header.magic !== SUPERBLOCK_MAGIC) {
    return corrupt('BadMagic', 0, 'magic differs', hex(SUPERBLOCK_MAGIC, 8), hex(header.magic, 8))
  }
  if (header.version !== SUPERBLOCK_VERSION) {
    const failure: SlotFailure = {
      code: 'BadVersion',
      position: 4,
      message: `unknown version ${header.version}`,
      expected: `${SUPERBLOCK_VERSION}`,
      actual: `${header.version}`,
    }
    return { kind: 'corrupt', failure, version: header.version }
  }
  if (header.payloadBytes > SUPERBLOCK_PAYLOAD_BYTES_MAX) {
    return corrupt(
      'BadSize',
      24,
      'payload length out of range',
      `at most ${SUPERBLOCK_PAYLOAD_BYTES_MAX}`,
      `${header.payloadBytes}`,
    )
  }
  const sealedAt = SUPERBLOCK_HEADER_BYTES + header.payloadBytes
  if (bytes.length !== sealedAt + SUPERBLOCK_CHECKSUM_BYTES) {
    return corrupt(
      'WrongLength',
      24,
      'file length and payload length disagree',
      `${sealedAt + SUPERBLOCK_CHECKSUM_BYTES} bytes`,
      `${bytes.length} bytes`,
    )
  }
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(sealedAt, true)
  const computed = hash.xxh3(bytes.subarray(0, sealedAt))
  if (stored !== computed)
    return corrupt('BadChecksum', sealedAt, 'checksum differs', hex(computed, 16), hex(stored, 16))
  return { kind: 'valid', header, sequence: header.sequence, payload: bytes.slice(SUPERBLOCK_HEADER_BYTES, sealedAt) }
}

/** What the two slots say together (§1.4). `why` is a sentence for people. */
export type SuperblockVerdict =
  | {
      readonly kind: 'present'
      readonly winner: SlotName
      readonly sequence: bigint
      readonly payload: Uint8Array
      readonly why: string
    }
  | { readonly kind: 'empty'; readonly why: string }
  | { readonly kind: 'unreadable'; readonly version?: number; readonly why: string }

export function combineSlots(a: SlotClass, b: SlotClass): SuperblockVerdict {
  if (a.kind === 'corrupt' || b.kind === 'corrupt') {
    // An unknown version is reported before generic corruption: it names a downgrade.
    const version = (a.kind === 'corrupt' ? a.version : undefined) ?? (b.kind === 'corrupt' ? b.version : undefined)
    const bad =
      a.kind === 'corrupt' && b.kind === 'corrupt'
        ? 'both slots are corrupt'
        : `slot ${a.kind === 'corrupt' ? 'a' : 'b'} is corrupt`
    if (version !== undefined)
      return { kind: 'unreadable', version, why: `${bad}: version ${version} is unknown to this build` }
    const other = a.kind === 'valid' || b.kind === 'valid' ? '; the other is valid but may be the older one' : ''
    return { kind: 'unreadable', why: `${bad}${other}` }
  }
  if (a.kind === 'valid' && b.kind === 'valid') {
    const aWins = a.sequence >= b.sequence
    const winner = aWins ? a : b
    const why =
      a.sequence === b.sequence
        ? `both have sequence ${a.sequence}; a wins a tie`
        : `sequence ${winner.sequence} is the higher one`
    return { kind: 'present', winner: aWins ? 'a' : 'b', sequence: winner.sequence, payload: winner.payload, why }
  }
  if (a.kind === 'valid')
    return { kind: 'present', winner: 'a', sequence: a.sequence, payload: a.payload, why: 'slot b is absent' }
  if (b.kind === 'valid')
    return { kind: 'present', winner: 'b', sequence: b.sequence, payload: b.payload, why: 'slot a is absent' }
  return { kind: 'empty', why: 'both slots are absent: nothing was ever written' }
}

const hex = (value: number | bigint, digits: number): string => `0x${value.toString(16).padStart(digits, '0')}`
