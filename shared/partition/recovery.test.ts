import { describe, expect, it } from 'vitest'
import { Micros, Offset } from '../bytes/units.ts'
import { batchLengthAt, stampBatch } from '../protocol/batch.ts'
import { encodeAnchor } from '../storage/anchor-file.ts'
import { type DiskImage, MemoryDisk } from '../storage/memory-disk.ts'
import type { Partition, PartitionSettings } from './contract.ts'
import { openPartition } from './open.ts'
import { PartitionRefused } from './refused.ts'
import {
  DIRECTORY,
  EAGER,
  hash,
  KEY,
  must,
  pollOffset,
  producedBatch,
  Sender,
  TestHost,
  testOptions,
  text,
  until,
} from './testing/harness.ts'
import { Life } from './testing/lives.ts'
import { TestSuperblock } from './testing/superblock.ts'

const path = (start: number, kind: string) => `${DIRECTORY}/${String(start).padStart(20, '0')}.${kind}`
const LOG = path(0, 'log')
const INDEX = path(0, 'index')
/** A batch of one message with a payload of four bytes. */
const BATCH = 256 + 48 + 4

async function open(disk: MemoryDisk, settings: Partial<PartitionSettings> = EAGER) {
  const host = new TestHost(disk)
  const partition = await openPartition(testOptions(host, settings))
  return { host, partition, sender: new Sender(partition) }
}

/** `count` one-message batches, one index entry each, stopped cleanly. */
async function build(count: number, settings: Partial<PartitionSettings> = EAGER): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  const { partition, sender } = await open(disk, settings)
  for (let n = 0; n < count; n++) {
    sender.send(payload(n))
    await partition.flush()
    await until(() => partition.info().flusher.state === 'idle')
  }
  await partition.close()
  return disk
}

const payload = (n: number) => `m${String(n).padStart(3, '0')}`
const lines = (from: number, end: number) =>
  Array.from({ length: end - from }, (_, n) => `${from + n}:${payload(from + n)}`)
const size = (disk: MemoryDisk, file: string) => must(disk.peek(file)).length
const cut = (disk: MemoryDisk, file: string, bytes: number) => disk.put(file, must(disk.peek(file)).subarray(0, bytes))
const extend = (disk: MemoryDisk, file: string, bytes: Uint8Array) =>
  disk.put(file, new Uint8Array([...must(disk.peek(file)), ...bytes]))
const flip = (disk: MemoryDisk, file: string, position: number) => {
  const bytes = must(disk.peek(file))
  bytes[position]! ^= 0x10
  disk.put(file, bytes)
}
/** A stamped batch as another writer would have left it. */
const stamped = (base: bigint, payloads: string[], partition = KEY.partition) => {
  const bytes = producedBatch(payloads.map(text))
  stampBatch(hash, bytes, 0, { partitionId: partition, baseOffset: Offset(base), baseTimestamp: Micros(9n) })
  return bytes
}
const entry = (offset: bigint, timestamp: bigint, position: bigint) => {
  const view = new DataView(new ArrayBuffer(24))
  for (const [at, value] of [offset, timestamp, position].entries()) view.setBigUint64(at * 8, value, true)
  return new Uint8Array(view.buffer)
}

/** Every file as it was: the proof that a refusal changes nothing. */
const equalImages = (before: DiskImage, after: DiskImage) => {
  expect([...after.keys()]).toEqual([...before.keys()])
  for (const [file, bytes] of before) {
    const now = after.get(file)
    expect(now === undefined ? now : Buffer.from(now).equals(bytes!), file).toBe(bytes === undefined ? undefined : true)
  }
}

async function refusal(disk: MemoryDisk, settings: Partial<PartitionSettings> = EAGER): Promise<PartitionRefused> {
  const before = disk.snapshot()
  const host = new TestHost(disk)
  const error = await openPartition(testOptions(host, settings)).then(
    () => undefined,
    (caught: unknown) => caught,
  )
  expect(error).toBeInstanceOf(PartitionRefused)
  equalImages(before, disk.snapshot())
  expect(host.kinds()).toContain('chain_refused')
  return error as PartitionRefused
}

const step = (partition: Partition, name: string) => partition.recovery.find(candidate => candidate.step === name)

