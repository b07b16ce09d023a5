import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Checksum, ReplicaId, View } from '../bytes/units.ts'
import { checkBatch } from '../protocol/batch.ts'
import { decodeBody } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { consumer, Ident } from '../protocol/ident.ts'
import { pollMessages, pollReply, sendMessages, sendReply } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import { EvictionReason, evictionFrame } from '../protocol/replies.ts'
import { stream } from '../protocol/streams.ts'
import type { ClientOptions } from './caller.ts'
import { Client } from './client.ts'
import { ClientError } from './errors.ts'
import { FakeCluster, rejection, type Seen, status, success, threeNodes } from './testing/fake-cluster.ts'

let hash: Hash
let cluster: FakeCluster
beforeAll(async () => {
  hash = await createHash()
})
beforeEach(() => {
  cluster = new FakeCluster()
})

const root = { username: 'iggy', password: 'iggy' }
const clientOf = (more: Partial<ClientOptions> = {}) =>
  new Client(cluster.ports, { endpoints: [{ host: '127.0.0.1', port: 1 }], hash, credentials: root, ...more })

const operations = () =>
  cluster.seen.map(({ port, header }) => `${port}:${header.operation}${header.code ? `/${header.code}` : ''}`)
const emptyPoll = { partitionId: 1, currentOffset: 0n as never, count: 0, records: new Uint8Array(0) }
const one = { id: 0, createdAt: 1n as never, topicsCount: 0, sizeBytes: 0n, messagesCount: 0n, name: 'a', options: [] }
const sendOne = (client: Client) => client.sendMessages(0, 0, { kind: 'partition', partition: 0 }, [{ payload: 'hi' }])
const isWrite = ({ header }: Seen) => header.operation === Operation.SendMessages
const confirm = ({ header }: Seen) => {
  const bytes = success(header, sendReply, [{ streamId: 0, topicId: 0, partitionId: 0, baseOffset: 7n as never }])
  // SendMessages is not result-framed: take the section out again.
  const plain = new Uint8Array(bytes.length - 4)
  plain.set(bytes.subarray(0, 256))
  plain.set(bytes.subarray(260), 256)
  new DataView(plain.buffer).setUint32(48, plain.length, true)
  return plain
}

async function failure(work: Promise<unknown>): Promise<ClientError> {
  try {
    await cluster.run(work)
  } catch (error) {
    if (error instanceof ClientError) return error
    throw error
  }
  throw new Error('it did not fail')
}

describe('numbering (wire.md §1.4)', () => {
  it('counts metadata requests only, and registers anew under a new client id', async () => {
    const client = clientOf()
    cluster.answer = seen =>
      seen.header.operation === Operation.CreateStream
        ? success(seen.header, stream, one)
        : isWrite(seen)
          ? confirm(seen)
          : undefined
    await cluster.run(client.createStream('a'))
    await cluster.run(client.ping())
    await cluster.run(sendOne(client))
    await cluster.run(client.createStream('b'))
    await cluster.run(sendOne(client))
    await cluster.run(client.login(root))
    const lines = cluster.seen.map(({ header }) => [header.operation, Number(header.request), Number(header.session)])
    expect(lines).toEqual([
      [Operation.Register, 0, 0],
      [Operation.NonReplicated, 1, 1],
      [Operation.CreateStream, 1, 1],
      [Operation.NonReplicated, 2, 1],
      [Operation.SendMessages, 2, 1],
      [Operation.CreateStream, 2, 1],
      [Operation.SendMessages, 3, 1],
      [Operation.Logout, 3, 1],
      [Operation.Register, 0, 0],
      [Operation.NonReplicated, 1, 2],
    ])
    const ids = new Set(cluster.seen.map(({ header }) => header.client))
    expect(ids.size).toBe(2)
    expect(ids.has(0n as never)).toBe(false)
  })

  it('stamps the body checksum on what the client table guards, and on nothing else', async () => {
    const client = clientOf()
    cluster.answer = seen =>
      seen.header.operation === Operation.CreateStream
        ? success(seen.header, stream, one)
        : isWrite(seen)
          ? confirm(seen)
          : undefined
    await cluster.run(client.createStream('a'))
    await cluster.run(sendOne(client))
    for (const { header, body } of cluster.seen) {
      const stamped = header.operation === Operation.Register || header.operation === Operation.CreateStream
      expect(header.requestChecksum).toBe(stamped ? hash.xxh3(body) : Checksum(0n))
    }
  })
})

