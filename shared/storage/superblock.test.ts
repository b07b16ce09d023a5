import { beforeEach, describe, expect, it } from 'vitest'
import { EngineError } from '../bytes/errors.ts'
import { createHash } from '../bytes/hash.ts'
import { fromHex, toHex } from '../bytes/hex.ts'
import type { Checksum, Offset, Op, ReplicaId, View } from '../bytes/units.ts'
import { MemoryDisk } from './memory-disk.ts'
import { describeSuperblock, readSuperblock, SuperblockStore } from './superblock.ts'
import {
  acceptForBoot,
  classifySlot,
  classifySlotLength,
  combineSlots,
  decodeVsrState,
  encodeSuperblockRecord,
  encodeVsrState,
  type SlotClass,
  type VsrState,
} from './superblock-record.ts'
import { ScriptedDisk } from './testing/scripted-disk.ts'

const hash = await createHash()

const state = (values: Partial<Record<keyof VsrState, bigint | number>> = {}): VsrState => ({
  cluster: 7n,
  replicaId: 0 as ReplicaId,
  replicaCount: 1,
  view: 1 as View,
  logView: 1 as View,
  commitMax: 0n as Op,
  checkpointOp: 0n as Op,
  checkpointChecksum: 0n as Checksum,
  offsetFrontier: 6n as Offset,
  offsetReserved: 65_542n as Offset,
  ...(values as Partial<VsrState>),
})

const record = (sequence: bigint, payload: Uint8Array = encodeVsrState(state())) =>
  encodeSuperblockRecord({ sequence, payload }, hash)
const flipped = (bytes: Uint8Array, at: number): Uint8Array => {
  const copy = bytes.slice()
  copy[at]! ^= 1
  return copy
}
/** Makes the checksum right again after an edit. */
const resealed = (bytes: Uint8Array): Uint8Array => {
  const copy = bytes.slice()
  new DataView(copy.buffer).setBigUint64(copy.length - 8, hash.xxh3(copy.subarray(0, -8)), true)
  return copy
}
const codeOf = (classified: SlotClass): string =>
  classified.kind === 'corrupt' ? classified.failure.code : classified.kind

describe('the superblock record', () => {
  it('SB-01 pins every byte of the payload and of the record', () => {
    const bytes = record(1n)
    expect(toHex(bytes)).toBe(
      [
        '4b4c4253',
        '0100',
        '0000',
        '0100000000000000',
        '0000000000000000',
        '4a000000',
        '07000000000000000000000000000000',
        '00',
        '01',
        '01000000',
        '01000000',
        '0000000000000000',
        '0000000000000000',
        '00000000000000000000000000000000',
        '0600000000000000',
        '0600010000000000',
        '3a59f4dfafdd90ca',
      ].join(''),
    )
    const distinct = state({
      cluster: 0x0f0e0d0c0b0a09080706050403020100n,
      replicaId: 0x10,
      replicaCount: 0x11,
      view: 0x15141312,
      logView: 0x15141311,
      commitMax: 0x2120_1f1e_1d1c_1b1an,
      checkpointOp: 0x2928_2726_2524_2322n,
      checkpointChecksum: 0x39383736353433323130_2f2e2d2c2b2an,
      offsetFrontier: 0x4140_3f3e_3d3c_3b3an,
      offsetReserved: 0x4948_4746_4544_4342n,
    })
    const payload = encodeVsrState(distinct)
    expect(payload.length).toBe(74)
    const expected = Uint8Array.from({ length: 74 }, (_, at) => at)
    expected.set(fromHex('11131415'), 22)
    expect(toHex(payload)).toBe(toHex(expected))
    expect(acceptForBoot(payload)).toEqual(distinct)
  })

  it('SB-02 reads a 58-byte payload with frontier and reservation 0', () => {
    const { layoutBytes, state: read } = decodeVsrState(encodeVsrState(state()).subarray(0, 58))
    expect(layoutBytes).toBe(58)
    expect(read).toEqual(state({ offsetFrontier: 0n, offsetReserved: 0n }))
    expect(acceptForBoot(encodeVsrState(state()).subarray(0, 58))).toEqual(read)
  })

  it('SB-03 refuses a 66-byte payload at boot, and still explains it', () => {
    const payload = encodeVsrState(state()).subarray(0, 66)
    expect(() => acceptForBoot(payload)).toThrow(expect.objectContaining({ code: 'WrongLength' }))
    expect(decodeVsrState(payload)).toEqual({ layoutBytes: 66, state: state({ offsetReserved: 0n }) })
  })

  it('refuses every other length', () => {
    for (const length of [0, 57, 59, 65, 67, 73, 75, 4096]) {
      expect(() => decodeVsrState(new Uint8Array(length)), `${length}`).toThrow(
        expect.objectContaining({ code: 'WrongLength' }),
      )
    }
  })

  it('SB-04 refuses a log_view above its view, and names the byte', () => {
    const payload = encodeVsrState(state({ view: 4, logView: 5 }))
    expect(() => acceptForBoot(payload)).toThrow(expect.objectContaining({ code: 'BadValue', position: 22 }))
    expect(acceptForBoot(encodeVsrState(state({ view: 5, logView: 5 }))).logView).toBe(5)
  })
})

