/**
 * Which round waits for company (design.md §3, Group commit). Producers that send the next batch when the last one is
 * confirmed come back a moment after a round has landed, one by one. A round that starts with the first of them leaves the
 * others behind: rounds of one and of seven batches take turns, and half of the gain is lost. So a round waits for as many
 * as were there last time, those that have just been answered and those that were queued, for half of what the last round
 * took: up to there, waiting for twice as many batches pays.
 *
 * A lone producer is never kept waiting, since nobody else is expected. Where they do not come, because they send when
 * they like, the waits become rare.
 */
import type { Pacing } from '../storage/ports.ts'

const WAIT_OF_ROUND = 0.5
/** Also on a disk that takes long: it is a wait all the same. */
const WAIT_MICROS_MAX = 5_000
/** Who has not begun to come back by then sends when he likes. */
const EXPECTED_OF_ROUND = 2
/** So many rounds at most go without a wait after waits that were in vain. */
const RESTED_ROUNDS_MAX = 64
/** A wait that brought so many of those who were expected was worth it. */
const ENOUGH = 0.75

export class Company {
  private readonly pacing: Pacing | undefined
  private startedMicros = 0
  private landedMicros = 0
  private expected = 0
  /** The wait that goes on, or has just ended. */
  private wait: { over: boolean } | undefined
  /** Waits in a row that were in vain. */
  private vain = 0
  private resting = 0

  /** Without `pacing` no round ever waits. */
  constructor(pacing: Pacing | undefined) {
    this.pacing = pacing
  }

  /** A round begins, with so many batches queued. */
  started(queued: number): void {
    if (!this.pacing) return
    if (this.wait) this.judge(queued)
    this.wait = undefined
    this.expected = 0
    this.startedMicros = this.pacing.monoMicros()
  }

  /** A round has landed: so many producers were answered, so many batches are queued. */
  landed(answered: number, queued: number): void {
    if (!this.pacing) return
    if (this.resting > 0) {
      this.resting--
      return
    }
    this.expected = answered + queued
    this.landedMicros = this.pacing.monoMicros()
  }

  /**
   * Whether the next round, for which so many batches are queued, is worth a wait. If so `again` is called once, when the
   * wait is over; a batch that arrives meanwhile has to ask again.
   */
  awaited(queued: number, again: () => void): boolean {
    const { pacing } = this
    if (!pacing || queued >= this.expected) return false
    if (this.wait) return !this.wait.over
    const roundMicros = this.landedMicros - this.startedMicros
    if (pacing.monoMicros() - this.landedMicros > roundMicros * EXPECTED_OF_ROUND) return false
    const wait = { over: false }
    this.wait = wait
    const ended = () => this.wait !== wait
    void pacing.pause(Math.min(WAIT_MICROS_MAX, roundMicros * WAIT_OF_ROUND), ended).then(() => {
      wait.over = true
      if (!ended()) again()
    })
    return true
  }

  private judge(queued: number): void {
    this.vain = queued >= this.expected * ENOUGH ? 0 : this.vain + 1
    this.resting = this.vain === 0 ? 0 : Math.min(RESTED_ROUNDS_MAX, 2 ** (this.vain - 1))
  }
}
