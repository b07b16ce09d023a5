/** Index entries, consumer offsets, purge marks, anchors and names, against the worked examples of the specification. */
import { describe, expect, it } from 'vitest'
import { createHash } from '../bytes/hash.ts'
import { fromHex, toHex } from '../bytes/hex.ts'
import { Micros, Offset } from '../bytes/units.ts'
import { decodeAnchor, encodeAnchor } from './anchor-file.ts'
import { decodeIndex, encodeIndex, type IndexEntry } from './index-file.ts'
import { MemoryDisk } from './memory-disk.ts'
import { decodeOffsetFile, encodeOffsetFile } from './offset-file.ts'
import { decodePurgeGen, PURGE_GEN_FILE, writePurgeGen } from './purge-gen.ts'
import { classifyName, listSegments, segmentFileName } from './segment-names.ts'
import { ScriptedDisk } from './testing/scripted-disk.ts'

const hash = await createHash()
const entry = (offset: bigint, position: bigint, timestamp = 0n): IndexEntry => ({
  offset: Offset(offset),
  timestamp: Micros(timestamp),
  position,
})

describe('index files', () => {
  it('lay an entry out as the worked example does', () => {
    const bytes = encodeIndex([entry(5n, 0n, 1_700_000_000_000_250n), entry(6n, 305n, 0xffff_ffff_ffff_ffffn)])
    expect(toHex(bytes)).toBe(
      '0500000000000000fa401e18240a06000000000000000000' + '0600000000000000ffffffffffffffff3101000000000000',
    )
    expect(decodeIndex(bytes)).toEqual({
      entries: [entry(5n, 0n, 1_700_000_000_000_250n), entry(6n, 305n, 0xffff_ffff_ffff_ffffn)],
      trailingBytes: 0,
    })
    expect(decodeIndex(bytes.subarray(0, 47))).toEqual({
      entries: [entry(5n, 0n, 1_700_000_000_000_250n)],
      trailingBytes: 23,
    })
    expect(decodeIndex(new Uint8Array(0))).toEqual({ entries: [], trailingBytes: 0 })
  })
})

describe('consumer offset files', () => {
  it('match the worked examples', () => {
    expect(toHex(encodeOffsetFile(Offset(0n), hash))).toBe('0000000000000000d9ac876fbb3a7bc7')
    expect(toHex(encodeOffsetFile(Offset(5n), hash))).toBe('05000000000000008ca7aa39aae9038e')
    expect(toHex(encodeOffsetFile(Offset(114n), hash))).toBe('720000000000000025f818edb8d6d7f4')
  })

  it('tell torn, legacy, corrupt and valid apart', () => {
    const whole = encodeOffsetFile(Offset(114n), hash)
    expect(decodeOffsetFile(whole, hash)).toEqual({ kind: 'valid', offset: 114n })
    expect(decodeOffsetFile(Uint8Array.from([...whole, 9]), hash)).toEqual({ kind: 'valid', offset: 114n })
    for (let length = 0; length < 8; length++)
      expect(decodeOffsetFile(whole.subarray(0, length), hash)).toEqual({ kind: 'torn', bytes: length })
    for (let length = 8; length < 16; length++)
      expect(decodeOffsetFile(whole.subarray(0, length), hash)).toEqual({ kind: 'legacy', offset: 114n })
    const rotten = whole.slice()
    rotten[0]! ^= 1
    expect(decodeOffsetFile(rotten, hash)).toMatchObject({
      kind: 'corrupt',
      offset: 115n,
      actual: 0xf4d7_d6b8_ed18_f825n,
    })
  })
})

describe('purge marks', () => {
  it('are replaced atomically and never read short', async () => {
    const disk = new MemoryDisk()
    await disk.makeDirectory('p')
    const scripted = new ScriptedDisk(disk)
    await writePurgeGen(scripted, 'p', { generation: 3n, createdRevision: 7n })
    expect(scripted.calls).toEqual([
      'open p/purge.gen.tmp',
      'write p/purge.gen.tmp',
      'sync p/purge.gen.tmp',
      'rename p/purge.gen.tmp',
      'syncDirectory p',
    ])
    const bytes = disk.peek(`p/${PURGE_GEN_FILE}`)!
    expect(toHex(bytes)).toBe('03000000000000000700000000000000')
    expect(decodePurgeGen(bytes)).toEqual({ kind: 'valid', generation: 3n, createdRevision: 7n })
    for (const length of [0, 8, 15])
      expect(decodePurgeGen(bytes.subarray(0, length))).toEqual({ kind: 'torn', bytes: length })
  })
})

it('anchors match the worked example, and a damaged one proves nothing', () => {
  const anchor = { plantedStart: 65_542n, sealedStart: 0n, sealedEnd: 5n }
  const bytes = encodeAnchor(hash, anchor)
  expect(toHex(bytes)).toBe(
    '49474759414e4348' + '0600010000000000' + '0000000000000000' + '0500000000000000' + '6b3b7e2ed9f5c81b',
  )
  expect(decodeAnchor(hash, bytes)).toEqual(anchor)
  for (let at = 0; at < bytes.length; at++) {
    const rotten = bytes.slice()
    rotten[at]! ^= 1
    expect(decodeAnchor(hash, rotten), `${at}`).toBeUndefined()
  }
  expect(decodeAnchor(hash, fromHex('00'))).toBeUndefined()
})

describe('names in a partition directory', () => {
  it('are 20 digits that fit a u64, or foreign', () => {
    expect(segmentFileName(Offset(176n), 'log')).toBe('00000000000000000176.log')
    expect(classifyName('00000000000000000176.log')).toEqual({ kind: 'log', start: 176n })
    expect(classifyName('18446744073709551615.index')).toEqual({ kind: 'index', start: 0xffff_ffff_ffff_ffffn })
    for (const name of [
      '18446744073709551616.log',
      '176.log',
      '0000000000000000176.log',
      '000000000000000000176.log',
      '.log',
      '+0000000000000000176.log',
      '0000000000000000017６.log',
      'x.anchor',
    ]) {
      expect(classifyName(name), name).toEqual({ kind: 'foreign' })
    }
    expect(classifyName('5.log.staging')).toEqual({ kind: 'staging' })
    expect(classifyName('purge.gen')).toEqual({ kind: 'other' })
    expect(classifyName('00000000000000000176.LOG')).toEqual({ kind: 'other' })
  })

  it('are sorted by offset, with what lost its log set apart', () => {
    const at = (start: bigint, kind: 'log' | 'index' | 'anchor') => segmentFileName(Offset(start), kind)
    expect(
      listSegments([
        at(200n, 'log'),
        at(10n, 'index'),
        at(0n, 'log'),
        at(0n, 'index'),
        at(200n, 'anchor'),
        at(300n, 'anchor'),
        '7.index',
        'x.staging',
        'superblock.a',
        'offsets',
      ]),
    ).toEqual({
      starts: [0n, 200n],
      staging: ['x.staging'],
      orphans: [
        { name: at(10n, 'index'), kind: 'index', start: 10n },
        { name: at(300n, 'anchor'), kind: 'anchor', start: 300n },
      ],
      foreign: ['7.index'],
      others: ['superblock.a', 'offsets'],
    })
  })
})