describe('the classification of one slot', () => {
  it('names the first check that fails, in order, with its byte', () => {
    const whole = record(3n)
    const at = (classified: SlotClass) => (classified.kind === 'corrupt' ? classified.failure.position : undefined)
    const version2 = resealed(flipped(flipped(whole, 4), 4).fill(2, 4, 5))
    const cases: [string, Uint8Array, string, number | undefined][] = [
      ['empty', new Uint8Array(0), 'absent', undefined],
      ['one byte', whole.subarray(0, 1), 'TooShort', 1],
      ['35 bytes', whole.subarray(0, 35), 'TooShort', 35],
      ['magic', flipped(whole, 0), 'BadMagic', 0],
      ['version, re-checksummed', version2, 'BadVersion', 4],
      ['version, checksum left', flipped(whole, 4), 'BadVersion', 4],
      ['payload length above the bound', resealed(whole.slice().fill(0xff, 25, 26)), 'BadSize', 24],
      ['payload length one off', resealed(flipped(whole, 24)), 'WrongLength', 24],
      ['a byte too many', Uint8Array.from([...whole, 0]), 'WrongLength', 24],
      ['a byte too few', whole.subarray(0, -1), 'WrongLength', 24],
      ['a reserved byte', flipped(whole, 6), 'BadChecksum', 102],
      ['a payload byte', flipped(whole, 60), 'BadChecksum', 102],
      ['a checksum byte', flipped(whole, 109), 'BadChecksum', 102],
      ['sound', whole, 'valid', undefined],
      ['no payload', record(3n, new Uint8Array(0)), 'valid', undefined],
      ['longest payload', record(3n, new Uint8Array(4096)), 'valid', undefined],
    ]
    for (const [name, bytes, code, position] of cases) {
      const classified = classifySlot(bytes, hash)
      expect([name, codeOf(classified), at(classified)]).toEqual([name, code, position])
    }
    // Magic and version come before the checksum, whatever it says.
    expect(codeOf(classifySlot(flipped(flipped(whole, 0), 4), hash))).toBe('BadMagic')
  })

  it('finds every single flipped bit', () => {
    const whole = record(9n)
    for (let bit = 0; bit < whole.length * 8; bit++) {
      const copy = whole.slice()
      copy[bit >> 3]! ^= 1 << (bit & 7)
      expect(classifySlot(copy, hash).kind, `bit ${bit}`).toBe('corrupt')
    }
  })

  it('SB-10 names an unknown version in preference to plain corruption', () => {
    const version2 = classifySlot(resealed(record(1n).fill(2, 4, 5)), hash)
    expect(version2).toMatchObject({ kind: 'corrupt', version: 2 })
    const rotten = classifySlot(flipped(record(2n), 60), hash)
    expect(combineSlots(rotten, version2)).toMatchObject({ kind: 'unreadable', version: 2 })
    expect(combineSlots(version2, rotten)).toMatchObject({ kind: 'unreadable', version: 2 })
  })

  it('SB-12 judges an oversized slot by its length alone', async () => {
    expect(classifySlotLength(4132)).toBeUndefined()
    expect(codeOf(classifySlotLength(4133)!)).toBe('TooLong')
    const inner = new MemoryDisk()
    inner.put('superblock.a', new Uint8Array(5 * 1024))
    const disk = new ScriptedDisk(inner)
    const { verdict } = await readSuperblock(disk, '', hash)
    expect(verdict.kind).toBe('unreadable')
    expect(disk.calls.filter(call => call.startsWith('read'))).toEqual([])
  })
})

