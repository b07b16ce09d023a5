/** Checkpoints of a solo node, crashed at every step, and what a boot makes of each (spec metadata-storage.md §3). */
import { describe, expect, test } from 'vitest'
import { encodeBody } from '../protocol/codec.ts'
import { ClientCommands } from '../protocol/command-codes.ts'
import { EvictionReason } from '../protocol/replies.ts'
import type { MemoryDisk } from '../storage/memory-disk.ts'
import { decodeSnapshot } from '../storage/snapshot-decode.ts'
import { encodeSnapshot } from '../storage/snapshot-encode.ts'
import type { SnapshotRecord } from '../storage/snapshot-record.ts'
import { writeSnapshot } from '../storage/snapshot-store.ts'
import { ScriptedDisk } from '../storage/testing/scripted-disk.ts'
import {
  edit,
  flip,
  newDisk,
  putSuperblock,
  refused,
  SLOT_A,
  SNAPSHOT,
  stepOf,
  streamsOf,
  WAL,
} from './testing/directories.ts'
import { Peer } from './testing/peer.ts'
import { hash, Solo, soloConfig } from './testing/solo.ts'

const small = { metadata: { ...soloConfig().metadata, journalSlots: 256 } }
const names = (last: number) => Array.from({ length: last }, (_, index) => `n${index + 1}`)
const kinds = (solo: Solo, prefix: string) =>
  solo.facts.filter(fact => fact.kind.startsWith(prefix)).map(fact => `${fact.kind} ${fact.op ?? ''}`.trim())

const snapshotOn = (disk: MemoryDisk): SnapshotRecord => decodeSnapshot(disk.peek(SNAPSHOT)!.slice(0, -20))
const pairedOp = (disk: MemoryDisk, slot: string): bigint =>
  new DataView(disk.peek(slot)!.buffer).getBigUint64(28 + 34, true)

/** Boots, logs in as `client` and makes streams until the log has seen op `lastOp` (the login is op 1). */
async function upToOp(disk: MemoryDisk | ScriptedDisk, lastOp: number, client = 7n) {
  const solo = await Solo.boot(disk, small)
  const peer = await Peer.login(solo, client)
  for (let op = 2; op <= lastOp; op++) await peer.createStream(`n${op - 1}`)
  return { solo, peer }
}

