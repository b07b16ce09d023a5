/** Closed loops of producers in virtual time: what is counted is rounds and batches, on a machine that is never busy. */
import { describe, expect, it } from 'vitest'
import type { DiskFile, OpenMode } from '../storage/disk.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import type { Pacing } from '../storage/ports.ts'
import type { Partition, PersistMode } from './contract.ts'
import { openPartition } from './open.ts'
import { EAGER, Sender, settle, TestHost, testOptions } from './testing/harness.ts'

const SYNC_MICROS = 5_000
/** One request costs the node so much, and one answer its client. */
const NODE_MICROS = 150
const CLIENT_MICROS = 100
const NETWORK_MICROS = 100

class Timeline {
  nowMicros = 0
  private readonly due: { readonly at: number; readonly run: () => void }[] = []

  after(micros: number, run: () => void): void {
    this.due.push({ at: this.nowMicros + micros, run })
  }

  wait(micros: number): Promise<void> {
    return new Promise(done => this.after(micros, done))
  }

  async run(untilMicros: number): Promise<void> {
    for (;;) {
      await settle()
      this.due.sort((a, b) => a.at - b.at)
      const next = this.due[0]
      if (!next || next.at > untilMicros) break
      this.due.shift()
      this.nowMicros = Math.max(this.nowMicros, next.at)
      next.run()
    }
  }
}

/** Work that is done one piece after the other. */
class Station {
  private freeMicros = 0
  private readonly timeline: Timeline

  constructor(timeline: Timeline) {
    this.timeline = timeline
  }

  work(micros: number, done: () => void): void {
    const { nowMicros } = this.timeline
    this.freeMicros = Math.max(this.freeMicros, nowMicros) + micros
    this.timeline.after(this.freeMicros - nowMicros, done)
  }
}

class TimedDisk extends MemoryDisk {
  timeline: Timeline | undefined

  override async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const file = await super.open(path, mode)
    const { timeline } = this
    if (!timeline) return file
    return {
      path,
      read: (position, into) => file.read(position, into),
      write: (position, buffers) => file.write(position, buffers),
      datasync: async () => {
        await timeline.wait(SYNC_MICROS)
        await file.datasync()
      },
      sync: () => file.sync(),
      truncate: size => file.truncate(size),
      preallocate: size => file.preallocate(size),
      sizeBytes: () => file.sizeBytes(),
      close: () => file.close(),
    }
  }
}

interface Measured {
  readonly batchesPerSecond: number
  readonly batchesPerSync: number
}

/** `thinkMicros`: how long a producer waits before its next batch. */
async function closedLoop(
  producers: number,
  { persist, thinkMicros = () => 0 }: { persist?: PersistMode; thinkMicros?: () => number } = {},
): Promise<Measured> {
  const timeline = new Timeline()
  const disk = new TimedDisk()
  disk.timeline = timeline
  const pacing: Pacing = {
    monoMicros: () => timeline.nowMicros,
    pause: micros => timeline.wait(micros),
  }
  const host = Object.assign(new TestHost(disk), { pacing })
  const partition: Partition = await openPartition({ ...testOptions(host, EAGER), ...(persist && { persist }) })
  const sender = new Sender(partition)
  const node = new Station(timeline)
  const client = new Station(timeline)
  let confirmed = 0
  const produce = (): void =>
    timeline.after(thinkMicros(), () =>
      client.work(CLIENT_MICROS, () =>
        timeline.after(NETWORK_MICROS, () =>
          node.work(NODE_MICROS, () => {
            const { op } = sender.send('m')
            partition.whenPersisted(op, () => {
              confirmed++
              timeline.after(NETWORK_MICROS, produce)
            })
          }),
        ),
      ),
    )
  for (let producer = 0; producer < producers; producer++) produce()
  const SECONDS = 0.5
  await timeline.run(SECONDS * 1_000_000)
  const { rounds, batches } = partition.info().flusher
  return { batchesPerSecond: confirmed / SECONDS, batchesPerSync: batches / rounds }
}

const ALONE: PersistMode = { halves: 'concurrent', groupCommit: false }

describe('a round waits for company', () => {
  it('eight closed loops share one sync, and get through far more than one', async () => {
    const one = await closedLoop(1)
    const eight = await closedLoop(8)
    expect(eight.batchesPerSync).toBeGreaterThan(7.5)
    expect(eight.batchesPerSecond / one.batchesPerSecond).toBeGreaterThan(5.5)
  })

  it('a lone producer is never kept waiting', async () => {
    expect(await closedLoop(1)).toEqual(await closedLoop(1, { persist: ALONE }))
  })

  it('producers that send when they like lose next to nothing', async () => {
    const random = (seed: number) => {
      let state = seed
      return () => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
        return 1_000 + ((state >>> 8) % 60_000)
      }
    }
    const grouped = await closedLoop(3, { thinkMicros: random(1) })
    const alone = await closedLoop(3, { thinkMicros: random(1), persist: ALONE })
    expect(grouped.batchesPerSecond / alone.batchesPerSecond).toBeGreaterThan(0.98)
  })
})
