/**
 * Logs and sessions in full: one entry of the write-ahead log with its bytes and what they prove, a scan of its file as it
 * is now, the journal of a partition group, and the replies kept for one client. 64-bit values are decimal text. Additive only.
 */
import { z } from 'zod'
import { decimal } from './envelope.ts'
import { reporter } from './snapshots.ts'

/** `boot` of a reporter that is a directory: nobody serves it, its files were read. */
export const DIRECTORY_BOOT = 'directory'

/** Bytes of one entry that an answer carries at most; an entry may have 64 MiB. */
export const ENTRY_BYTES_MAX = 65_536
/** Newest ops of a partition's journal that one answer lists. */
export const JOURNAL_ENTRIES_MAX = 4_096

export const walEntrySnapshot = z.object({
  reporter,
  op: decimal,
  slot: z.number().int(),
  path: z.string(),
  positionBytes: z.number(),
  lengthBytes: z.number(),
  /** Read from the file, from `positionBytes` on, at most ENTRY_BYTES_MAX. */
  hex: z.string(),
  /** `unsealed`: an older build never sealed it. `unread`: the entry is longer than what was read. */
  identity: z.enum(['valid', 'bad', 'unsealed', 'unread']),
  body: z.enum(['valid', 'bad', 'unsealed', 'unread']),
  /** Against the op before, as it is held: `first` when that one is not. */
  parent: z.enum(['follows', 'broken', 'first', 'unsealed']),
  /** Whether the file has, byte for byte, what the node holds in memory; absent when no process holds it. */
  sameAsMemory: z.boolean().optional(),
})
export type WalEntrySnapshot = z.infer<typeof walEntrySnapshot>

/** The scan that a boot makes, over the file as it is now. It changes nothing. */
export const walScanSnapshot = z.object({
  reporter,
  path: z.string(),
  fileBytes: z.number(),
  entries: z.number(),
  unsealed: z.number(),
  highestOp: decimal,
  end: z.enum(['clean', 'torn', 'damage']),
  positionBytes: z.number(),
  problem: z
    .object({
      check: z.string(),
      positionBytes: z.number(),
      message: z.string(),
      op: decimal.optional(),
      expected: z.string().optional(),
      actual: z.string().optional(),
    })
    .optional(),
})
export type WalScanSnapshot = z.infer<typeof walScanSnapshot>

/**
 * Ops of a partition group in memory. `prepared`: not applied here. `committed`: applied, its bytes owed to the disk.
 * `settled`: on disk, or nothing of it belongs there; kept for repair until the ring is full.
 */
export const journalSnapshot = z.object({
  reporter,
  group: decimal,
  appliedOp: decimal,
  settledOp: decimal,
  highestOp: decimal,
  ring: z.object({ ops: z.number(), opsMax: z.number(), bytes: z.number(), bytesMax: z.number() }),
  /** By op, newest last, at most JOURNAL_ENTRIES_MAX; `held` counts them all. */
  held: z.number(),
  entries: z.array(
    z.object({
      op: decimal,
      view: z.number(),
      operation: z.number(),
      checksum: z.string(),
      parent: z.string(),
      lengthBytes: z.number(),
      timestamp: decimal,
      state: z.enum(['prepared', 'committed', 'settled']),
      /** Of a batch: first offset and how many messages. */
      baseOffset: decimal.optional(),
      messages: z.number().optional(),
    }),
  ),
})
export type JournalSnapshot = z.infer<typeof journalSnapshot>

/** One session, with the replies that a retry would get again, oldest first. */
export const sessionSnapshot = z.object({
  reporter,
  client: z.string(),
  slot: z.number().int(),
  session: decimal,
  user: z.number(),
  watermark: decimal,
  watermarkChecksum: z.string(),
  latestCommit: decimal,
  replies: z.array(
    z.object({
      request: decimal,
      requestChecksum: z.string(),
      commit: decimal,
      operation: z.number(),
      status: z.number(),
      lengthBytes: z.number(),
    }),
  ),
})
export type SessionSnapshot = z.infer<typeof sessionSnapshot>