it('combines two slots by the whole table', () => {
  const payload = encodeVsrState(state())
  const valid = (sequence: bigint): SlotClass => classifySlot(record(sequence, payload), hash)
  const absent: SlotClass = { kind: 'absent', reason: 'missing' }
  const rotten = classifySlot(flipped(record(1n), 60), hash)
  const version = (value: number) => classifySlot(record(1n).fill(value, 4, 5), hash)
  const say = (a: SlotClass, b: SlotClass): string => {
    const verdict = combineSlots(a, b)
    if (verdict.kind === 'present') return `${verdict.winner}${verdict.sequence}`
    return verdict.kind === 'empty' ? 'empty' : `unreadable ${verdict.version ?? ''}`.trim()
  }
  expect(say(valid(3n), valid(4n))).toBe('b4')
  expect(say(valid(5n), valid(4n))).toBe('a5')
  expect(say(valid(4n), valid(4n))).toBe('a4')
  expect(say(valid(1n), absent)).toBe('a1')
  expect(say(absent, valid(1n))).toBe('b1')
  expect(say(absent, absent)).toBe('empty')
  for (const other of [valid(9n), absent, rotten]) {
    expect(say(rotten, other)).toBe('unreadable')
    expect(say(other, rotten)).toBe('unreadable')
    expect(say(version(2), other)).toBe('unreadable 2')
    expect(say(other, version(2))).toBe('unreadable 2')
  }
  expect(say(version(2), version(3))).toBe('unreadable 2')
})

