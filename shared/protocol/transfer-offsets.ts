/**
 * The consumer offsets of a partition as a state transfer carries them (spec partition.md §8.2):
 *
 *   magic "ICO1" | version u8 = 1 | purge generation u64 | next offset u64 | consumers u32 | groups u32 |
 *   {id u32, offset u64} of each consumer, then of each group, ids ascending | XXH3-64 u64 over everything before
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { ByteReader } from '../bytes/reader.ts'
import { Offset } from '../bytes/units.ts'
import { ByteWriter } from '../bytes/writer.ts'

export interface StoredOffset {
  readonly id: number
  readonly offset: Offset
}

export interface TransferredOffsets {
  readonly purgeGeneration: bigint
  /** One past the last offset that the segments speak for: what the next batch behind them starts at. */
  readonly nextOffset: Offset
  readonly consumers: readonly StoredOffset[]
  readonly groups: readonly StoredOffset[]
}

/** "ICO1" as a little-endian u32. */
const MAGIC = 0x314f4349
const VERSION = 1
const HEAD_BYTES = 29
const ENTRY_BYTES = 12
const TRAILER_BYTES = 8
/** Consumers, and groups, that one partition may have. */
export const STORED_OFFSETS_MAX = 1 << 20

/** Sorts by id. */
export function encodeTransferredOffsets(value: TransferredOffsets, hash: Hash): Uint8Array {
  const sections = [value.consumers, value.groups].map(section => [...section].sort((a, b) => a.id - b.id))
  const entries = sections.reduce((sum, section) => sum + section.length, 0)
  const writer = new ByteWriter(HEAD_BYTES + entries * ENTRY_BYTES + TRAILER_BYTES)
  writer.u32(MAGIC)
  writer.u8(VERSION)
  writer.u64(value.purgeGeneration)
  writer.u64(value.nextOffset)
  for (const section of sections) writer.u32(section.length)
  for (const { id, offset } of sections.flat()) {
    writer.u32(id)
    writer.u64(offset)
  }
  writer.u64(hash.xxh3(writer.finish()))
  return writer.finish()
}

/** Nothing is allocated for a count that the bytes do not bear out. @throws DecodeError */
export function decodeTransferredOffsets(bytes: Uint8Array, hash: Hash): TransferredOffsets {
  const end = bytes.length - TRAILER_BYTES
  if (end < HEAD_BYTES) throw new DecodeError('TooShort', 0, `consumer offsets of ${bytes.length} bytes`)
  const reader = new ByteReader(bytes, 0, end)
  if (reader.u32() !== MAGIC) throw new DecodeError('BadMagic', 0, 'these are no consumer offsets')
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(end, true)
  const computed = hash.xxh3(bytes.subarray(0, end))
  if (stored !== computed) {
    throw new DecodeError('BadChecksum', end, 'the consumer offsets do not match their checksum', {
      expected: computed.toString(16),
      actual: stored.toString(16),
    })
  }
  const version = reader.u8()
  if (version !== VERSION) throw new DecodeError('BadVersion', 4, `consumer offsets of version ${version}`)
  const purgeGeneration = reader.u64()
  const nextOffset = Offset(reader.u64())
  const counts = [reader.u32(), reader.u32()] as const
  for (const count of counts)
    if (count > STORED_OFFSETS_MAX) throw new DecodeError('BadCount', 21, `${count} consumer offsets`)
  if ((counts[0] + counts[1]) * ENTRY_BYTES !== reader.remaining) {
    throw new DecodeError('BadCount', 21, `${counts[0]} and ${counts[1]} offsets in ${reader.remaining} bytes`)
  }
  const [consumers, groups] = counts.map(count => readSection(reader, count)) as [StoredOffset[], StoredOffset[]]
  return { purgeGeneration, nextOffset, consumers, groups }
}

function readSection(reader: ByteReader, count: number): StoredOffset[] {
  let last = -1
  return Array.from({ length: count }, () => {
    const at = reader.at
    const id = reader.u32()
    if (id <= last) throw new DecodeError('BadValue', at, `id ${id} behind id ${last}`)
    last = id
    return { id, offset: Offset(reader.u64()) }
  })
}
