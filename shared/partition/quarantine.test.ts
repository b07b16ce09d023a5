import { describe, expect, it } from 'vitest'
import { Micros, Offset } from '../bytes/units.ts'
import { stampBatch } from '../protocol/batch.ts'
import { type DiskImage, MemoryDisk } from '../storage/memory-disk.ts'
import { PartitionRefused } from './refused.ts'
import { DIRECTORY, hash, KEY, must, pollOffset, producedBatch, text, until } from './testing/harness.ts'
import { Life, type LifeOptions } from './testing/lives.ts'
import { SlowDisk } from './testing/slow-disk.ts'
import { TestSuperblock } from './testing/superblock.ts'

const path = (start: number, kind: string) => `${DIRECTORY}/${String(start).padStart(20, '0')}.${kind}`
const fenced = (start: number, kind: string, number = 0) =>
  `${DIRECTORY}.fenced.${number}${path(start, kind).slice(DIRECTORY.length)}`
const THREE: LifeOptions = { replicaCount: 3, settings: { messagesRequiredToSave: 1 } }

const stamped = (base: bigint, payloads: string[], partition = KEY.partition) => {
  const bytes = producedBatch(payloads.map(text))
  stampBatch(hash, bytes, 0, { partitionId: partition, baseOffset: Offset(base), baseTimestamp: Micros(9n) })
  return bytes
}
const entry = (offset: bigint, position: bigint) => {
  const view = new DataView(new ArrayBuffer(24))
  for (const [at, value] of [offset, 1n, position].entries()) view.setBigUint64(at * 8, value, true)
  return new Uint8Array(view.buffer)
}
const joined = (...parts: Uint8Array[]) => new Uint8Array(parts.flatMap(part => [...part]))

/** One segment of `count` one-message batches. */
async function chain(count: number, options: LifeOptions = THREE): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  const life = await Life.open(disk, options)
  await life.sendEach(count)
  await life.partition.flush()
  await until(() => life.partition.info().flusher.state === 'idle')
  await life.partition.close()
  return disk
}

const refusal = async (disk: MemoryDisk | SlowDisk, options: LifeOptions): Promise<string> => {
  const error = await Life.open(disk, options).then(
    () => undefined,
    (cause: unknown) => cause,
  )
  if (!(error instanceof PartitionRefused)) throw new Error(`not refused: ${error}`)
  return error.refusal
}

const segments = (image: DiskImage) => [...image].filter(([name]) => /\.(log|index|anchor)$/.test(name))

describe('a refused chain of a replicated partition', () => {
  it('PL-43 is set aside behind its recorded frontier, and what was refused does not raise it', async () => {
    for (const behind of [stamped(482n, ['survivor']), joined(new Uint8Array(400), stamped(600n, ['survivor']))]) {
      const disk = await chain(480)
      const log = must(disk.peek(path(0, 'log')))
      disk.put(path(0, 'log'), joined(log, behind))
      const life = await Life.open(disk, { ...THREE, record: [0n, 70_000n] })
      expect(life.fact('chain_quarantined')).toMatchObject({ frontier: '480', to: `${DIRECTORY}.fenced.0` })
      expect(life.superblock.recorded()).toEqual({ frontier: 480n, reserved: 70_000n })
      expect(life.partition.info()).toMatchObject({ nextOffset: 480n, held: 0n })
      expect(must(disk.peek(fenced(0, 'log'))).length).toBe(log.length + behind.length)
      expect(disk.peek(`${DIRECTORY}/purge.gen`)).toBeDefined()
      expect(await life.send('next')).toBe(480n)
      await life.partition.flush()
      await life.partition.close()
      expect(await pollOffset((await Life.open(disk, THREE)).partition, 0n)).toEqual(['480:next'])
    }
  })

  it('PL-43 a frontier that cannot be written leaves every file in place', async () => {
    const memory = await chain(5)
    memory.put(path(0, 'log'), joined(must(memory.peek(path(0, 'log'))), stamped(9n, ['hole'])))
    const before = segments(memory.snapshot())
    const disk = new SlowDisk(memory)
    disk.faults.push({ operation: 'sync', ending: '.tmp' })
    expect(await refusal(disk, THREE)).toBe('OffsetDiscontinuity')
    expect(segments(memory.snapshot())).toEqual(before)
  })

  it('PL-41 takes the orphan index of the hole with it', async () => {
    const disk = await chain(6, { ...THREE, settings: { messagesRequiredToSave: 1, segmentSizeBytes: 600 } })
    const starts = [...disk.snapshot().keys()].filter(name => name.endsWith('.log')).length
    expect(starts).toBeGreaterThan(2)
    await disk.unlink(path(2, 'log'))
    disk.put(`${path(4, 'log')}.staging`, text('scratch'))
    const life = await Life.open(disk, THREE)
    expect(life.fact('chain_refused')).toBeDefined()
    expect(disk.peek(fenced(2, 'index'))).toBeDefined()
    expect(disk.peek(`${fenced(4, 'log')}.staging`)).toBeDefined()
    expect(life.superblock.recorded().frontier).toBe(6n)
  })

  it('PL-47 (b) the name of a segment that is damaged from its first byte counts', async () => {
    const disk = await chain(3)
    disk.put(path(176, 'log'), joined(new Uint8Array(300).fill(7), stamped(176n, ['survivor'])))
    const life = await Life.open(disk, THREE)
    expect(life.superblock.recorded().frontier).toBe(176n)
    expect(await life.send('x')).toBe(176n)
  })

  it('PL-47 (c) a name that its first verified batch contradicts does not', async () => {
    const disk = await chain(3)
    disk.put(path(176, 'log'), stamped(170n, ['elsewhere']))
    const life = await Life.open(disk, THREE)
    expect(life.superblock.recorded().frontier).toBe(3n)
  })
})

