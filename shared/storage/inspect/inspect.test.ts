/** Verdicts of the inspector over golden directories, sound and damaged in every way that its users will meet. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHash } from '../../bytes/hash.ts'
import { BATCH_HEADER_BYTES, batchLengthAt } from '../../protocol/batch.ts'
import { encodeAnchor } from '../anchor-file.ts'
import type { DiskImage, MemoryDisk } from '../memory-disk.ts'
import { MemoryDisk as Memory } from '../memory-disk.ts'
import { encodeSuperblockRecord, encodeVsrState, vsrStateLayouts } from '../superblock-record.ts'
import { GOLDEN_NODES, goldenAbsent, goldenDisk } from '../testing/golden-directories.ts'
import { ScriptedDisk } from '../testing/scripted-disk.ts'
import { inspectDirectory } from './inspect.ts'
import type { Finding, Inspection } from './report.ts'
import { inspectionText } from './text.ts'

const hash = await createHash()
const inspect = (disk: MemoryDisk): Promise<Inspection> => inspectDirectory(disk, { hash, verify: true })
const of = (inspection: Inspection, path: string): Finding[] =>
  inspection.findings.filter(finding => finding.path === path && finding.severity !== 'info')
const damaged = (inspection: Inspection): Finding[] =>
  inspection.findings.filter(finding => finding.severity === 'damage')

/** The part of a golden node below `keep` and its metadata, small enough to be inspected thousands of times. */
function part(node: string, ...keep: string[]): MemoryDisk {
  const disk = new Memory()
  const image: DiskImage = goldenDisk(node).snapshot()
  for (const [path, content] of image)
    if (content !== undefined && keep.some(prefix => path.startsWith(prefix))) disk.put(path, content)
  return disk
}

function edit(
  disk: MemoryDisk,
  path: string,
  change: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | undefined,
): void {
  const bytes = disk.peek(path)
  if (bytes === undefined) throw new Error(`no ${path}`)
  disk.put(path, change(bytes) ?? bytes)
}

/** Paths whose content differs; `toEqual` takes minutes over megabytes. */
function differing(a: DiskImage, b: DiskImage): string[] {
  const same = (x: Uint8Array | undefined, y: Uint8Array | undefined) => (x && y ? Buffer.compare(x, y) === 0 : x === y)
  return [...new Set([...a.keys(), ...b.keys()])].filter(
    path => a.has(path) !== b.has(path) || !same(a.get(path), b.get(path)),
  )
}

const flip = (disk: MemoryDisk, path: string, at: number): void =>
  edit(disk, path, bytes => {
    bytes[at]! ^= 0x10
    return undefined
  })

/** Starts of all batches of a sound log, and its length. */
function batchStarts(bytes: Uint8Array): number[] {
  const starts: number[] = []
  for (let at = 0; at < bytes.length; at += batchLengthAt(bytes, at)) starts.push(at)
  return [...starts, bytes.length]
}

const SYNC = 'streams/1/topics/0/partitions/0'
const SEG = 'streams/0/topics/1/partitions/0'
const log = (directory: string, start = 0) => `${directory}/${start.toString().padStart(20, '0')}.log`
const index = (directory: string, start = 0) => `${directory}/${start.toString().padStart(20, '0')}.index`

describe.skipIf(goldenAbsent)('sound directories', () => {
  it.each(GOLDEN_NODES)('%s has no damage, and the inspection changes nothing', async node => {
    const disk = goldenDisk(node)
    const before = disk.snapshot()
    const scripted = new ScriptedDisk(disk)
    const inspection = await inspectDirectory(scripted, { hash, verify: true })
    expect(inspection.findings.filter(finding => finding.severity !== 'info')).toEqual([])
    expect(inspection.ok).toBe(true)
    expect(differing(before, disk.snapshot())).toEqual([])
    expect(scripted.calls.filter(call => !/^(open|read|size|stat|list) /.test(call))).toEqual([])
    const slots = [...before.keys()].filter(path => /superblock\.[ab]$/.test(path))
    const older = inspection.findings.filter(finding => finding.code === 'SUPERBLOCK_OLDER_BUILD')
    expect(older.map(finding => finding.path).sort()).toEqual(slots.sort())
    expect(older.every(finding => finding.severity === 'info' && finding.message.includes('66 bytes'))).toBe(true)
  })

  it('counts what it read, and says it as text', async () => {
    const inspection = await inspect(goldenDisk('three-clean/node-1'))
    expect(inspection.counts).toMatchObject({
      files: 28,
      bytes: 3_421_576,
      superblocks: 10,
      walEntries: 13,
      segments: 7,
      batches: 94,
      messages: '608',
      indexEntries: 84,
      offsets: 3,
    })
    expect(inspection.wal).toMatchObject({ firstOp: '1', lastOp: '13', goodBytes: 4542 })
    const text = inspectionText(inspection, '/data/node-1')
    expect(text).toContain('1/0/0: present (a valid #1, b valid #2; sequence 2 is the higher one); view 1, log_view 1')
    expect(text).toContain('528: offsets 528 to 559, 194560 bytes, 4 batches, 32 messages, 4 index entries')
    expect(text).toContain('all is well')
    const snapshot = (await inspect(goldenDisk('three-checkpoint/node-0'))).snapshot
    expect(snapshot).toMatchObject({ version: '3', op: '192', sealed: true, checksum: '0x0e954f7e155dc2b0' })
  })

  it('without --verify it takes layout for granted truth of nothing but the layout', async () => {
    const disk = part('three-clean/node-1', SYNC)
    flip(disk, log(SYNC), 305)
    expect((await inspectDirectory(disk, { hash })).ok).toBe(true)
    expect((await inspect(disk)).ok).toBe(false)
  })
})

