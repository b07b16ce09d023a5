/**
 * Who follows which run. A run that is to be watched ends some time after the last of them has gone: a page that was closed
 * cannot say so, and a page that is loaded again is back within that time.
 */
const GRACE_MS = 6_000

export class RunWatchers<Run extends object> {
  readonly #abandoned: (run: Run) => void
  readonly #graceMs: number
  readonly #counts = new Map<Run, number>()
  /** Of runs that are to be watched and that nobody watches now. */
  readonly #timers = new Map<Run, NodeJS.Timeout>()
  readonly #expected = new WeakSet<Run>()

  constructor(abandoned: (run: Run) => void, graceMs = GRACE_MS) {
    this.#abandoned = abandoned
    this.#graceMs = graceMs
  }

  /** From now on somebody has to watch it. */
  expect(run: Run): void {
    this.#expected.add(run)
    this.#look(run)
  }

  /** @returns to be called when this watcher has gone; twice is harmless */
  add(run: Run): () => void {
    this.#counts.set(run, (this.#counts.get(run) ?? 0) + 1)
    this.#look(run)
    let gone = false
    return () => {
      if (gone) return
      gone = true
      const left = (this.#counts.get(run) ?? 1) - 1
      if (left > 0) this.#counts.set(run, left)
      else this.#counts.delete(run)
      this.#look(run)
    }
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }

  #look(run: Run): void {
    const alone = this.#expected.has(run) && !this.#counts.has(run)
    const timer = this.#timers.get(run)
    if (alone && timer === undefined) {
      const end = setTimeout(() => {
        this.#timers.delete(run)
        this.#abandoned(run)
      }, this.#graceMs)
      end.unref()
      this.#timers.set(run, end)
    } else if (!alone) {
      clearTimeout(timer)
      this.#timers.delete(run)
    }
  }
}
