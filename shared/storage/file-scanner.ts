/**
 * Buffered reads over one file of known length (spec partition.md §6.3). One window, filled forwards from the wanted
 * position, or backwards so that it ends at the wanted range when a search steps down; what is larger than the window is
 * read into a buffer of its own, never larger than the file. Views are valid until the next `read`.
 */
import { DiskError, type DiskFile } from './disk.ts'

/** Memory of one walk; reads of this size keep a sequential disk busy. */
export const SCAN_WINDOW_BYTES = 4 * 1024 * 1024

export class FileScanner {
  readonly sizeBytes: number
  private readonly file: DiskFile
  private readonly window: Uint8Array<ArrayBuffer>
  private start = 0
  private length = 0
  private refilled = false
  /** For what is larger than the window; kept, so that a file of large batches does not fill the memory with them. */
  private spill = new Uint8Array(0)

  constructor(file: DiskFile, sizeBytes: number, windowBytes = SCAN_WINDOW_BYTES) {
    this.file = file
    this.sizeBytes = sizeBytes
    this.window = new Uint8Array(Math.min(windowBytes, sizeBytes))
  }

  /** The range when the window holds it already; undefined says "use read", not "absent". */
  peek(position: number, length: number): Uint8Array | undefined {
    const from = position - this.start
    return from >= 0 && from + length <= this.length ? this.window.subarray(from, from + length) : undefined
  }

  /** The range, or undefined when it does not lie inside the file. Throws DiskError. */
  async read(position: number, length: number): Promise<Uint8Array | undefined> {
    if (position < 0 || position + length > this.sizeBytes) return undefined
    const held = this.peek(position, length)
    if (held !== undefined) return held
    this.refilled = true
    if (length > this.window.length) {
      if (this.spill.length < length) {
        const windows = Math.ceil(length / this.window.length)
        this.spill = new Uint8Array(Math.min(this.sizeBytes, windows * this.window.length))
      }
      const spilled = this.spill.subarray(0, length)
      await this.fill(position, spilled)
      return spilled
    }
    const end = position + length
    const start = position < this.start ? Math.max(0, end - this.window.length) : position
    const wanted = Math.min(this.window.length, this.sizeBytes - start)
    this.length = 0
    await this.fill(start, this.window.subarray(0, wanted))
    this.start = start
    this.length = wanted
    return this.window.subarray(position - start, end - start)
  }

  /** True when the disk was touched since the last call. A long loop yields then. */
  takeRefilled(): boolean {
    const refilled = this.refilled
    this.refilled = false
    return refilled
  }

  private async fill(position: number, into: Uint8Array): Promise<void> {
    const read = await this.file.read(position, into)
    if (read !== into.length) {
      throw new DiskError(
        'Io',
        'read',
        this.file.path,
        new Error(`the file ended at ${position + read}, ${this.sizeBytes} bytes were expected`),
      )
    }
  }
}
