import { describe, expect, it } from 'vitest'
import { createHash } from '../bytes/hash.ts'
import { Offset } from '../bytes/units.ts'
import { FileScanner } from './file-scanner.ts'
import { MemoryDisk } from './memory-disk.ts'
import { emptyBudget, probeResidue } from './residue-probe.ts'
import { type ScannedBatch, type SegmentScanOptions, scanSegment } from './segment-scan.ts'
import { makeBatches } from './testing/batches.ts'
import { concat } from './testing/prepares.ts'

const hash = await createHash()

async function fileOf(bytes: Uint8Array) {
  const disk = new MemoryDisk()
  disk.put('x.log', bytes)
  return disk.open('x.log', 'read')
}
async function scan(bytes: Uint8Array, options: SegmentScanOptions = {}) {
  const batches: ScannedBatch[] = []
  const result = await scanSegment(await fileOf(bytes), bytes.length, hash, {
    startOffset: Offset(100n),
    partitionId: 0,
    onBatch: batch => {
      batches.push(batch)
      return undefined
    },
    ...options,
  })
  return { ...result, list: batches }
}
const mixed = [
  { messages: 1, payloadBytes: 10 },
  { messages: 7, payloadBytes: 2000 },
  { messages: 3, payloadBytes: 0 },
  { messages: 2, payloadBytes: 9000 },
  { messages: 5, payloadBytes: 60 },
]