describe.skipIf(goldenAbsent)('a damaged segment', () => {
  it('names file, byte and check of every flipped byte of three batches', async () => {
    const disk = part('three-clean/node-1', SYNC)
    const image = disk.snapshot()
    const starts = batchStarts(disk.peek(log(SYNC))!)
    for (const number of [0, 5, starts.length - 2]) {
      const [start, end] = [starts[number]!, starts[number + 1]!]
      for (let at = start; at < end; at++) {
        disk.restore(image)
        flip(disk, log(SYNC), at)
        const inspection = await inspect(disk)
        const found = of(inspection, log(SYNC))[0]
        const where = `byte ${at - start} of batch ${number}`
        expect(inspection.ok, where).toBe(false)
        expect(found, where).toBeDefined()
        expect(found!.severity, where).toBe('damage')
        expect(
          found!.position >= start && found!.position < end,
          `${where}: ${found!.position} ${found!.message}`,
        ).toBe(true)
        const interior = number < starts.length - 2
        expect(found!.code, where).toBe(interior ? 'SEGMENT_DAMAGED' : 'SEGMENT_TAIL_TORN')
        // One flip, one problem: what is behind it is read, and found sound.
        expect(of(inspection, log(SYNC)).length, where).toBe(1)
      }
    }
  })

  it('tells the checks apart', async () => {
    const at = async (offset: number) => {
      const disk = part('three-clean/node-1', SYNC)
      const start = batchStarts(disk.peek(log(SYNC))!)[5]!
      flip(disk, log(SYNC), start + offset)
      const { check, position } = of(await inspect(disk), log(SYNC))[0]!
      return [check, position - start]
    }
    expect(await at(BATCH_HEADER_BYTES + 48)).toEqual(['message_checksum', 256])
    expect(await at(BATCH_HEADER_BYTES + 8)).toEqual(['message_checksum', 256])
    expect(await at(BATCH_HEADER_BYTES)).toEqual(['message_checksum', 256])
    expect(await at(BATCH_HEADER_BYTES + 41)).toEqual(['frame_reserved', 297])
    expect(await at(BATCH_HEADER_BYTES + 38)).toEqual(['frame_length', 288])
    expect(await at(0)).toEqual(['batch_checksum', 40])
    expect(await at(8)).toEqual(['batch_checksum', 40])
    expect(await at(40)).toEqual(['batch_checksum', 40])
    expect(await at(50)).toEqual(['message_count', 48])
    expect(await at(35)).toEqual(['batch_too_long', 32])
    expect(await at(38)).toEqual(['batch_too_long', 32])
    expect(await at(200)).toEqual(['batch_reserved', 200])
  })

  it.each([
    ['three-clean/node-1', SYNC, 0],
    ['three-clean/node-0', SYNC, 0],
    ['three-clean/node-1', SEG, 528],
    ['three-clean/node-2', 'streams/0/topics/0/partitions/0', 0],
    ['solo-clean/node-0', 'streams/0/topics/0/partitions/1', 0],
    ['three-checkpoint/node-0', 'streams/1/topics/0/partitions/0', 0],
  ])('finds a cut at every one of the last 300 bytes: %s %s', async (node, directory, start) => {
    const path = log(directory, start)
    const disk = part(node, log(directory, start), index(directory, start))
    const whole = disk.peek(path)!
    const starts = batchStarts(whole)
    for (let cut = 1; cut <= 300; cut++) {
      disk.put(path, whole.subarray(0, whole.length - cut))
      const inspection = await inspect(disk)
      const size = whole.length - cut
      const last = starts.filter(each => each <= size).at(-1)!
      expect(inspection.ok, `cut ${cut}`).toBe(false)
      if (last === size)
        expect(damaged(inspection)[0], `cut ${cut}`).toMatchObject({
          code: 'INDEX_PAST_LOG',
          path: index(directory, start),
        })
      else {
        const check = size - last < BATCH_HEADER_BYTES ? 'header_cut' : 'batch_cut'
        expect(damaged(inspection), `cut ${cut}`).toMatchObject([
          { code: 'SEGMENT_TAIL_TORN', path, position: last, check },
        ])
      }
    }
  })

  it('shows a cut on a batch boundary as index entries past the log', async () => {
    const disk = part('three-clean/node-1', SYNC)
    const whole = disk.peek(log(SYNC))!
    const starts = batchStarts(whole)
    for (let kept = 1; kept < 12; kept++) {
      disk.put(log(SYNC), whole.subarray(0, starts[kept]!))
      expect(damaged(await inspect(disk)), `${kept} batches`).toMatchObject([
        {
          code: 'INDEX_PAST_LOG',
          path: index(SYNC),
          position: kept * 24,
          check: 'index_past_log',
          message: expect.stringContaining(`${starts[kept]}`),
        },
      ])
    }
    disk.put(log(SYNC), new Uint8Array(0))
    expect(damaged(await inspect(disk))).toMatchObject([{ code: 'INDEX_PAST_LOG', position: 0 }])
  })

  it('finds several wounds in one report, and what is sound between them', async () => {
    const disk = part('three-clean/node-1', SYNC)
    const starts = batchStarts(disk.peek(log(SYNC))!)
    flip(disk, log(SYNC), starts[2]! + 304)
    flip(disk, log(SYNC), starts[4]! + 100)
    flip(disk, log(SYNC), starts[7]! + 35)
    edit(disk, log(SYNC), bytes => bytes.subarray(0, -10))
    const inspection = await inspect(disk)
    expect(of(inspection, log(SYNC)).map(({ code, check }) => `${code} ${check}`)).toEqual([
      'SEGMENT_DAMAGED message_checksum',
      'SEGMENT_DAMAGED batch_reserved',
      'SEGMENT_DAMAGED batch_too_long',
      'SEGMENT_TAIL_TORN batch_cut',
    ])
    expect(inspection.partitions[0]!.segments[0]).toMatchObject({ batches: 8, soundBytes: starts[2] })
    expect(of(inspection, index(SYNC))).toMatchObject([
      { severity: 'warning', code: 'INDEX_UNPROVABLE', message: expect.stringContaining('4 entries') },
    ])
  })

  it('zeros behind the last batch are a torn tail, and so are zeros in its place', async () => {
    const disk = part('three-clean/node-1', log(SYNC), index(SYNC))
    const size = disk.peek(log(SYNC))!.length
    edit(disk, log(SYNC), bytes => Uint8Array.from([...bytes, ...new Uint8Array(5000)]))
    expect(damaged(await inspect(disk))).toMatchObject([
      { code: 'SEGMENT_TAIL_TORN', position: size + 32, check: 'batch_length' },
    ])
    edit(disk, log(SYNC), bytes => bytes.fill(0, size - 400))
    expect(damaged(await inspect(disk))[0]).toMatchObject({ code: 'SEGMENT_TAIL_TORN', path: log(SYNC) })
  })

  it('tells a verified batch that does not belong here from damage', async () => {
    const disk = part('three-clean/node-1', SYNC)
    const bytes = disk.peek(log(SYNC))!
    const starts = batchStarts(bytes)
    // The same batch twice.
    disk.put(log(SYNC), Uint8Array.from([...bytes.subarray(0, starts[3]!), ...bytes.subarray(starts[2]!)]))
    expect(of(await inspect(disk), log(SYNC))[0]).toMatchObject({
      code: 'SEGMENT_CONTRADICTION',
      check: 'offset_discontinuity',
      position: starts[3]! + 8,
    })
    // A partition under another number.
    const moved = new Memory()
    moved.put(log('streams/1/topics/0/partitions/4'), bytes)
    expect(of(await inspect(moved), log('streams/1/topics/0/partitions/4'))[0]).toMatchObject({
      code: 'SEGMENT_CONTRADICTION',
      check: 'foreign_batch',
    })
  })
})

