/**
 * The one pump of a node: everything that happens to a replica is a task in this queue, and each task runs to its end
 * before the next begins. A task that posts another one only queues it. Completions of I/O come in through `settle`, which
 * is also where a life ends: after `end` nothing runs any more, so an await of an ended life never resumes into the engine.
 */
export class Pump {
  private readonly queue: (() => void)[] = []
  private readonly failed: ((error: unknown) => void) | undefined
  private running = false
  private over = false

  /** `failed` gets what a task throws, after which nothing runs any more; without it the exception goes to whoever posted. */
  constructor(failed?: (error: unknown) => void) {
    this.failed = failed
  }

  get ended(): boolean {
    return this.over
  }

  /** Runs `task` now, or behind the task that is running. Dropped when the life has ended. */
  post(task: () => void): void {
    if (this.over) return
    this.queue.push(task)
    if (this.running) return
    this.running = true
    try {
      // An index instead of shift: a burst of completions stays linear.
      for (let at = 0; at < this.queue.length; at++) {
        this.runTask(this.queue[at]!)
        if (this.over) break
      }
    } catch (error) {
      if (!this.failed) throw error
      this.over = true
      this.failed(error)
    } finally {
      this.queue.length = 0
      this.running = false
    }
  }

  private runTask(task: () => void): void {
    try {
      task()
    } catch (error) {
      if (!(error instanceof TaskAbandoned)) throw error
    }
  }

  /** Feeds the outcome of `work` back into the pump. One of the two runs, unless the life ends first. */
  settle<T>(work: Promise<T>, done: (value: T) => void, failed: (error: unknown) => void): void {
    work.then(
      value => this.post(() => done(value)),
      (error: unknown) => this.post(() => failed(error)),
    )
  }

  end(): void {
    this.over = true
  }
}

/** Ends a task half way, on purpose: what it was about has been given up, and the tasks behind it go on. */
export class TaskAbandoned extends Error {}
