/**
 * Virtual time: what happens is a queue of things to run at a time, and time is the time of the one that runs. Things of one
 * time run in an order that `shuffle` draws, so that no run depends on which of them was made first.
 */
interface Entry {
  readonly atMicros: number
  readonly order: number
  readonly sequence: number
  /** Undefined once it is cancelled: what it would have run is let go of at once. */
  run: (() => void) | undefined
}

export class Timeline {
  private readonly heap: Entry[] = []
  private sequence = 0
  private now = 0
  private readonly shuffle: () => number

  constructor(shuffle: () => number = () => 0) {
    this.shuffle = shuffle
  }

  /** Things that have been run or cancelled so far. */
  steps = 0

  /** Microseconds since the start of the world. */
  get nowMicros(): number {
    return this.now
  }

  /** Time of the next entry. */
  get nextMicros(): number | undefined {
    return this.heap[0]?.atMicros
  }

  /** Runs `run` in `delayMicros`. The result cancels it. */
  after(delayMicros: number, run: () => void): () => void {
    const entry: Entry = {
      atMicros: this.now + Math.max(0, Math.round(delayMicros)),
      order: this.shuffle(),
      sequence: this.sequence++,
      run,
    }
    this.push(entry)
    return () => {
      entry.run = undefined
    }
  }

  /** Runs the next entry; false when there is none. */
  step(): boolean {
    for (let entry = this.pop(); entry; entry = this.pop()) {
      const { run } = entry
      if (!run) continue
      this.now = entry.atMicros
      this.steps++
      run()
      return true
    }
    return false
  }

  private push(entry: Entry): void {
    const { heap } = this
    heap.push(entry)
    let at = heap.length - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(entry, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = entry
  }

  private pop(): Entry | undefined {
    const { heap } = this
    const top = heap[0]
    const last = heap.pop()
    if (!top || !last || heap.length === 0) return top
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return top
  }
}

const before = (a: Entry, b: Entry): boolean =>
  a.atMicros < b.atMicros ||
  (a.atMicros === b.atMicros && (a.order < b.order || (a.order === b.order && a.sequence < b.sequence)))
