/**
 * The client table as it travels in a state transfer (spec metadata-storage.md §5):
 *
 *   magic "ICT2" | count u32 | per entry, in slot order: client u128 | epoch u64 | user u32 | watermark u64 |
 *   watermark checksum u128 | replies u8 (1..5) | per reply, oldest first: length u32 | frame
 *   trailer XXH3-64 u64 over everything before
 *
 * Slots are not sent: the entries of the receiver fill 0..count.
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { ByteReader } from '../bytes/reader.ts'
import { ClientId } from '../bytes/units.ts'
import { ByteWriter } from '../bytes/writer.ts'
import { CLIENT_SLOTS_MAX, type ClientTable, REPLY_RING_CAPACITY, type StoredClient } from './client-table.ts'

/** "ICT2" as a little-endian u32. */
const MAGIC = 0x32544349
const TRAILER_BYTES = 8

export function encodeClientTable(table: ClientTable, hash: Hash): Uint8Array {
  const writer = new ByteWriter(4096)
  writer.u32(MAGIC)
  writer.u32(table.size)
  for (const [, entry] of table.entries()) {
    writer.u128(entry.client)
    writer.u64(entry.epoch)
    writer.u32(entry.userId)
    writer.u64(entry.watermark)
    writer.u128(entry.watermarkChecksum)
    writer.u8(entry.replies.length)
    for (const { frame } of entry.replies) {
      writer.u32(frame.length)
      writer.raw(frame)
    }
  }
  const sealed = writer.finish()
  writer.u64(hash.xxh3(sealed))
  return writer.finish()
}

/** @throws DecodeError. The replies are copies. */
export function decodeClientTable(bytes: Uint8Array, hash: Hash): StoredClient[] {
  const end = bytes.length - TRAILER_BYTES
  if (end < 8) throw new DecodeError('TooShort', 0, `a client table of ${bytes.length} bytes`)
  const reader = new ByteReader(bytes, 0, end)
  if (reader.u32() !== MAGIC) throw new DecodeError('BadMagic', 0, 'this is no client table')
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(end, true)
  const computed = hash.xxh3(bytes.subarray(0, end))
  if (stored !== computed)
    throw new DecodeError('BadChecksum', end, 'the client table does not match its checksum', {
      expected: computed.toString(16),
      actual: stored.toString(16),
    })
  const count = reader.u32()
  if (count > CLIENT_SLOTS_MAX) throw new DecodeError('BadCount', 4, `a client table of ${count} entries`)
  const entries: StoredClient[] = []
  for (let slot = 0; slot < count; slot++) {
    const client = ClientId(reader.u128())
    const [epoch, userId, watermark] = [reader.u64(), reader.u32(), reader.u64()]
    const watermarkChecksum = reader.u128()
    const at = reader.at
    const ring = reader.u8()
    if (ring < 1 || ring > REPLY_RING_CAPACITY) throw new DecodeError('BadCount', at, `${ring} cached replies`)
    const replies = Array.from({ length: ring }, () => reader.raw(reader.u32()).slice())
    entries.push({ slot, client, epoch, userId, watermark, watermarkChecksum, replies })
  }
  reader.done()
  return entries
}