/** Sends go on behind what a boot left, and the boot after that finds everything in order. */
async function goesOn(disk: MemoryDisk, partition: Partition, end: number): Promise<void> {
  const sender = new Sender(partition)
  for (let n = end; n < end + 3; n++) expect(sender.send(payload(n)).baseOffset).toBe(BigInt(n))
  await partition.flush()
  expect(await pollOffset(partition, 0n)).toEqual(lines(0, end + 3))
  await partition.close()
  const again = await open(disk)
  expect(again.host.notes).toEqual([])
  expect(await pollOffset(again.partition, 0n)).toEqual(lines(0, end + 3))
  await again.partition.close()
}

describe('boot after a clean stop', () => {
  it('gives the same chain, counters and messages, and idle restarts change no file', async () => {
    const disk = await build(7, { ...EAGER, segmentSizeBytes: 3 * BATCH })
    const image = disk.snapshot()
    for (let n = 0; n < 3; n++) {
      const { partition, host } = await open(disk, { ...EAGER, segmentSizeBytes: 3 * BATCH })
      const info = partition.info()
      expect(info.segments.map(segment => segment.startOffset)).toEqual([0n, 3n, 6n])
      expect(info).toMatchObject({ nextOffset: 7n, visibleEnd: 7n, persistedEnd: 7n })
      expect(info.flusher.persistedBytes).toBe(BigInt(7 * BATCH))
      expect(await pollOffset(partition, 0n)).toEqual(lines(0, 7))
      expect(host.notes).toEqual([])
      await partition.close()
      equalImages(image, disk.snapshot())
    }
  })

  it('keeps what was below the thresholds when it was flushed before', async () => {
    const disk = new MemoryDisk()
    const first = await open(disk, {})
    first.sender.send('a', 'b')
    first.sender.send('c')
    await first.partition.flush()
    await first.partition.close()
    const { partition, sender } = await open(disk, {})
    expect(await pollOffset(partition, 0n)).toEqual(['0:a', '1:b', '2:c'])
    expect(sender.send('d').baseOffset).toBe(3n)
  })

  it('PL-37 gives the second message offset 1', async () => {
    const { partition, sender } = await open(await build(1))
    expect(sender.send('x').baseOffset).toBe(1n)
    await partition.close()
  })

  it('writes purge.gen first of all when it builds, and refuses a short one with every byte untouched', async () => {
    const disk = await build(1)
    const file = `${DIRECTORY}/purge.gen`
    expect([...must(disk.peek(file))]).toEqual([...new Uint8Array(8), 7, 0, 0, 0, 0, 0, 0, 0])
    cut(disk, file, 9)
    const before = disk.snapshot()
    await expect(open(disk)).rejects.toMatchObject({ refusal: 'PurgeGenerationTorn' })
    equalImages(before, disk.snapshot())
  })

  it('sets the directory of a deleted incarnation aside whole, and touches none of a later one', async () => {
    const disk = await build(2)
    const host = new TestHost(disk)
    await expect(openPartition({ ...testOptions(host, EAGER), createdRevision: 6n })).rejects.toMatchObject({
      refusal: 'IncarnationAhead',
    })
    const partition = await openPartition({ ...testOptions(host, EAGER), createdRevision: 8n })
    expect(partition.info().nextOffset).toBe(0n)
    expect(size(disk, `${DIRECTORY}.fenced.0/${LOG.slice(DIRECTORY.length + 1)}`)).toBe(2 * BATCH)
  })

  it('a frontier from the superblock raises the counter, and never lowers it', async () => {
    for (const [frontier, next] of [
      [1n, 3n],
      [40n, 40n],
    ] as const) {
      const host = new TestHost(await build(3))
      const partition = await openPartition({
        ...testOptions(host, EAGER),
        superblock: await TestSuperblock.saying(host.disk, frontier, 0n),
      })
      expect(partition.info().nextOffset).toBe(next)
    }
  })
})

