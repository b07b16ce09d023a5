/**
 * The superblock of one group: two slot files written in turn, so that a crash at any moment leaves the older record
 * whole (spec metadata-storage.md §1.5). Write = temp, fsync, rename over the slot, fsync of the directory; the counters
 * move only after that, so a retry goes to the same slot with the same sequence.
 *
 * Writes of one store are serialised here, and what is written is captured when its turn comes, never earlier: a state
 * captured before the wait could lower a pair that a writer in between made durable. One store per group per process.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { toHex } from '../bytes/hex.ts'
import { type Disk, isNotFound } from './disk.ts'
import { joinPath } from './paths.ts'
import {
  classifySlot,
  classifySlotLength,
  combineSlots,
  encodeSuperblockRecord,
  encodeVsrState,
  type SlotClass,
  type SlotName,
  SUPERBLOCK_PAYLOAD_BYTES_MAX,
  SUPERBLOCK_RECORD_BYTES_MIN,
  type SuperblockVerdict,
  type VsrState,
  type VsrStateBytes,
  vsrStateLayouts,
} from './superblock-record.ts'

export const slotFileName = (slot: SlotName): string => `superblock.${slot}`

/** One slot as it lies on disk. `bytes` is empty when the file is absent or too long to be read. */
export interface SlotReading {
  readonly slot: SlotName
  readonly path: string
  readonly class: SlotClass
  readonly bytes: Uint8Array
  readonly fileBytes: number
  readonly modifiedMs?: number
}

/** Reads and classifies one slot. Throws DiskError for anything but "not found": an I/O error is never a class (§1.3). */
export async function readSlot(disk: Disk, directory: string, slot: SlotName, hash: Hash): Promise<SlotReading> {
  const path = joinPath(directory, slotFileName(slot))
  const none = new Uint8Array(0)
  let file: Awaited<ReturnType<Disk['open']>>
  try {
    file = await disk.open(path, 'read')
  } catch (error) {
    if (isNotFound(error))
      return { slot, path, class: { kind: 'absent', reason: 'missing' }, bytes: none, fileBytes: 0 }
    throw error
  }
  try {
    const [fileBytes, { modifiedMs }] = await Promise.all([file.sizeBytes(), disk.stat(path)])
    const byLength = classifySlotLength(fileBytes)
    if (byLength !== undefined) {
      const bytes = new Uint8Array(fileBytes < SUPERBLOCK_RECORD_BYTES_MIN ? fileBytes : 0)
      if (bytes.length > 0) await file.read(0, bytes)
      return { slot, path, class: byLength, bytes, fileBytes, modifiedMs }
    }
    const bytes = new Uint8Array(fileBytes)
    const length = await file.read(0, bytes)
    const read = length === fileBytes ? bytes : bytes.slice(0, length)
    return { slot, path, class: classifySlot(read, hash), bytes: read, fileBytes, modifiedMs }
  } finally {
    await file.close()
  }
}

export interface SuperblockReading {
  readonly a: SlotReading
  readonly b: SlotReading
  readonly verdict: SuperblockVerdict
}

/** Both slots of a directory and what they say together. Changes nothing. */
export async function readSuperblock(disk: Disk, directory: string, hash: Hash): Promise<SuperblockReading> {
  const a = await readSlot(disk, directory, 'a', hash)
  const b = await readSlot(disk, directory, 'b', hash)
  return { a, b, verdict: combineSlots(a.class, b.class) }
}

export class SuperblockStore {
  readonly directory: string
  private readonly disk: Disk
  private readonly hash: Hash
  private readonly degraded: boolean
  private nextSequence: bigint
  private nextSlot: SlotName
  private tail: Promise<unknown> = Promise.resolve()

  private constructor(disk: Disk, directory: string, hash: Hash, { a, b }: SuperblockReading) {
    this.disk = disk
    this.directory = directory
    this.hash = hash
    const sequenceA = a.class.kind === 'valid' ? a.class.sequence : undefined
    const sequenceB = b.class.kind === 'valid' ? b.class.sequence : undefined
    const aIsNewest = sequenceA !== undefined && (sequenceB === undefined || sequenceA >= sequenceB)
    const latest = aIsNewest ? sequenceA : (sequenceB ?? 0n)
    this.nextSequence = latest + 1n
    this.nextSlot = aIsNewest ? 'b' : 'a'
    this.degraded = a.class.kind === 'corrupt' || b.class.kind === 'corrupt'
  }

  /**
   * Opens the store and reports what the same two reads say. Succeeds beside a corrupt slot: the verdict carries it, and
   * every write is refused. Without `corruptRefuses` a corrupt slot beside a valid one passes for an absent one. The
   * directory must exist. Throws DiskError.
   */
  static async openWithLatest(
    disk: Disk,
    directory: string,
    hash: Hash,
    corruptRefuses = true,
  ): Promise<{
    readonly store: SuperblockStore
    readonly reading: SuperblockReading
    readonly verdict: SuperblockVerdict
  }> {
    const found = await readSuperblock(disk, directory, hash)
    const reading = corruptRefuses ? found : withoutCorrupt(found)
    return { store: new SuperblockStore(disk, directory, hash, reading), reading, verdict: reading.verdict }
  }

