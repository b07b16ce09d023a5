/** What a boot accepts, refuses, and sets aside (spec metadata-storage.md §6.2–6.5). */
import { describe, expect, test } from 'vitest'
import { ClientId } from '../bytes/units.ts'
import { produceBatch } from '../protocol/batch.ts'
import { type Codec, encodeBody } from '../protocol/codec.ts'
import { ClientCommands } from '../protocol/command-codes.ts'
import { clusterId } from '../protocol/handshake.ts'
import { Ident } from '../protocol/ident.ts'
import { Operation } from '../protocol/operations.ts'
import { readServerFrame } from '../protocol/replies.ts'
import { requestFrame } from '../protocol/requests.ts'
import { PROTOCOL_VERSION, passwordLogin } from '../protocol/session.ts'
import type { Disk } from '../storage/disk.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { writePurgeGen } from '../storage/purge-gen.ts'
import { SuperblockStore } from '../storage/superblock.ts'
import { ScriptedDisk } from '../storage/testing/scripted-disk.ts'
import { hash, ProcessEnded, Solo } from './testing/solo.ts'

const WAL = 'metadata/journal.wal'
const PARTITION = 'streams/0/topics/0/partitions/0'
const stream = Ident.name('s')
const topic = Ident.name('t')

let clients = 0
/** Logs in and runs `calls` on one connection. */
async function session(solo: Solo) {
  clients++
  const connection = clients
  const client = ClientId(BigInt(0x1000 + clients))
  let request = 0n
  solo.connect(connection)
  const call = async (operation: number, body: Uint8Array, code = 0) => {
    const login = operation === Operation.Register
    if (!login) request++
    const fields = { client, session: login ? 0n : 1n, request: login ? 0n : request, operation, code }
    return readServerFrame((await solo.exchange(connection, requestFrame(fields, body)))!)
  }
  const credentials = {
    protocol: PROTOCOL_VERSION,
    sdkName: 't',
    sdkVersion: '1',
    username: 'iggy',
    password: 'iggy',
    context: '',
  }
  expect(await call(Operation.Register, encodeBody(passwordLogin, credentials))).toMatchObject({ code: 0 })
  const typed = <Q>(command: { operation: number; code: number; request: Codec<Q> }, value: Q) =>
    call(
      command.operation,
      encodeBody(command.request, value),
      command.operation === Operation.NonReplicated ? command.code : 0,
    )
  return {
    typed,
    send: (text: string, partition = 0) =>
      typed(ClientCommands.send, {
        metadata: { stream, topic, partitioning: { kind: 'partition', partition }, messagesCount: 1 },
        batch: produceBatch(hash, [{ id: 1n, payload: new TextEncoder().encode(text), originTimestamp: 1n as never }]),
      }),
    poll: async (partition = 0) => {
      const answer = await typed(ClientCommands.poll, {
        consumer: { kind: 'consumer', id: Ident.id(0) },
        stream,
        topic,
        partition,
        strategy: 1,
        value: 0n,
        count: 100,
        autoCommit: false,
      })
      if (answer.kind !== 'reply' || answer.code !== 0) return { code: answer.code, count: 0 }
      return { code: 0, count: new DataView(answer.payload.buffer, answer.payload.byteOffset).getUint32(12, true) }
    },
  }
}

/** A solo directory with stream `s`, topic `t` of two partitions, and a message in partition 0. */
async function written(): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  const solo = await Solo.boot(disk)
  const peer = await session(solo)
  await peer.typed(ClientCommands.createStream, { name: 's', options: [] })
  await peer.typed(ClientCommands.createTopic, { stream, partitionsCount: 2, name: 't', options: [] })
  await solo.settle(() => solo.inspect.groups().length === 2)
  await peer.send('first')
  await solo.stop()
  return disk
}

async function edit(disk: MemoryDisk, path: string, change: (bytes: Uint8Array) => Uint8Array): Promise<void> {
  const file = await disk.open(path, 'write')
  const bytes = new Uint8Array(await file.sizeBytes())
  await file.read(0, bytes)
  const changed = change(bytes)
  await file.truncate(0)
  await file.write(0, [changed])
  await file.close()
}

const flip = (at: number) => (bytes: Uint8Array) => {
  bytes[at]! ^= 0xff
  return bytes
}

const refusal = async (disk: Disk, overrides = {}) => {
  try {
    await Solo.boot(disk, overrides)
  } catch (error) {
    if (error instanceof ProcessEnded)
      return { status: error.status, code: error.error.code, path: error.error.context.path }
    throw error
  }
  return undefined
}