describe('a torn log tail', () => {
  it.each(['PL-16', 'PL-18', 'PL-40'])(
    '%s G15 is cut to the last whole batch for a cut at every byte of the last two, and the log goes on',
    async () => {
      const whole = await build(4)
      const image = whole.snapshot()
      for (let length = 2 * BATCH; length <= 4 * BATCH; length++) {
        const disk = new MemoryDisk()
        disk.restore(image)
        cut(disk, LOG, length)
        const kept = Math.floor(length / BATCH)
        const { partition, host } = await open(disk)
        expect(size(disk, LOG), `cut at ${length}`).toBe(kept * BATCH)
        expect(size(disk, INDEX)).toBe(kept * 24)
        expect(partition.info()).toMatchObject({ nextOffset: BigInt(kept), visibleEnd: BigInt(kept) })
        const torn = host.notes.find(note => note.kind === 'log_truncated')
        if (length % BATCH === 0) expect(torn).toBeUndefined()
        else {
          expect(torn?.data).toMatchObject({ bytes: length % BATCH, position: kept * BATCH, first: String(kept) })
          if (length % BATCH >= 256) expect(torn?.data.claimedLast).toBe(String(kept))
        }
        if (kept < 4) expect(step(partition, 'floor_index')?.verdict).toBe('index-floor')
        if (length % 61 === 0 || length % BATCH === 0) await goesOn(disk, partition, kept)
      }
    },
  )

  it('PL-08 G16 forty bytes of noise, 300 kB of zeros and a zeroed last sector are cut', async () => {
    for (const damage of ['noise', 'zeros', 'sector'] as const) {
      const disk = await build(4)
      if (damage === 'noise') extend(disk, LOG, new Uint8Array(40).fill(0xa5))
      else if (damage === 'zeros') extend(disk, LOG, new Uint8Array(300_000))
      else disk.put(LOG, must(disk.peek(LOG)).fill(0, 4 * BATCH - 100))
      const { partition } = await open(disk)
      const kept = damage === 'sector' ? 3 : 4
      expect(size(disk, LOG)).toBe(kept * BATCH)
      await goesOn(disk, partition, kept)
    }
  })

  it('PL-16 keeps the whole batches of a chunk whose later one is torn', async () => {
    const disk = new MemoryDisk()
    const first = await open(disk, { messagesRequiredToSave: 4 })
    for (let n = 0; n < 4; n++) first.sender.send(payload(n))
    await first.partition.flush()
    await first.partition.close()
    expect(size(disk, INDEX)).toBe(24)
    cut(disk, LOG, 2 * BATCH + 100)
    const { partition } = await open(disk)
    expect(size(disk, INDEX)).toBe(24)
    await goesOn(disk, partition, 2)
  })

  it('PL-12 counts only what it walked', async () => {
    const disk = await build(5)
    cut(disk, LOG, 3 * BATCH + 7)
    const { partition } = await open(disk)
    expect(step(partition, 'walk')?.detail).toMatchObject({ messages: '3', walkedBytes: 3 * BATCH, end: '3' })
  })

  it('PL-25 a stale header is damage: cut at the end, refused in the middle', async () => {
    const disk = await build(3)
    flip(disk, LOG, 2 * BATCH + 9)
    const { partition } = await open(disk)
    await goesOn(disk, partition, 2)
    const middle = await build(3)
    flip(middle, LOG, BATCH + 9)
    expect((await refusal(middle)).refusal).toBe('InteriorDamage')
  })
})

