/**
 * An open file with several users. It closes when its owner has let go of it and the last reader is done: closing earlier
 * would fail a read in flight, or let it read whatever file got the descriptor next.
 */
import type { DiskFile } from '../storage/disk.ts'

export class SharedFile {
  readonly file: DiskFile
  private users = 1
  private readonly closeFailed: (error: unknown) => void

  /** The creator is the first user. `closeFailed` hears of a failing close; nobody else could. */
  constructor(file: DiskFile, closeFailed: (error: unknown) => void) {
    this.file = file
    this.closeFailed = closeFailed
  }

  acquire(): DiskFile {
    this.users++
    return this.file
  }

  release(): void {
    if (--this.users === 0) this.file.close().catch(this.closeFailed)
  }
}
