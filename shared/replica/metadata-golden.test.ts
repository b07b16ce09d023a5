/** Recorded directories and transfers of the peer: what a boot makes of them (spec metadata-storage.md §3, §6.2). */
import { describe, expect, test } from 'vitest'
import { ClientId, Op } from '../bytes/units.ts'
import { ClientTable } from '../metadata/client-table.ts'
import { decodeClientTable, encodeClientTable } from '../metadata/client-table-blob.ts'
import { MetadataMachine } from '../metadata/machine.ts'
import { restoreState, snapshotOf } from '../metadata/snapshot.ts'
import { Operation } from '../protocol/operations.ts'
import { goldenFrames } from '../protocol/testing/golden.ts'
import { decodeManifest, encodeManifest } from '../protocol/transfer-manifest.ts'
import { decodeSnapshot } from '../storage/snapshot-decode.ts'
import { encodeSnapshot } from '../storage/snapshot-encode.ts'
import { goldenAbsent, goldenBytes, goldenDisk } from '../storage/testing/golden-directories.ts'
import { type Entry, entriesOf, ofThree, refused, SLOT_A, stepOf, streamsOf } from './testing/directories.ts'
import { hash, Solo } from './testing/solo.ts'

const NODE = 'three-checkpoint/node-0'

describe.skipIf(goldenAbsent)('a directory of the peer with a checkpoint', () => {
  test('SB-03 is refused for its 66-byte superblock, unchanged', async () => {
    expect(await refused(goldenDisk(NODE), ofThree())).toMatchObject({
      code: 'WrongLength',
      path: SLOT_A,
      actual: '66',
    })
  })

  test('CK-04 without it boots from the snapshot and replays the log behind it', async () => {
    const disk = goldenDisk(NODE)
    await disk.unlink(SLOT_A)
    const solo = await Solo.boot(disk, ofThree())
    expect(stepOf(solo, 'snapshot')).toMatchObject({ verdict: 'newer', detail: { op: '192' } })
    expect(stepOf(solo, 'replay')).toMatchObject({ verdict: 'complete', detail: { from: '193' } })
    expect(solo.inspect.metadata()).toMatchObject({ status: 'recovering', op: '230' })
    expect(streamsOf(solo).length).toBeGreaterThan(93)
    expect(streamsOf(solo)).toContain('renamed')
  })

  test('CK-06 what is restored from it is written again with the same meaning, and from then on with the same bytes', () => {
    const record = decodeSnapshot(goldenBytes(NODE, 'metadata/snapshot.bin').slice(0, -20))
    const restored = (from: typeof record) => {
      const machine = new MetadataMachine(64)
      restoreState(machine.state, from)
      machine.clients.restore((from.clients ?? []).map(({ reply, ...entry }) => ({ ...entry, replies: [reply] })))
      return snapshotOf(machine.state, machine.clients, from.op, from.createdAt)
    }
    const once = restored(record)
    const zero = { sizeBytes: 0n, messages: 0n, segments: 0n }
    const byId = <T extends { userId: number }>(items: readonly T[]) => [...items].sort((a, b) => a.userId - b.userId)
    expect(once).toEqual({
      ...record,
      // The peer writes these three in the order of a hash map, and its own counts.
      tokens: byId(record.tokens).map(owner => ({
        ...owner,
        tokens: [...owner.tokens].sort((a, b) => (a.name < b.name ? -1 : 1)),
      })),
      streams: record.streams.map(stream => ({
        ...stream,
        stats: zero,
        topics: stream.topics.map(topic => ({
          ...topic,
          stats: zero,
          consumerGroups: [...topic.consumerGroups].sort((a, b) => Number(a.id - b.id)),
        })),
      })),
    })
    const bytes = encodeSnapshot(once)
    expect(encodeSnapshot(restored(decodeSnapshot(bytes)))).toEqual(bytes)
  })
})

describe.skipIf(goldenAbsent)('a recorded transfer', () => {
  const bodies = (command: number) =>
    [...goldenFrames('checkpoint-replica.jsonl')].filter(frame => frame.command === command).map(frame => frame.body)

  test('its manifest names snapshot and table, and gives every byte back', () => {
    const [body] = bodies(23)
    const entries = decodeManifest(body!, hash)
    const snapshot = goldenBytes(NODE, 'metadata/snapshot.bin').slice(0, -20)
    expect(entries).toMatchObject([
      { kind: 0, frontier: 192n, length: BigInt(snapshot.length), checksum: hash.xxh3(snapshot) },
      { kind: 1, frontier: 230n, length: 16n },
    ])
    expect(encodeManifest(entries, hash)).toEqual(body)
  })

  test('its client table, which was empty, gives every byte back', () => {
    const table = bodies(25)[1]!
    expect(decodeClientTable(table, hash)).toEqual([])
    expect(encodeClientTable(new ClientTable(8), hash)).toEqual(table)
  })
})

test('a client table travels whole, and every damaged byte of it is noticed', () => {
  const machine = new MetadataMachine(8)
  const [{ header, frame }] = entriesOf([{ op: 1 }]) as [Entry]
  for (let op = 1n; op <= 14n; op++) {
    const request = (op - 1n) % 7n
    const client = ClientId(op <= 7n ? 3n : 9n)
    const operation = request === 0n ? Operation.Register : Operation.CreateStream
    machine.apply({ ...header, op: Op(op), client, operation, request }, frame.subarray(256))
  }
  const table = new ClientTable(8)
  const blob = encodeClientTable(machine.clients, hash)
  table.restore(decodeClientTable(blob, hash))
  // Seven replies each, of which five are kept.
  expect([...table.entries()].map(([slot, { client, replies }]) => [slot, client, replies.length])).toEqual([
    [0, 3n, 5],
    [1, 9n, 5],
  ])
  expect(encodeClientTable(table, hash)).toEqual(blob)
  for (let at = 0; at < blob.length; at += 7) {
    const damaged = blob.slice()
    damaged[at]! ^= 0x20
    expect(() => decodeClientTable(damaged, hash)).toThrow()
  }
  for (const length of [0, 7, 15, blob.length - 1])
    expect(() => decodeClientTable(blob.slice(0, length), hash)).toThrow()
})
