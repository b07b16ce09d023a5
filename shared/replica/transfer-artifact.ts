/** An artifact of a state transfer that fits into memory. */
import { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import type { ManifestEntry } from '../protocol/transfer-manifest.ts'
import type { ArtifactSink } from './transfer-session.ts'

export class ArtifactInMemory implements ArtifactSink {
  private readonly entry: ManifestEntry
  private readonly hash: Hash
  private chunks: Uint8Array[] = []
  /** The whole of it, once it is complete. */
  bytes: Uint8Array = new Uint8Array(0)

  constructor(entry: ManifestEntry, hash: Hash) {
    this.entry = entry
    this.hash = hash
  }

  write(_position: number, bytes: Uint8Array): undefined {
    this.chunks.push(bytes)
  }

  /** @throws EngineError BadChecksum */
  complete(): undefined {
    const whole = new Uint8Array(Number(this.entry.length))
    let at = 0
    for (const chunk of this.chunks) {
      whole.set(chunk, at)
      at += chunk.length
    }
    this.chunks = []
    if (this.hash.xxh3(whole) !== this.entry.checksum) throw new EngineError('BadChecksum', 'the checksum differs')
    this.bytes = whole
  }
}
