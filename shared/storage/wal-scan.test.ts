import { describe, expect, it } from 'vitest'
import { createHash } from '../bytes/hash.ts'
import { sealBody, sealPrepare } from '../protocol/seal.ts'
import { MemoryDisk } from './memory-disk.ts'
import { concat, makeChain, makePrepare } from './testing/prepares.ts'
import { scanWal, WAL_ENTRY_BYTES_MAX, type WalScan } from './wal-scan.ts'

const hash = await createHash()
/** 266 bytes each, like every default prepare of these tests. */
const ENTRY = 266

async function scan(bytes: Uint8Array): Promise<WalScan & { ops: number[] }> {
  const disk = new MemoryDisk()
  disk.put('journal.wal', bytes)
  const file = await disk.open('journal.wal', 'read')
  const ops: number[] = []
  // A small window, so that entries lie across its ends.
  const result = await scanWal(file, bytes.length, hash, ({ header }) => ops.push(Number(header.op)), {
    windowBytes: 700,
  })
  return { ...result, ops }
}
const frames = (from: number, to: number) => makeChain(hash, from, to).map(({ frame }) => frame)
const flip = (bytes: Uint8Array, at: number): Uint8Array => {
  const copy = bytes.slice()
  copy[at]! ^= 0x10
  return copy
}

