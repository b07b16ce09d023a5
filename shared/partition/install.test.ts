/** The receiving end of a state transfer on one partition: staging, refusals, the swap, and crashes in it (spec partition.md §8). */
import { describe, expect, test } from 'vitest'
import { Offset, Op } from '../bytes/units.ts'
import type { TransferredOffsets } from '../protocol/transfer-offsets.ts'
import type { Disk } from '../storage/disk.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { ScriptedDisk } from '../storage/testing/scripted-disk.ts'
import type { Partition, PartitionSettings } from './contract.ts'
import { openPartition } from './open.ts'
import { DIRECTORY, hash, pollOffset, Sender, TestHost, testOptions, until } from './testing/harness.ts'
import { TestSuperblock } from './testing/superblock.ts'
import type { PartitionOffer } from './transfer-offer.ts'
import type { WantedSegment } from './transfer-staging.ts'

/** Some ten batches fill a segment. */
const SMALL: Partial<PartitionSettings> = { segmentSizeBytes: 4096, messagesRequiredToSave: 1, enforceFsync: true }

interface Replica {
  readonly host: TestHost
  readonly superblock: TestSuperblock
  readonly partition: Partition
}

async function replica(disk: Disk = new MemoryDisk(), settings = SMALL): Promise<Replica> {
  const host = new TestHost(disk)
  const superblock = await TestSuperblock.open(disk, 3)
  const partition = await openPartition({ ...testOptions(host, settings), replicaCount: 3, superblock })
  return { host, superblock, partition }
}

/** Appends once the offsets are reserved. */
async function fill({ partition }: Replica, batches: number, from = 0): Promise<void> {
  const sender = new Sender(partition, BigInt(from))
  for (let number = from; number < from + batches; number++) {
    await until(
      () =>
        (partition.mayReserve() && partition.info().reserved > partition.info().nextOffset + 1n) || !reserve(partition),
    )
    sender.send(`m${number}`)
  }
  await partition.flush()
}
const reserve = (partition: Partition): boolean => {
  partition.mayReserve()
  return partition.info().reserved <= partition.info().nextOffset
}

/** Moves the bytes of `offer` into the staging area of `to`. */
async function fetch(offer: PartitionOffer, to: Partition): Promise<TransferredOffsets> {
  const wanted: WantedSegment[] = offer.segments.map(segment => ({ ...segment }))
  await to.staging.begin(wanted)
  for (const [index, segment] of wanted.entries()) {
    if (await to.staging.adopt(segment)) continue
    await to.staging.write(segment, 0, await offer.read(index, 0, 1000))
    await to.staging.write(segment, 1000, await offer.read(index, 1000, segment.sizeBytes))
    await to.staging.complete(segment)
  }
  return offer.offsets
}

const pathsOf = (disk: MemoryDisk): string[] => [...disk.snapshot().keys()]

const segmentFiles = (disk: MemoryDisk): string[] =>
  pathsOf(disk).filter(path => path.startsWith(`${DIRECTORY}/`) && /\.(log|index|anchor|staging)$/.test(path))
const logs = (disk: MemoryDisk) =>
  new Map(
    segmentFiles(disk)
      .filter(path => path.endsWith('.log'))
      .map(path => [path, disk.peek(path)!]),
  )

async function origin(batches = 40): Promise<{ disk: MemoryDisk; offer: PartitionOffer; source: Replica }> {
  const disk = new MemoryDisk()
  const source = await replica(disk)
  await fill(source, batches)
  source.partition.advanceOffset({ kind: 'consumer', id: 7 }, Offset(17n))
  return { disk, offer: await source.partition.offer(), source }
}

describe('an offer', () => {
  test('is as of one op, whole batches only, and void once the segments are replaced', async () => {
    const { offer, source } = await origin()
    expect(offer.commitOp).toBe(40n)
    expect(offer.offsets).toMatchObject({ nextOffset: 40n, consumers: [{ id: 7, offset: 17n }], groups: [] })
    expect(offer.segments.length).toBeGreaterThan(2)
    await fill(source, 5, 40)
    expect(offer.valid()).toBe(true)
    const bytes = await offer.read(0, 0, offer.segments[0]!.sizeBytes)
    expect(hash.xxh3(bytes)).toBe(offer.segments[0]!.checksum)
    await source.partition.install({ commitOp: Op(45n), offsets: { ...offer.offsets, nextOffset: Offset(45n) } }, 0n)
    expect(offer.valid()).toBe(false)
  })
})

