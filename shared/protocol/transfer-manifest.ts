/**
 * What a state transfer offers (spec consensus.md §6.3):
 *
 *   magic "ISM1" | count u32 | entry length u8 (25, or more: the rest is skipped) | per entry: kind u8 | frontier u64 |
 *   length u64 | checksum u64 | trailer XXH3-64 u64 over everything before
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { ByteReader } from '../bytes/reader.ts'
import { Checksum } from '../bytes/units.ts'
import { ByteWriter } from '../bytes/writer.ts'

/** `frontier`: op of the snapshot; op at which the table was read; base offset of the segment; op of the offsets. */
export const ArtifactKind = { MetadataSnapshot: 0, ClientTable: 1, SegmentLog: 2, ConsumerOffsets: 3 } as const

export interface ManifestEntry {
  readonly kind: number
  readonly frontier: bigint
  readonly length: bigint
  readonly checksum: Checksum
  /** What a longer entry holds behind these fields. */
  readonly rest?: Uint8Array
}

/** "ISM1" as a little-endian u32. */
const MAGIC = 0x314d5349
const ENTRY_BYTES = 25
const TRAILER_BYTES = 8
const HEAD_BYTES = 9
/** Entries that a manifest may have. */
export const MANIFEST_ENTRIES_MAX = 65_536

export function encodeManifest(entries: readonly ManifestEntry[], hash: Hash, restBytes = 0): Uint8Array {
  const writer = new ByteWriter(HEAD_BYTES + entries.length * (ENTRY_BYTES + restBytes) + TRAILER_BYTES)
  writer.u32(MAGIC)
  writer.u32(entries.length)
  writer.u8(ENTRY_BYTES + restBytes)
  for (const { kind, frontier, length, checksum, rest } of entries) {
    writer.u8(kind)
    writer.u64(frontier)
    writer.u64(length)
    writer.u64(checksum)
    writer.raw(rest ?? new Uint8Array(restBytes))
  }
  writer.u64(hash.xxh3(writer.finish()))
  return writer.finish()
}

/** @throws DecodeError, an unknown kind included. */
export function decodeManifest(bytes: Uint8Array, hash: Hash): ManifestEntry[] {
  const end = bytes.length - TRAILER_BYTES
  if (end < HEAD_BYTES) throw new DecodeError('TooShort', 0, `a manifest of ${bytes.length} bytes`)
  const reader = new ByteReader(bytes, 0, end)
  if (reader.u32() !== MAGIC) throw new DecodeError('BadMagic', 0, 'this is no manifest')
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(end, true)
  const computed = hash.xxh3(bytes.subarray(0, end))
  if (stored !== computed)
    throw new DecodeError('BadChecksum', end, 'the manifest does not match its checksum', {
      expected: computed.toString(16),
      actual: stored.toString(16),
    })
  const [count, entryBytes] = [reader.u32(), reader.u8()]
  if (entryBytes < ENTRY_BYTES) throw new DecodeError('BadSize', 8, `manifest entries of ${entryBytes} bytes`)
  if (count > MANIFEST_ENTRIES_MAX || count * entryBytes !== reader.remaining)
    throw new DecodeError('BadCount', 4, `${count} manifest entries in ${reader.remaining} bytes`)
  return Array.from({ length: count }, () => {
    const at = reader.at
    const kind = reader.u8()
    if (kind > ArtifactKind.ConsumerOffsets) throw new DecodeError('BadValue', at, `an artifact of kind ${kind}`)
    const entry = { kind, frontier: reader.u64(), length: reader.u64(), checksum: Checksum(reader.u64()) }
    const rest = reader.raw(entryBytes - ENTRY_BYTES)
    return rest.length === 0 ? entry : { ...entry, rest: rest.slice() }
  })
}
