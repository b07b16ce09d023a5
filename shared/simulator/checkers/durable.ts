/** What the disk of one node would surely still hold after a loss of power: superblock pairs and the metadata log. */
import type { Hash } from '../../bytes/hash.ts'
import type { SimulatedDisk } from '../disk.ts'
import {
  decodeLog,
  decodeSlot,
  decodeSnapshotFile,
  type LogEntry,
  newerSlot,
  type SlotState,
  type SnapshotState,
} from './decode.ts'

const LOG_PATH = 'metadata/journal.wal'
const SNAPSHOT_PATH = 'metadata/snapshot.bin'

type DurableFile = ReturnType<SimulatedDisk['durable']>

export class DurableState {
  private readonly disk: SimulatedDisk
  private readonly hash: Hash
  private readonly slots = new Map<
    string,
    { readonly a: number; readonly b: number; readonly state: SlotState | 'corrupt' | undefined; names: number }
  >()
  private snapshotFile = -1
  private snapshotState: SnapshotState | 'corrupt' | undefined
  /** The snapshot and the log, as long as the durable names on the disk are these. */
  private names = -1
  private snapshotAt: DurableFile
  private logAt: DurableFile
  private logFile = -1
  private logEnd = 0
  private byOp = new Map<bigint, LogEntry>()

  constructor(disk: SimulatedDisk, hash: Hash) {
    this.disk = disk
    this.hash = hash
  }

  /** Slots are replaced whole, never written to: the pair of files says whether they are known already. */
  superblock(directory: string): SlotState | 'corrupt' | undefined {
    const known = this.slots.get(directory)
    const names = this.disk.durableNames
    if (known?.names === names) return known.state
    const a = this.disk.durable(`${directory}/superblock.a`)
    const b = this.disk.durable(`${directory}/superblock.b`)
    if (known && known.a === (a?.id ?? 0) && known.b === (b?.id ?? 0)) {
      known.names = names
      return known.state
    }
    const state = newerSlot(decodeSlot(this.hash, a?.content.copy()), decodeSlot(this.hash, b?.content.copy()))
    this.slots.set(directory, { a: a?.id ?? 0, b: b?.id ?? 0, state, names })
    return state
  }

  /** The metadata snapshot; undefined when there is none. */
  snapshot(): SnapshotState | 'corrupt' | undefined {
    this.locate()
    const file = this.snapshotAt
    if (!file) return undefined
    if (file.id !== this.snapshotFile) {
      this.snapshotFile = file.id
      this.snapshotState = decodeSnapshotFile(this.hash, file.content.copy())
    }
    return this.snapshotState
  }

  /** The op up to which a boot would need no log: the snapshot that is named, or a newer one that vouches for itself. */
  coveredTo(): bigint {
    const superblock = this.superblock('metadata')
    const snapshot = this.snapshot()
    const named = superblock === undefined || superblock === 'corrupt' ? 0n : superblock.checkpointOp
    const newer = snapshot === undefined || snapshot === 'corrupt' ? 0n : snapshot.op
    return named > newer ? named : newer
  }

  /** Whether this very metadata op is here, in the log or under a snapshot. */
  holds(op: bigint, checksum: bigint): boolean {
    return this.log().get(op)?.checksum === checksum || op <= this.coveredTo()
  }

  /** Entries of the metadata log by op; of an op that was written twice, the later one. */
  log(): ReadonlyMap<bigint, LogEntry> {
    this.locate()
    const file = this.logAt
    if (!file) return NONE
    if (file.id !== this.logFile || file.content.size < this.logEnd) {
      this.logFile = file.id
      this.logEnd = 0
      this.byOp = new Map()
    }
    if (file.content.size > this.logEnd) {
      const { entries, end } = decodeLog(this.hash, file.content.bytes, file.content.size, this.logEnd)
      for (const entry of entries) this.byOp.set(entry.op, entry)
      this.logEnd = end
    }
    return this.byOp
  }

  /** The whole prepare of this very metadata op, when the log has it. */
  entry(op: bigint, checksum: bigint): Uint8Array | undefined {
    const found = this.log().get(op)
    if (found?.checksum !== checksum) return undefined
    const { bytes } = this.logAt!.content
    const length = new DataView(bytes.buffer, bytes.byteOffset + found.position, 256).getUint32(48, true)
    return bytes.slice(found.position, found.position + length)
  }

  private locate(): void {
    if (this.names === this.disk.durableNames) return
    this.names = this.disk.durableNames
    this.snapshotAt = this.disk.durable(SNAPSHOT_PATH)
    this.logAt = this.disk.durable(LOG_PATH)
  }

  /** Bytes were changed behind the back of this view. */
  forget(): void {
    this.slots.clear()
    this.snapshotFile = -1
    this.logFile = -1
  }
}

const NONE: ReadonlyMap<bigint, LogEntry> = new Map()
