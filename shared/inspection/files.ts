/**
 * Files of a node's data directory as the console reads them: now, as the last boot found them, and as the boot before
 * found them. Additive only.
 */
import { z } from 'zod'
import { decimal } from './envelope.ts'

/** Rows of one answer; files that changed come first. */
export const FILE_ROWS_MAX = 2_000

export const fileState = z.object({
  sizeBytes: z.number(),
  modifiedWallMs: z.number(),
  /** XXH3-64 of a small file, hex. */
  checksum: z.string().optional(),
})
export type FileState = z.infer<typeof fileState>

/** `rewritten`: as long as before, with other bytes or another time. */
export const fileChange = z.enum(['new', 'gone', 'grown', 'shrunk', 'rewritten', 'same'])
export type FileChange = z.infer<typeof fileChange>

export const fileRow = z.object({
  /** From the data directory on. */
  path: z.string(),
  now: fileState.nullable(),
  lastBoot: fileState.nullable(),
  bootBefore: fileState.nullable(),
})
export type FileRow = z.infer<typeof fileRow>

export const filesAnswer = z.object({
  node: z.number().int(),
  /** When the console read the directory. */
  takenWallUs: decimal,
  dataDirectory: z.string(),
  files: z.number(),
  bytes: z.number(),
  /** Entries of the directory that are no plain files, or more than the console reads. */
  leftOut: z.number(),
  /** When these boots found what is told of them; null when this console, or one before it, saw no such boot. */
  lastBootWallMs: z.number().nullable(),
  bootBeforeWallMs: z.number().nullable(),
  /** Files that `rows` should have. */
  total: z.number(),
  rows: z.array(fileRow),
})
export type FilesAnswer = z.infer<typeof filesAnswer>

export const logAnswer = z.object({
  node: z.number().int(),
  takenWallUs: decimal,
  path: z.string(),
  /** Newest last. */
  lines: z.array(z.string()),
})
export type LogAnswer = z.infer<typeof logAnswer>

/** What became of a file between two moments; undefined where it was at neither. */
export function changeOf(before: FileState | null, after: FileState | null): FileChange | undefined {
  if (before === null) return after === null ? undefined : 'new'
  if (after === null) return 'gone'
  if (after.sizeBytes !== before.sizeBytes) return after.sizeBytes > before.sizeBytes ? 'grown' : 'shrunk'
  if (before.checksum !== undefined && after.checksum !== undefined)
    return before.checksum === after.checksum ? 'same' : 'rewritten'
  return before.modifiedWallMs === after.modifiedWallMs ? 'same' : 'rewritten'
}
