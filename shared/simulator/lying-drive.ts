/**
 * A drive that lies (spec drills.md §2.3, 8): it says that a sync is done while what it covers is in a cache of its own, which
 * the next loss of power empties. What is in there goes to the medium by itself after a while, in an order of the drive's
 * own, and with the next sync of that file that is no lie. The end of a process empties nothing.
 */
import type { Dice } from './dice.ts'

export interface LieShape {
  /** Of the syncs, how many are lies: 0 to 1. */
  readonly share: number
  /** How long the cache keeps something, on average. */
  readonly heldMs: number
}

/** One file, or the names of one directory, on such a drive. */
export interface Cached<Change, Bottom> {
  /** On the medium. */
  readonly bottom: Bottom
  /** In the cache, in the order in which it came. */
  readonly held: { readonly change: Change; readonly dueMs: number }[]
}

export class LyingDrive {
  private readonly shape: LieShape
  private readonly dice: Dice
  private readonly nowMs: () => number

  constructor(shape: LieShape, dice: Dice, nowMs: () => number) {
    this.shape = shape
    this.dice = dice
    this.nowMs = nowMs
  }

  /** A sync of these changes has ended, and says that they are durable. */
  synced<Change, Bottom>(
    cached: Cached<Change, Bottom>,
    changes: readonly Change[],
    apply: (bottom: Bottom, change: Change) => void,
  ): void {
    if (changes.length === 0) return
    if (this.dice.chance(this.shape.share)) {
      this.took(cached, changes, apply)
      return
    }
    for (const { change } of cached.held.splice(0)) apply(cached.bottom, change)
    for (const change of changes) apply(cached.bottom, change)
  }

  /** The drive was given these changes, and nobody has asked for a sync. */
  took<Change, Bottom>(
    { bottom, held }: Cached<Change, Bottom>,
    changes: readonly Change[],
    apply: (bottom: Bottom, change: Change) => void,
  ): void {
    const now = this.nowMs()
    let gone = 0
    while (gone < held.length && held[gone]!.dueMs <= now) apply(bottom, held[gone++]!.change)
    held.splice(0, gone)
    for (const change of changes) held.push({ change, dueMs: now + this.dice.exponential(this.shape.heldMs) })
  }

  /** The power is gone. @returns how many changes are, though a sync had covered them or a process had outlived them */
  lost<Change, Bottom>(
    { bottom, held }: Cached<Change, Bottom>,
    apply: (bottom: Bottom, change: Change) => void,
  ): number {
    const now = this.nowMs()
    let lost = 0
    for (const { change, dueMs } of held.splice(0)) {
      if (dueMs <= now) apply(bottom, change)
      else lost++
    }
    return lost
  }
}
