/** A boot over a directory that was cut and flipped everywhere: its verdict is that of a decoder that shares no code with it. */
import { describe, expect, it } from 'vitest'
import { Xoshiro256 } from '../bytes/random.ts'
import { PartitionRefused } from '../partition/refused.ts'
import { hash, KEY, pollOffset } from '../partition/testing/harness.ts'
import { Life } from '../partition/testing/lives.ts'
import { type DiskImage, MemoryDisk } from '../storage/memory-disk.ts'
import { brokenChain, type ReadSegment, readSegment } from './checkers/segments.ts'

const CHUNKS = 40
const SETTINGS = { enforceFsync: true, messagesRequiredToSave: 1, segmentSizeBytes: 12_800 }

interface Chunk {
  readonly path: string
  readonly position: number
  readonly bytes: number
  readonly first: bigint
  readonly end: bigint
}

interface Prepared {
  readonly image: DiskImage
  readonly chunks: readonly Chunk[]
  /** `offset:payload` of every message that was acknowledged. */
  readonly acked: readonly string[]
}

const logs = (image: DiskImage) => [...image.keys()].filter(path => path.endsWith('.log')).sort()
const startOf = (path: string) => BigInt(path.slice(path.lastIndexOf('/') + 1, -4))

function read(image: DiskImage): ReadSegment[] {
  return logs(image).map(path => {
    const bytes = image.get(path)!
    return readSegment(hash, bytes, bytes.length, startOf(path), KEY.partition)
  })
}

/** Three segments, forty chunks of at most 2 KiB with one to three messages each, stopped cleanly. */
async function prepare(): Promise<Prepared> {
  const random = new Xoshiro256(40n)
  const disk = new MemoryDisk()
  const life = await Life.open(disk, { settings: SETTINGS })
  const acked: string[] = []
  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    // the last two are short: they are cut at every byte
    const most = chunk < CHUNKS - 2 ? 500 : 100
    const payloads = Array.from(
      { length: 1 + random.upTo(2) },
      (_, n) => `${chunk}.${n}.${'x'.repeat(random.upTo(most))}`,
    )
    const base = await life.send(...payloads)
    for (const [n, payload] of payloads.entries()) acked.push(`${base + BigInt(n)}:${payload}`)
    await life.partition.flush()
  }
  await life.stop()
  const image = disk.snapshot()
  const chunks = read(image).flatMap(({ batches }, index) =>
    batches.map(({ position, bytes, base, count }) => {
      return { path: logs(image)[index]!, position, bytes, first: base, end: base + BigInt(count) }
    }),
  )
  expect([logs(image).length, chunks.length]).toEqual([3, CHUNKS])
  expect(Math.max(...chunks.map(({ bytes }) => bytes))).toBeLessThanOrEqual(2_048)
  return { image, chunks, acked }
}

interface Surgery {
  readonly cut?: { readonly path: string; readonly size: number }
  readonly flip?: { readonly path: string; readonly position: number; readonly mask: number }
}

function operated(image: DiskImage, { cut, flip }: Surgery): DiskImage {
  const copy = new Map(image)
  if (flip) {
    const bytes = copy.get(flip.path)!.slice()
    if (flip.position < bytes.length) bytes[flip.position]! ^= flip.mask
    copy.set(flip.path, bytes)
  }
  if (cut) copy.set(cut.path, copy.get(cut.path)!.slice(0, cut.size))
  return copy
}