describe.skipIf(goldenAbsent)('a damaged index', () => {
  it('names the entry of every swapped pair', async () => {
    const disk = part('three-clean/node-1', SYNC)
    const whole = disk.peek(index(SYNC))!
    for (let entry = 0; entry + 1 < whole.length / 24; entry++) {
      const swapped = whole.slice()
      swapped.set(whole.subarray(entry * 24, entry * 24 + 24), (entry + 1) * 24)
      swapped.set(whole.subarray((entry + 1) * 24, (entry + 2) * 24), entry * 24)
      disk.put(index(SYNC), swapped)
      const check = entry === 0 ? 'index_head' : 'index_offset_order'
      const position = entry === 0 ? 0 : (entry + 1) * 24
      expect(damaged(await inspect(disk)), `pair ${entry}`).toMatchObject([
        { code: 'INDEX_CONTRADICTS_ITSELF', path: index(SYNC), position, check },
      ])
    }
  })

  it('finds every flipped byte', async () => {
    const disk = part('three-clean/node-1', SYNC)
    const image = disk.snapshot()
    for (let at = 0; at < image.get(index(SYNC))!.length; at++) {
      disk.restore(image)
      flip(disk, index(SYNC), at)
      const found = damaged(await inspect(disk))
      expect(found.length, `byte ${at}`).toBeGreaterThan(0)
      for (const { path, position } of found) {
        expect(path, `byte ${at}`).toBe(index(SYNC))
        // An order fault is seen at the entry or at the one behind it.
        expect([0, 24], `byte ${at}: ${position}`).toContain(position - Math.floor(at / 24) * 24)
      }
    }
  })

  it('knows entries that point into a batch, at another offset or at another time', async () => {
    const check = async (at: number, value: bigint) => {
      const disk = part('three-clean/node-1', SYNC)
      edit(disk, index(SYNC), bytes => {
        const view = new DataView(bytes.buffer)
        view.setBigUint64(at, view.getBigUint64(at, true) + value, true)
        return undefined
      })
      return damaged(await inspect(disk)).map(finding => [finding.check, finding.position])
    }
    expect(await check(5 * 24 + 16, 1n)).toEqual([['index_position', 120]])
    // Batch 1 has two messages: offset + 1 still ascends.
    expect(await check(11 * 24, 1n)).toEqual([['index_offset', 264]])
    expect(await check(5 * 24 + 8, 1n)).toEqual([['index_timestamp', 120]])
    expect(await check(16, 1n)).toEqual([['index_head', 0]])
  })

  it('reports a torn last entry, a missing index, an index of 16-byte entries and zero entries', async () => {
    const disk = part('three-clean/node-1', SYNC)
    const whole = disk.peek(index(SYNC))!
    disk.put(index(SYNC), whole.subarray(0, -5))
    expect(damaged(await inspect(disk))).toMatchObject([
      { code: 'INDEX_TRAILING_BYTES', position: 11 * 24, message: expect.stringContaining('19 bytes') },
    ])
    await disk.unlink(index(SYNC))
    const missing = await inspect(disk)
    expect([missing.ok, of(missing, index(SYNC))[0]?.code]).toEqual([true, 'INDEX_MISSING'])
    const old = new Uint8Array(48)
    new DataView(old.buffer).setBigUint64(16, 7n, true)
    disk.put(index(SYNC), old)
    expect(damaged(await inspect(disk))[0]).toMatchObject({ code: 'INDEX_CONTRADICTS_ITSELF', position: 0 })
    disk.put(index(SYNC), Uint8Array.from([...whole, ...new Uint8Array(24)]))
    expect(damaged(await inspect(disk))).toMatchObject([{ check: 'index_offset_order', position: 12 * 24 }])
  })
})