describe('damage with whole batches behind it', () => {
  for (const [title, damage] of [
    ['PL-10 a flipped payload byte', (disk: MemoryDisk) => flip(disk, LOG, 2 * BATCH + 256 + 50)],
    [
      'PL-13 a flipped payload byte with a whole batch behind it',
      (disk: MemoryDisk) => flip(disk, LOG, 2 * BATCH + 256 + 51),
    ],
    ['a flipped frame header byte', (disk: MemoryDisk) => flip(disk, LOG, 2 * BATCH + 256 + 20)],
    ['a flipped length', (disk: MemoryDisk) => flip(disk, LOG, 2 * BATCH + 33)],
    [
      'PL-11 a page of zeros',
      (disk: MemoryDisk) => disk.put(LOG, must(disk.peek(LOG)).fill(0, 2 * BATCH - 40, 2 * BATCH + 300)),
    ],
    [
      'PL-09 rot below a torn tail',
      (disk: MemoryDisk) => {
        flip(disk, LOG, 2 * BATCH + 256 + 50)
        cut(disk, LOG, 5 * BATCH - 10)
      },
    ],
  ] as const) {
    it(`${title} refuses, naming both positions, and changes no byte`, async () => {
      const disk = await build(5)
      damage(disk)
      const refused = await refusal(disk)
      expect(refused).toMatchObject({ refusal: 'InteriorDamage', context: { path: LOG } })
      expect(refused.message).toMatch(/whole batch follows at byte \d+/)
    })
  }

  it('PL-17 also inside one chunk', async () => {
    const disk = new MemoryDisk()
    const first = await open(disk, { messagesRequiredToSave: 4 })
    for (let n = 0; n < 4; n++) first.sender.send(payload(n))
    await first.partition.flush()
    await first.partition.close()
    flip(disk, LOG, 2 * BATCH + 300)
    expect((await refusal(disk)).refusal).toBe('InteriorDamage')
  })

  it('PL-14 a tail crafted to exhaust the search refuses as unverified', async () => {
    const disk = await build(2)
    const bytes = new Uint8Array(256 * 1024)
    const view = new DataView(bytes.buffer)
    for (let at = 0; at + 256 <= bytes.length; at += 256) {
      view.setBigUint64(at + 8, 1000n, true)
      view.setBigUint64(at + 32, BigInt(bytes.length - at), true)
      view.setUint32(at + 48, 1, true)
    }
    extend(disk, LOG, bytes)
    expect((await refusal(disk)).refusal).toBe('UnverifiedResidue')
  })

  it('PL-25 PL-45 verified batches that contradict the chain refuse by what they are', async () => {
    for (const [code, batch] of [
      ['OffsetDiscontinuity', stamped(1002n, ['jump'])],
      ['OffsetDiscontinuity', stamped(1n, ['again'])],
      ['ForeignBatch', stamped(2n, ['other'], 4)],
    ] as const) {
      const disk = await build(2)
      extend(disk, LOG, batch)
      expect(await refusal(disk)).toMatchObject({ refusal: code, context: { position: 2 * BATCH } })
    }
  })

  it('PL-45 an empty batch is damage, and odd names are none of our business', async () => {
    const empty = new Uint8Array(256)
    new DataView(empty.buffer).setBigUint64(0, BigInt(KEY.partition), true)
    new DataView(empty.buffer).setBigUint64(32, 256n, true)
    stampBatch(hash, empty, 0, { partitionId: KEY.partition, baseOffset: Offset(2n), baseTimestamp: Micros(9n) })
    const disk = await build(2)
    extend(disk, LOG, empty)
    const odd = ['5.log', '5.index', '000000000000000000001.log'].map(name => `${DIRECTORY}/${name}`)
    for (const name of odd) disk.put(name, text('mine'))
    const { partition, host } = await open(disk)
    expect(size(disk, LOG)).toBe(2 * BATCH)
    expect(host.notes.filter(note => note.kind === 'odd_name').map(note => note.data.path)).toEqual([...odd].sort())
    for (const name of odd) expect(size(disk, name)).toBe(4)
    await partition.close()
    const behind = await build(2)
    extend(behind, LOG, new Uint8Array([...empty, ...stamped(3n, ['good'])]))
    expect((await refusal(behind)).refusal).toBe('InteriorDamage')
  })
})