describe('a boot', () => {
  test('keeps sessions, topics and messages', async () => {
    const solo = await Solo.boot(await written())
    expect(solo.inspect.topics().streams).toMatchObject([{ name: 's', topics: [{ name: 't', partitions: 2 }] }])
    expect(solo.inspect.clients().table.length).toBe(1)
    const peer = await session(solo)
    expect(await peer.poll()).toEqual({ code: 0, count: 1 })
    expect(solo.inspect.recovery().steps.map(step => step.step)).toEqual(
      expect.arrayContaining(['superblock', 'wal_scan', 'replay', 'partition']),
    )
  })

  test('CT-12 rebuilds the client table that a node has which never stopped', async () => {
    const disk = new MemoryDisk()
    const solo = await Solo.boot(disk)
    const peer = await session(solo)
    await peer.typed(ClientCommands.createStream, { name: 's', options: [] })
    await peer.typed(ClientCommands.createStream, { name: 's', options: [] })
    const gone = await session(solo)
    await gone.typed(ClientCommands.logout, {})
    const again = await Solo.boot(copyOf(disk))
    expect(again.inspect.clients().table).toEqual(solo.inspect.clients().table)
    expect(again.inspect.topics()).toEqual(solo.inspect.topics())
  })

  test('refuses a log with a flipped byte in front of another entry, with status 65', async () => {
    const disk = await written()
    await edit(disk, WAL, flip(300))
    expect(await refusal(disk)).toEqual({ status: 65, code: 'WAL_DAMAGED', path: WAL })
  })

  test('cuts a torn tail once nothing has refused', async () => {
    const disk = await written()
    const whole = (await disk.stat(WAL)).sizeBytes
    await edit(disk, WAL, bytes => new Uint8Array([...bytes, ...new Uint8Array(100).fill(7)]))
    const solo = await Solo.boot(disk)
    expect((await disk.stat(WAL)).sizeBytes).toBe(whole)
    const peer = await session(solo)
    await peer.typed(ClientCommands.createStream, { name: 's2', options: [] })
    await solo.stop()
    expect(await refusal(disk)).toBeUndefined()
  })

  test('refuses the directory of another cluster, with or without a superblock', async () => {
    const disk = await written()
    const other = { clusterName: 'other', clusterId: clusterId('other') }
    expect(await refusal(disk, other)).toMatchObject({ status: 65, code: 'ClusterMismatch' })
  })

  test('SB refuses an unreadable superblock beside a good log, and changes nothing', async () => {
    const disk = await written()
    const { store } = await SuperblockStore.openWithLatest(disk, 'metadata', hash)
    const state = {
      cluster: clusterId('golden'),
      replicaId: 0,
      replicaCount: 1,
      view: 0,
      logView: 0,
      commitMax: 0n,
      checkpointOp: 0n,
      checkpointChecksum: 0n,
      offsetFrontier: 0n,
      offsetReserved: 0n,
    }
    await store.write(() => state as never)
    expect(await refusal(disk)).toBeUndefined()
    await edit(disk, 'metadata/superblock.a', flip(40))
    expect(await refusal(disk)).toMatchObject({ status: 65, code: 'SuperblockUnreadable' })
  })

  test('refuses, solo, a log that ends below what the superblock says was committed', async () => {
    const disk = await written()
    const { store } = await SuperblockStore.openWithLatest(disk, 'metadata', hash)
    const state = {
      cluster: clusterId('golden'),
      replicaId: 0,
      replicaCount: 1,
      view: 0,
      logView: 0,
      commitMax: 99n,
      checkpointOp: 0n,
      checkpointChecksum: 0n,
      offsetFrontier: 0n,
      offsetReserved: 0n,
    }
    await store.write(() => state as never)
    expect(await refusal(disk)).toMatchObject({ status: 65, code: 'CommitAheadOfLog' })
  })

  test('refuses, solo, partition bytes without metadata', async () => {
    const disk = await written()
    await disk.remove('metadata')
    expect(await refusal(disk)).toMatchObject({ status: 65, code: 'MetadataMissing' })
  })
})