describe('staging', () => {
  test('ST-08 a damaged segment is told from a whole one, and nothing of it counts', async () => {
    const { offer } = await origin()
    const target = await replica()
    const [first] = offer.segments
    await target.partition.staging.begin([first!])
    const bytes = await offer.read(0, 0, first!.sizeBytes)
    bytes[bytes.length - 1]! ^= 1
    await target.partition.staging.write(first!, 0, bytes)
    await expect(target.partition.staging.complete(first!)).rejects.toMatchObject({ code: 'BadChecksum' })
    // the checksum of the manifest fits, but the batches do not
    const forged = { ...first!, checksum: hash.xxh3(bytes) }
    await target.partition.staging.write(forged, 0, bytes)
    await expect(target.partition.staging.complete(forged)).rejects.toMatchObject({ code: 'StagedSegmentUnsound' })
    expect(target.partition.staging.segments).toEqual([])
  })

  test('goes on with what an earlier transfer has brought, and sweeps what it cannot use', async () => {
    const { offer } = await origin()
    const disk = new MemoryDisk()
    const target = await replica(disk)
    await fetch(offer, target.partition)
    disk.put(`${DIRECTORY}/00000000000000000099.log.staging`, new Uint8Array(3))
    await target.partition.staging.begin(offer.segments)
    expect(disk.peek(`${DIRECTORY}/00000000000000000099.log.staging`)).toBeUndefined()
    for (const segment of offer.segments) expect(await target.partition.staging.adopt(segment)).toBe(true)
    expect(await target.partition.staging.adopt({ ...offer.segments[0]!, checksum: 1n as never })).toBe(false)
  })
})

describe('an install', () => {
  test('puts segments, index, counter and consumer offsets in place, and the partition goes on', async () => {
    const { disk: from, offer } = await origin()
    const disk = new MemoryDisk()
    const target = await replica(disk)
    await fill(target, 3)
    const offsets = await fetch(offer, target.partition)
    await target.partition.install({ commitOp: offer.commitOp, offsets }, 0n)
    expect(target.partition.info()).toMatchObject({ nextOffset: 40n, visibleEnd: 40n, frontier: 40n, reserved: 40n })
    expect(await pollOffset(target.partition, 0n)).toHaveLength(40)
    expect(target.partition.storedOffset({ kind: 'consumer', id: 7 })).toBe(17n)
    expect(pathsOf(disk).filter(path => path.includes('/offsets/'))).toContain(`${DIRECTORY}/offsets/consumers/7`)
    expect(logs(disk)).toEqual(logs(from))
    await fill(target, 10, 40)
    await target.partition.close()
    const again = await replica(disk)
    expect(again.host.kinds()).not.toContain('chain_quarantined')
    expect(await pollOffset(again.partition, 0n)).toHaveLength(50)
  })

  test('of an empty chain plants one at the offset that the offer names', async () => {
    const target = await replica()
    const offsets = { purgeGeneration: 0n, nextOffset: Offset(176n), consumers: [], groups: [] }
    await target.partition.staging.begin([])
    await target.partition.install({ commitOp: Op(9n), offsets }, 0n)
    expect(target.partition.info()).toMatchObject({ nextOffset: 176n, frontier: 176n })
    expect(target.partition.info().segments.map(({ startOffset }) => startOffset)).toEqual([176n])
  })

  const refusals = {
    'ST-12 of an op below the own one': { code: 'StaleTransfer', commitOp: 2n },
    'ST-12 that ends below what is held': { code: 'OfferRewindsDurableData', nextOffset: 2n, segments: 0 },
    'ST-13 with a hole': { code: 'SegmentSetHole', drop: 1 },
    'ST-13 with a segment twice': { code: 'DuplicateSegment', twice: true },
    'ST-19 from before a committed purge': { code: 'PurgeGenerationBehind', committed: 1n },
    'ST-11 whose frontier cannot be recorded': { code: 'FrontierNotDurable', superblock: false },
  } as const
  test.each(Object.entries(refusals))('%s is refused, and nothing is changed', async (_, given) => {
    const { offer } = await origin()
    const memory = new MemoryDisk()
    const disk = new ScriptedDisk(memory)
    const target = await replica(disk)
    await fill(target, 3)
    const fetched = { ...offer }
    if ('drop' in given) fetched.segments = offer.segments.filter((_, index) => index !== given.drop)
    if ('segments' in given) fetched.segments = []
    if ('drop' in given) {
      const kept = offer.segments
        .map((segment, index) => ({ segment, index }))
        .filter(({ index }) => index !== given.drop)
      fetched.segments = kept.map(({ segment }) => segment)
      fetched.read = (segment, at, to) => offer.read(kept[segment]!.index, at, to)
    }
    const offsets = await fetch(fetched, target.partition)
    if ('twice' in given) expect(await target.partition.staging.adopt(offer.segments[1]!)).toBe(true)
    const before = new Map(segmentFiles(memory).map(path => [path, memory.peek(path)!]))
    if ('superblock' in given) disk.fails = call => call.includes('superblock')
    const commitOp = Op('commitOp' in given ? given.commitOp : offer.commitOp)
    const changed = { ...offsets, ...('nextOffset' in given && { nextOffset: Offset(given.nextOffset) }) }
    const committed = 'committed' in given ? given.committed : 0n
    await expect(target.partition.install({ commitOp, offsets: changed }, committed)).rejects.toMatchObject({
      code: given.code,
    })
    disk.fails = () => false
    expect(new Map(segmentFiles(memory).map(path => [path, memory.peek(path)!]))).toEqual(before)
    expect(await pollOffset(target.partition, 0n)).toEqual(['0:m0', '1:m1', '2:m2'])
    target.superblock.off = false
    await fill(target, 1, 3)
  })

  test('compares the offer with what is held, and never with the counter that a reservation raised', async () => {
    const { offer } = await origin()
    const disk = new MemoryDisk()
    await TestSuperblock.saying(disk, 70_000n, 70_000n, 3)
    const target = await replica(disk)
    expect(target.partition.info().nextOffset).toBe(70_000n)
    const offsets = await fetch(offer, target.partition)
    await target.partition.install({ commitOp: offer.commitOp, offsets }, 0n)
    expect(target.partition.info()).toMatchObject({ nextOffset: 40n, held: 40n, reserved: 70_000n })
  })

  test('ST-21 of a chain with a stated gap writes the anchor of its own', async () => {
    const fromDisk = new MemoryDisk()
    const source = await replica(fromDisk)
    await fill(source, 12)
    source.partition.jumpTo(Offset(500n))
    await fill(source, 12, 12)
    const offer = await source.partition.offer()
    const planted = offer.segments.find(({ startOffset }) => startOffset === 500n)
    expect(planted).toMatchObject({ gapFrom: 12n })
    const disk = new MemoryDisk()
    const target = await replica(disk)
    const offsets = await fetch(offer, target.partition)
    await target.partition.install({ commitOp: offer.commitOp, offsets }, 0n)
    const anchor = `${DIRECTORY}/00000000000000000500.anchor`
    expect(disk.peek(anchor)).toEqual(fromDisk.peek(anchor))
    await target.partition.close()
    const again = await replica(disk)
    expect(again.host.kinds()).not.toContain('chain_quarantined')
    expect(await pollOffset(again.partition, 0n)).toHaveLength(24)
  })
})