describe('the index', () => {
  it.each(['PL-01', 'PL-02'])('%s is floored to what the log still holds', async () => {
    for (const kept of [1, 4, 8]) {
      const disk = await build(9)
      cut(disk, LOG, kept * BATCH)
      const { partition, host } = await open(disk)
      expect(size(disk, LOG)).toBe(kept * BATCH)
      expect(size(disk, INDEX)).toBe(24 * kept)
      expect(host.notes).toEqual([
        {
          kind: 'index_floored',
          cls: 'fact',
          data: { path: INDEX, entries: 9, dropped: 9 - kept, bytes: 24 * kept, logBytes: kept * BATCH },
        },
      ])
      await goesOn(disk, partition, kept)
    }
  })

  it.each(['PL-04', 'PL-05', 'PL-42'])(
    '%s G18 G26 is dropped and rebuilt when it contradicts itself or the log, not cut before the wrong entry',
    async () => {
      const swap = (bytes: Uint8Array, a: number, b: number) => {
        const copy = bytes.slice()
        copy.set(bytes.subarray(a * 24, a * 24 + 24), b * 24)
        copy.set(bytes.subarray(b * 24, b * 24 + 24), a * 24)
        return copy
      }
      const cases: [string, string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array][] = [
        ['swapped entries', 'contradictory', bytes => swap(bytes, 1, 2)],
        ['a duplicate', 'contradictory', bytes => new Uint8Array([...bytes.subarray(0, 48), ...bytes.subarray(24)])],
        ['a zero entry in the middle', 'contradictory', bytes => bytes.fill(0, 48, 72)],
        ['a head that is not the segment', 'contradictory', bytes => bytes.subarray(24)],
        ['entries of 16 bytes', 'contradictory', bytes => bytes.subarray(8, 56)],
        [
          'ten entries past the end',
          'contradictory',
          () =>
            new Uint8Array(
              Array.from({ length: 10 }, (_, n) => [...entry(BigInt(n + 9), 1n, BigInt(90_000 + n))]).flat(),
            ),
        ],
        [
          'a middle entry of another time',
          'disproved',
          bytes => {
            new DataView(bytes.buffer).setBigUint64(2 * 24 + 8, 77n, true)
            return bytes
          },
        ],
        [
          'a middle entry inside a batch',
          'disproved',
          bytes => {
            new DataView(bytes.buffer).setBigUint64(2 * 24 + 16, BigInt(2 * BATCH + 8), true)
            return bytes
          },
        ],
      ]
      for (const [title, reason, damage] of cases) {
        const disk = await build(5)
        disk.put(INDEX, damage(must(disk.peek(INDEX))))
        const { partition } = await open(disk)
        expect(step(partition, 'index')?.detail, title).toMatchObject({ reason, rebuilt: 1 })
        expect(step(partition, 'drop_index')?.verdict, title).toBe('index-drop')
        expect([...must(disk.peek(INDEX))], title).toEqual([...entry(0n, 1_700_000_000_001_001n, 0n)])
        await goesOn(disk, partition, 5)
      }
    },
  )

  it('PL-04 is dropped when only its genuine head is left unproven', async () => {
    const disk = await build(3)
    disk.put(INDEX, new Uint8Array([...entry(0n, 5n, 0n), ...entry(7n, 6n, 100_000n)]))
    const { partition } = await open(disk)
    expect(step(partition, 'index')?.detail.reason).toBe('unproven')
    await goesOn(disk, partition, 3)
  })

  it.each(['PL-06', 'PL-24'])(
    '%s G20 is rebuilt when it is missing or empty, at the strides of the format, in every segment',
    async () => {
      const disk = new MemoryDisk()
      const settings = { ...EAGER, segmentSizeBytes: 200_000 }
      const first = await open(disk, settings)
      for (let n = 0; n < 30; n++) first.sender.send(new Uint8Array(20_000).fill(n))
      await first.partition.flush()
      await until(() => first.partition.info().flusher.state === 'idle')
      await first.partition.close()
      const starts = first.partition.info().segments.map(segment => Number(segment.startOffset))
      expect(starts.length).toBeGreaterThan(2)
      await disk.unlink(path(starts[0]!, 'index'))
      disk.put(path(starts[1]!, 'index'), new Uint8Array(0))
      const { partition, host } = await open(disk, settings)
      expect(host.kinds().filter(kind => kind === 'index_rebuilt').length).toBe(2)
      for (const start of starts.slice(0, 2)) {
        const { entries } = must(await partition.indexEntries(Offset(BigInt(start))))
        const log = must(disk.peek(path(start, 'log')))
        expect(entries[0]).toMatchObject({ offset: BigInt(start), position: 0 })
        let position = 0
        let offset = BigInt(start)
        let previous = -65_536
        const expected = []
        while (position < log.length) {
          if (position - previous >= 65_536) {
            expected.push({ offset, position })
            previous = position
          }
          position += batchLengthAt(log, position)
          offset++
        }
        expect(entries.map(({ offset, position }) => ({ offset, position }))).toEqual(expected)
      }
      const all = await partition.poll({ kind: 'first' }, 100, 1 << 30)
      expect(all.messages).toBe(30)
      await partition.close()
      const again = await open(disk, settings)
      expect(again.host.notes).toEqual([])
    },
  )

  it('PL-07 loses a torn last entry on disk before the first append', async () => {
    const disk = await build(3)
    extend(disk, INDEX, new Uint8Array(10).fill(0xa5))
    const { partition } = await open(disk)
    expect(size(disk, INDEX)).toBe(72)
    await goesOn(disk, partition, 3)
  })

  it('PL-15 may be far longer than its log: the boot breathes, floors it and goes on', async () => {
    const disk = await build(1)
    const genuine = must(disk.peek(INDEX))
    const count = 400_000
    const bytes = new Uint8Array((count + 1) * 24)
    bytes.set(genuine)
    const view = new DataView(bytes.buffer)
    for (let n = 1; n <= count; n++) {
      view.setBigUint64(n * 24, BigInt(n), true)
      view.setBigUint64(n * 24 + 16, BigInt(n) * 10_000n, true)
    }
    disk.put(INDEX, bytes)
    const host = new TestHost(disk)
    let breaths = 0
    const { yield: breathe } = host.scheduler
    host.scheduler.yield = () => {
      breaths++
      return breathe()
    }
    const partition = await openPartition(testOptions(host, EAGER))
    expect(breaths).toBeGreaterThan(5)
    expect(size(disk, INDEX)).toBe(24)
    await goesOn(disk, partition, 1)
  })

  it('PL-19 beside an empty log is emptied, and no message appears', async () => {
    const disk = await build(3)
    disk.put(LOG, new Uint8Array(0))
    const { partition } = await open(disk)
    expect(size(disk, INDEX)).toBe(0)
    expect(partition.info()).toMatchObject({ nextOffset: 0n, visibleEnd: 0n })
    expect(await pollOffset(partition, 0n)).toEqual([])
    await goesOn(disk, partition, 0)
  })
})