describe('the scan of a write-ahead log', () => {
  it('reads every entry of a sound log', async () => {
    const found = await scan(concat(frames(1, 12)))
    expect(found).toMatchObject({
      entries: 12,
      unsealed: 0,
      highestOp: 12n,
      end: { kind: 'clean', position: 12 * ENTRY },
    })
    expect(found.ops).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(await scan(new Uint8Array(0))).toMatchObject({ entries: 0, end: { kind: 'clean', position: 0 } })
  })

  it('WA-01 takes a cut anywhere in the last entry for a torn tail, and a cut between entries for a clean end', async () => {
    const bytes = concat(frames(1, 3))
    for (let cut = 1; cut < ENTRY; cut++) {
      const found = await scan(bytes.subarray(0, bytes.length - cut))
      expect(found, `cut ${cut}`).toMatchObject({
        entries: 2,
        end: { kind: 'torn', position: 2 * ENTRY, whole: false, bytes: ENTRY - cut, problem: { check: 'TooShort' } },
      })
    }
    expect((await scan(bytes.subarray(0, 2 * ENTRY))).end).toEqual({ kind: 'clean', position: 2 * ENTRY })
  })

  it('WA-02 takes a wrong body of the last entry for a torn tail that may have been acknowledged', async () => {
    const found = await scan(flip(concat(frames(1, 3)), 2 * ENTRY + 260))
    expect(found.end).toMatchObject({
      kind: 'torn',
      position: 2 * ENTRY,
      whole: true,
      op: 3n,
      problem: { check: 'BadBodyChecksum' },
    })
  })

  it('a last entry whose header is wrong proves no op, so that the gap is one above the highest op held', async () => {
    const found = await scan(flip(concat(frames(1, 3)), 2 * ENTRY + 178))
    expect(found.end).toMatchObject({ kind: 'torn', whole: true, op: 3n, problem: { check: 'BadChecksum' } })
    expect(found.end.kind === 'torn' && found.end.problem.op).not.toBe(3n)
  })

  it('WA-03 WA-04 every flipped byte of an interior entry but its view is damage, at its position', async () => {
    const bytes = concat(frames(1, 4))
    for (let at = ENTRY; at < 2 * ENTRY; at++) {
      const { end } = await scan(flip(bytes, at))
      const field = at - ENTRY
      if (field >= 52 && field < 56) expect(end.kind, `byte ${field}`).toBe('clean')
      else expect([end.kind, end.position], `byte ${field}`).toEqual(['damage', ENTRY])
    }
  })

  it('names the values that disagree', async () => {
    const chain = makeChain(hash, 1, 4)
    const { end } = await scan(flip(concat(chain.map(({ frame }) => frame)), ENTRY + 184))
    expect(end).toMatchObject({
      kind: 'damage',
      bytesFollowing: 2 * ENTRY,
      problem: {
        check: 'BadChecksum',
        op: 2n,
        operation: 128,
        actual: `0x${chain[1]!.header.checksum.toString(16).padStart(16, '0')}`,
      },
    })
  })

  it('WA-05 a legal but wrong size is damage when a complete entry lies behind it', async () => {
    const chain = makeChain(hash, 1, 5)
    const bytes = concat(chain.map(({ frame }) => frame))
    new DataView(bytes.buffer).setUint32(ENTRY + 48, 100_000, true)
    expect((await scan(bytes)).end).toMatchObject({
      kind: 'damage',
      position: ENTRY,
      survivor: 2 * ENTRY,
      problem: { check: 'TooShort' },
    })
  })

  it('WA-06 a broken parent is a torn tail at the end and damage before it', async () => {
    const chain = makeChain(hash, 1, 2)
    const stray = makePrepare(hash, 3n, 12345n)
    const tail = concat([...chain.map(({ frame }) => frame), stray.frame])
    expect((await scan(tail)).end).toMatchObject({ kind: 'torn', whole: true, op: 3n, problem: { check: 'BadParent' } })
    const interior = concat([tail, makePrepare(hash, 4n, stray.header.checksum).frame])
    expect((await scan(interior)).end).toMatchObject({
      kind: 'damage',
      position: 2 * ENTRY,
      problem: { check: 'BadParent' },
    })
  })

  it('WA-07 takes unsealed entries of an older build, alone and mixed, and still checks the sealed ones', async () => {
    const unsealed = (op: bigint) => makePrepare(hash, op, 0n, { sealed: false }).frame
    expect(await scan(concat([unsealed(1n), unsealed(2n)]))).toMatchObject({
      entries: 2,
      unsealed: 2,
      end: { kind: 'clean' },
    })
    const mixed = concat([unsealed(1n), makePrepare(hash, 2n, 0n).frame])
    expect(await scan(mixed)).toMatchObject({ entries: 2, unsealed: 1, end: { kind: 'clean' } })
    expect((await scan(concat([flip(mixed, ENTRY + 260), unsealed(3n)]))).end).toMatchObject({
      kind: 'damage',
      position: ENTRY,
    })
  })

  it('WA-08 takes leftovers shorter than a header for a torn tail', async () => {
    const bytes = concat([...frames(1, 2), new Uint8Array(40).fill(0xa5)])
    expect((await scan(bytes)).end).toMatchObject({ kind: 'torn', position: 2 * ENTRY, bytes: 40, whole: false })
  })

  it('WA-09 refuses a tail that is wider than one append can tear', async () => {
    const noise = new Uint8Array(WAL_ENTRY_BYTES_MAX + 1)
    expect((await scan(concat([...frames(1, 2), noise]))).end).toMatchObject({
      kind: 'damage',
      problem: { check: 'TailTooWide' },
    })
    expect((await scan(concat([...frames(1, 2), noise.subarray(1)]))).end).toMatchObject({
      kind: 'torn',
      position: 2 * ENTRY,
    })
  })

  it('WA-19a an interior entry without a seal in front of one that was built on its seal is damage, at that entry', async () => {
    const bytes = concat(frames(1, 4))
    bytes.fill(0, ENTRY, ENTRY + 32)
    expect((await scan(flip(bytes, ENTRY + 260))).end).toMatchObject({
      kind: 'damage',
      position: ENTRY,
      problem: { check: 'SealMissing', op: 2n },
    })
  })

  it('WA-19b WA-22 a lost first sector of the last entry is a tear only where a sector boundary says so', async () => {
    // The body of op 1 places op 2 so that a sector boundary lies `lead` bytes behind its start.
    const lost = (lead: number, zeros: number, bodyBytes = 10) => {
      const first = makePrepare(hash, 1n, 0n, { bodyBytes: 512 - 256 - lead + 512 })
      const bytes = concat([first.frame, makePrepare(hash, 2n, first.header.checksum, { bodyBytes }).frame])
      const at = first.frame.length
      // An older primary leaves both seals zero; a tear leaves everything up to the boundary zero.
      bytes.fill(0, at, at + 32)
      bytes.fill(0, at, at + zeros)
      return bytes
    }
    for (const lead of [8, 32, 48]) {
      expect((await scan(lost(lead, lead))).end, `${lead}`).toMatchObject({
        kind: 'torn',
        whole: true,
        op: 2n,
        problem: { check: 'SealMissing' },
      })
    }
    // The cluster field is not zero, so the sector did land: an older build wrote this entry.
    expect((await scan(lost(40, 32))).end.kind).toBe('clean')
    // The boundary lies inside the seal, behind the first byte of the size field (which is 0 in 512), or nowhere near.
    expect((await scan(lost(7, 32))).end.kind).toBe('clean')
    expect((await scan(lost(48, 48, 256))).end.kind).toBe('torn')
    expect((await scan(lost(49, 49, 256))).end.kind).toBe('clean')
    expect((await scan(lost(200, 32))).end.kind).toBe('clean')
    // Something follows: then it was synced.
    const followed = concat([lost(32, 32), new Uint8Array(50)])
    expect(await scan(followed)).toMatchObject({ entries: 2, unsealed: 1, end: { kind: 'torn', bytes: 50 } })
  })

  it('accepts a gap in the ops, and judges no chain across it', async () => {
    const bytes = concat([...frames(1, 2), ...frames(7, 8)])
    expect(await scan(bytes)).toMatchObject({ entries: 4, highestOp: 8n, end: { kind: 'clean' } })
  })

  it('names a reserved byte even where no seal covers it', async () => {
    const bytes = makePrepare(hash, 1n, 0n, { sealed: false }).frame.slice()
    bytes[100] = 1
    expect((await scan(concat([bytes, makePrepare(hash, 2n, 0n, { sealed: false }).frame]))).end).toMatchObject({
      kind: 'damage',
      problem: { check: 'ReservedNotZero' },
    })
  })

  it('finds prepare-shaped bytes inside a torn body, and errs towards damage', async () => {
    const inner = makePrepare(hash, 9n, 0n).frame
    const outer = makePrepare(hash, 1n, 0n, { bodyBytes: 600 }).frame.slice()
    outer.set(inner, 256 + 100)
    sealBody(hash, outer)
    sealPrepare(hash, outer)
    expect((await scan(outer)).end.kind).toBe('clean')
    expect((await scan(flip(outer, 700))).end).toMatchObject({ kind: 'damage', survivor: 356 })
  })

  it('never trusts a size: no allocation beyond the file', async () => {
    const bytes = concat(frames(1, 1))
    for (const size of [0, 1, 255, 67_108_865, 0x8000_0000, 0xffff_ffff]) {
      const view = new DataView(bytes.buffer)
      view.setUint32(48, size, true)
      expect((await scan(bytes)).end, `${size}`).toMatchObject({
        kind: 'torn',
        position: 0,
        problem: { check: 'BadSize' },
      })
    }
  })
})
