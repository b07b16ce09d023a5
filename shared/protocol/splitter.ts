/**
 * Cuts a byte stream into frames (spec consensus.md §2.1, wire.md §1.1). Chunks may end anywhere. Nothing is allocated by
 * the size a peer claims: the buffer of a frame grows with the bytes that have arrived, at most doubling, so that the work
 * stays linear and an attacker holds no more memory than he has sent.
 */
import { DecodeError } from '../bytes/errors.ts'
import { FRAME_BYTES_MAX, HEADER_BYTES } from './headers.ts'

const SIZE_AT = 48

export class FrameSplitter {
  private readonly frameBytesMax: number
  private buffer: Uint8Array = new Uint8Array(HEADER_BYTES)
  private used = 0
  /** Size of the frame being filled, 0 until its header is complete. */
  private size = 0
  private failure: DecodeError | undefined

  constructor(frameBytesMax: number = FRAME_BYTES_MAX) {
    this.frameBytesMax = frameBytesMax
  }

  /** Bytes of the unfinished frame; 0 when the stream stands between two frames. */
  get pendingBytes(): number {
    return this.used
  }

  /**
   * Takes the next chunk and hands every frame it completes to `onFrame`, in order; each is a buffer of its own.
   * @throws DecodeError BadSize when a frame claims fewer than 256 or more than the allowed bytes, after the frames before
   * it were delivered. The stream cannot be read on: every later call throws the same error.
   */
  push(chunk: Uint8Array, onFrame: (frame: Uint8Array) => void): void {
    if (this.failure) throw this.failure
    let at = 0
    while (at < chunk.length) {
      if (this.size === 0) {
        at += this.fill(chunk, at, HEADER_BYTES)
        if (this.used < HEADER_BYTES) return
        this.size = this.readSize()
      }
      at += this.fill(chunk, at, this.size)
      if (this.used < this.size) return
      const frame = this.take()
      onFrame(frame)
    }
  }

  /** Copies what the chunk has of the frame up to `end`; returns how many bytes that was. */
  private fill(chunk: Uint8Array, at: number, end: number): number {
    const count = Math.min(end - this.used, chunk.length - at)
    if (count === 0) return 0
    const needed = this.used + count
    if (needed > this.buffer.length) {
      const grown = new Uint8Array(Math.min(end, Math.max(needed, this.buffer.length * 2)))
      grown.set(this.buffer.subarray(0, this.used))
      this.buffer = grown
    }
    this.buffer.set(chunk.subarray(at, at + count), this.used)
    this.used = needed
    return count
  }

  private readSize(): number {
    const size = new DataView(this.buffer.buffer).getUint32(SIZE_AT, true)
    if (size >= HEADER_BYTES && size <= this.frameBytesMax) return size
    this.failure = new DecodeError(
      'BadSize',
      SIZE_AT,
      `frame size ${size} is outside ${HEADER_BYTES}..${this.frameBytesMax}`,
    )
    throw this.failure
  }

  private take(): Uint8Array {
    const frame = this.buffer.length === this.size ? this.buffer : this.buffer.slice(0, this.size)
    this.buffer = new Uint8Array(HEADER_BYTES)
    this.used = 0
    this.size = 0
    return frame
  }
}