/** Boots over the surgery and holds the boot to the second reading; answers what it came to. */
async function judged({ image, chunks, acked }: Prepared, surgery: Surgery): Promise<string> {
  const what = JSON.stringify(surgery)
  const damaged = operated(image, surgery)
  const segments = read(damaged)
  const broken = brokenChain(segments, () => undefined)
  const readable = new Set(segments.flatMap(({ batches }) => batches.map(({ base }) => base)))
  const lost = chunks.filter(({ first }) => !readable.has(first))
  const disk = new MemoryDisk()
  disk.restore(damaged)
  let life: Life
  try {
    life = await Life.open(disk, { settings: SETTINGS })
  } catch (error) {
    if (!(error instanceof PartitionRefused)) throw error
    const { path, position = 0, expected, actual } = error.context
    expect(broken, `${what}: ${error.message}`).toBeDefined()
    // The first message that cannot be read is behind the byte that is named, or in the range that is; all bytes stay.
    for (const chunk of lost.slice(0, 1)) {
      const named =
        error.refusal === 'Hole'
          ? chunk.first >= BigInt(expected!) && chunk.end <= BigInt(actual!)
          : chunk.path === path && chunk.position >= position
      expect(named, `${what}: ${error.message}: offset ${chunk.first}`).toBe(true)
    }
    expect([...disk.snapshot()].map(([file, bytes]) => `${file} ${bytes && hash.xxh3(bytes)}`)).toEqual(
      [...damaged].map(([file, bytes]) => `${file} ${bytes && hash.xxh3(bytes)}`),
    )
    return error.refusal
  }
  expect(broken, what).toBeUndefined()
  const end = segments.findLast(({ walked }) => walked > 0)!.end
  const served = acked.filter(message => BigInt(message.slice(0, message.indexOf(':'))) < end)
  expect(await pollOffset(life.partition, 0n), what).toEqual(served)
  const total = BigInt(acked.length)
  if (end < total) {
    const missing = { first: end.toString(), last: (total - 1n).toString() }
    expect(life.fact('missing_range'), what).toMatchObject(missing)
  } else expect(life.fact('missing_range'), what).toBeUndefined()
  const { walked } = segments.at(-1)!
  const torn = damaged.get(logs(damaged).at(-1)!)!.length - walked
  if (torn > 0 && walked > 0)
    expect(life.fact('log_truncated'), what).toMatchObject({ bytes: torn, position: walked, first: end.toString() })
  expect(strayOnDisk(disk, damaged, segments), what).toEqual([])
  // Now and then it goes on: what is written behind the cut is there after one more boot.
  if (boots++ % GOES_ON_EVERY === 0) {
    const base = await life.send('next')
    await life.partition.flush()
    await life.stop()
    life = await Life.open(disk, { settings: SETTINGS })
    expect(await pollOffset(life.partition, 0n), what).toEqual([...served, `${base}:next`])
  }
  await life.partition.close()
  return torn > 0 ? 'torn tail' : 'whole'
}

const GOES_ON_EVERY = 10
let boots = 0

/** The files end where the second reading says, and no index entry points anywhere but at a batch of it. */
function strayOnDisk(disk: MemoryDisk, damaged: DiskImage, segments: readonly ReadSegment[]): string[] {
  const after = disk.snapshot()
  return logs(after).flatMap(path => {
    const { walked = 0, batches = [] } = segments[logs(damaged).indexOf(path)] ?? {}
    const stray = after.get(path)!.length === walked ? [] : [`${path} has ${after.get(path)!.length}, not ${walked}`]
    const index = after.get(path.replace('.log', '.index'))!
    if (index.length % 24 !== 0 || index.length > 0 !== walked > 0) stray.push(`index of ${path}: ${index.length}`)
    const named = new Set(batches.map(({ base, position }) => `${base}@${position}`))
    const view = new DataView(index.buffer, index.byteOffset, index.length)
    for (let at = 0; at + 24 <= index.length; at += 24) {
      const entry = `${view.getBigUint64(at, true)}@${view.getBigUint64(at + 16, true)}`
      if (!named.has(entry)) stray.push(`index of ${path}: ${entry}`)
    }
    return stray
  })
}

const prepared = await prepare()
const { image, chunks } = prepared

describe('a boot over three segments of forty chunks', () => {
  const counts = new Map<string, number>()
  const count = (verdict: string) => counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
  const random = new Xoshiro256(500n)
  const flipIn = ({ path, position, bytes }: Chunk) => ({
    path,
    position: position + random.upTo(bytes - 1),
    mask: 1 << random.upTo(7),
  })

  it('cut at every byte of the last two chunks, serves what is whole and names what is not', async () => {
    const [first] = chunks.slice(-2)
    const size = image.get(first!.path)!.length
    for (let at = first!.position; at <= size; at++)
      count(await judged(prepared, { cut: { path: first!.path, size: at } }))
    expect(counts.get('torn tail')).toBe(size - first!.position - 2)
  }, 180_000)

  it('with one random byte of each chunk flipped, is torn at the end and refused before', async () => {
    for (const chunk of chunks) count(await judged(prepared, { flip: flipIn(chunk) }))
  }, 180_000)

  it('with five hundred random pairs of a cut and a flip, loses no message without naming it, and serves no wrong byte', async () => {
    for (let round = 0; round < 500; round++) {
      const tail = chunks[CHUNKS - 1 - random.upTo(1)]!
      const cut = { path: tail.path, size: tail.position + random.upTo(tail.bytes) }
      count(await judged(prepared, { cut, flip: flipIn(chunks[random.upTo(CHUNKS - 1)]!) }))
    }
    expect([...counts.keys()]).toEqual(expect.arrayContaining(['InteriorDamage', 'Hole', 'torn tail']))
  }, 180_000)
})
