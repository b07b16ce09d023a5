/** The log, its entries and the sessions as a node tells of them (spec metadata-storage.md §2, §5). */
import { expect, test } from 'vitest'
import { newWorld, startAll } from '../simulator/testing/worlds.ts'
import { edit, flip, newDisk, WAL } from './testing/directories.ts'
import { Peer } from './testing/peer.ts'
import { Solo, soloConfig } from './testing/solo.ts'

const small = { metadata: { ...soloConfig().metadata, journalSlots: 256 } }

async function withStreams(count: number) {
  const disk = newDisk()
  const solo = await Solo.boot(disk, small)
  const peer = await Peer.login(solo, 7n)
  for (let index = 1; index <= count; index++) await peer.createStream(`n${index}`)
  return { disk, solo, peer }
}

test('an entry is what its file says, verified, at its slot', async () => {
  const { solo, disk } = await withStreams(3)
  const { entries } = solo.inspect.wal()
  const third = (await solo.inspect.walEntry(3n))!
  expect(third).toMatchObject({
    op: '3',
    slot: 3,
    path: WAL,
    positionBytes: entries[2]!.positionBytes,
    lengthBytes: entries[2]!.lengthBytes,
    identity: 'valid',
    body: 'valid',
    parent: 'follows',
    sameAsMemory: true,
  })
  expect(third.hex).toBe(
    Buffer.from(disk.peek(WAL)!.slice(third.positionBytes)).toString('hex').slice(0, third.hex.length),
  )
  expect(await solo.inspect.walEntry(1n)).toMatchObject({ parent: 'first' })
  expect(await solo.inspect.walEntry(5n)).toBeUndefined()
})

test('a byte that the disk has changed is found on the disk while memory still serves the entry', async () => {
  const { solo, disk } = await withStreams(4)
  const { positionBytes, lengthBytes } = (await solo.inspect.walEntry(3n))!
  edit(disk, WAL, flip(positionBytes + lengthBytes - 1))
  expect(await solo.inspect.walEntry(3n)).toMatchObject({ identity: 'valid', body: 'bad', sameAsMemory: false })
  expect(await solo.inspect.walScan()).toMatchObject({
    entries: 2,
    end: 'damage',
    problem: { check: 'BadBodyChecksum', positionBytes, op: '3' },
  })
  edit(disk, WAL, flip(positionBytes + lengthBytes - 1))
  edit(disk, WAL, flip(positionBytes + 200))
  expect(await solo.inspect.walEntry(3n)).toMatchObject({ identity: 'bad', body: 'valid' })
  edit(disk, WAL, flip(positionBytes + 200))
  expect(await solo.inspect.walScan()).toMatchObject({ entries: 5, end: 'clean', highestOp: '5' })
})

test('a checkpoint says what it took off the log, and the ring goes on round', async () => {
  const { solo } = await withStreams(192)
  await solo.settle(() => solo.facts.some(fact => fact.kind === 'checkpoint_finished'))
  const { checkpoint, appliedOp, commitMax, slots } = solo.inspect.wal()
  expect(checkpoint!.freed).toMatchObject({ fromOp: '1', toOp: '191', entries: 191 })
  expect(checkpoint!.freed!.bytes).toBeGreaterThan(191 * 256)
  expect({ appliedOp, commitMax, slots }).toEqual({ appliedOp: '193', commitMax: '193', slots: 256 })
})

test('a session tells the replies that a retry would get', async () => {
  const { solo, peer } = await withStreams(7)
  const { slots, table } = solo.inspect.clients()
  expect(table).toMatchObject([{ slot: 0, client: '7', cachedReplies: 5 }])
  expect(slots).toBe(soloConfig().metadata.clientsTableMax)
  const session = solo.inspect.session(7n)!
  expect(session.replies.map(reply => reply.request)).toEqual(['3', '4', '5', '6', '7'])
  expect(session.watermark).toBe(peer.request.toString())
  expect(session.replies.at(-1)).toMatchObject({ commit: session.latestCommit, status: 0 })
  expect(solo.inspect.session(8n)).toBeUndefined()
})

test('the journal of a partition group tells what is prepared, committed and on disk', async () => {
  const world = newWorld({ seed: 1n, nodes: 3 })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', 1, { messagesRequiredToSave: 1 }))
  for (let index = 0; index < 5; index++)
    await world.drive(client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload: `p${index}` }]))
  await world.run(1_000)
  const key = { stream: 0, topic: 0, partition: 0 }
  const journal = world.replica(0).inspect.journal(key)!
  expect(journal.entries.map(({ op, state, baseOffset, messages }) => ({ op, state, baseOffset, messages }))).toEqual(
    [0, 1, 2, 3, 4].map(index => ({
      op: String(index + 1),
      state: 'settled',
      baseOffset: String(index),
      messages: 1,
    })),
  )
  expect(journal).toMatchObject({ appliedOp: '5', settledOp: '5', highestOp: '5', held: 5, ring: { ops: 5 } })
  // Two of three do not answer: what is sent now is prepared and cannot be committed.
  world.pause(1)
  world.pause(2)
  const stuck = client
    .sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload: 'stuck' }])
    .catch(() => undefined)
  await world.run(300)
  expect(world.replica(0).inspect.journal(key)!.entries.at(-1)).toMatchObject({ op: '6', state: 'prepared' })
  expect(world.replica(0).inspect.journal({ ...key, partition: 9 })).toBeUndefined()
  client.close()
  await stuck
})