describe.skipIf(goldenAbsent)('a damaged chain', () => {
  const middle = log(SEG, 176)

  it('names the hole that a lost segment leaves, and the index that is left of it', async () => {
    const disk = goldenDisk('three-clean/node-1')
    await disk.unlink(middle)
    expect(damaged(await inspect(disk))).toMatchObject([
      { code: 'ORPHAN', path: index(SEG, 176) },
      {
        code: 'CHAIN_HOLE',
        path: log(SEG, 352),
        position: 0,
        check: 'chain_hole',
        message: expect.stringContaining('offsets 176 to 351'),
      },
    ])
  })

  it('names the hole behind a sealed segment that was cut on a boundary', async () => {
    const disk = goldenDisk('three-clean/node-0')
    const starts = batchStarts(disk.peek(log(SEG, 352))!)
    edit(disk, log(SEG, 352), bytes => bytes.subarray(0, starts.at(-2)))
    const found = damaged(await inspect(disk))
    expect(found.map(finding => finding.code)).toContain('CHAIN_HOLE')
    expect(found.find(finding => finding.code === 'CHAIN_HOLE')).toMatchObject({
      path: log(SEG, 528),
      message: expect.stringContaining('offsets 520 to 527'),
    })
  })

  it('admits a gap that an anchor speaks of, and no other', async () => {
    const disk = goldenDisk('three-clean/node-1')
    await disk.unlink(middle)
    await disk.unlink(index(SEG, 176))
    const anchor = `${SEG}/${'352'.padStart(20, '0')}.anchor`
    disk.put(anchor, encodeAnchor(hash, { plantedStart: 352n, sealedStart: 0n, sealedEnd: 175n }))
    const admitted = await inspect(disk)
    expect(admitted.ok).toBe(true)
    expect(admitted.findings.map(finding => finding.code)).toContain('CHAIN_GAP_ANCHORED')
    disk.put(anchor, encodeAnchor(hash, { plantedStart: 352n, sealedStart: 0n, sealedEnd: 174n }))
    expect(damaged(await inspect(disk)).map(finding => finding.code)).toEqual(['CHAIN_HOLE'])
    flip(disk, anchor, 20)
    expect(damaged(await inspect(disk)).map(finding => finding.code)).toEqual(['ANCHOR_DAMAGED', 'CHAIN_HOLE'])
  })

  it('refuses an empty segment that another one follows, and an overlap', async () => {
    const disk = goldenDisk('three-clean/node-1')
    disk.put(middle, new Uint8Array(0))
    disk.put(index(SEG, 176), new Uint8Array(0))
    expect(damaged(await inspect(disk))).toMatchObject([{ code: 'CHAIN_EMPTY_SEGMENT', path: middle }])
    const overlap = part('three-clean/node-1', log(SEG, 0), index(SEG, 0))
    overlap.put(log(SEG, 100), new Uint8Array(0))
    expect(damaged(await inspect(overlap))).toMatchObject([{ code: 'CHAIN_OVERLAP', path: log(SEG, 100) }])
  })

  it('names files that no boot sees', async () => {
    const disk = goldenDisk('three-clean/node-1')
    const names = ['5.log', '176.index', '99999999999999999999.log', '0000000000000000000x.anchor']
    for (const name of names) disk.put(`${SEG}/${name}`, Uint8Array.of(1))
    disk.put('streams/0/topics/01/partitions/0/x', Uint8Array.of(1))
    disk.put('streams/4096000/x', Uint8Array.of(1))
    disk.put(`${SEG}/offsets/consumers/4294967296`, new Uint8Array(16))
    const inspection = await inspect(disk)
    expect(inspection.ok).toBe(true)
    expect(inspection.findings.filter(finding => finding.code === 'FOREIGN_NAME').map(finding => finding.path)).toEqual(
      [
        'streams/4096000',
        'streams/0/topics/01',
        ...names.map(name => `${SEG}/${name}`).sort(),
        `${SEG}/offsets/consumers/4294967296`,
      ],
    )
  })

  it('reports offsets that the superblock knows of and no segment holds', async () => {
    const disk = part('three-clean/node-1', log(SYNC), index(SYNC))
    const state = vsrStateLayouts[74].decode(new Uint8Array(74))
    const payload = encodeVsrState({
      ...state,
      replicaCount: 1,
      offsetFrontier: 40n as never,
      offsetReserved: 40n as never,
    })
    disk.put(`${SYNC}/superblock.a`, encodeSuperblockRecord({ sequence: 1n, payload }, hash))
    expect(of(await inspect(disk), `${SYNC}/superblock.a`)).toMatchObject([
      { code: 'MISSING_RANGE', message: expect.stringContaining('offsets 22 to 39') },
    ])
  })
})

