/**
 * A clean stop goes on behind a partition whose flush fails (spec partition.md §3.9, drills.md PL-31): the others are still
 * flushed and closed, and only then does the process end with what failed. The cursors of the failed one have not moved,
 * its reservation stays, and the next boot is its retry. Outside a stop a failed persist ends the process at once.
 */
import type { EngineError } from '../bytes/errors.ts'
import { TaskAbandoned } from './pump.ts'

export class Stopping {
  private begun = false
  private readonly failures: EngineError[] = []
  /** Ends the wait for the partition that is being closed. */
  private readonly waiting = new Map<string, () => void>()

  begin(): void {
    this.begun = true
  }

  /** The first flush that failed. */
  get failure(): EngineError | undefined {
    return this.failures[0]
  }

  /** Returns when no stop is under way; otherwise ends the task that found out, and the wait for its partition. */
  failed(group: string, error: EngineError): void {
    if (!this.begun) return
    this.failures.push(error)
    this.waiting.get(group)?.()
    throw new TaskAbandoned(error.message)
  }

  /** Resolves when the partition is closed, or its flush has failed. */
  async closed(group: string, close: Promise<void>): Promise<void> {
    const failed = new Promise<void>(done => this.waiting.set(group, done))
    const closed = close.catch((error: unknown) => {
      if (!(error instanceof TaskAbandoned)) throw error
    })
    await Promise.race([closed, failed])
    this.waiting.delete(group)
  }
}
