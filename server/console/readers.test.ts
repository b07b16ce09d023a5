import { expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { Micros, Offset } from '../../shared/bytes/units.ts'
import { FakeCluster, status, success } from '../../shared/client/testing/fake-cluster.ts'
import { PAYLOAD_SHOWN_BYTES, type PollStrategyName, polledAnswer } from '../../shared/inspection/polls.ts'
import { produceBatch, stampBatch } from '../../shared/protocol/batch.ts'
import { decodeBody } from '../../shared/protocol/codec.ts'
import { ErrorCode } from '../../shared/protocol/error-codes.ts'
import { getOffsetReply, pollMessages, pollReply } from '../../shared/protocol/messages.ts'
import { Operation } from '../../shared/protocol/operations.ts'
import { ConsoleError } from './errors.ts'
import { Readers } from './readers.ts'

const hash = await createHash()
const KEY = { stream: 1, topic: 2, partition: 3 }
/** Odd and above 2^53: a double would show another number. */
const FIRST = 2n ** 53n + 1n
const POLL = 100
const OFFSET_GET = 120

function records(payloads: readonly Uint8Array[]): Uint8Array {
  const batch = produceBatch(
    hash,
    payloads.map((payload, index) => ({ id: BigInt(index + 1), payload, originTimestamp: Micros(7n) })),
  )
  stampBatch(hash, batch, 0, { partitionId: 3, baseOffset: Offset(FIRST), baseTimestamp: Micros(9n) })
  return batch
}

function world(payloads: readonly Uint8Array[] = [new Uint8Array([1, 2])]) {
  const cluster = new FakeCluster()
  cluster.answer = ({ header }) => {
    if (header.code === POLL)
      return success(header, pollReply, {
        partitionId: 3,
        currentOffset: Offset(FIRST),
        count: payloads.length,
        records: records(payloads),
      })
    if (header.code === OFFSET_GET)
      return success(header, getOffsetReply, {
        partitionId: 3,
        currentOffset: Offset(FIRST),
        storedOffset: Offset(FIRST - 2n),
      })
    return undefined
  }
  const nodes = {
    endpoint: (id: number) => {
      if (id === 9) throw new ConsoleError('CON_NODE_DOWN', 'node-9 is stopped.')
      return { host: '127.0.0.1', port: 0 }
    },
    status: (id: number) => ({ ports: { client: id + 1 } }),
  }
  const readers = new Readers(nodes as never, hash, { username: 'a', password: 'b' }, cluster.ports)
  const ask = (strategy: PollStrategyName, value = 0n, consumer = '0') =>
    cluster.run(readers.poll(0, KEY, { strategy, value, count: 5, consumer }))
  return { cluster, readers, ask, asked: () => cluster.seen.filter(({ header }) => header.code === POLL) }
}
const polls = (seen: ReturnType<ReturnType<typeof world>['asked']>) =>
  seen.map(({ body }) => decodeBody(pollMessages, body))

it('polls as it was asked, for the consumer that was named, and never commits', async () => {
  const { ask, asked } = world()
  await ask('offset', FIRST)
  await ask('timestamp', 1_764_000_000_000_001n)
  await ask('first')
  await ask('last', 77n)
  await ask('next', 0n, '42')
  await ask('next', 0n, 'a/b')
  expect(polls(asked()).map(({ strategy, value, count, autoCommit }) => [strategy, value, count, autoCommit])).toEqual([
    [1, FIRST, 5, false],
    [2, 1_764_000_000_000_001n, 5, false],
    [3, 0n, 5, false],
    [4, 0n, 5, false],
    [5, 0n, 5, false],
    [5, 0n, 5, false],
  ])
  expect(
    polls(asked())
      .slice(4)
      .map(({ consumer }) => consumer.id),
  ).toEqual([
    { kind: 'id', id: 42 },
    { kind: 'name', name: 'a/b' },
  ])
})

it('gives every digit and the beginning of each payload, and says how long the whole is', async () => {
  const long = new Uint8Array(PAYLOAD_SHOWN_BYTES + 1).fill(0xab)
  const { ask } = world([long, new Uint8Array()])
  const answer = polledAnswer.parse(await ask('first'))
  expect(answer).toMatchObject({ servedBy: 0, currentOffset: String(FIRST), storedOffset: String(FIRST - 2n) })
  expect(
    answer.messages.map(({ offset, payloadBytes, payloadHex }) => [offset, payloadBytes, payloadHex.length]),
  ).toEqual([
    [String(FIRST), PAYLOAD_SHOWN_BYTES + 1, PAYLOAD_SHOWN_BYTES * 2],
    [String(FIRST + 1n), 0, 0],
  ])
})

it('signs in once for all its questions to a node, and stays there', async () => {
  const { ask, cluster } = world()
  await ask('first')
  await ask('last')
  expect(cluster.seen.filter(({ header }) => header.operation === Operation.Register)).toHaveLength(1)
  expect(new Set(cluster.seen.map(({ port }) => port))).toEqual(new Set([1]))
  cluster.kill(1)
  cluster.down.clear()
  await ask('first')
  expect(cluster.seen.filter(({ header }) => header.operation === Operation.Register)).toHaveLength(2)
})

it('the whole payload of one offset is that of this offset, not of the next one behind a gap', async () => {
  const { cluster, readers } = world()
  expect([...(await cluster.run(readers.payload(0, KEY, FIRST)))]).toEqual([1, 2])
  await expect(cluster.run(readers.payload(0, KEY, FIRST - 1n))).rejects.toMatchObject({ code: 'CON_NO_SUCH_THING' })
})

it('a read that fails says what failed, and never that it may have happened', async () => {
  const { ask, cluster, readers } = world()
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => 'served',
      (error: ConsoleError) => error.code,
    )
  const answers = cluster.answer
  cluster.answer = ({ header }) => (header.code === POLL ? status(header, ErrorCode.TopicIdNotFound) : undefined)
  expect(await failure(ask('first'))).toBe('CON_NO_SUCH_THING')
  cluster.answer = ({ header }) => (header.code === POLL ? 'silence' : undefined)
  expect(await failure(ask('first'))).toBe('CON_NODE_SILENT')
  cluster.answer = seen => {
    if (seen.header.code !== POLL) return answers(seen)
    return success(seen.header, pollReply, {
      partitionId: 3,
      currentOffset: Offset(0n),
      count: 1,
      records: new Uint8Array(300).fill(0xff),
    })
  }
  expect(await failure(ask('first'))).toBe('CON_NODE_ERROR')
  cluster.kill(1)
  expect(await failure(ask('first'))).toBe('CON_NO_NODE_SERVES')
  expect(await failure(readers.poll(9, KEY, { strategy: 'first', value: 0n, count: 1, consumer: '0' }))).toBe(
    'CON_NODE_DOWN',
  )
})
