/** Offsets that no double can hold, from the log of a node to its clients, to its files and to the inspector. */
import { expect, test } from 'vitest'
import { packGroup } from '../protocol/groups.ts'
import { inspectDirectory } from '../storage/inspect/inspect.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { breathe, hash, newWorld, startAll } from './testing/worlds.ts'

const FIRST = 2n ** 53n + 1n
const DIRECTORY = 'streams/0/topics/0/partitions/0'
const TARGET = { kind: 'partition', partition: 0 } as const
const nameOf = (offset: bigint, kind: string) => `${DIRECTORY}/${offset.toString().padStart(20, '0')}.${kind}`

test('offsets above 2^53 are exact on the wire, on disk, after a restart and in the inspector', async () => {
  const world = newWorld({ seed: 53n, nodes: 1 })
  await startAll(world)
  const maker = world.client([0])
  await world.drive(maker.createStream('s'))
  await world.drive(maker.createTopic('s', 't', 1, { messagesRequiredToSave: 1, enforceFsync: true }))
  maker.close()
  await world.run(500)
  world.kill(0)
  const { disk } = world.nodes[0]!
  // the name of an empty tail is the next offset
  for (const kind of ['log', 'index']) {
    disk.put(nameOf(0n, kind), undefined)
    disk.put(nameOf(FIRST, kind), new Uint8Array())
  }
  world.start(0)
  expect(await world.until(() => world.isRunning(0), 5_000)).toBe(true)

  const client = world.client([0])
  const payloads = ['odd', 'even', 'odd again']
  for (const [index, payload] of payloads.entries()) {
    const confirmed = await world.drive(client.sendMessages('s', 't', TARGET, [{ payload }]))
    expect(confirmed?.baseOffset).toBe(FIRST + BigInt(index))
  }
  const polled = async (offset: bigint) => {
    const strategy = { kind: 'offset', offset } as const
    const { messages } = await world.drive(client.poll({ stream: 's', topic: 't', partition: 0, strategy, count: 10 }))
    return messages.map(message => `${message.offset}:${new TextDecoder().decode(message.payload)}`)
  }
  const told = payloads.map((payload, index) => `${FIRST + BigInt(index)}:${payload}`)
  expect(await polled(FIRST)).toEqual(told)
  expect(await polled(FIRST + 1n)).toEqual(told.slice(1))
  await world.drive(client.storeOffset('s', 't', 0, FIRST + 1n))
  expect(await world.drive(client.storedOffset('s', 't', 0))).toMatchObject({ storedOffset: FIRST + 1n })
  const view = world.replica(0).inspect.partition({ stream: 0, topic: 0, partition: 0 })!
  expect(view.segments[0]).toMatchObject({ startOffset: `${FIRST}`, endOffset: `${FIRST + 2n}` })
  expect(view.group.group).toBe(packGroup({ stream: 0, topic: 0, partition: 0 }).toString())

  world.kill(0)
  world.start(0)
  expect(await world.until(() => world.isRunning(0), 5_000)).toBe(true)
  expect(await polled(FIRST)).toEqual(told)
  expect(await world.drive(client.storedOffset('s', 't', 0))).toMatchObject({ storedOffset: FIRST + 1n })
  world.kill(0)

  const image = new MemoryDisk()
  for (const path of disk.paths()) image.put(path, disk.peek(path)!)
  const scheduler = { yield: breathe }
  const inspection = JSON.stringify(await inspectDirectory(image, { hash, verify: true, scheduler }))
  for (const offset of [FIRST, FIRST + 1n, FIRST + 2n]) expect(inspection).toContain(`"${offset}"`)
  expect(new DataView(disk.peek(nameOf(FIRST, 'index'))!.buffer).getBigUint64(24, true)).toBe(FIRST + 1n)
  expect(new DataView(disk.peek(`${DIRECTORY}/offsets/consumers/0`)!.buffer).getBigUint64(0, true)).toBe(FIRST + 1n)
})