describe.skipIf(goldenAbsent)('damaged superblocks, offsets and marks', () => {
  const slot = 'metadata/superblock.b'
  const verdict = async (change: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | undefined) => {
    const disk = part('three-clean/node-1', 'metadata')
    edit(disk, slot, change)
    const inspection = await inspect(disk)
    expect(inspection.ok).toBe(false)
    expect(damaged(inspection).map(finding => finding.code)).toEqual(
      [expect.stringMatching(/^SUPERBLOCK_(CORRUPT|UNDECODABLE)$/), 'SUPERBLOCK_UNREADABLE'].slice(
        0,
        damaged(inspection).length,
      ),
    )
    const { path, position, check, message } = damaged(inspection)[0]!
    expect(path).toBe(slot)
    return { position, check, message }
  }
  const set =
    (at: number, value: number, reseal = false) =>
    (bytes: Uint8Array<ArrayBuffer>) => {
      bytes[at] = value
      if (reseal) new DataView(bytes.buffer).setBigUint64(bytes.length - 8, hash.xxh3(bytes.subarray(0, -8)), true)
      return undefined
    }

  it('names checksum, magic, version and length of a slot', async () => {
    expect(await verdict(set(60, 0xff))).toMatchObject({
      position: 94,
      check: 'bad_checksum',
      message: expect.stringMatching(/expected 0x[0-9a-f]{16}, found 0x/),
    })
    expect(await verdict(set(96, 0xff))).toMatchObject({ position: 94, check: 'bad_checksum' })
    expect(await verdict(set(0, 0, true))).toMatchObject({ position: 0, check: 'bad_magic' })
    expect(await verdict(set(4, 2))).toMatchObject({
      position: 4,
      check: 'bad_version',
      message: expect.stringContaining('version 2'),
    })
    expect(await verdict(set(24, 67, true))).toMatchObject({ position: 24, check: 'wrong_length' })
    expect(await verdict(bytes => bytes.subarray(0, -1))).toMatchObject({ position: 24, check: 'wrong_length' })
    expect(await verdict(bytes => Uint8Array.from([...bytes, 0]))).toMatchObject({ check: 'wrong_length' })
    expect(await verdict(bytes => bytes.subarray(0, 30))).toMatchObject({ position: 30, check: 'too_short' })
    expect(await verdict(() => new Uint8Array(5000))).toMatchObject({ check: 'too_long' })
    expect(await verdict(set(25, 0x20, true))).toMatchObject({ position: 24, check: 'bad_size' })
  })

  it('names a payload that no build writes', async () => {
    const payloadOf = (bytes: number) => () =>
      encodeSuperblockRecord({ sequence: 9n, payload: new Uint8Array(bytes) }, hash)
    expect(await verdict(payloadOf(57))).toMatchObject({ position: 24, check: 'wrong_length' })
    expect(await verdict(set(50, 9, true))).toMatchObject({ position: 50, check: 'bad_value' })
    expect(await verdict(set(44, 3, true))).toMatchObject({ position: 44, check: 'replica_id' })
  })

  it('finds a group of another cluster or replica', async () => {
    const disk = part('three-clean/node-1', 'metadata', SYNC)
    for (const name of ['a', 'b']) edit(disk, `${SYNC}/superblock.${name}`, set(44, 2, true))
    expect(damaged(await inspect(disk))).toMatchObject([
      { code: 'IDENTITY_MISMATCH', path: `${SYNC}/superblock.b`, check: 'replica' },
    ])
    for (const name of ['a', 'b']) edit(disk, `${SYNC}/superblock.${name}`, set(28, 2, true))
    expect(damaged(await inspect(disk))).toMatchObject([{ code: 'IDENTITY_MISMATCH', check: 'cluster' }])
  })

  it('names torn and rotten offset files, and takes old ones', async () => {
    const path = `${SYNC}/offsets/consumers/1`
    const disk = part('three-clean/node-1', SYNC)
    const whole = disk.peek(path)!
    for (let length = 0; length < 16; length++) {
      disk.put(path, whole.subarray(0, length))
      const inspection = await inspect(disk)
      if (length < 8)
        expect(damaged(inspection), `${length}`).toMatchObject([
          { code: 'OFFSET_TORN', path, position: length, check: 'length' },
        ])
      else
        expect([inspection.ok, inspection.findings.map(finding => finding.code)], `${length}`).toEqual([
          true,
          expect.arrayContaining(['OFFSET_LEGACY']),
        ])
    }
    for (let at = 0; at < 16; at++) {
      disk.put(path, whole)
      flip(disk, path, at)
      expect(damaged(await inspect(disk)), `${at}`).toMatchObject([
        { code: 'OFFSET_CORRUPT', path, position: 8, check: 'offset_checksum' },
      ])
    }
  })

  it('names a short purge mark', async () => {
    const path = `${SYNC}/purge.gen`
    const disk = part('three-clean/node-1', SYNC)
    disk.put(path, new Uint8Array(7))
    expect(damaged(await inspect(disk))).toMatchObject([{ code: 'PURGE_GEN_TORN', path, position: 7 }])
  })
})