  /** Writes the state that `capture` returns when its turn comes; resolves to that state once it is durable. */
  async write(capture: () => VsrState): Promise<VsrState> {
    let written: VsrState | undefined
    await this.writePayload(() => {
      written = capture()
      return encodeVsrState(written)
    })
    return written!
  }

  /**
   * Writes one payload. Throws EngineError SUPERBLOCK_DEGRADED or SUPERBLOCK_PAYLOAD_TOO_LONG before anything is
   * touched, DiskError when the disk fails; a repetition then targets the same slot with the same sequence.
   */
  writePayload(capture: () => Uint8Array): Promise<void> {
    const turn = this.tail.then(() => this.writeNow(capture))
    this.tail = turn.catch(() => {})
    return turn
  }

  private async writeNow(capture: () => Uint8Array): Promise<void> {
    if (this.degraded) {
      throw new EngineError(
        'SUPERBLOCK_DEGRADED',
        `${this.directory}: a slot is corrupt, so the superblock is not written`,
        {
          path: this.directory,
          advice: 'inspect both slot files; a write would cover the evidence',
        },
      )
    }
    const payload = capture()
    if (payload.length > SUPERBLOCK_PAYLOAD_BYTES_MAX) {
      throw new EngineError('SUPERBLOCK_PAYLOAD_TOO_LONG', `superblock payload of ${payload.length} bytes`, {
        path: this.directory,
        expected: `at most ${SUPERBLOCK_PAYLOAD_BYTES_MAX}`,
        actual: `${payload.length}`,
      })
    }
    const slot = this.nextSlot
    const record = encodeSuperblockRecord({ sequence: this.nextSequence, payload }, this.hash)
    const target = joinPath(this.directory, slotFileName(slot))
    const temp = `${target}.tmp`
    try {
      const file = await this.disk.open(temp, 'create')
      try {
        await file.write(0, [record])
        await file.sync()
      } finally {
        await file.close()
      }
      await this.disk.rename(temp, target)
    } catch (error) {
      await this.disk.unlink(temp).catch(() => {})
      throw error
    }
    await this.disk.syncDirectory(this.directory)
    this.nextSequence += 1n
    this.nextSlot = slot === 'a' ? 'b' : 'a'
  }
}

function withoutCorrupt({ a, b, verdict }: SuperblockReading): SuperblockReading {
  if (a.class.kind !== 'valid' && b.class.kind !== 'valid') return { a, b, verdict }
  const overlooked = (reading: SlotReading): SlotReading =>
    reading.class.kind === 'corrupt' ? { ...reading, class: { kind: 'absent', reason: 'missing' } } : reading
  const left = { a: overlooked(a), b: overlooked(b) }
  return { ...left, verdict: combineSlots(left.a.class, left.b.class) }
}

/** One slot as plain values, for snapshots and the inspector. */
export interface SlotDescription {
  readonly slot: SlotName
  readonly path: string
  readonly state: 'absent' | 'valid' | 'corrupt'
  readonly failure?: { readonly code: string; readonly message: string; readonly position: number }
  readonly sequence?: string
  readonly fields?: Record<string, string | number>
  readonly hex: string
  readonly modifiedWallMs?: number
}

export interface SuperblockDescription {
  readonly slots: [SlotDescription, SlotDescription]
  readonly verdict: 'present' | 'empty' | 'unreadable'
  readonly winner?: SlotName
  readonly why: string
}

export function describeSuperblock({ a, b, verdict }: SuperblockReading): SuperblockDescription {
  return {
    slots: [describeSlot(a), describeSlot(b)],
    verdict: verdict.kind,
    ...(verdict.kind === 'present' ? { winner: verdict.winner } : {}),
    why: verdict.why,
  }
}

function describeSlot(reading: SlotReading): SlotDescription {
  const base = {
    slot: reading.slot,
    path: reading.path,
    state: reading.class.kind,
    hex: toHex(reading.bytes),
    ...(reading.modifiedMs === undefined ? {} : { modifiedWallMs: reading.modifiedMs }),
  }
  if (reading.class.kind === 'absent') return base
  if (reading.class.kind === 'corrupt') {
    const { code, message, position, expected, actual } = reading.class.failure
    const detail = expected === undefined ? message : `${message}: expected ${expected}, found ${actual}`
    return { ...base, failure: { code, message: detail, position } }
  }
  return { ...base, sequence: reading.class.sequence.toString(), fields: payloadFields(reading.class.payload) }
}

/** Fields of a payload of a known layout, with the length that it had; only the length for any other. */
function payloadFields(payload: Uint8Array): Record<string, string | number> {
  const known = vsrStateLayouts[payload.length as VsrStateBytes]
  if (known === undefined) return { payloadBytes: payload.length }
  return {
    payloadBytes: payload.length,
    ...(known.toJson(known.decode(payload) as VsrState) as Record<string, string | number>),
  }
}