describe('the superblock store', () => {
  let disk: MemoryDisk
  beforeEach(() => {
    disk = new MemoryDisk()
  })
  const open = () => SuperblockStore.openWithLatest(disk, '', hash)
  const sequences = async () => {
    const { a, b } = await readSuperblock(disk, '', hash)
    return [a, b].map(slot => (slot.class.kind === 'valid' ? slot.class.sequence : slot.class.kind))
  }

  it('SB-05 alternates slots, leaves the other one alone, and goes on into the staler one after a reopen', async () => {
    const { store, verdict } = await open()
    expect(verdict.kind).toBe('empty')
    const seen: unknown[] = []
    for (let view = 1; view <= 5; view++) {
      const sibling = disk.peek(view % 2 === 1 ? 'superblock.b' : 'superblock.a')
      await store.write(() => state({ view, logView: view }))
      expect(disk.peek(view % 2 === 1 ? 'superblock.b' : 'superblock.a')).toEqual(sibling)
      seen.push(await sequences())
    }
    expect(seen).toEqual([
      [1n, 'absent'],
      [1n, 2n],
      [3n, 2n],
      [3n, 4n],
      [5n, 4n],
    ])
    const again = await open()
    expect(again.verdict).toMatchObject({ kind: 'present', winner: 'a', sequence: 5n })
    await again.store.write(() => state({ view: 6 }))
    expect(await sequences()).toEqual([5n, 6n])
    expect(await disk.list('')).toEqual(['superblock.a', 'superblock.b'])
  })

  it('writes temp, sync, rename, directory sync, in this order', async () => {
    const scripted = new ScriptedDisk(disk)
    const { store } = await SuperblockStore.openWithLatest(scripted, '', hash)
    scripted.calls.length = 0
    await store.write(() => state())
    expect(scripted.calls).toEqual([
      'open superblock.a.tmp',
      'write superblock.a.tmp',
      'sync superblock.a.tmp',
      'rename superblock.a.tmp',
      'syncDirectory ',
    ])
  })

  it('SB-06 a kill at any step leaves the old record or the new one, never an unreadable pair', async () => {
    await (await open()).store.write(() => state({ view: 1 }))
    await (await open()).store.write(() => state({ view: 2 }))
    const image = disk.snapshot()
    const outcomes: Record<string, number> = {}
    for (const at of ['open', 'write', 'torn write', 'sync', 'rename', 'syncDirectory', 'nothing']) {
      disk.restore(image)
      const scripted = new ScriptedDisk(disk)
      const { store } = await SuperblockStore.openWithLatest(scripted, '', hash)
      scripted.calls.length = 0
      scripted.tornBytes = at === 'torn write' ? 55 : 0
      scripted.dies = call => call.startsWith(`${at.replace('torn ', '')} `)
      const write = store.write(() => state({ view: 3, logView: 1 })).then(() => 'written')
      await Promise.race([write, new Promise(done => setTimeout(done, 5))])
      const rebooted = await open()
      if (rebooted.verdict.kind !== 'present') throw new Error(`${at}: ${rebooted.verdict.kind}`)
      outcomes[at] = acceptForBoot(rebooted.verdict.payload).view
      await rebooted.store.write(() => state({ view: 9 }))
      expect(await disk.list(''), at).toEqual(['superblock.a', 'superblock.b'])
    }
    // The call that dies has no effect, so a death at the directory sync comes after the rename.
    expect(outcomes).toEqual({ open: 2, write: 2, 'torn write': 2, sync: 2, rename: 2, syncDirectory: 3, nothing: 3 })
  })

  it('repeats a failed write into the same slot with the same sequence', async () => {
    for (const failing of ['open', 'write', 'sync', 'rename', 'syncDirectory']) {
      disk = new MemoryDisk()
      const scripted = new ScriptedDisk(disk)
      const { store } = await SuperblockStore.openWithLatest(scripted, '', hash)
      await store.write(() => state({ view: 1 }))
      scripted.fails = call => call.startsWith(`${failing} `)
      await expect(
        store.write(() => state({ view: 2 })),
        failing,
      ).rejects.toMatchObject({ code: 'DISK_IO' })
      expect(
        (await disk.list('')).filter(name => name.endsWith('.tmp')),
        failing,
      ).toEqual([])
      scripted.fails = () => false
      await store.write(() => state({ view: 3 }))
      expect(await sequences(), failing).toEqual([1n, 2n])
      await store.write(() => state({ view: 4 }))
      expect(await sequences(), failing).toEqual([3n, 2n])
    }
  })

  it('SB-07 SB-08 SB-09 refuses beside a corrupt slot, whichever it is, and never writes over the evidence', async () => {
    const { store } = await open()
    await store.write(() => state({ view: 1 }))
    await store.write(() => state({ view: 2 }))
    const image = disk.snapshot()
    for (const slots of [['superblock.a'], ['superblock.b'], ['superblock.a', 'superblock.b']]) {
      disk.restore(image)
      for (const slot of slots) {
        const bytes = disk.peek(slot)!
        disk.put(slot, flipped(bytes, bytes.length >> 1))
      }
      const before = disk.snapshot()
      const degraded = await open()
      expect(degraded.verdict.kind).toBe('unreadable')
      await expect(degraded.store.write(() => state({ view: 3 }))).rejects.toMatchObject({
        code: 'SUPERBLOCK_DEGRADED',
      })
      expect(disk.snapshot()).toEqual(before)
    }
  })

  it('SB-11 takes zero-length slots for absent ones', async () => {
    disk.put('superblock.a', new Uint8Array(0))
    disk.put('superblock.b', new Uint8Array(0))
    const { store, verdict } = await open()
    expect(verdict.kind).toBe('empty')
    await store.write(() => state())
    expect(await sequences()).toEqual([1n, 'absent'])
  })

  it('SB-15 SB-16 serialises writers, and each writes what holds when its turn comes', async () => {
    const { store } = await open()
    let view = 1
    const writes = Array.from({ length: 6 }, () => store.write(() => state({ view: view++, logView: 0 })))
    view = 10
    const written = await Promise.all(writes)
    expect(written.map(each => each.view)).toEqual([10, 11, 12, 13, 14, 15])
    expect(await sequences()).toEqual([5n, 6n])
  })

  it('SB-16 a failed writer does not wedge the ones behind it', async () => {
    const { store } = await open()
    const first = store.write(() => {
      throw new EngineError('TEST', 'no state')
    })
    const second = store.write(() => state())
    await expect(first).rejects.toMatchObject({ code: 'TEST' })
    await second
    expect(await sequences()).toEqual([1n, 'absent'])
  })

  it('refuses a payload above the bound before it touches the disk', async () => {
    const { store } = await open()
    await expect(store.writePayload(() => new Uint8Array(4097))).rejects.toMatchObject({
      code: 'SUPERBLOCK_PAYLOAD_TOO_LONG',
    })
    expect(await disk.list('')).toEqual([])
  })

  it('SB-21 lets a read error through instead of classing it', async () => {
    await (await open()).store.write(() => state())
    await disk.makeDirectory('superblock.b')
    await expect(open()).rejects.toMatchObject({ code: 'DISK_IO', context: { path: 'superblock.b' } })
  })

  it('describes slots as plain values', async () => {
    const { store } = await open()
    await store.write(() => state())
    disk.put('superblock.b', record(1n).subarray(0, 20))
    const described = JSON.parse(JSON.stringify(describeSuperblock(await readSuperblock(disk, '', hash))))
    expect(described).toMatchObject({
      verdict: 'unreadable',
      slots: [
        { slot: 'a', state: 'valid', sequence: '1', fields: { view: 1, offsetReserved: '65542', payloadBytes: 74 } },
        { slot: 'b', state: 'corrupt', failure: { code: 'TooShort', position: 20 } },
      ],
    })
  })
})