describe('login and leader (wire.md §2.6, §6.3)', () => {
  it('goes to the leader that the roster names, logs in there, and stays', async () => {
    cluster.roster = threeNodes(3)
    const client = clientOf()
    await cluster.run(client.connect())
    expect(operations()).toEqual(['1:1', '1:2/12', '3:1', '3:2/12'])
    expect(client.endpoint).toEqual({ host: '127.0.0.1', port: 3 })
    await cluster.run(client.ping())
    expect(operations().at(-1)).toBe('3:2/1')
  })

  it('does not take another spelling of its own address for another node', async () => {
    cluster.roster = threeNodes(1)
    const client = clientOf({ endpoints: [{ host: 'localhost', port: 1 }] })
    await cluster.run(client.connect())
    expect(operations()).toEqual(['1:1', '1:2/12'])
  })

  it('stops after three moves when nodes send it round', async () => {
    cluster.answer = ({ port, header }) => {
      if (header.code === 12) cluster.roster = threeNodes((port % 3) + 1)
      return undefined
    }
    const client = clientOf()
    await cluster.run(client.connect())
    expect(operations().filter(line => line.endsWith(':1'))).toHaveLength(4)
  })

  it('waits up to five seconds for a leader, then stays', async () => {
    cluster.roster = threeNodes(undefined)
    const client = clientOf()
    await cluster.run(client.connect())
    expect(operations().filter(line => line.endsWith('/12'))).toHaveLength(21)
    expect(client.endpoint?.port).toBe(1)
  })

  it('stays where it is when the advertised leader cannot be reached', async () => {
    cluster.roster = threeNodes(2)
    cluster.down.add(2)
    const client = clientOf()
    await cluster.run(client.connect())
    expect(client.endpoint?.port).toBe(1)
    expect(client.session).toBe(2n)
  })

  it('does not follow when told not to', async () => {
    cluster.roster = threeNodes(3)
    const client = clientOf({ followLeader: false })
    await cluster.run(client.connect())
    expect(operations()).toEqual(['1:1'])
  })

  it('raises wrong credentials, and serves a ping all the same', async () => {
    cluster.answer = ({ header }) =>
      header.operation === Operation.Register
        ? evictionFrame({
            cluster: 0n,
            view: View(0),
            replica: ReplicaId(0),
            client: header.client,
            reason: EvictionReason.InvalidCredentials,
          })
        : undefined
    const client = clientOf()
    expect(await failure(client.connect())).toMatchObject({ code: 'InvalidCredentials', status: 42 })
    await cluster.run(client.ping())
    expect(await failure(client.createStream('a'))).toMatchObject({ status: 42, outcome: 'not_applied' })
  })

  it('says 40 by itself when nobody has logged in', async () => {
    const client = new Client(cluster.ports, { endpoints: [{ host: 'h', port: 1 }], hash })
    expect(await failure(client.createStream('a'))).toMatchObject({ status: ErrorCode.Unauthenticated })
    expect(cluster.seen).toEqual([])
  })
})