describe('a checkpoint', () => {
  test('CK-01 goes through its phases in order, at the op that the peer takes', async () => {
    const disk = newDisk()
    const { solo } = await upToOp(disk, 193)
    await solo.settle(() => kinds(solo, 'checkpoint_finished').length > 0)
    expect(kinds(solo, 'checkpoint_')).toEqual([
      'checkpoint_started 192',
      'checkpoint_snapshot_durable 192',
      'checkpoint_paired 192',
      'checkpoint_finished 192',
    ])
    expect(snapshotOn(disk).op).toBe(192n)
    expect(pairedOp(disk, SLOT_A)).toBe(192n)
    // The entry at the commit point stays: a DoViewChange must carry its header.
    expect(solo.inspect.wal().entries.map(entry => entry.op)).toEqual(['192', '193'])
  })

  /** Calls to the disk from the start of the checkpoint to its end, and what they were. */
  async function callsOfCheckpoint(): Promise<readonly string[]> {
    const scripted = new ScriptedDisk(newDisk())
    const { solo, peer } = await upToOp(scripted, 192)
    const from = scripted.calls.length
    await peer.createStream('n192')
    await solo.settle(() => kinds(solo, 'checkpoint_finished').length > 0)
    return scripted.calls.slice(from)
  }

  test('CK-01 a crash at every call of the disk boots to the same state', async () => {
    const calls = await callsOfCheckpoint()
    expect(calls.filter(call => call.startsWith('rename'))).toEqual([
      'rename metadata/snapshot.bin.tmp',
      'rename metadata/superblock.a.tmp',
      'rename metadata/journal.wal.tmp',
    ])
    const seen = new Set<string>()
    for (let victim = 1; victim <= calls.length; victim++) {
      const disk = newDisk()
      const scripted = new ScriptedDisk(disk)
      const { peer } = await upToOp(scripted, 192)
      const from = scripted.calls.length
      scripted.dies = (_, number) => number === from + victim
      scripted.tornBytes = 100
      void peer.createStream('n192').catch(() => {})
      for (let turn = 0; turn < 60; turn++) await new Promise(resolve => setImmediate(resolve))
      const paired = disk.peek(SLOT_A) !== undefined
      const whole = disk.peek(WAL)!.length > 2_000
      // Before the pairing the log is whole.
      if (!paired) expect([calls[victim - 1], whole]).toEqual([calls[victim - 1], true])
      const solo = await Solo.boot(disk, small)
      const applied = streamsOf(solo)
      expect([calls[victim - 1], applied.slice(0, 191)]).toEqual([calls[victim - 1], names(191)])
      expect(applied.length).toBeLessThanOrEqual(192)
      seen.add(`${stepOf(solo, 'snapshot')?.verdict} ${whole}`)
      await (await Peer.login(solo, 8n)).createStream('after')
      expect(streamsOf(solo)).toContain('after')
      expect(await disk.list('metadata')).not.toContain('snapshot.bin.tmp')
    }
    // No snapshot; a newer one than the superblock knows; a paired one beside the whole log; and beside the drained one.
    expect([...seen].sort()).toEqual(['equal false', 'equal true', 'newer true', 'undefined true'])
  })

  test('CK-01 a failing call leaves the log undrained, and a later checkpoint makes up for it', async () => {
    const calls = await callsOfCheckpoint()
    const touching = calls.filter(call => call.includes('.tmp') || call.startsWith('syncDirectory'))
    // Past the rename of the log a failure ends the process (WA-15).
    const steps = touching.slice(0, touching.indexOf('rename metadata/journal.wal.tmp') + 1)
    for (const [index, failing] of steps.entries()) {
      const ordinal = steps.slice(0, index + 1).filter(call => call === failing).length
      const disk = newDisk()
      const scripted = new ScriptedDisk(disk)
      const { solo, peer } = await upToOp(scripted, 192)
      let matches = 0
      const from = scripted.calls.length
      scripted.fails = (call, number) => number > from && call === failing && ++matches === ordinal
      for (let op = 193; op <= 200; op++) await peer.createStream(`n${op - 1}`)
      await solo.settle(() => kinds(solo, 'checkpoint_finished').length > 0)
      expect([failing, kinds(solo, 'checkpoint_failed').length]).toEqual([failing, 1])
      expect(streamsOf(await Solo.boot(disk, small))).toEqual(names(199))
    }
  })

  test('CK-08 CK-10 first and last stream are back after two rounds, and a session from op 1 goes on', async () => {
    const disk = newDisk()
    const { solo, peer } = await upToOp(disk, 500)
    await solo.settle(() => kinds(solo, 'checkpoint_finished').length >= 2)
    const last = await peer.frame(
      ClientCommands.createStream.operation,
      encodeBody(ClientCommands.createStream.request, { name: 'last', options: [] }),
      peer.request + 1n,
    )
    const again = await Solo.boot(disk, small)
    expect(streamsOf(again)).toEqual([...names(499), 'last'])
    expect(again.inspect.clients().table[0]!.watermark).toBe(String(peer.request + 1n))
    const back = await Peer.login(again, 7n)
    const retried = await back.frame(
      ClientCommands.createStream.operation,
      encodeBody(ClientCommands.createStream.request, { name: 'last', options: [] }),
      peer.request + 1n,
    )
    expect(retried).toEqual(last)
    expect(streamsOf(again)).toHaveLength(500)
  })

  test('CK-07 a key that was freed before the checkpoint is handed out again after it', async () => {
    const disk = newDisk()
    const solo = await Solo.boot(disk, small)
    const peer = await Peer.login(solo, 7n)
    for (let index = 0; index < 150; index++) await peer.createStream(`n${index}`)
    for (const id of [90, 3, 40]) await peer.call(ClientCommands.deleteStream, { stream: { kind: 'id', id } })
    for (let index = 0; index < 60; index++) await peer.createStream(`n0`)
    await solo.settle(() => kinds(solo, 'checkpoint_finished').length > 0)
    const again = await Solo.boot(disk, small)
    expect(stepOf(again, 'snapshot')!.verdict).toBe('equal')
    const [live, restored] = [peer, await Peer.login(again, 9n)]
    for (const [node, from] of [
      [solo, live],
      [again, restored],
    ] as const) {
      for (const name of ['x', 'y', 'z', 'w']) await from.createStream(name)
      const ids = new Map(node.inspect.topics().streams.map(stream => [stream.name, stream.id]))
      expect(['x', 'y', 'z', 'w'].map(name => ids.get(name))).toEqual([3, 40, 90, 150])
    }
  })

  test('CK-12 a hundred writes at once at the boundary: none is dropped', async () => {
    const disk = newDisk()
    const { solo } = await upToOp(disk, 191)
    const peers = await Promise.all(Array.from({ length: 20 }, (_, index) => Peer.login(solo, BigInt(100 + index))))
    await Promise.all(
      peers.map(async (peer, index) => {
        for (let round = 0; round < 5; round++)
          expect(await peer.createStream(`b${index}.${round}`)).toMatchObject({ code: 0 })
      }),
    )
    await solo.settle(() => kinds(solo, 'checkpoint_finished').length > 0)
    expect(streamsOf(solo)).toHaveLength(190 + 100)
    expect(streamsOf(await Solo.boot(disk, small))).toEqual(streamsOf(solo))
  })

  test('WA-16 without a checkpoint a full log refuses new ops and loses none, and goes on when the disk heals', async () => {
    const disk = newDisk()
    const scripted = new ScriptedDisk(disk)
    scripted.fails = call => call.endsWith('snapshot.bin.tmp')
    const { solo, peer } = await upToOp(scripted, 256)
    expect(streamsOf(solo)).toEqual(names(255))
    expect(await peer.createStream('one too many')).toMatchObject({ code: 58 })
    scripted.fails = () => false
    await solo.settle(() => kinds(solo, 'checkpoint_finished').length > 0)
    peer.request++
    expect(await peer.createStream('now')).toMatchObject({ code: 0 })
    expect(streamsOf(await Solo.boot(disk, small))).toEqual([...names(255), 'now'])
  })

  test('CK-14 passwords are nowhere in the directory', async () => {
    const disk = newDisk()
    const config = { ...small, root: { username: 'iggy', password: 'very-secret-password' } }
    const solo = await Solo.boot(disk, config)
    await solo.stop()
    const { peer } = await upToOp(disk, 200)
    await peer.createStream('more')
    for (const content of disk.snapshot().values())
      if (content) expect(new TextDecoder('latin1').decode(content)).not.toContain('very-secret-password')
  })
})