describe('ST-10 a crash at any call of the disk in an install', () => {
  test('leaves a chain that boots, lags honestly and is whole after the next transfer', async () => {
    const { offer, disk: from } = await origin()
    let calls = Number.POSITIVE_INFINITY
    const seen: string[] = []
    for (let victim = 1; victim <= calls; victim++) {
      const memory = new MemoryDisk()
      const disk = new ScriptedDisk(memory)
      const target = await replica(disk)
      await fill(target, 15)
      const offsets = await fetch(offer, target.partition)
      const first = disk.calls.length
      let died: string | undefined
      disk.dies = (call, number) => {
        if (number - first + 1 < victim) return false
        died ??= call
        return true
      }
      const done = target.partition.install({ commitOp: offer.commitOp, offsets }, 0n).then(() => 'installed')
      const outcome = await Promise.race([done, until(() => died !== undefined).then(() => 'died')])
      if (outcome === 'installed') {
        calls = victim - 1
        break
      }
      seen.push(died!)
      const boot = await replica(memory)
      expect([died, boot.host.kinds().includes('chain_quarantined')]).toEqual([died, false])
      // never below what this replica may have given out
      expect([died, boot.partition.info().nextOffset >= 15n]).toEqual([died, true])
      const held = await pollOffset(boot.partition, boot.partition.info().segments[0]!.startOffset)
      // what is served is a stretch of the one history
      for (const line of held) expect(line).toMatch(/^(\d+):m\1$/)
      const again = await fetch(offer, boot.partition)
      await boot.partition.install({ commitOp: offer.commitOp, offsets: again }, 0n)
      expect([died, logs(memory)]).toEqual([died, logs(from)])
      expect([died, (await pollOffset(boot.partition, 0n)).length]).toEqual([died, 40])
    }
    const names = seen.join('\n')
    expect(names).toMatch(/rename .*superblock/)
    expect(names).toMatch(/unlink .*\.log$/m)
    expect(names).toMatch(/rename .*\.index\.staging/)
    expect(names).toMatch(/rename .*\.log\.staging/)
  })
})
