/**
 * What an inspection says. A finding names the file, the byte and the check; `info` is worth knowing, `warning` is what a
 * boot would step around, `damage` is bytes that are not as they were written.
 */
import { DiskError } from '../disk.ts'
import type { SuperblockDescription } from '../superblock.ts'

export type Severity = 'info' | 'warning' | 'damage'

export interface Finding {
  readonly severity: Severity
  /** Stable, e.g. SEGMENT_DAMAGED. */
  readonly code: string
  /** Relative to the inspected directory. */
  readonly path: string
  /** Byte in the file; 0 where the whole file is meant. */
  readonly position: number
  /** The check that failed, e.g. message_checksum. */
  readonly check: string
  readonly message: string
}

export interface GroupSuperblock extends SuperblockDescription {
  readonly plane: 'metadata' | 'partition'
  readonly key?: { readonly stream: number; readonly topic: number; readonly partition: number }
  readonly directory: string
}

export interface WalReport {
  readonly path: string
  readonly sizeBytes: number
  readonly goodBytes: number
  readonly entries: number
  readonly unsealed: number
  readonly firstOp: string
  readonly lastOp: string
}

export interface SnapshotReport {
  readonly path: string
  readonly sizeBytes: number
  readonly sealed: boolean
  readonly version?: string
  readonly op?: string
  readonly checksum: string
  /** What it holds; absent when it could not be decoded. */
  readonly holds?: {
    readonly users: number
    readonly streams: number
    readonly topics: number
    readonly partitions: number
    readonly clients: number
  }
}

export interface SegmentReport {
  readonly path: string
  readonly startOffset: string
  readonly endOffset?: string
  readonly sizeBytes: number
  /** End of the last batch in front of the first damage. */
  readonly soundBytes: number
  readonly batches: number
  readonly messages: string
  readonly indexEntries: number
  readonly indexTrailingBytes: number
}

export interface PartitionReport {
  readonly directory: string
  readonly key: { readonly stream: number; readonly topic: number; readonly partition: number }
  readonly segments: readonly SegmentReport[]
  readonly offsets: readonly { readonly path: string; readonly offset?: string; readonly verdict: string }[]
  readonly purge?: { readonly generation: string; readonly createdRevision: string }
}

export interface Inspection {
  /** False when there is damage. */
  readonly ok: boolean
  /** True when every checksum was computed. */
  readonly verified: boolean
  readonly findings: readonly Finding[]
  /** Findings past the bound, counted only. */
  readonly findingsDropped: number
  readonly counts: {
    readonly files: number
    readonly bytes: number
    readonly superblocks: number
    readonly walEntries: number
    readonly segments: number
    readonly batches: number
    readonly messages: string
    readonly indexEntries: number
    readonly offsets: number
  }
  readonly superblocks: readonly GroupSuperblock[]
  readonly wal?: WalReport
  readonly snapshot?: SnapshotReport
  readonly partitions: readonly PartitionReport[]
}

/** A report stays readable and bounded whatever the directory holds. */
export const FINDINGS_MAX = 10_000

export class Findings {
  readonly list: Finding[] = []
  dropped = 0
  damaged = false
  files = 0
  bytes = 0

  add(severity: Severity, code: string, path: string, position: number, check: string, message: string): void {
    if (severity === 'damage') this.damaged = true
    if (this.list.length >= FINDINGS_MAX) this.dropped++
    else this.list.push({ severity, code, path, position, check, message })
  }

  /** A file that could not be read is no verdict over its content, but all is not well either. */
  unreadable(error: unknown, path: string): void {
    if (!(error instanceof DiskError)) throw error
    const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
    this.add('damage', 'READ_FAILED', path, 0, 'io', `could not be read (${error.disk}${cause})`)
  }

  countFile(sizeBytes: number): void {
    this.files++
    this.bytes += sizeBytes
  }
}

/** `BadChecksum` → `bad_checksum`: findings name their checks in one spelling. */
export const checkName = (code: string): string => code.replace(/(?<!^)([A-Z])/g, '_$1').toLowerCase()
