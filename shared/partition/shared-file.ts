/**
 * An open file with several users. It closes when its owner has let go of it and the last reader is done: closing earlier
 * would fail a read in flight, or let it read whatever file got the descriptor next.
 */
import type { DiskFile } from '../storage/disk.ts'

export class SharedFile {
  readonly file: DiskFile
  private users = 1
  private closed = false
  private readonly closeFailed: (error: unknown) => void

  /** The creator is the first user. `closeFailed` hears of a failing close; nobody else could. */
  constructor(file: DiskFile, closeFailed: (error: unknown) => void) {
    this.file = file
    this.closeFailed = closeFailed
  }

  /** Users beside the owner. */
  get readers(): number {
    return Math.max(0, this.users - 1)
  }

  acquire(): DiskFile {
    this.users++
    return this.file
  }

  release(): void {
    if (--this.users === 0) this.close()
  }

  /** What `release` is to a reader, for the owner. `readersHold` false breaks the rule: readers in flight are not waited for. */
  letGo(readersHold: boolean): void {
    if (!readersHold) this.close()
    this.release()
  }

  private close(): void {
    if (this.closed) return
    this.closed = true
    this.file.close().catch(this.closeFailed)
  }
}