describe('a snapshot at boot', () => {
  /** A directory with a checkpoint at op 192, a superblock that names it, and a log behind it. */
  async function checkpointed(): Promise<MemoryDisk> {
    const disk = newDisk()
    const { solo } = await upToOp(disk, 195)
    await solo.settle(() => kinds(solo, 'checkpoint_finished').length > 0)
    await solo.stop()
    return disk
  }
  const reseal = (bytes: Uint8Array): Uint8Array => {
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    view.setBigUint64(bytes.length - 16, hash.xxh3(bytes.subarray(0, -20)), true)
    return bytes
  }

  test('CK-02 an older one than the superblock names refuses, with both ops', async () => {
    const disk = await checkpointed()
    const older = { ...snapshotOn(disk), op: 100n as never }
    await writeSnapshot(disk, 'metadata', encodeSnapshot(older), hash)
    expect(await refused(disk, small)).toMatchObject({
      code: 'CheckpointAheadOfSnapshot',
      path: SNAPSHOT,
      expected: 'op 192',
      actual: 'op 100',
    })
    await disk.unlink(SNAPSHOT)
    expect(await refused(disk, small)).toMatchObject({ code: 'CheckpointAheadOfSnapshot', actual: 'no snapshot' })
  })

  test('CK-03 a flipped byte refuses by its trailer, and re-sealed by the superblock', async () => {
    const disk = await checkpointed()
    const size = disk.peek(SNAPSHOT)!.length
    edit(disk, SNAPSHOT, flip(size - 100))
    expect(await refused(disk, small)).toMatchObject({ code: 'SnapshotChecksum', path: SNAPSHOT, position: size - 16 })
    edit(disk, SNAPSHOT, reseal)
    const refusal = await refused(disk, small)
    expect(refusal).toMatchObject({ code: 'CheckpointChecksumMismatch', path: SNAPSHOT })
    expect(refusal.expected).not.toBe(refusal.actual)
  })

  test('CK-04 a superblock that lags a whole newer one accepts it, and is paired with it by the next write', async () => {
    const disk = await checkpointed()
    putSuperblock(disk, { commitMax: 20n as never })
    const solo = await Solo.boot(disk, small)
    expect(stepOf(solo, 'snapshot')).toMatchObject({ verdict: 'newer', detail: { op: '192' } })
    expect(streamsOf(solo)).toEqual(names(194))
    expect(solo.inspect.metadata()).toMatchObject({ commitMax: '195' })
  })

  test('CK-05 bytes that no decoder survives are refused before they are decoded', async () => {
    const disk = await checkpointed()
    edit(disk, SNAPSHOT, bytes => {
      // An array of four billion users, where the version, the time and the op are still whole.
      bytes.set([0xdd, 0xff, 0xff, 0xff, 0xff], 14)
      return bytes
    })
    expect(await refused(disk, small)).toMatchObject({ code: 'SnapshotChecksum' })
    edit(disk, SNAPSHOT, reseal)
    expect(await refused(disk, small)).toMatchObject({ code: 'CheckpointChecksumMismatch' })
    await disk.unlink(SLOT_A)
    expect(await refused(disk, small)).toMatchObject({ code: 'SnapshotUndecodable', path: SNAPSHOT })
  })

  test('CK-13 another format version is refused as such', async () => {
    const disk = await checkpointed()
    edit(disk, SNAPSHOT, bytes => {
      bytes[1] = 4
      return reseal(bytes)
    })
    expect(await refused(disk, small)).toMatchObject({
      code: 'SnapshotVersion',
      position: 1,
      expected: '3',
      actual: '4',
    })
  })

  test('CK-15 without its trailer it counts only where the superblock names exactly these bytes', async () => {
    const disk = await checkpointed()
    const sealed = disk.peek(SNAPSHOT)!
    const slot = disk.peek(SLOT_A)!
    edit(disk, SNAPSHOT, bytes => flip(bytes.length - 20, 1)(bytes))
    expect(await refused(disk, small)).toMatchObject({ code: 'CheckpointChecksumMismatch' })
    putSuperblock(disk, { checkpointOp: 20n as never })
    expect(await refused(disk, small)).toMatchObject({ code: 'SnapshotUnsealed' })
    await disk.unlink(SLOT_A)
    expect(await refused(disk, small)).toMatchObject({ code: 'SnapshotUnsealed', actual: 'none' })
    disk.put(SLOT_A, slot)
    disk.put(SNAPSHOT, sealed.slice(0, -20))
    const solo = await Solo.boot(disk, small)
    expect(stepOf(solo, 'snapshot')!.verdict).toBe('unsealed')
    expect(streamsOf(solo)).toEqual(names(194))
  })

  test('CT-13 a stored reply that is none refuses, with its slot', async () => {
    const disk = await checkpointed()
    const record = snapshotOn(disk)
    const [entry] = record.clients!
    const broken = (change: (entry: NonNullable<typeof record.clients>[number]) => unknown) =>
      encodeSnapshot({ ...record, clients: [change(entry!) as typeof entry & object] })
    const cases = [
      broken(client => ({ ...client, reply: client.reply.map((byte, at) => (at === 60 ? byte ^ 1 : byte)) })),
      broken(client => ({ ...client, reply: client.reply.slice(0, 200) })),
      broken(client => ({ ...client, slot: 65_536 })),
      encodeSnapshot({ ...record, clients: [entry!, { ...entry!, slot: 5 }] }),
      encodeSnapshot({ ...record, clients: [entry!, { ...entry!, client: 99n as never }] }),
    ]
    for (const payload of cases) {
      const checksum = await writeSnapshot(disk, 'metadata', payload, hash)
      putSuperblock(disk, { checkpointOp: 192n as never, checkpointChecksum: checksum, commitMax: 192n as never })
      expect(await refused(disk, small)).toMatchObject({ code: 'ClientTableDecode', path: SNAPSHOT })
    }
  })

  test('a snapshot and no log at all is a whole state', async () => {
    const disk = await checkpointed()
    await disk.unlink(WAL)
    putSuperblock(disk, {})
    const solo = await Solo.boot(disk, small)
    expect(streamsOf(solo)).toEqual(names(191))
    await (await Peer.login(solo, 9n)).createStream('on top')
    expect(streamsOf(await Solo.boot(disk, small))).toEqual([...names(191), 'on top'])
  })

  test('WA-13 CT-02 all state and all sessions of a killed solo node return, and a client goes on', async () => {
    const disk = newDisk()
    const { peer, solo } = await upToOp(disk, 260)
    const again = await Solo.boot(disk, small)
    expect(again.inspect.topics()).toEqual(solo.inspect.topics())
    expect(again.inspect.clients().table).toEqual(
      solo.inspect.clients().table.map(row => ({ ...row, cachedReplies: 5 })),
    )
    const back = await Peer.login(again, 7n)
    back.request = peer.request
    expect(await back.createStream('next')).toMatchObject({ code: 0 })
  })

  test('CT-06 sessions below the checkpoint keep slot and order, so the same one is evicted next', async () => {
    const disk = newDisk()
    const three = { metadata: { ...small.metadata, clientsTableMax: 3 } }
    const solo = await Solo.boot(disk, three)
    const peers = []
    for (const client of [11n, 12n, 13n]) peers.push(await Peer.login(solo, client))
    await peers[0]!.createStream('keeps the first one young')
    for (let index = 0; index < 200; index++) await peers[2]!.createStream(`n${index}`)
    await solo.settle(() => kinds(solo, 'checkpoint_finished').length > 0)
    const again = await Solo.boot(disk, three)
    const table = (node: Solo) => node.inspect.clients().table.map(row => BigInt(`0x${row.client}`))
    expect(table(again)).toEqual([11n, 12n, 13n])
    for (const node of [solo, again]) {
      node.wallMicros += 61_000_000n
      await Peer.login(node, 14n)
      expect(table(node)).toEqual([11n, 14n, 13n])
    }
  })

  test('CT-07 a full table evicts nobody who may still retry, so the retry is answered from the cache', async () => {
    const solo = await Solo.boot(newDisk(), { metadata: { ...small.metadata, clientsTableMax: 2 } })
    const owner = await Peer.login(solo, 21n)
    const body = encodeBody(ClientCommands.createStream.request, { name: 'mine', options: [] })
    const first = await owner.frame(ClientCommands.createStream.operation, body, 1n)
    await Peer.login(solo, 31n)
    for (const churn of [32n, 33n]) expect(await Peer.tryLogin(solo, churn)).toMatchObject({ code: 58 })
    const again = await Peer.login(solo, 21n)
    expect(await again.frame(ClientCommands.createStream.operation, body, 1n)).toEqual(first)
    expect(streamsOf(solo)).toEqual(['mine'])
    // One that asked for nothing, or for nothing in a minute, makes room.
    expect(await Peer.tryLogin(solo, 34n)).toMatchObject({ code: 0 })
    solo.wallMicros += 61_000_000n
    expect(await Peer.tryLogin(solo, 35n)).toMatchObject({ code: 0 })
  })

  test('CT-05 a client id that another user registered is refused for good', async () => {
    const disk = await checkpointed()
    const record = snapshotOn(disk)
    const other = { ...record.users[0]!, id: 1, username: 'other' }
    const payload = encodeSnapshot({
      ...record,
      users: [...record.users, other],
      tokens: [...record.tokens, { userId: 1, tokens: [] }],
      clients: record.clients!.map(entry => ({ ...entry, userId: 1 })),
    })
    const checksum = await writeSnapshot(disk, 'metadata', payload, hash)
    putSuperblock(disk, { checkpointOp: 192n as never, checkpointChecksum: checksum, commitMax: 192n as never })
    const solo = await Solo.boot(disk, small)
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await Peer.tryLogin(solo, 7n)).toMatchObject({ kind: 'eviction', reason: EvictionReason.SessionError })
    expect(await Peer.tryLogin(solo, 8n)).toMatchObject({ code: 0 })
    expect(solo.inspect.clients().table.find(row => row.client === '7')).toMatchObject({ user: 1 })
  })
})
