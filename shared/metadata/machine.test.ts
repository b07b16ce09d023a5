/** Apply rules of streams, topics and partitions, and what makes them the same on every replica (metadata-storage.md §4). */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Checksum, ClientId, GroupId, Micros, Op, ReplicaId, View } from '../bytes/units.ts'
import { type Codec, encodeBody } from '../protocol/codec.ts'
import { Command } from '../protocol/commands.ts'
import { METADATA_GROUP } from '../protocol/groups.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { Ident } from '../protocol/ident.ts'
import { Operation } from '../protocol/operations.ts'
import { createPartitionsWithAssignments, createTopicWithAssignments } from '../protocol/replicated.ts'
import { readServerFrame } from '../protocol/replies.ts'
import { createStream, streamRef, updateStream } from '../protocol/streams.ts'
import { partitionsChange, topicRef, updateTopic } from '../protocol/topics.ts'
import { MetadataMachine } from './machine.ts'
import { seedRoot } from './state.ts'

interface Step {
  readonly operation: number
  readonly body: Uint8Array
  readonly userId?: number
}

const step = <T>(operation: number, codec: Codec<T>, value: T): Step => ({ operation, body: encodeBody(codec, value) })
const stream = (name: string) => step(Operation.CreateStream, createStream, { name, options: [] })
const topic = (of: string, name: string, count: number, ids?: readonly number[]) =>
  step(Operation.CreateTopicWithAssignments, createTopicWithAssignments, {
    request: { stream: Ident.name(of), partitionsCount: count, name, options: [] },
    derivedOptions: [],
    assignments: (ids ?? [...Array(count).keys()]).map(partitionId => ({ partitionId, consensusGroupId: GroupId(1n) })),
  })
const partitions = (of: string, name: string, count: number) =>
  step(Operation.CreatePartitionsWithAssignments, createPartitionsWithAssignments, {
    request: { stream: Ident.name(of), topic: Ident.name(name), count },
    assignments: [...Array(count).keys()].map(partitionId => ({ partitionId, consensusGroupId: GroupId(1n) })),
  })
const fewer = (of: string, name: string, count: number) =>
  step(Operation.DeletePartitions, partitionsChange, { stream: Ident.name(of), topic: Ident.name(name), count })
const dropStream = (name: string) => step(Operation.DeleteStream, streamRef, { stream: Ident.name(name) })
const dropTopic = (of: string, name: string) =>
  step(Operation.DeleteTopic, topicRef, { stream: Ident.name(of), topic: Ident.name(name) })

class Log {
  readonly machine = new MetadataMachine(8)
  op = 0n

  constructor() {
    seedRoot(this.machine.state, 'iggy', 'hash')
  }

  apply({ operation, body, userId = 0 }: Step) {
    this.op++
    const header: PrepareHeader = {
      checksum: Checksum(0n),
      checksumBody: Checksum(0n),
      cluster: 1n,
      size: 256 + body.length,
      view: View(0),
      release: 0,
      command: Command.Prepare,
      replica: ReplicaId(0),
      client: ClientId(1n),
      parent: Checksum(0n),
      requestChecksum: Checksum(0n),
      op: Op(this.op),
      commit: Op(0n),
      timestamp: Micros(this.op * 1000n),
      request: this.op,
      operation,
      group: METADATA_GROUP,
      userId,
      purgeGeneration: 0n,
    }
    const applied = this.machine.apply(header, body)
    const answer = readServerFrame(applied.reply)
    return { ...applied, code: answer.code }
  }

  codes(...steps: Step[]): number[] {
    return steps.map(one => this.apply(one).code)
  }

  /** Everything that a reply or the reconciler can see. */
  picture() {
    const { state } = this.machine
    return {
      revision: state.revision,
      streams: [...state.streams].map(one => ({ ...one, topics: [...one.topics] })),
      partitions: [...state.partitions()],
    }
  }
}

describe('a rejection', () => {
  test('commits with its code and changes nothing', () => {
    const log = new Log()
    expect(log.codes(stream('s'), topic('s', 't', 2))).toEqual([0, 0])
    const before = log.picture()
    expect(
      log.codes(
        stream('s'),
        topic('nowhere', 't', 1),
        topic('s', 't', 1),
        topic('s', 'u', 2, [1, 1]),
        topic('s', 'u', 1, [1_000_000]),
        fewer('s', 't', 3),
        fewer('s', 'nothing', 1),
        dropTopic('s', 'nothing'),
        dropStream('nowhere'),
        step(Operation.UpdateStream, updateStream, { stream: Ident.id(7), name: 'x', options: [] }),
      ),
    ).toEqual([1012, 1009, 2013, 2019, 3013, 2019, 2010, 2010, 1009, 1009])
    expect(log.picture()).toEqual(before)
  })

  test('meets everybody but root, before the rule that would answer', () => {
    const log = new Log()
    expect(log.apply({ ...stream('s'), userId: 3 })).toMatchObject({ code: 41, topologyChanged: false })
    expect(log.machine.state.streams.size).toBe(0)
  })
})

