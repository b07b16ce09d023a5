/** The batches of a segment as a node lists them, whole and damaged (spec partition.md §6.4). */
import { expect, test } from 'vitest'
import { newWorld, startAll } from '../simulator/testing/worlds.ts'

const KEY = { stream: 0, topic: 0, partition: 0 }
const LOG = 'streams/0/topics/0/partitions/0/00000000000000000000.log'
const BATCHES = 6

/** Six batches of one message on the disk of a lone node, and what changes one byte of them. */
async function written() {
  const world = newWorld({ seed: 1n, nodes: 1 })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', 1, { messagesRequiredToSave: 1, enforceFsync: true }))
  for (let index = 0; index < BATCHES; index++)
    await world.drive(client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload: `p${index}` }]))
  client.close()
  const list = async (limit = 100) => (await world.drive(world.replica(0).inspect.batches(KEY, 0n, 0, limit)))!
  const { disk } = world.nodes[0]!
  const flip = (position: number) => {
    const bytes = disk.peek(LOG)!.slice()
    bytes[position]! ^= 1
    disk.put(LOG, bytes)
  }
  return { list, flip, at: (await list()).batches.map(({ positionBytes }) => positionBytes) }
}

test('a bad checksum is told as what is stored beside what the bytes have, of the batch or of the message', async () => {
  const { list, flip, at } = await written()
  expect((await list()).batches.map(({ verdict, problem }) => [verdict, problem])).toEqual(
    Array.from({ length: BATCHES }, () => ['valid', undefined]),
  )
  const before = (await list()).batches[2]!
  // The payload of one message, the stored checksum of another, and that of a batch.
  flip(at[2]! + 256 + 48)
  flip(at[3]! + 256)
  flip(at[4]! + 40)
  const { batches, stopped } = await list()
  expect(batches.map(({ verdict }) => verdict)).toEqual([
    'valid',
    'valid',
    'bad_checksum',
    'bad_checksum',
    'bad_checksum',
    'valid',
  ])
  expect(stopped).toBeUndefined()
  const message = batches[2]!.problem!
  expect(message.check).toBe('message_checksum')
  expect(message.stored).toMatch(/^[0-9a-f]{16}$/)
  expect(message.computed).not.toBe(message.stored)
  expect(batches[2]!.checksum).toBe(before.checksum)
  expect(batches[4]!.problem).toMatchObject({ check: 'batch_checksum', stored: batches[4]!.checksum })
  expect(batches[3]!.problem).toMatchObject({ check: 'message_checksum' })
  // Only the stored one is wrong: what the bytes have differs from it in the bit that was turned.
  for (const { problem } of batches.slice(3, 5))
    expect(BigInt(`0x${problem!.computed}`) ^ BigInt(`0x${problem!.stored}`)).toBe(1n)
})

test('a list that ends behind damage says whether more follows, or that the walk cannot pass', async () => {
  const { list, flip, at } = await written()
  flip(at[1]! + 256 + 48)
  expect(await list(3)).toMatchObject({ nextPositionBytes: at[3] })
  expect(await list(BATCHES)).not.toHaveProperty('nextPositionBytes')
  // The length of a batch: nobody can say where the next one begins.
  flip(at[4]! + 34)
  const cut = await list()
  expect(cut.batches).toHaveLength(4)
  expect(cut.stopped).toMatchObject({ check: 'batch_cut', positionBytes: at[4] })
  expect(cut).not.toHaveProperty('nextPositionBytes')
})
