/**
 * The Disk port. Paths are relative to the node's data directory, with `/` between parts, and never leave it.
 * Every method is asynchronous and may be called from anywhere; none of them orders itself behind another call.
 * Failures are `DiskError`s; "not found" is a code, so that a caller can tell an absent file from a broken disk.
 */
import { EngineError } from '../bytes/errors.ts'

export type DiskErrorCode = 'NotFound' | 'Exists' | 'NotADirectory' | 'NoSpace' | 'ReadOnly' | 'Io'

export class DiskError extends EngineError {
  readonly disk: DiskErrorCode

  constructor(disk: DiskErrorCode, operation: string, path: string, cause?: unknown) {
    super(`DISK_${disk.toUpperCase()}`, `${operation} ${path}: ${disk}${reasonOf(disk, cause)}`, { path }, { cause })
    this.name = 'DiskError'
    this.disk = disk
  }
}

/** `Io` alone does not tell a link from a broken disk. The system's own message would, but names the machine's paths. */
function reasonOf(disk: DiskErrorCode, cause: unknown): string {
  if (disk !== 'Io' || !(cause instanceof Error)) return ''
  const { code } = cause as { code?: unknown }
  return ` (${typeof code === 'string' ? code : cause.message})`
}

export const isNotFound = (error: unknown): boolean => error instanceof DiskError && error.disk === 'NotFound'

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'other'
  readonly sizeBytes: number
  readonly modifiedMs: number
}

export interface DiskFile {
  readonly path: string
  /** Fills `into` from `position`; resolves to the bytes read, fewer than asked only at the end of the file. */
  read(position: number, into: Uint8Array): Promise<number>
  /** Writes all buffers back to back at `position`; resolves when every byte is written (short writes are retried inside). */
  write(position: number, buffers: readonly Uint8Array[]): Promise<void>
  /** fdatasync. */
  datasync(): Promise<void>
  /** fsync. */
  sync(): Promise<void>
  truncate(sizeBytes: number): Promise<void>
  /** Reserves space without changing the logical size; resolves to false where the file system cannot. */
  preallocate(sizeBytes: number): Promise<boolean>
  sizeBytes(): Promise<number>
  close(): Promise<void>
}

/** `read`: must exist. `write`: read and write, must exist. `create`: read and write, made or emptied. `append`: read and write, made when absent, kept otherwise. */
export type OpenMode = 'read' | 'write' | 'create' | 'append'

export interface Disk {
  open(path: string, mode: OpenMode): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Names in a directory, sorted by code unit so that every world lists alike. */
  list(path: string): Promise<string[]>
  stat(path: string): Promise<FileStat>
  /** mkdir -p. Durable when it resolves: the directory that holds a new name has been synced. */
  makeDirectory(path: string): Promise<void>
  /** Removes a file or a tree; absent is success. */
  remove(path: string): Promise<void>
  /** fsync of a directory: makes creations, renames and removals in it durable. */
  syncDirectory(path: string): Promise<void>
}

/** Reads a whole file, at most `bytesMax`. Throws EngineError FileTooLarge beyond, DiskError otherwise. */
export async function readFile(disk: Disk, path: string, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const file = await disk.open(path, 'read')
  try {
    const size = await file.sizeBytes()
    if (size > bytesMax) {
      throw new EngineError('FileTooLarge', `${path} has ${size} bytes, at most ${bytesMax} are read`, { path })
    }
    const bytes = new Uint8Array(size)
    const length = await file.read(0, bytes)
    return length === size ? bytes : bytes.slice(0, length)
  } finally {
    await file.close()
  }
}
