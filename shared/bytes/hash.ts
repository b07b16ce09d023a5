/**
 * Hashing. XXH3-64 (seed 0, default secret) guards every frame and file of the system (spec consensus.md §2.1,
 * partition.md §2.3); XXH32 names consumers (wire.md §3.7). Creation compiles WebAssembly and is asynchronous, use is
 * synchronous: create one `Hash` before anything starts and pass it down.
 */
import { createXXHash3, createXXHash32 } from 'hash-wasm'
import { Checksum } from './units.ts'

export interface HashStream {
  update(bytes: Uint8Array): HashStream
  /** Value over all bytes so far; the stream must not be used afterwards. */
  digest(): Checksum
}

export interface Hash {
  /** XXH3-64 of `bytes`. The empty input gives 0x2d06800538d394c2. */
  xxh3(bytes: Uint8Array): Checksum
  /** A stream with state of its own: two streams may be interleaved. */
  xxh3Stream(): HashStream
  /** XXH32, seed 0. */
  xxh32(bytes: Uint8Array): number
}

/** Streams buffered in plain memory below this size are hashed in one call; it covers a batch of ~8,000 messages. */
const STREAM_BUFFER_BYTES = 65_536

export async function createHash(): Promise<Hash> {
  const [one, streaming, x32] = await Promise.all([createXXHash3(), createXXHash3(), createXXHash32(0)])

  const xxh3 = (bytes: Uint8Array): Checksum => {
    one.init()
    one.update(bytes)
    return toChecksum(one.digest('binary'))
  }

  const xxh3Stream = (): HashStream => {
    // The WebAssembly hasher has one state; `save` and `load` give each stream its own, and small inputs, which are
    // nearly all of them, never touch it until their digest.
    let pending = new Uint8Array(1024)
    let used = 0
    let saved: Uint8Array | undefined
    const spill = (bytes?: Uint8Array) => {
      if (saved) streaming.load(saved)
      else streaming.init()
      if (used > 0) streaming.update(pending.subarray(0, used))
      used = 0
      if (bytes) streaming.update(bytes)
    }
    const stream: HashStream = {
      update(bytes) {
        if (used + bytes.length <= STREAM_BUFFER_BYTES) {
          if (used + bytes.length > pending.length) {
            const grown = new Uint8Array(
              Math.min(STREAM_BUFFER_BYTES, Math.max(pending.length * 2, used + bytes.length)),
            )
            grown.set(pending.subarray(0, used))
            pending = grown
          }
          pending.set(bytes, used)
          used += bytes.length
        } else {
          spill(bytes)
          saved = streaming.save()
        }
        return stream
      },
      digest() {
        if (!saved) return xxh3(pending.subarray(0, used))
        spill()
        return toChecksum(streaming.digest('binary'))
      },
    }
    return stream
  }

  return {
    xxh3,
    xxh3Stream,
    xxh32: bytes => {
      x32.init()
      x32.update(bytes)
      return Number.parseInt(x32.digest('hex'), 16)
    },
  }
}

/** One for all digests: a view for each would be a fifth of what the hashing of a small message takes. */
const digested = new Uint8Array(8)
const digestedView = new DataView(digested.buffer)

/** hash-wasm returns the canonical, big-endian form. */
function toChecksum(digest: Uint8Array): Checksum {
  digested.set(digest)
  return Checksum(digestedView.getBigUint64(0))
}