describe('repeating (wire.md §1.7)', () => {
  it('57: sends the same bytes every 50 ms, never moves, and says that the outcome is unknown', async () => {
    cluster.roster = threeNodes(1)
    const client = clientOf({ budgetMs: 5_000 })
    await cluster.run(client.connect())
    cluster.roster = threeNodes(2)
    cluster.answer = seen => (isWrite(seen) ? status(seen.header, 57) : undefined)
    const error = await failure(sendOne(client))
    expect(error).toMatchObject({ code: 'TransientNotCommitted', outcome: 'unknown' })
    const writes = cluster.seen.filter(isWrite)
    expect(writes.length).toBeGreaterThan(90)
    for (const { bytes, port } of writes) {
      expect(port).toBe(1)
      expect(bytes).toEqual(writes[0]!.bytes)
    }
    expect(writes[1]!.atMs - writes[0]!.atMs).toBe(50)
  })

  it('57 and then success: the reply of the repeated request is the answer', async () => {
    const client = clientOf()
    let left = 3
    cluster.answer = seen => (isWrite(seen) ? (left-- > 0 ? status(seen.header, 57) : confirm(seen)) : undefined)
    expect(await cluster.run(sendOne(client))).toMatchObject({ baseOffset: 7n })
  })

  it('58: repeats for two seconds, reads the roster, moves to the new leader and asks there under a new identity', async () => {
    cluster.roster = threeNodes(1)
    const client = clientOf()
    await cluster.run(client.connect())
    cluster.roster = threeNodes(2)
    cluster.answer = seen => (isWrite(seen) ? (seen.port === 1 ? status(seen.header, 58) : confirm(seen)) : undefined)
    expect(await cluster.run(sendOne(client))).toMatchObject({ baseOffset: 7n })
    const writes = cluster.seen.filter(isWrite)
    const last = writes.at(-1)!
    expect(last.port).toBe(2)
    expect(last.atMs - writes[0]!.atMs).toBe(2_000)
    expect(last.header.client).not.toBe(writes[0]!.header.client)
    expect(last.header.session).not.toBe(writes[0]!.header.session)
    expect(new Set(writes.slice(0, -1).map(({ bytes }) => bytes.join())).size).toBe(1)
  })

  it('58 to the end of the budget: surely not applied', async () => {
    cluster.roster = threeNodes(1)
    const client = clientOf({ budgetMs: 5_000 })
    cluster.answer = ({ header }) => (header.operation === Operation.CreateStream ? rejection(header, 58) : undefined)
    const error = await failure(client.createStream('a'))
    expect(error).toMatchObject({ code: 'TransientNotAccepted', outcome: 'not_applied' })
    expect(cluster.nowMs).toBeLessThanOrEqual(5_000)
  })

  it('57 and then 58: the outcome stays unknown and the client stays', async () => {
    cluster.roster = threeNodes(1)
    const client = clientOf({ budgetMs: 6_000 })
    await cluster.run(client.connect())
    cluster.roster = threeNodes(2)
    let first = true
    cluster.answer = seen => {
      if (!isWrite(seen)) return undefined
      const code = first ? 57 : 58
      first = false
      return status(seen.header, code)
    }
    expect(await failure(sendOne(client))).toMatchObject({ status: 58, outcome: 'unknown' })
    expect(new Set(cluster.seen.filter(isWrite).map(({ port }) => port))).toEqual(new Set([1]))
  })

  it('57 and then a connection that ends between two repeats: the outcome stays unknown', async () => {
    cluster.roster = threeNodes(1)
    const client = clientOf({ budgetMs: 6_000 })
    await cluster.run(client.connect())
    cluster.answer = seen => {
      if (!isWrite(seen)) return undefined
      cluster.ports.clock.after(20, () => cluster.kill(1))
      return status(seen.header, 57)
    }
    expect(await failure(sendOne(client))).toMatchObject({ code: 'NotConnected', outcome: 'unknown' })
    expect(cluster.seen.filter(isWrite)).toHaveLength(1)
  })

  it('without retries every answer comes as it is', async () => {
    const client = clientOf({ retry: false })
    cluster.answer = seen => (isWrite(seen) ? status(seen.header, 58) : undefined)
    expect(await failure(sendOne(client))).toMatchObject({ status: 58 })
    expect(cluster.seen.filter(isWrite)).toHaveLength(1)
  })

  it('other errors are raised at once, from either channel', async () => {
    const client = clientOf()
    cluster.answer = seen =>
      isWrite(seen)
        ? status(seen.header, ErrorCode.ResourceNotFound)
        : seen.header.operation === Operation.CreateStream
          ? rejection(seen.header, ErrorCode.StreamNameAlreadyExists)
          : undefined
    expect(await failure(sendOne(client))).toMatchObject({ code: 'ResourceNotFound', outcome: 'not_applied' })
    expect(await failure(client.createStream('a'))).toMatchObject({ code: 'StreamNameAlreadyExists' })
  })
})

