/** What an index without a log still says (spec partition.md §6.1): the offsets that its lost segment had given out. */
import type { Offset } from '../bytes/units.ts'
import { BATCH_HEADER_BYTES, MESSAGE_HEADER_BYTES } from '../protocol/batch.ts'
import { INDEX_ENTRY_BYTES } from '../storage/index-file.ts'
import type { PartitionHost } from './contract.ts'
import { SparseIndex } from './sparse-index.ts'

/** No segment is longer, so an entry that points further is rot. */
const SEGMENT_BYTES_MAX = 1024 * 1024 * 1024 + BATCH_HEADER_BYTES
const WINDOW_BYTES = 32_768 * INDEX_ENTRY_BYTES

/** Largest offset + 1 among the believable entries, 0 without one: no message is shorter than its header. Throws DiskError. */
export async function readOrphanClaim(host: PartitionHost, path: string, start: Offset): Promise<bigint> {
  const file = await host.disk.open(path, 'read')
  try {
    const size = await file.sizeBytes()
    let claim = 0n
    for (let at = 0; at < size; at += WINDOW_BYTES) {
      const bytes = new Uint8Array(Math.min(WINDOW_BYTES, size - at))
      const window = new SparseIndex(bytes.subarray(0, await file.read(at, bytes)))
      for (let number = 0; number < window.entries; number++) {
        const { offset, position } = window.entry(number)
        if (position >= SEGMENT_BYTES_MAX || offset < start) continue
        if (offset - start <= BigInt(Math.floor(position / MESSAGE_HEADER_BYTES)) && offset + 1n > claim)
          claim = offset + 1n
      }
      await host.scheduler.yield()
    }
    return claim
  } finally {
    await file.close()
  }
}