describe('the chain', () => {
  const SMALL = { ...EAGER, segmentSizeBytes: 2 * BATCH }

  it.each(['PL-22', 'PL-23', 'PL-41'])(
    '%s refuses a missing and an empty middle segment, and keeps the traces',
    async () => {
      const hole = await build(6, SMALL)
      await hole.unlink(path(2, 'log'))
      hole.put(`${DIRECTORY}/x.staging`, text('scratch'))
      expect(await refusal(hole, SMALL)).toMatchObject({ refusal: 'Hole', context: { expected: '2', actual: '4' } })
      expect(hole.peek(path(2, 'index'))).toBeDefined()
      const empty = await build(6, SMALL)
      empty.put(path(2, 'log'), new Uint8Array(0))
      expect((await refusal(empty, SMALL)).refusal).toBe('EmptyNonTailSegment')
      const torn = await build(6, SMALL)
      cut(torn, path(2, 'log'), BATCH + 5)
      expect((await refusal(torn, SMALL)).refusal).toBe('Hole')
    },
  )

  it('an anchor admits exactly the gap that it names', async () => {
    const gap = async () => {
      const disk = await build(2)
      const log = stamped(10n, [payload(10)])
      disk.put(path(10, 'log'), log)
      disk.put(path(10, 'index'), entry(10n, 9n, 0n))
      return disk
    }
    const anchor = { plantedStart: 10n, sealedStart: 0n, sealedEnd: 1n }
    const admitted = await gap()
    admitted.put(path(10, 'anchor'), encodeAnchor(hash, anchor))
    const { partition, host } = await open(admitted)
    expect(host.kinds()).toEqual(['gap_admitted'])
    expect(await pollOffset(partition, 0n)).toEqual([...lines(0, 2), '10:m010'])
    for (const wrong of [{ plantedStart: 11n }, { sealedStart: 1n }, { sealedEnd: 2n }, 'damaged', 'long'] as const) {
      const disk = await gap()
      const bytes = encodeAnchor(hash, typeof wrong === 'string' ? anchor : { ...anchor, ...wrong })
      if (wrong === 'damaged') bytes[20]! ^= 1
      disk.put(path(10, 'anchor'), wrong === 'long' ? new Uint8Array([...bytes, 0]) : bytes)
      expect((await refusal(disk)).refusal, String(wrong)).toBe('Hole')
    }
  })

  it('a file that changed since it was walked is not written to', async () => {
    const disk = await build(3)
    const meddled = Object.create(disk) as MemoryDisk
    meddled.open = async (file, mode) => {
      const opened = await disk.open(file, mode)
      if (file === LOG && mode === 'write') await opened.write(3 * BATCH, [text('somebody else')])
      return opened
    }
    await expect(open(meddled)).rejects.toMatchObject({ refusal: 'StorageSizeMismatch' })
  })

  it('a refusal in one segment does not keep the others from being walked and reported', async () => {
    const disk = await build(6, SMALL)
    flip(disk, path(0, 'log'), 300)
    await disk.unlink(path(2, 'index'))
    const host = new TestHost(disk)
    await expect(openPartition(testOptions(host, SMALL))).rejects.toMatchObject({ refusal: 'InteriorDamage' })
    expect(disk.peek(`${path(2, 'index')}.staging`)).toBeUndefined()
  })

  it.each(['PL-20', 'PL-21'])('%s sweeps an orphan that claims nothing new, and scratch', async () => {
    const disk = await build(6, SMALL)
    await disk.unlink(path(0, 'log'))
    disk.put(`${path(8, 'log')}.staging`, text('scratch'))
    const { partition, host } = await open(disk, SMALL)
    expect(disk.peek(path(0, 'index'))).toBeUndefined()
    expect(disk.peek(`${path(8, 'log')}.staging`)).toBeUndefined()
    expect(host.notes).toEqual([])
    expect(await pollOffset(partition, 0n)).toEqual(lines(2, 6))
  })

  it('PL-46 an orphan that claims more keeps its offsets from being given out again', async () => {
    const disk = await build(6, SMALL)
    disk.put(
      path(6, 'index'),
      new Uint8Array([...entry(6n, 1n, 0n), ...entry(50n, 1n, 9000n), ...entry(1n << 40n, 1n, 9999n)]),
    )
    await disk.unlink(path(6, 'log'))
    const first = await Life.open(disk, { settings: SMALL })
    expect(first.host.notes.map(({ kind, data }) => [kind, data.first ?? data.claim, data.last])).toEqual([
      ['orphan_set_aside', '51', undefined],
      ['missing_range', '6', '50'],
      ['reanchored', '6', '50'],
    ])
    expect(first.partition.info().nextOffset).toBe(51n)
    expect(first.superblock.recorded()).toEqual({ frontier: 51n, reserved: 51n })
    expect(disk.peek(`${DIRECTORY}.fenced.0/${path(6, 'index').slice(DIRECTORY.length + 1)}`)).toBeDefined()
    await first.partition.close()
    const second = await Life.open(disk, { settings: SMALL })
    expect(await second.send('after')).toBe(51n)
    await second.stop()
    const { partition } = await Life.open(disk, { settings: SMALL })
    expect(await pollOffset(partition, 5n)).toEqual(['5:m005', '51:after'])
    expect(disk.peek(path(6, 'index'))).toBeUndefined()
  })

  it('PL-44 a lone log of noise is set aside and an empty segment takes its place; two refuse', async () => {
    const disk = new MemoryDisk()
    disk.put(LOG, new Uint8Array(5000).fill(0xa5))
    disk.put(INDEX, new Uint8Array(10))
    const { partition, host } = await open(disk)
    expect(host.kinds()).toEqual(['segment_fenced'])
    expect(size(disk, `${DIRECTORY}.fenced.0/${LOG.slice(DIRECTORY.length + 1)}`)).toBe(5000)
    await goesOn(disk, partition, 0)
    const two = new MemoryDisk()
    for (const start of [0, 5]) two.put(path(start, 'log'), new Uint8Array(5000).fill(0xa5))
    for (let boot = 0; boot < 2; boot++) expect((await refusal(two)).refusal).toBe('EmptyNonTailSegment')
  })

  it('OR-28 the name of an empty tail is the next offset', async () => {
    const disk = new MemoryDisk()
    disk.put(path(176, 'log'), new Uint8Array(0))
    const { partition, sender } = await open(disk)
    expect(partition.info()).toMatchObject({ nextOffset: 176n, visibleEnd: 176n })
    expect(sender.send('x').baseOffset).toBe(176n)
    await partition.flush()
    await partition.close()
    expect((await open(disk)).partition.info().nextOffset).toBe(177n)
  })

  it('a disk that fails is no verdict: the error is the disk’s, and nothing is changed', async () => {
    const disk = await build(3)
    const before = disk.snapshot()
    const failing = Object.create(disk) as MemoryDisk
    failing.stat = file => (file.endsWith('.index') ? Promise.reject(new Error('EIO')) : disk.stat(file))
    await expect(open(failing)).rejects.toThrow('EIO')
    equalImages(before, disk.snapshot())
  })
})
