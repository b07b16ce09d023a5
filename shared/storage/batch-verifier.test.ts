import { describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Micros, Offset } from '../bytes/units.ts'
import {
  batchChecksum,
  checkBatch,
  FRAME_COST,
  MESSAGE_HEADER_BYTES,
  produceBatch,
  SLICE_COST,
} from '../protocol/batch.ts'
import { BatchVerifier } from './batch-verifier.ts'
import { FileScanner } from './file-scanner.ts'
import { MemoryDisk } from './memory-disk.ts'
import { emptyBudget, probeResidue } from './residue-probe.ts'
import { scanSegment } from './segment-scan.ts'

const real = await createHash()
const NOW = Micros(1_700_000_000_000_000n)

function batch(messages: number, payloadBytes: number): Uint8Array {
  const payload = new Uint8Array(payloadBytes).fill(7)
  return produceBatch(
    real,
    Array.from({ length: messages }, (_, index) => ({ id: BigInt(index + 1), payload, originTimestamp: NOW })),
  )
}

/** A hash and a scheduler that know how much was hashed between two breaths. */
class Watched {
  breaths = 0
  largest = 0
  hashed = 0
  private since = 0

  private work(cost: number): void {
    this.since += cost
    if (this.since > this.largest) this.largest = this.since
  }

  readonly scheduler = {
    yield: async () => {
      this.breaths++
      this.since = 0
    },
  }

  readonly hash: Hash = {
    ...real,
    xxh3: bytes => {
      this.hashed++
      this.work(bytes.length + FRAME_COST)
      return real.xxh3(bytes)
    },
    xxh3Stream: () => {
      const inner = real.xxh3Stream()
      return {
        update(bytes) {
          inner.update(bytes)
          return this
        },
        digest: () => inner.digest(),
      }
    },
  }
}

describe('a record that is verified in slices', () => {
  const shapes = [
    ['two thousand messages of 1 KiB', 2000, 1024],
    ['five thousand messages of a byte', 5_000, 1],
    ['one message of 10 MiB', 1, 10 * 1024 * 1024],
    ['a small one', 3, 10],
  ] as const

  it.each(shapes)(
    '%s: the verdict is the same, whole and with any kind of damage',
    async (_, messages, payloadBytes) => {
      const bytes = batch(messages, payloadBytes)
      const verdict = () => new BatchVerifier(real, { yield: async () => {} }).verify(bytes)
      expect(await verdict()).toEqual({ ok: true, end: bytes.length, messageCount: messages })
      const frame = 48 + payloadBytes
      const last = bytes.length - frame
      for (const at of [
        8,
        33,
        40,
        48,
        60,
        256,
        256 + 36,
        256 + 41,
        last + 3,
        last + 24,
        last + 33,
        last + 47,
        bytes.length - 1,
      ]) {
        bytes[at]! ^= 1
        const expected = checkBatch(bytes, 0, real)
        expect(expected.ok).toBe(false)
        expect(await verdict()).toEqual(expected)
        bytes[at]! ^= 1
      }
    },
  )

  it.each(shapes.slice(0, 2))(
    '%s: never more than a slice and one message of work without a breath',
    async (_, messages, payloadBytes) => {
      const bytes = batch(messages, payloadBytes)
      const watched = new Watched()
      expect((await new BatchVerifier(watched.hash, watched.scheduler).verify(bytes)).ok).toBe(true)
      expect(watched.breaths).toBeGreaterThanOrEqual(2)
      expect(watched.largest).toBeLessThanOrEqual(SLICE_COST + 2 * (payloadBytes + 48 + FRAME_COST))
    },
  )

  it('many small ones in a row give way as often', async () => {
    const one = batch(10, 100)
    const watched = new Watched()
    const verifier = new BatchVerifier(watched.hash, watched.scheduler)
    for (let count = 0; count < 500; count++) expect((await verifier.verify(one)).ok).toBe(true)
    expect(watched.breaths).toBeGreaterThanOrEqual(4)
    expect(watched.largest).toBeLessThanOrEqual(SLICE_COST + 20 * FRAME_COST)
  })
})