describe.skipIf(goldenAbsent)('damaged metadata', () => {
  const path = 'metadata/journal.wal'

  it('finds every flipped byte of the log; the view, which no checksum covers, as out of order', async () => {
    const disk = part('three-clean/node-1', 'metadata')
    const whole = disk.peek(path)!
    const starts: number[] = []
    for (let at = 0; at < whole.length; at += new DataView(whole.buffer).getUint32(at + 48, true)) starts.push(at)
    for (let at = 0; at < whole.length; at++) {
      disk.put(path, whole)
      flip(disk, path, at)
      const inspection = await inspect(disk)
      const entry = starts.filter(start => start <= at).at(-1)!
      const found = of(inspection, path)[0]
      if (at - entry >= 52 && at - entry < 56) {
        expect(found, `byte ${at}`).toMatchObject({ severity: 'warning', position: entry + 52 })
      } else {
        expect(found, `byte ${at}`).toMatchObject({ severity: 'damage', position: entry })
        expect(found!.code, `byte ${at}`).toBe(entry === starts.at(-1) ? 'WAL_TAIL_TORN' : 'WAL_DAMAGED')
      }
    }
  })

  it('finds a cut at every one of the last 300 bytes of the log', async () => {
    const disk = part('solo-clean/node-0', 'metadata')
    const whole = disk.peek(path)!
    const starts: number[] = []
    for (let at = 0; at < whole.length; at += new DataView(whole.buffer).getUint32(at + 48, true)) starts.push(at)
    for (let cut = 1; cut <= 300; cut++) {
      disk.put(path, whole.subarray(0, whole.length - cut))
      const last = starts.filter(start => start <= whole.length - cut).at(-1)!
      if (last === whole.length - cut) continue // a whole entry less, and nothing on disk says so
      expect(damaged(await inspect(disk)), `cut ${cut}`).toMatchObject([
        { code: 'WAL_TAIL_TORN', path, position: last, check: 'too_short' },
      ])
    }
  })

  it('sees commits that the log does not hold', async () => {
    const disk = part('three-clean/node-1', 'metadata')
    disk.put(path, new Uint8Array(0))
    expect(of(await inspect(disk), path)).toMatchObject([{ severity: 'warning', code: 'COMMIT_AHEAD_OF_LOG' }])
  })

  it('holds the snapshot against its trailer and against the superblock', async () => {
    const snapshot = 'metadata/snapshot.bin'
    const disk = part('three-checkpoint/node-0', 'metadata')
    const image = disk.snapshot()
    const size = image.get(snapshot)!.length
    for (const at of [0, 1, 5000, size - 21, size - 16, size - 9, size - 1]) {
      disk.restore(image)
      flip(disk, snapshot, at)
      expect(damaged(await inspect(disk)), `byte ${at}`).toMatchObject([
        { code: 'SNAPSHOT_CHECKSUM', path: snapshot, check: 'trailer_checksum', position: size - 16 },
      ])
    }
    disk.restore(image)
    flip(disk, snapshot, size - 20)
    expect(damaged(await inspect(disk))[0]).toMatchObject({ code: 'SNAPSHOT_UNSEALED', check: 'trailer_magic' })
    // A legacy file that the superblock vouches for.
    edit(disk, snapshot, bytes => bytes.subarray(0, -20))
    expect(of(await inspect(disk), snapshot)).toMatchObject([{ severity: 'warning', code: 'SNAPSHOT_UNSEALED' }])
    disk.restore(image)
    await disk.unlink(snapshot)
    expect(damaged(await inspect(disk)).map(finding => finding.code)).toEqual(['SNAPSHOT_MISSING'])
    // Another node's snapshot: sound by itself, and not the one that the superblock was written with.
    disk.put(snapshot, goldenDisk('three-checkpoint/node-1').peek(snapshot)!)
    expect(damaged(await inspect(disk)).map(finding => finding.code)).toEqual(['CHECKPOINT_AHEAD_OF_SNAPSHOT'])
  })

  it('decodes a snapshot that is proven, says what it holds, and names the byte at which it is none', async () => {
    const snapshot = 'metadata/snapshot.bin'
    const disk = part('three-checkpoint/node-0', 'metadata')
    expect((await inspect(disk)).snapshot).toMatchObject({
      op: '192',
      holds: { users: 21, streams: 93, topics: 40, partitions: 70, clients: 1 },
    })
    await disk.unlink('metadata/superblock.a')
    edit(disk, snapshot, bytes => {
      // The field count of the users, and the trailer to match.
      const copy = bytes.slice()
      copy[13] = 0x94
      new DataView(copy.buffer).setBigUint64(copy.length - 16, hash.xxh3(copy.subarray(0, -20)), true)
      return copy
    })
    expect(damaged(await inspect(disk))).toMatchObject([
      { code: 'SNAPSHOT_UNDECODABLE', path: snapshot, position: 13, check: 'msgpack' },
    ])
  })

  it('warns of segments without any metadata', async () => {
    const inspection = await inspect(part('three-clean/node-1', SYNC))
    expect(inspection.findings.map(finding => finding.code)).toContain('METADATA_MISSING')
  })
})