describe('a refused chain of a solo partition', () => {
  it('PL-41 PL-44 stays where it is, with the same verdict at each boot', async () => {
    const disk = new MemoryDisk()
    for (const start of [0, 5]) disk.put(path(start, 'log'), new Uint8Array(5000).fill(0xa5))
    const before = segments(disk.snapshot())
    for (let boot = 0; boot < 2; boot++) expect(await refusal(disk, {})).toBe('EmptyNonTailSegment')
    expect(segments(disk.snapshot())).toEqual(before)
    for (const start of [0, 5]) disk.put(path(start, 'log'), new Uint8Array(0))
    const life = await Life.open(disk, {})
    expect(life.superblock.recorded().frontier).toBe(5n)
    expect(await life.send('x')).toBe(5n)
  })

  it('PL-47 (a) two empty segments are set aside, and the higher name goes on, solo and replicated', async () => {
    for (const replicaCount of [1, 3]) {
      const disk = new MemoryDisk()
      for (const start of [0, 176]) disk.put(path(start, 'log'), new Uint8Array(0))
      const life = await Life.open(disk, { replicaCount })
      expect(life.superblock.recorded().frontier).toBe(176n)
      expect(disk.peek(fenced(176, 'log'))).toBeDefined()
      expect(await life.send('x')).toBe(176n)
    }
  })

  it('PL-47 (a) with a superblock that cannot be written: refused, files in place', async () => {
    for (const replicaCount of [1, 3]) {
      const memory = new MemoryDisk()
      for (const start of [0, 176]) memory.put(path(start, 'log'), new Uint8Array(0))
      const disk = new SlowDisk(memory)
      disk.faults.push({ operation: 'sync', ending: '.tmp' })
      expect(await refusal(disk, { replicaCount })).toBe('EmptyNonTailSegment')
      expect(memory.peek(path(176, 'log'))).toBeDefined()
    }
  })

  it('PL-47 (d) a name that a reservation planted is no frontier; the floor is what counts', async () => {
    const disk = new MemoryDisk()
    for (const start of [0, 65_537]) disk.put(path(start, 'log'), new Uint8Array(0))
    const life = await Life.open(disk, { record: [0n, 65_537n] })
    expect(life.superblock.recorded().frontier).toBe(0n)
    expect(life.partition.info().visibleEnd).toBe(0n)
    expect(await life.send('x')).toBe(65_537n)
  })
})

describe('PL-46 an index whose log is gone', () => {
  const lost = async (replicaCount: number): Promise<MemoryDisk> => {
    const disk = await chain(100, { replicaCount, settings: { messagesRequiredToSave: 1 } })
    disk.put(path(100, 'index'), joined(entry(100n, 0n), entry(150n, 9_000n)))
    return disk
  }

  it('says what it claims beyond chain and record, which is recorded before it moves', async () => {
    for (const replicaCount of [1, 3]) {
      for (const record of [undefined, [0n, 0n]] as const) {
        const disk = await lost(replicaCount)
        const life = await Life.open(disk, { replicaCount, ...(record && { record }) })
        expect(life.superblock.recorded().frontier).toBe(151n)
        expect(disk.peek(fenced(100, 'index'))).toBeDefined()
        expect(life.fact('missing_range')).toMatchObject({ first: '100', last: '150' })
        expect(await life.send('x')).toBeGreaterThanOrEqual(151n)
        await life.stop()
        const again = await Life.open(disk, { replicaCount })
        expect(again.fact('chain_refused')).toBeUndefined()
        expect(await pollOffset(again.partition, 99n)).toHaveLength(2)
      }
    }
  })

  it('one that the record knows of is swept, and the record is what is reported', async () => {
    const disk = await lost(1)
    const life = await Life.open(disk, { record: [180n, 180n] })
    expect(disk.peek(path(100, 'index'))).toBeUndefined()
    expect(disk.peek(fenced(100, 'index'))).toBeUndefined()
    expect(life.fact('missing_range')).toMatchObject({ first: '100', last: '179' })
    expect(life.partition.info().nextOffset).toBe(180n)
  })

  it('an entry that no segment could hold is not believed, the one before it is', async () => {
    const disk = await lost(1)
    const index = must(disk.peek(path(100, 'index')))
    index[24 + 5]! ^= 0x80
    disk.put(path(100, 'index'), joined(entry(100n, 0n), entry(120n, 2_000n), index.subarray(24)))
    const life = await Life.open(disk)
    expect(life.superblock.recorded().frontier).toBe(121n)
  })

  it('a record that cannot be written moves nothing, and the partition is not served', async () => {
    const memory = await lost(1)
    const disk = new SlowDisk(memory)
    disk.faults.push({ operation: 'sync', ending: '.tmp' })
    await expect(Life.open(disk)).rejects.toMatchObject({ code: 'FrontierNotRecorded' })
    expect(memory.peek(path(100, 'index'))).toBeDefined()
    expect((await TestSuperblock.open(memory)).recorded().frontier).toBe(0n)
  })
})
