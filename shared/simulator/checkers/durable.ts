/** What the disk of one node would surely still hold after a loss of power: superblock pairs and the metadata log. */
import type { Hash } from '../../bytes/hash.ts'
import type { SimulatedDisk } from '../disk.ts'
import { decodeLog, decodeSlot, type LogEntry, newerSlot, type SlotState } from './decode.ts'

const LOG_PATH = 'metadata/journal.wal'

export class DurableState {
  private readonly disk: SimulatedDisk
  private readonly hash: Hash
  private readonly slots = new Map<
    string,
    { readonly a: number; readonly b: number; readonly state: SlotState | 'corrupt' | undefined }
  >()
  private logFile = -1
  private logEnd = 0
  private byOp = new Map<bigint, LogEntry>()

  constructor(disk: SimulatedDisk, hash: Hash) {
    this.disk = disk
    this.hash = hash
  }

  /** Slots are replaced whole, never written to: the pair of files says whether they are known already. */
  superblock(directory: string): SlotState | 'corrupt' | undefined {
    const a = this.disk.durable(`${directory}/superblock.a`)
    const b = this.disk.durable(`${directory}/superblock.b`)
    const known = this.slots.get(directory)
    if (known && known.a === (a?.id ?? 0) && known.b === (b?.id ?? 0)) return known.state
    const state = newerSlot(decodeSlot(this.hash, a?.content.copy()), decodeSlot(this.hash, b?.content.copy()))
    this.slots.set(directory, { a: a?.id ?? 0, b: b?.id ?? 0, state })
    return state
  }

  /** Entries of the metadata log by op; of an op that was written twice, the later one. */
  log(): ReadonlyMap<bigint, LogEntry> {
    const file = this.disk.durable(LOG_PATH)
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

  /** Bytes were changed behind the back of this view. */
  forget(): void {
    this.slots.clear()
    this.logFile = -1
  }
}

const NONE: ReadonlyMap<bigint, LogEntry> = new Map()