describe('a connection that dies', () => {
  it('under a write: the outcome is unknown and the next call goes on elsewhere', async () => {
    cluster.roster = threeNodes(1)
    const client = clientOf({ budgetMs: 5_000 })
    await cluster.run(client.connect())
    cluster.answer = seen => {
      if (!isWrite(seen)) return undefined
      if (seen.port !== 1) return confirm(seen)
      cluster.kill(1)
      cluster.roster = threeNodes(2)
      return 'silence'
    }
    expect(await failure(sendOne(client))).toMatchObject({ code: 'Disconnected', outcome: 'unknown' })
    expect(cluster.seen.filter(isWrite)).toHaveLength(1)
    expect(await cluster.run(sendOne(client))).toMatchObject({ baseOffset: 7n })
    expect(client.endpoint?.port).toBe(2)
  })

  it('under a read: the read is repeated elsewhere', async () => {
    cluster.roster = threeNodes(1)
    const client = clientOf()
    await cluster.run(client.connect())
    cluster.answer = ({ port, header }) => {
      if (header.code !== 1 || port !== 1) return undefined
      cluster.kill(1)
      cluster.roster = threeNodes(3)
      return 'silence'
    }
    await cluster.run(client.ping())
    expect(operations().at(-1)).toMatch(/^[23]:2\/1$/)
  })

  it('while it is idle: the next call connects and logs in again', async () => {
    cluster.roster = threeNodes(1)
    const client = clientOf()
    await cluster.run(client.connect())
    cluster.kill(1)
    cluster.roster = threeNodes(2)
    cluster.answer = seen => (isWrite(seen) ? confirm(seen) : undefined)
    await cluster.run(sendOne(client))
    expect(client.endpoint?.port).toBe(2)
  })

  it('a server that accepts and says nothing is left after the request timeout, and tried last from then on', async () => {
    cluster.roster = threeNodes(2)
    cluster.answer = ({ port }) => (port === 1 ? 'silence' : undefined)
    const client = clientOf({
      endpoints: [1, 2].map(port => ({ host: '127.0.0.1', port })),
      requestTimeoutMs: 1_000,
    })
    await cluster.run(client.connect())
    expect(client.endpoint?.port).toBe(2)
    expect(cluster.nowMs).toBeLessThan(2_000)
  })

  it('nobody there: gives up when the budget ends, and says that nothing was applied', async () => {
    cluster.down.add(1)
    const client = clientOf({ budgetMs: 3_000 })
    expect(await failure(sendOne(client))).toMatchObject({ code: 'CannotEstablishConnection', outcome: 'not_applied' })
    expect(cluster.nowMs).toBeGreaterThan(2_000)
    expect(cluster.nowMs).toBeLessThanOrEqual(3_000)
  })

  it('a write that timed out is not sent again', async () => {
    cluster.answer = seen => (isWrite(seen) ? 'silence' : undefined)
    const client = clientOf({ requestTimeoutMs: 500 })
    expect(await failure(sendOne(client))).toMatchObject({ code: 'TaskTimeout', outcome: 'unknown' })
    expect(cluster.seen.filter(isWrite)).toHaveLength(1)
  })

  it('a session that the server has lost is made anew, once', async () => {
    const client = clientOf()
    await cluster.run(client.connect())
    let lost = 0
    cluster.answer = seen => {
      if (!isWrite(seen)) return undefined
      if (lost++ > 0) return confirm(seen)
      return evictionFrame({
        cluster: 0n,
        view: View(0),
        replica: ReplicaId(0),
        client: seen.header.client,
        reason: EvictionReason.NoSession,
      })
    }
    expect(await cluster.run(sendOne(client))).toMatchObject({ baseOffset: 7n })
    lost = -5
    cluster.answer = seen => (isWrite(seen) ? status(seen.header, 40) : undefined)
    expect(await failure(sendOne(client))).toMatchObject({ status: 40 })
  })

  it('bytes that are no frame end the connection with a typed error', async () => {
    const client = clientOf()
    await cluster.run(client.connect())
    cluster.answer = seen => (isWrite(seen) ? new Uint8Array(300) : undefined)
    expect(await failure(sendOne(client))).toMatchObject({ code: 'InvalidBytesResponse', outcome: 'unknown' })
  })

  it('close ends what is waiting', async () => {
    cluster.answer = seen => (isWrite(seen) ? 'silence' : undefined)
    const client = clientOf()
    await cluster.run(client.connect())
    const waiting = sendOne(client)
    const behind = client.ping()
    cluster.ports.clock.after(1_000, () => client.close())
    cluster.run(waiting).catch(() => {})
    await expect(waiting).rejects.toMatchObject({ code: 'Disconnected' })
    await expect(behind).rejects.toMatchObject({ code: 'ClientShutdown' })
  })
})

