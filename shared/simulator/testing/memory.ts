/**
 * A program, run with --expose-gc: prints how much heap a cluster uses after each of the numbers of ops in its arguments. Its bounded stores are small here, so that they are full when it is
 * first measured: the rings of evicted batches, the client table, the metadata log. What it has stored does not count: the
 * disks of a world hold it in buffers outside of the heap that is measured, and a sync there costs nothing.
 */
import assert from 'node:assert/strict'
import { newWorld, startAll } from './worlds.ts'

const NODES = [0, 1, 2]
const PARTITIONS = 4
const WRITERS = 31
const RING_OPS = 64
/** The writers, and the one who made the topic. */
const TABLE_CLIENTS = WRITERS + 1
/** One round in so many changes metadata. */
const METADATA_EVERY = 4
/** Rounds behind a purge, after which every ring is full again. */
const REFILL_ROUNDS = Math.ceil((2 * RING_OPS * PARTITIONS) / WRITERS)
const PURGE_EVERY = 300
/** Longer than any timer of a client: the queue of the world keeps the place of a cancelled one until its time has come. */
const TIMERS_MS = 60_000

/** Bytes of heap in use after about each of these numbers of committed ops. */
async function heapAfter(marks: readonly number[]): Promise<number[]> {
  const world = newWorld({
    seed: 17n,
    nodes: NODES.length,
    factsMax: 500,
    config: {
      metadata: { prepareQueueDepth: 32, journalSlots: 256, clientsTableMax: TABLE_CLIENTS },
      partition: { prepareQueueDepth: 32, evictedRingCapacity: RING_OPS, evictedRingBytesMax: 1 << 20 },
    },
  })
  await startAll(world)
  const admin = world.client([0])
  await world.drive(admin.createStream('s'))
  await world.drive(admin.createTopic('s', 't', PARTITIONS, { messagesRequiredToSave: 8, segmentSize: 1_048_576n }))
  await world.until(() => NODES.every(id => world.replica(id).inspect.groups().length === PARTITIONS), 10_000)
  const writers = Array.from({ length: WRITERS }, () => world.client([0]))
  for (const [index, writer] of writers.entries()) await world.drive(writer.createStream(`of-${index}`))
  let ops = WRITERS
  let rounds = 0
  const round = async () => {
    rounds++
    const one = (index: number): Promise<unknown> => {
      const writer = writers[index]!
      if (rounds % METADATA_EVERY === 0)
        return writer.updateStream({ kind: 'id', id: index + 1 }, `of-${index}-${rounds}`)
      return writer.sendMessages('s', 't', { kind: 'partition', partition: index % PARTITIONS }, [{ payload: 'x' }])
    }
    await world.drive(Promise.all(writers.map((_, index) => one(index))))
    ops += WRITERS
    if (rounds % PURGE_EVERY === 0) await world.drive(admin.purgeTopic('s', 't'))
  }
  const heap = async () => {
    await world.drive(admin.purgeTopic('s', 't'))
    for (let refill = 0; refill < REFILL_ROUNDS * 2; refill++) await round()
    await world.run(TIMERS_MS)
    for (const id of NODES) {
      const { inspect } = world.replica(id)
      const { parked, waiting } = inspect.forwards(1)
      assert.deepEqual([inspect.clients().table.length, parked, waiting], [TABLE_CLIENTS, 0, 0])
    }
    ;(globalThis as unknown as { gc(): void }).gc()
    return process.memoryUsage().heapUsed
  }
  const found: number[] = []
  for (const mark of marks) {
    while (ops < mark) await round()
    found.push(await heap())
  }
  return found
}

process.stdout.write(JSON.stringify(await heapAfter(process.argv.slice(2).map(Number))))