describe('the walk over a segment', () => {
  it('tells what a sound segment holds, whatever the window: smaller than a header, than a batch, or larger than the file', async () => {
    const records = makeBatches(hash, 100n, mixed)
    const bytes = concat(records)
    for (const windowBytes of [100, 256, 300, 4096, 1 << 20]) {
      const found = await scan(bytes, { windowBytes })
      expect(found, `${windowBytes}`).toMatchObject({
        end: { kind: 'clean' },
        walkedBytes: bytes.length,
        reachedBytes: bytes.length,
        batches: 5,
        messages: 18n,
        endOffset: 117n,
        startTimestamp: 1_700_000_100_000_000n,
        endTimestamp: 1_700_000_113_000_000n,
      })
      expect(
        found.list.map(batch => [Number(batch.baseOffset), batch.messages, batch.lengthBytes, batch.verdict]),
      ).toEqual([
        [100, 1, records[0]!.length, 'valid'],
        [101, 7, records[1]!.length, 'valid'],
        [108, 3, records[2]!.length, 'valid'],
        [111, 2, records[3]!.length, 'valid'],
        [113, 5, records[4]!.length, 'valid'],
      ])
    }
  })

  it('an empty file is a clean end without an offset', async () => {
    const found = await scan(new Uint8Array(0))
    expect(found).toMatchObject({ end: { kind: 'clean' }, batches: 0, walkedBytes: 0 })
    expect('endOffset' in found).toBe(false)
  })

  it('keeps what is in front of a partial tail', async () => {
    const records = makeBatches(hash, 100n, mixed)
    const bytes = concat(records)
    const start = bytes.length - records[4]!.length
    for (const cut of [1, 47, 48, 49, records[4]!.length - 256, records[4]!.length - 255, records[4]!.length - 1]) {
      const found = await scan(bytes.subarray(0, bytes.length - cut))
      const check = records[4]!.length - cut < 256 ? 'header_cut' : 'batch_cut'
      expect(found, `${cut}`).toMatchObject({
        end: { kind: 'partial', problem: { check, batchPosition: start } },
        walkedBytes: start,
        endOffset: 112n,
      })
    }
  })

  it('stops at damage, and goes on behind it only when asked', async () => {
    const records = makeBatches(hash, 100n, mixed)
    const bytes = concat(records)
    bytes[records[0]!.length + 256 + 60]! ^= 1
    const stopped = await scan(bytes)
    expect(stopped).toMatchObject({
      end: { kind: 'damage', problem: { check: 'message_checksum', batchPosition: records[0]!.length } },
      batches: 1,
      endOffset: 100n,
    })
    expect(stopped.list.length).toBe(1)
    const problems: string[] = []
    const whole = await scan(bytes, { onProblem: problem => void problems.push(problem.check) })
    expect(whole).toMatchObject({
      end: { kind: 'damage' },
      walkedBytes: records[0]!.length,
      reachedBytes: bytes.length,
      batches: 1,
    })
    expect(whole.list.map(batch => batch.verdict)).toEqual(['valid', 'bad_checksum', 'valid', 'valid', 'valid'])
    expect(problems).toEqual(['message_checksum'])
    // Layout alone does not see it.
    expect((await scan(bytes, { verify: false })).end.kind).toBe('clean')
  })

  it('refuses a verified batch of another partition, past a hole, or twice', async () => {
    const [first, second] = makeBatches(hash, 100n, mixed)
    const [foreign] = makeBatches(hash, 101n, [{ messages: 1, payloadBytes: 5, partitionId: 3 }])
    const [later] = makeBatches(hash, 102n, [{ messages: 1, payloadBytes: 5 }])
    const end = async (...parts: Uint8Array[]) => (await scan(concat(parts))).end
    expect(await end(first!, foreign!)).toMatchObject({
      kind: 'contradiction',
      problem: { check: 'foreign_batch', expected: '0', actual: '3' },
    })
    expect(await end(first!, later!)).toMatchObject({
      kind: 'contradiction',
      problem: { check: 'offset_discontinuity', expected: '101', actual: '102' },
    })
    expect(await end(first!, first!)).toMatchObject({
      kind: 'contradiction',
      problem: { expected: '101', actual: '100' },
    })
    expect(await end(second!)).toMatchObject({ kind: 'contradiction', problem: { expected: '100', actual: '101' } })
    // Rot in the offset is damage, not a contradiction.
    const rotten = second!.slice()
    rotten[8]! ^= 1
    expect(await end(first!, rotten)).toMatchObject({ kind: 'damage', problem: { check: 'batch_checksum' } })
  })

  it('takes a batch without messages for damage', async () => {
    const empty = makeBatches(hash, 100n, [{ messages: 1, payloadBytes: 0 }])[0]!.slice(0, 256)
    const view = new DataView(empty.buffer)
    view.setBigUint64(32, 256n, true)
    view.setUint32(48, 0, true)
    expect((await scan(empty)).end.kind).toBe('damage')
  })

  it('never reads for a length that no batch can have', async () => {
    const record = makeBatches(hash, 100n, [{ messages: 1, payloadBytes: 10 }])[0]!
    const claim = async (length: bigint) => {
      const bytes = record.slice()
      new DataView(bytes.buffer).setBigUint64(32, length, true)
      const { end } = await scan(bytes)
      return end.kind === 'damage' || end.kind === 'partial' ? end.problem.check : end.kind
    }
    expect(await claim(0n)).toBe('batch_length')
    expect(await claim(255n)).toBe('batch_length')
    expect(await claim(256n)).toBe('message_count')
    expect(await claim(BigInt(record.length + 1))).toBe('batch_cut')
    expect(await claim(67_109_120n)).toBe('batch_cut')
    expect(await claim(67_109_121n)).toBe('batch_too_long')
    expect(await claim(0xffff_ffff_ffff_ffffn)).toBe('batch_too_long')
  })

  it('lists from a boundary on, and stops when told', async () => {
    const records = makeBatches(hash, 100n, mixed)
    const from = records[0]!.length + records[1]!.length
    const seen: bigint[] = []
    const found = await scanSegment(await fileOf(concat(records)), concat(records).length, hash, {
      from,
      onBatch: batch => {
        seen.push(batch.baseOffset)
        return seen.length < 2
      },
    })
    expect(seen).toEqual([108n, 111n])
    expect(found).toMatchObject({
      end: { kind: 'stopped' },
      reachedBytes: from + records[2]!.length + records[3]!.length,
    })
  })

  it('lets the event loop breathe after every refill', async () => {
    let yields = 0
    const scheduler = {
      yield: async () => {
        yields++
      },
    }
    await scan(concat(makeBatches(hash, 100n, mixed)), { windowBytes: 4096, scheduler })
    expect(yields).toBeGreaterThan(3)
  })
})