describe('a walk over large records', () => {
  const put = async (...parts: Uint8Array[]) => {
    const disk = new MemoryDisk()
    const file = await disk.open('x.log', 'create')
    await file.write(0, parts)
    return { file, size: await file.sizeBytes() }
  }

  it('meets records that are larger than its window, one after the other', async () => {
    const first = batch(60, 1000)
    const second = batch(90, 1000)
    const { file, size } = await put(first, second, first)
    const met: number[] = []
    const scan = await scanSegment(file, size, real, {
      windowBytes: 4096,
      onProblem: () => {},
      onBatch: ({ lengthBytes, verdict }) => {
        if (verdict === 'valid') met.push(lengthBytes)
        return undefined
      },
    })
    expect(met).toEqual([first.length, second.length, first.length])
    expect(scan.reachedBytes).toBe(size)
  })

  it('records that were laid into each other, with one wrong frame at their end, cost one full walk', async () => {
    const small = batch(3000, 1)
    const frames = small.subarray(256)
    frames[frames.length - 1]! ^= 1
    // Each header lies in the payload of the first frame behind the one before; the frames behind are those of all.
    let first = new Uint8Array(0)
    const seals: number[] = []
    const lay = (inner: Uint8Array) => {
      const record = produceBatch(real, [{ id: 1n, payload: inner, originTimestamp: NOW }])
      seals.push(record.length)
      return record
    }
    for (let depth = 0; depth < 4; depth++) first = new Uint8Array(lay(first))
    const log = new Uint8Array(first.length + frames.length)
    log.set(first)
    log.set(frames, first.length)
    // Innermost first: the checksum of a header is no part of what an inner one covers.
    const headers = seals.map(length => first.length - length)
    for (const at of headers) {
      const view = new DataView(log.buffer, at)
      view.setBigUint64(32, BigInt(log.length - at), true)
      view.setUint32(48, 3001, true)
      const outer = log.subarray(at)
      if (at > 0)
        new DataView(log.buffer, at - 48).setBigUint64(0, real.xxh3(log.subarray(at - 40, first.length)), true)
      view.setBigUint64(40, batchChecksum(real, outer), true)
    }
    const watched = new Watched()
    const verifier = new BatchVerifier(watched.hash, watched.scheduler)
    const walked = () => watched.hashed
    for (const at of headers) expect(checkBatch(log, at, real)).toMatchObject({ ok: false, check: 'message_checksum' })
    for (const at of headers.toReversed()) expect(await verifier.holds(log.subarray(at), at)).toBe(false)
    expect(walked()).toBeGreaterThan(3000)
    expect(walked()).toBeLessThan(3100)
  })

  it('a search that has hashed too many frames in vain is given up, whatever bytes it may still read', async () => {
    const damaged = () => {
      const record = new Uint8Array(batch(40, 1))
      const view = new DataView(record.buffer)
      const last = record.length - MESSAGE_HEADER_BYTES - 1
      record[record.length - 1]! ^= 1
      // The seal holds and the last frame does not: only hashing all of them tells.
      view.setBigUint64(40, batchChecksum(real, record), true)
      expect(checkBatch(record, 0, real)).toMatchObject({ check: 'message_checksum', position: last })
      return record
    }
    const { file, size } = await put(new Uint8Array(500).fill(1), ...Array.from({ length: 30 }, damaged))
    const probe = async (frames: number) => {
      const budget = { ...emptyBudget(), frames }
      const verdict = await probeResidue(new FileScanner(file, size), 0, Offset(0n), real, budget)
      return { verdict: verdict.kind, hashed: frames - budget.frames }
    }
    expect(await probe(emptyBudget().frames)).toEqual({ verdict: 'no_survivor', hashed: 30 * 40 })
    // Noticed behind the batch in which it happens.
    expect(await probe(1_000)).toEqual({ verdict: 'exhausted', hashed: 26 * 40 })
  })

  it('a frame that the walk has found wrong is not hashed again', async () => {
    const record = new Uint8Array(batch(40, 1))
    record[record.length - 1]! ^= 1
    const noise = 500
    const { file, size } = await put(new Uint8Array(noise).fill(1), record)
    const hashed = async (badFrame?: number) => {
      const budget = emptyBudget()
      const { frames } = budget
      await probeResidue(new FileScanner(file, size), 0, Offset(0n), real, budget, undefined, badFrame)
      return frames - budget.frames
    }
    expect(await hashed()).toBe(40)
    expect(await hashed(noise + record.length - MESSAGE_HEADER_BYTES - 1)).toBe(0)
  })

  it('a search breathes by what it has looked at, and not only when it reads', async () => {
    const look = async (bytes: Uint8Array) => {
      let breaths = 0
      const { file, size } = await put(bytes)
      const breathe = async () => {
        breaths++
      }
      await probeResidue(new FileScanner(file, size), 0, Offset(0n), real, emptyBudget(), { yield: breathe })
      return breaths
    }
    expect(await look(new Uint8Array(2 ** 20))).toBeGreaterThanOrEqual(4)
    // Four hundred headers in a tenth of that.
    const headers = new Uint8Array(400 * 256)
    for (let at = 0; at < headers.length; at += 256) {
      headers[at + 33] = 2
      headers[at + 48] = 1
    }
    expect(await look(headers)).toBeGreaterThanOrEqual(5)
  })

  it('a survivor that is larger than the window is found behind damage', async () => {
    const survivor = batch(60, 1000)
    const { file, size } = await put(new Uint8Array(500).fill(1), survivor)
    const scanner = new FileScanner(file, size, 4096)
    expect(await probeResidue(scanner, 0, Offset(0n), real, emptyBudget(), { yield: async () => {} })).toMatchObject({
      kind: 'survivor',
      position: 500,
    })
  })
})
