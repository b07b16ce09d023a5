/**
 * Verification of records in a long walk that must let the event loop breathe: by the work that was done and not by the
 * number of records, since one record may hold 64 MiB, or a million messages (spec partition.md §6.3).
 */
import type { Hash } from '../bytes/hash.ts'
import {
  type BatchVerdict,
  checkBatch,
  checkBatchInSlices,
  FRAME_COST,
  SLICE_COST,
  sealHoldsInSlices,
} from '../protocol/batch.ts'
import type { Scheduler } from './ports.ts'

/** Below this size a record is checked in one go: even of the smallest messages it holds no more than a few thousand. */
const SLICED_FROM_BYTES = 128 * 1024

export class BatchVerifier {
  private readonly hash: Hash
  private readonly scheduler: Scheduler | undefined
  private readonly meter = { cost: 0, frames: 0 }
  /** Position in the file of the last frame that was found wrong. */
  private badFrame: number | undefined

  /** Without a scheduler it never gives way. `badFrame`: position in the file of a frame that is known to be wrong. */
  constructor(hash: Hash, scheduler: Scheduler | undefined, badFrame?: number) {
    this.hash = hash
    this.scheduler = scheduler
    this.badFrame = badFrame
  }

  /** Frames that `holds` has hashed. */
  get framesHashed(): number {
    return this.meter.frames
  }

  /** Checks the record at the start of `bytes`, which must stay as they are until there is a verdict. */
  verify(bytes: Uint8Array): BatchVerdict | Promise<BatchVerdict> {
    const { scheduler, meter } = this
    if (scheduler === undefined) return checkBatch(bytes, 0, this.hash)
    if (bytes.length >= SLICED_FROM_BYTES) return this.inSlices(bytes)
    const verdict = checkBatch(bytes, 0, this.hash)
    meter.cost += bytes.length + FRAME_COST * (1 + (verdict.ok ? verdict.messageCount : 1))
    if (meter.cost < SLICE_COST) return verdict
    meter.cost = 0
    return scheduler.yield().then(() => verdict)
  }

  /**
   * Whether the record at `position` of a file, the start of `bytes`, verifies. For records that stand where none should:
   * most fail what is cheap to find out, and those that were laid into each other share the frame that is wrong, so that a
   * forged tail costs one full walk and not one for each header in it.
   */
  async holds(bytes: Uint8Array, position: number): Promise<boolean> {
    const bad = this.badFrame === undefined ? undefined : this.badFrame - position
    if (!(await this.run(sealHoldsInSlices(bytes, this.hash, this.meter, bad)))) return false
    const verdict = await this.inSlices(bytes)
    if (!verdict.ok && verdict.check === 'message_checksum') this.badFrame = position + verdict.position
    return verdict.ok
  }

  private inSlices(bytes: Uint8Array): Promise<BatchVerdict> {
    return this.run(checkBatchInSlices(bytes, 0, this.hash, this.meter))
  }

  private async run<T>(steps: Generator<void, T>): Promise<T> {
    for (;;) {
      const step = steps.next()
      if (step.done) return step.value
      await this.scheduler?.yield()
    }
  }
}