describe('hostile directories', () => {
  it('answers that a directory is none of a node', async () => {
    const disk = new Memory()
    disk.put('notes.txt', Uint8Array.of(1))
    await expect(inspect(disk)).rejects.toMatchObject({ code: 'NOT_A_NODE_DIRECTORY' })
  })

  it('reports what cannot be read, and goes on', async () => {
    const disk = new Memory()
    disk.put('metadata/journal.wal', new Uint8Array(0))
    await disk.makeDirectory('metadata/superblock.b')
    disk.put(log('streams/0/topics/0/partitions/0'), new Uint8Array(0))
    const scripted = new ScriptedDisk(disk)
    scripted.fails = call =>
      call.startsWith('read') ||
      call === `open ${log('streams/0/topics/0/partitions/0')}` ||
      call === 'open metadata/journal.wal'
    const { ok, findings } = await inspectDirectory(scripted, { hash, verify: true })
    expect(ok).toBe(false)
    expect(findings.filter(finding => finding.code === 'READ_FAILED').map(finding => finding.path)).toEqual([
      'metadata/superblock.b',
      'metadata/journal.wal',
      log('streams/0/topics/0/partitions/0'),
    ])
  })

  it('files where directories belong are findings, not failures', async () => {
    const disk = new Memory()
    disk.put('metadata', Uint8Array.of(1))
    disk.put('streams/0/topics', Uint8Array.of(1))
    disk.put('streams/1', Uint8Array.of(1))
    const { findings } = await inspect(disk)
    expect(findings.filter(finding => finding.code === 'NOT_A_DIRECTORY').map(finding => finding.path)).toEqual([
      'metadata',
      'streams/1',
      'streams/0/topics',
    ])
  })

  it('takes no length for granted: no header makes it read or allocate past the file', async () => {
    const disk = new Memory()
    const path = log('streams/0/topics/0/partitions/0')
    for (const length of [0n, 255n, 256n, 1n << 31n, (1n << 32n) + 256n, (1n << 53n) + 1n, (1n << 64n) - 1n]) {
      const bytes = new Uint8Array(400)
      new DataView(bytes.buffer).setBigUint64(32, length, true)
      disk.put(path, bytes)
      const found = damaged(await inspect(disk))
      expect(found[0], `${length}`).toMatchObject({ path, code: 'SEGMENT_TAIL_TORN' })
    }
  })

  it('escapes control characters of names in its text', async () => {
    const disk = new Memory()
    disk.put('metadata/\u001b[2J\u202eevil', Uint8Array.of(1))
    const text = inspectionText(await inspect(disk), 'x')
    expect(text).toContain('metadata/\\u{1b}[2J\\u{202e}evil')
    expect(text).not.toContain('\u001b')
  })

  it.skipIf(goldenAbsent)('never fails on random bytes in any file, and never calls a changed byte sound', async () => {
    const disk = part('three-clean/node-1', 'metadata', SYNC)
    const image = disk.snapshot()
    const files = [...image].filter(([, content]) => content !== undefined && content.length > 0).map(([path]) => path)
    const change = fc.record({
      file: fc.constantFrom(...files),
      at: fc.nat(),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
      cut: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async changes => {
        disk.restore(image)
        for (const { file, at, bytes, cut } of changes) {
          edit(disk, file, content => {
            const position = at % content.length
            content.set(bytes.subarray(0, content.length - position), position)
            return cut ? content.subarray(0, position) : undefined
          })
        }
        const changed = files.filter(path => Buffer.compare(disk.peek(path)!, image.get(path)!) !== 0)
        const inspection = await inspect(disk)
        const named = new Set(inspection.findings.map(finding => finding.path))
        // A file cut to nothing, or to whole records, is a legal file by itself.
        for (const path of changed) {
          const content = disk.peek(path)!
          const prefix = Buffer.compare(content, image.get(path)!.subarray(0, content.length)) === 0
          if (!prefix) expect(named.has(path), path).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})
