/** XXH3-64 over a stretch of a file, in bounded memory. */
import type { Hash, HashStream } from '../bytes/hash.ts'
import type { Checksum } from '../bytes/units.ts'
import { DiskError, type DiskFile } from './disk.ts'
import type { Scheduler } from './ports.ts'

const READ_BYTES = 1024 * 1024

/** Feeds bytes `from` to `to` to `stream`; yields after each read. @throws DiskError, also when the file is shorter. */
export async function feedHash(
  file: DiskFile,
  from: number,
  to: number,
  stream: HashStream,
  scheduler: Scheduler,
): Promise<void> {
  const buffer = new Uint8Array(Math.min(READ_BYTES, to - from))
  for (let at = from; at < to; ) {
    const read = await file.read(at, buffer.subarray(0, Math.min(buffer.length, to - at)))
    if (read === 0) throw new DiskError('Io', 'read', file.path, `ends at byte ${at}, expected ${to}`)
    stream.update(buffer.subarray(0, read))
    at += read
    await scheduler.yield()
  }
}

export async function hashFile(file: DiskFile, sizeBytes: number, hash: Hash, scheduler: Scheduler): Promise<Checksum> {
  const stream = hash.xxh3Stream()
  await feedHash(file, 0, sizeBytes, stream, scheduler)
  return stream.digest()
}