describe('commands', () => {
  it('sends a batch that verifies, under every partitioning', async () => {
    const client = clientOf()
    cluster.answer = seen => (isWrite(seen) ? confirm(seen) : undefined)
    const kinds = [
      { kind: 'balanced' },
      { kind: 'partition', partition: 2 },
      { kind: 'key', key: Uint8Array.of(1, 2) },
    ] as const
    for (const partitioning of kinds) {
      await cluster.run(client.sendMessages('s', 3, partitioning, [{ payload: 'a' }, { payload: 'b', id: 9n }]))
      const { metadata, batch } = decodeBody(sendMessages, cluster.seen.at(-1)!.body)
      expect(metadata).toEqual({ stream: Ident.name('s'), topic: Ident.id(3), partitioning, messagesCount: 2 })
      expect(checkBatch(batch, 0, hash)).toMatchObject({ ok: true, messageCount: 2 })
    }
  })

  it('polls with every strategy, and as the single consumer unless told otherwise', async () => {
    const client = clientOf()
    cluster.answer = ({ header }) => (header.code === 100 ? success(header, pollReply, emptyPoll) : undefined)
    const strategies = [
      [{ kind: 'offset', offset: 5n }, 1, 5n],
      [{ kind: 'timestamp', timestamp: 6n }, 2, 6n],
      [{ kind: 'first' }, 3, 0n],
      [{ kind: 'last' }, 4, 0n],
      [{ kind: 'next' }, 5, 0n],
    ] as const
    for (const [strategy, code, value] of strategies) {
      const polled = await cluster.run(client.poll({ stream: 0, topic: 0, partition: 1, strategy, count: 10 }))
      expect(polled).toEqual({ partitionId: 1, currentOffset: 0n, messages: [] })
      expect(decodeBody(pollMessages, cluster.seen.at(-1)!.body)).toMatchObject({
        strategy: code,
        value,
        partition: 1,
        consumer: { kind: 'consumer', id: Ident.id(0) },
      })
    }
    expect(consumer.toJson({ kind: 'group', id: Ident.name('g') })).toEqual({ kind: 'group', id: 'g' })
  })

  it('raw: routes a code as the typed call does, and refuses the logins', async () => {
    const client = clientOf()
    cluster.answer = ({ header }) => (header.code === 60_000 ? status(header, 3) : undefined)
    expect(await cluster.run(client.raw(1, new Uint8Array(0)))).toEqual(new Uint8Array(0))
    expect(await failure(client.raw(60_000, new Uint8Array(0)))).toMatchObject({ status: 3 })
    expect(await failure(client.raw(38, new Uint8Array(0)))).toMatchObject({ status: 3 })
    cluster.answer = ({ header }) =>
      header.operation === Operation.DeleteStream ? success(header, stream, one) : undefined
    await cluster.run(client.raw(203, Uint8Array.of(1, 4, 0, 0, 0, 0)))
    expect(cluster.seen.at(-1)!.header).toMatchObject({ operation: Operation.DeleteStream, code: 0 })
  })
})