describe('the probe behind damage', () => {
  const probe = async (bytes: Uint8Array, damage: number, offsetMin: bigint, budget = emptyBudget()) =>
    probeResidue(new FileScanner(await fileOf(bytes), bytes.length, 4096), damage, offsetMin, hash, budget)

  it('finds a batch that verifies at any distance, and no other', async () => {
    const [record] = makeBatches(hash, 100n, [{ messages: 2, payloadBytes: 5000 }])
    for (const distance of [1, 2, 255, 4096, 65_536 - 256, 65_536, 200_000]) {
      const bytes = concat([new Uint8Array(distance), record!])
      expect(await probe(bytes, 0, 100n), `${distance}`).toEqual({
        kind: 'survivor',
        position: distance,
        baseOffset: 100n,
      })
      expect((await probe(bytes, 0, 101n)).kind, `${distance}`).toBe('no_survivor')
      expect((await probe(bytes, distance, 100n)).kind, `${distance}`).toBe('no_survivor')
    }
    const rotten = record!.slice()
    rotten[300]! ^= 1
    expect((await probe(concat([new Uint8Array(10), rotten]), 0, 0n)).kind).toBe('no_survivor')
    expect((await probe(concat([new Uint8Array(10), record!.subarray(0, -1)]), 0, 0n)).kind).toBe('no_survivor')
  })

  it('zeros and noise hold no survivor, and are within the budget that they bring', async () => {
    expect((await probe(new Uint8Array(1 << 20), 0, 0n)).kind).toBe('no_survivor')
    const noise = Uint8Array.from({ length: 1 << 18 }, (_, index) => (Math.imul(index, 2_654_435_761) >>> 13) & 0xff)
    expect((await probe(noise, 0, 0n)).kind).toBe('no_survivor')
  })

  it('gives up, and does not call it torn, when headers claim more than the budget lets it verify', async () => {
    // A run of headers that pass every cheap test, each claiming all the rest of the file.
    const bytes = new Uint8Array(256 * 40)
    const view = new DataView(bytes.buffer)
    for (let at = 1; at + 256 <= bytes.length; at += 256) {
      view.setUint32(at + 32, bytes.length - at, true)
      view.setUint32(at + 48, 1, true)
    }
    expect((await probe(bytes, 0, 0n)).kind).toBe('exhausted')
  })

  it('looks for the next candidate right behind one that does not verify', async () => {
    // The last 16 bytes of the false header are the first of the record: partition 0, offset 0.
    const fake = new Uint8Array(240)
    const view = new DataView(fake.buffer)
    view.setUint32(32, 300, true)
    view.setUint32(48, 1, true)
    const [record] = makeBatches(hash, 0n, [{ messages: 2, payloadBytes: 500 }])
    expect(await probe(concat([new Uint8Array(50), fake, record!]), 0, 0n)).toMatchObject({
      kind: 'survivor',
      position: 290,
    })
  })

  it('spends one budget over several probes', async () => {
    const budget = { ...emptyBudget(), candidates: -5000 }
    expect((await probe(new Uint8Array(2000), 0, 0n, budget)).kind).toBe('exhausted')
  })
})

describe('buffered reads', () => {
  it('agree with the file in any order, and a step back reuses its window', async () => {
    const bytes = Uint8Array.from({ length: 10_000 }, (_, index) => index % 251)
    const file = await fileOf(bytes)
    let reads = 0
    const counted = {
      ...file,
      path: file.path,
      read: (position: number, into: Uint8Array) => {
        reads++
        return file.read(position, into)
      },
    }
    const scanner = new FileScanner(counted, bytes.length, 1000)
    for (const [position, length] of [
      [0, 10],
      [500, 500],
      [990, 20],
      [9990, 10],
      [3, 0],
      [2000, 3000],
      [9000, 1000],
    ] as const) {
      expect([...(await scanner.read(position, length))!]).toEqual([...bytes.subarray(position, position + length)])
    }
    expect(await scanner.read(9991, 10)).toBeUndefined()
    expect(await scanner.read(-1, 2)).toBeUndefined()
    reads = 0
    for (let position = 8000; position > 7000; position -= 50) await scanner.read(position, 50)
    expect(reads).toBeLessThanOrEqual(2)
  })

  it('say so when the file is shorter than it was', async () => {
    const file = await fileOf(new Uint8Array(100))
    await expect(new FileScanner(file, 200).read(0, 150)).rejects.toMatchObject({ code: 'DISK_IO' })
  })
})