describe('ids and revisions', () => {
  test('the lowest free id is used again, with fresh state and a later created revision', () => {
    const log = new Log()
    log.codes(stream('a'), stream('b'), stream('c'), topic('b', 't', 1))
    const first = log.machine.state.partition({ stream: 1, topic: 0, partition: 0 })!.createdRevision
    log.codes(dropStream('b'), stream('d'), topic('d', 't', 1))
    expect([...log.machine.state.streams].map(({ id, name }) => [id, name])).toEqual([
      [0, 'a'],
      [1, 'd'],
      [2, 'c'],
    ])
    expect(log.machine.state.partition({ stream: 1, topic: 0, partition: 0 })!.createdRevision).toBeGreaterThan(first)
  })

  test('new partitions count on from the highest id, and the highest go first', () => {
    const log = new Log()
    log.codes(stream('s'), topic('s', 't', 3), fewer('s', 't', 1), partitions('s', 't', 2))
    const ids = () => [...log.machine.state.partitions().values()].map(({ key }) => key.partition)
    expect(ids()).toEqual([0, 1, 2, 3])
    log.codes(fewer('s', 't', 3))
    expect(ids()).toEqual([0])
  })

  test('a rename and an update of options keep the partitions and the revision', () => {
    const log = new Log()
    log.codes(stream('s'), topic('s', 't', 1))
    const { revision } = log.machine.state
    const value = new Uint8Array(new BigUint64Array([5_000_000n]).buffer)
    const renamed = step(Operation.UpdateTopic, updateTopic, {
      stream: Ident.name('s'),
      topic: Ident.name('t'),
      name: 'u',
      options: [{ key: 'message_expiry', kind: 12, value }],
    })
    expect(log.codes(renamed)).toEqual([0])
    const changed = log.machine.state.topic(log.machine.state.stream(Ident.id(0))!, Ident.name('u'))!
    expect(changed.settings.messageExpiry).toBe(5_000_000n)
    expect(changed.options.find(option => option.key === 'message_expiry')?.explicit).toBe(true)
    expect(log.machine.state.revision).toBe(revision)
  })

  test('a purge counts up for every partition and clears the delete watermark', () => {
    const log = new Log()
    log.codes(stream('s'), topic('s', 't', 2))
    log.machine.state.partition({ stream: 0, topic: 0, partition: 1 })!.deletedUpToOffset = 9n
    expect(log.apply(step(Operation.PurgeStream, streamRef, { stream: Ident.id(0) })).topologyChanged).toBe(true)
    const seen = [0, 1].map(partition => log.machine.state.partition({ stream: 0, topic: 0, partition })!)
    expect(seen.map(one => [one.purgeGeneration, one.deletedUpToOffset])).toEqual([
      [1n, 0n],
      [1n, 0n],
    ])
  })
})

test('an op that no machine knows passes through, one with an unreadable body is fatal', () => {
  const log = new Log()
  expect(log.apply({ operation: Operation.CreateConsumerGroup, body: new Uint8Array([1, 2, 3]) }).code).toBe(0)
  expect(() => log.apply({ operation: Operation.CreateStream, body: new Uint8Array([9]) })).toThrow(/unreadable/)
})

test('a log gives the same state and the same reply bytes wherever it is applied', () => {
  const names = fc.constantFrom('a', 'b', 'c')
  const anyStep = fc.oneof(
    names.map(stream),
    names.map(dropStream),
    fc.tuple(names, names, fc.nat(4)).map(([of, name, count]) => topic(of, name, count)),
    fc.tuple(names, names).map(([of, name]) => dropTopic(of, name)),
    fc.tuple(names, names, fc.integer({ min: 1, max: 4 })).map(([of, name, count]) => partitions(of, name, count)),
    fc.tuple(names, names, fc.nat(4)).map(([of, name, count]) => fewer(of, name, count)),
  )
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 40 }), steps => {
      const [one, two] = [new Log(), new Log()]
      for (const each of steps) {
        const left = one.apply(each)
        const right = two.apply({ ...each, body: new Uint8Array(each.body) })
        expect(left.reply).toEqual(right.reply)
        if (left.code !== 0) expect(left.topologyChanged).toBe(false)
      }
      expect(one.picture()).toEqual(two.picture())
      // Keys are dense from the bottom as far as nothing was deleted above them, and no two partitions share a group.
      const keys = one.picture().partitions.map(([group]) => group)
      expect(new Set(keys).size).toBe(keys.length)
    }),
    { numRuns: 100 },
  )
})
