import { expect, test } from 'vitest'
import { Offset, Op, View } from '../bytes/units.ts'
import { encodeBody } from '../protocol/codec.ts'
import { sendReply } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import { FORWARDS_KEPT, ForwardLog, ODD_FORWARDS_KEPT } from './forward-log.ts'

const fields = (nonce: number) =>
  ({
    nonce: nonce.toString(16),
    side: 'origin',
    origin: 1,
    primary: 0,
    group: '0',
    operation: 160,
    client: '1',
  }) as const
const clock = { nowMicros: () => 1n, monoMicros: () => 1 }

test('a forward with an outcome unknown is told of long after those that were accepted have pushed it out', () => {
  const log = new ForwardLog(clock as ConstructorParameters<typeof ForwardLog>[0])
  log.begin(fields(1)).end('unknown', 57, 'lost')
  const late = log.begin(fields(2))
  for (let nonce = 3; nonce < 3 + 2 * FORWARDS_KEPT; nonce++) log.begin(fields(nonce)).end('accepted', 0, 'committed')
  // It ends only now: what is told of it goes on being true.
  late.end('refused', 58, 'not accepted')
  const told = log.newest(10)
  expect(told).toHaveLength(12)
  expect(told.slice(-2).map(({ nonce, state }) => [nonce, state])).toEqual([
    ['2', 'refused'],
    ['1', 'unknown'],
  ])
  expect(log.total).toBe(2 + 2 * FORWARDS_KEPT)
})

test('of those it keeps the newest, and no more than it says', () => {
  const log = new ForwardLog(clock as ConstructorParameters<typeof ForwardLog>[0])
  const all = FORWARDS_KEPT + ODD_FORWARDS_KEPT + 5
  for (let nonce = 1; nonce <= all; nonce++) log.begin(fields(nonce)).end('unknown', 57, 'lost')
  const told = log.newest(FORWARDS_KEPT)
  expect(told).toHaveLength(FORWARDS_KEPT + ODD_FORWARDS_KEPT)
  expect([told[0]!.nonce, told.at(-1)!.nonce]).toEqual([all.toString(16), (6).toString(16)])
})

test('one that is committed has its place, with the first offset where the reply confirms one', () => {
  const log = new ForwardLog(clock as ConstructorParameters<typeof ForwardLog>[0])
  const confirmed = { streamId: 1, topicId: 2, partitionId: 3, baseOffset: Offset(2n ** 53n + 1n) }
  const replies = {
    confirmed: encodeBody(sendReply, [confirmed]),
    none: encodeBody(sendReply, []),
    empty: new Uint8Array(),
    // Of a peer that builds its replies otherwise: for its client to judge, and no end of this node.
    cut: encodeBody(sendReply, [confirmed]).subarray(0, 9),
  }
  const placed = Object.values(replies).map(reply => {
    log.begin({ ...fields(1), operation: Operation.SendMessages }).place(Op(7n), reply, View(4))
    const [told] = log.newest(1)
    return [told!.op, told!.view, told!.firstOffset]
  })
  expect(placed).toEqual([
    ['7', '4', '9007199254740993'],
    ['7', '4', undefined],
    ['7', '4', undefined],
    ['7', '4', undefined],
  ])
  log.begin({ ...fields(2), operation: Operation.StoreConsumerOffset }).place(Op(8n), replies.confirmed)
  expect(log.newest(1)[0]).toMatchObject({ op: '8' })
  for (const name of ['view', 'firstOffset']) expect(log.newest(1)[0]).not.toHaveProperty(name)
})