describe('a partition', () => {
  test('that cannot be read is refused alone: its writes get 58, its files stay, the others serve', async () => {
    const disk = await written()
    const { store } = await SuperblockStore.openWithLatest(disk, PARTITION, hash)
    await store.writePayload(() => new Uint8Array(66))
    const solo = await Solo.boot(disk)
    const peer = await session(solo)
    expect(await peer.send('lost', 0)).toMatchObject({ code: 58 })
    expect(await peer.poll(0)).toMatchObject({ code: 58 })
    expect(await peer.send('served', 1)).toMatchObject({ code: 0 })
    expect(solo.inspect.group(0n)).toMatchObject({ status: 'tombstoned', refusal: { code: 'WrongLength' } })
    expect(solo.inspect.groups()).toHaveLength(2)
    expect((await disk.list(PARTITION)).some(name => name.endsWith('.log'))).toBe(true)
  })

  test('CN-17 whose record names another replica is refused alone, at its byte', async () => {
    const disk = await written()
    await edit(disk, `${PARTITION}/superblock.a`, bytes => {
      bytes[28 + 16] = 1
      new DataView(bytes.buffer).setBigUint64(bytes.length - 8, hash.xxh3(bytes.subarray(0, -8)), true)
      return bytes
    })
    for (const slot of await disk.list(PARTITION))
      if (slot === 'superblock.b') await disk.unlink(`${PARTITION}/${slot}`)
    const solo = await Solo.boot(disk)
    expect(solo.inspect.group(0n)).toMatchObject({
      status: 'tombstoned',
      refusal: { code: 'SuperblockIdentityMismatch', path: `${PARTITION}/superblock.a` },
    })
    expect(await (await session(solo)).send('served', 1)).toMatchObject({ code: 0 })
  })

  test('SB-21 whose superblock cannot be read is refused alone, and served by the next boot that can', async () => {
    const disk = await written()
    const slot = `${PARTITION}/superblock.b`
    const there = (await disk.list(PARTITION)).includes('superblock.b')
    const bytes = there ? disk.peek(slot) : undefined
    await disk.remove(slot)
    await disk.makeDirectory(slot)
    const solo = await Solo.boot(disk)
    expect(solo.inspect.group(0n)).toMatchObject({ status: 'tombstoned', refusal: { code: 'DISK_IO', path: slot } })
    expect(await (await session(solo)).send('served', 1)).toMatchObject({ code: 0 })
    await solo.stop()
    await disk.remove(slot)
    if (bytes) disk.put(slot, bytes)
    expect(await (await session(await Solo.boot(disk))).poll()).toEqual({ code: 0, count: 1 })
  })

  test.each([
    ['a log', `${PARTITION}/00000000000000000000.log`],
    ['an index', `${PARTITION}/00000000000000000000.index`],
    ['a purge generation', `${PARTITION}/purge.gen`],
  ])('I13 %s that cannot be read ends the boot, changes nothing, and is served by the next one', async (_, path) => {
    const disk = await written()
    const before = disk.snapshot()
    let broken = true
    const failing = new ScriptedDisk(disk)
    failing.fails = call => broken && call === `read ${path}`
    expect(await refusal(failing)).toEqual({ status: 65, code: 'PartitionUnreadable', path })
    expect(disk.snapshot()).toEqual(before)
    broken = false
    expect(await (await session(await Solo.boot(failing))).poll()).toEqual({ code: 0, count: 1 })
  })

  test('whose directory cannot be made is built when the disk is well again', async () => {
    const disk = new MemoryDisk()
    let broken = true
    const failing = new ScriptedDisk(disk)
    failing.fails = call => broken && call.startsWith(`open ${PARTITION}/0`)
    const solo = await Solo.boot(failing)
    const peer = await session(solo)
    await peer.typed(ClientCommands.createStream, { name: 's', options: [] })
    await peer.typed(ClientCommands.createTopic, { stream, partitionsCount: 1, name: 't', options: [] })
    await solo.settle(() => solo.facts.some(fact => fact.kind === 'partition_build_deferred'))
    expect(solo.inspect.groups()).toEqual([])
    broken = false
    await solo.settle(() => solo.inspect.groups().length === 1)
    expect(await peer.send('served')).toMatchObject({ code: 0 })
  })

  test('whose directory is of a deleted incarnation is set aside whole and built anew', async () => {
    const disk = new MemoryDisk()
    await disk.makeDirectory(PARTITION)
    await writePurgeGen(disk, PARTITION, { generation: 0n, createdRevision: 0n })
    await disk.open(`${PARTITION}/relic`, 'create')
    const solo = await Solo.boot(disk)
    const peer = await session(solo)
    await peer.typed(ClientCommands.createStream, { name: 's', options: [] })
    await peer.typed(ClientCommands.createTopic, { stream, partitionsCount: 1, name: 't', options: [] })
    await solo.settle(() => solo.inspect.groups().length === 1)
    expect(await disk.list(`${PARTITION}.fenced.0`)).toContain('relic')
    expect(await disk.list(PARTITION)).not.toContain('relic')
    expect(await peer.send('fresh')).toMatchObject({ code: 0 })
  })

  test('whose directory is of a later op is refused by a lone node, which nobody tells of it, untouched', async () => {
    const disk = new MemoryDisk()
    await disk.makeDirectory(PARTITION)
    await writePurgeGen(disk, PARTITION, { generation: 0n, createdRevision: 9n })
    const solo = await Solo.boot(disk)
    const peer = await session(solo)
    await peer.typed(ClientCommands.createStream, { name: 's', options: [] })
    await peer.typed(ClientCommands.createTopic, { stream, partitionsCount: 1, name: 't', options: [] })
    await solo.settle(() => solo.facts.some(fact => fact.kind === 'partition_refused'))
    expect(solo.inspect.groups()).toMatchObject([{ status: 'tombstoned' }])
    expect(await disk.list(PARTITION)).toEqual(['purge.gen'])
    expect(await peer.send('early')).toMatchObject({ code: 58 })
  })

  test('that is deleted loses its directory', async () => {
    const disk = await written()
    const solo = await Solo.boot(disk)
    const peer = await session(solo)
    await peer.typed(ClientCommands.deletePartitions, { stream, topic, count: 1 })
    await solo.settle(() => solo.facts.some(fact => fact.kind === 'partition_removed'))
    expect(await disk.list('streams/0/topics/0/partitions')).toEqual(['0'])
    expect(await peer.send('gone', 1)).toMatchObject({ code: 20 })
  })
})

function copyOf(disk: MemoryDisk): MemoryDisk {
  const copy = new MemoryDisk()
  copy.restore(disk.snapshot())
  return copy
}
