/**
 * How many frames a committed op costs (spec drills.md §2.7): in a world without faults nothing need be said twice, and a
 * storm of retransmissions that heals itself shows in nothing else.
 */
import { Command } from '../protocol/commands.ts'

/** What is said for an op, and not because time has passed. */
const PER_OP: ReadonlySet<number> = new Set([
  Command.Prepare,
  Command.PrepareOk,
  Command.RequestPrepares,
  Command.RequestStartView,
  Command.StartView,
])

export class Traffic {
  private readonly perCommitMax: number | undefined
  private frames = 0
  private committedAtBegin: number | undefined

  /** @param perCommitMax undefined: nobody counts */
  constructor(perCommitMax: number | undefined) {
    this.perCommitMax = perCommitMax
  }

  begin(committed: number): void {
    this.committedAtBegin = committed
    this.frames = 0
  }

  sent(frame: Uint8Array): void {
    if (PER_OP.has(frame[60]!)) this.frames++
  }

  /** What is wrong with the traffic since the beginning, or undefined. */
  end(committed: number): string | undefined {
    const { perCommitMax, committedAtBegin, frames } = this
    if (perCommitMax === undefined || committedAtBegin === undefined) return undefined
    const ops = committed - committedAtBegin
    if (frames <= perCommitMax * ops) return undefined
    return `${frames} frames for ${ops} committed ops, at most ${perCommitMax} for each`
  }
}
