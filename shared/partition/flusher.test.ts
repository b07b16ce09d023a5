import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Micros, Offset, Op } from '../bytes/units.ts'
import { stampBatch } from '../protocol/batch.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import type { Partition, PartitionSettings, PersistMode } from './contract.ts'
import { openPartition } from './open.ts'
import {
  DIRECTORY,
  EAGER,
  must,
  pollOffset,
  prepare,
  producedBatch,
  Sender,
  settle,
  TestHost,
  testOptions,
  text,
  until,
} from './testing/harness.ts'
import { SlowDisk } from './testing/slow-disk.ts'

const MIB = 1024 * 1024
const log = (start: bigint) => `${DIRECTORY}/${start.toString().padStart(20, '0')}.log`
const index = (start: bigint) => `${DIRECTORY}/${start.toString().padStart(20, '0')}.index`

async function open(disk: MemoryDisk | SlowDisk, settings: Partial<PartitionSettings> = {}) {
  const host = new TestHost(disk)
  const partition = await openPartition(testOptions(host, settings))
  return { host, partition, sender: new Sender(partition) }
}

const marks = (partition: Partition) => {
  const { persistedBytes, inFlightBytes, journaledBytes } = partition.info().flusher
  return { persistedBytes, inFlightBytes, journaledBytes }
}

describe('flush thresholds', () => {
  it('keeps committed batches in memory below them, and writes the whole committed prefix when the count is reached', async () => {
    const disk = new MemoryDisk()
    const { partition, sender } = await open(disk, { messagesRequiredToSave: 4 })
    sender.send('a')
    sender.send('b', 'c')
    await settle()
    expect(must(disk.peek(log(0n))).length).toBe(0)
    sender.send('d')
    await settle()
    const info = partition.info()
    expect(must(disk.peek(log(0n))).length).toBe(info.segments[0]!.sizeBytes)
    expect(info.persistedEnd).toBe(4n)
    expect(info.flusher).toMatchObject({ rounds: 1, batches: 3, state: 'idle' })
    expect(must(disk.peek(index(0n))).length).toBe(24)
    expect(info.journal).toEqual({ batches: 0, messages: 0, bytes: 0 })
  })

  it('counts the uncommitted tail towards them and never writes it', async () => {
    const disk = new MemoryDisk()
    const { partition, sender } = await open(disk, { messagesRequiredToSave: 3 })
    const first = sender.append([text('a')])
    const second = sender.append([text('b')])
    sender.append([text('c')])
    partition.apply(first)
    await settle()
    expect(partition.info().persistedEnd).toBe(1n)
    expect(partition.info().journal).toMatchObject({ batches: 2, firstOffset: 1n, lastOffset: 2n })
    partition.apply(second)
    await partition.flush()
    expect(partition.info().persistedEnd).toBe(2n)
    expect(await pollOffset(partition, 0n)).toEqual(['0:a', '1:b'])
  })

  it('writes when the bytes are reached', async () => {
    const { partition, sender } = await open(new MemoryDisk(), { sizeRequiredToSaveBytes: 2000 })
    sender.send(new Uint8Array(600))
    await settle()
    expect(partition.info().persistedEnd).toBe(0n)
    sender.send(new Uint8Array(1200))
    await settle()
    expect(partition.info().persistedEnd).toBe(2n)
  })

  it('groups what commits while a round is in flight into the next one, with one index entry for it', async () => {
    const disk = new MemoryDisk()
    const { partition, sender } = await open(new SlowDisk(disk), EAGER)
    for (let n = 0; n < 10; n++) sender.send(`m${n}`)
    const during = marks(partition)
    expect(during.persistedBytes).toBe(0n)
    expect(during.inFlightBytes).toBe(305n + 1n)
    expect(during.journaledBytes).toBe(3060n)
    await partition.flush()
    expect(partition.info().flusher).toMatchObject({ rounds: 2, batches: 10 })
    expect(must(disk.peek(index(0n))).length).toBe(48)
    expect(marks(partition)).toEqual({ persistedBytes: 3060n, inFlightBytes: 3060n, journaledBytes: 3060n })
  })

  it('syncs both files of each round when the topic asks for it, and none otherwise', async () => {
    for (const enforceFsync of [true, false]) {
      const disk = new SlowDisk(new MemoryDisk())
      const { partition, sender } = await open(disk, { enforceFsync, messagesRequiredToSave: 1 })
      sender.send('a')
      await partition.flush()
      expect([disk.count('datasync', '.log'), disk.count('datasync', '.index')]).toEqual(enforceFsync ? [1, 1] : [0, 0])
    }
  })
})

describe('an eager topic', () => {
  it('shows a message only once it is on disk, and says when', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const { partition, sender } = await open(disk, EAGER)
    let release = () => {}
    disk.gate = new Promise(resolve => {
      release = resolve
    })
    expect(sender.send('a').baseOffset).toBe(0n)
    const told: string[] = []
    partition.whenPersisted(Op(1n), () => told.push('a'))
    await settle()
    expect(partition.info().visibleEnd).toBe(0n)
    expect(await pollOffset(partition, 0n)).toEqual([])
    expect(told).toEqual([])
    release()
    await partition.flush()
    expect(told).toEqual(['a'])
    expect(partition.info().visibleEnd).toBe(1n)
    expect(await pollOffset(partition, 0n)).toEqual(['0:a'])
    partition.whenPersisted(Op(1n), () => told.push('again'))
    expect(told).toEqual(['a', 'again'])
  })
})

describe('rotation', () => {
  it('ends a segment with the first batch whose end reaches its size, and syncs the directory for the new one', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const { partition, sender } = await open(disk, { segmentSizeBytes: MIB, messagesRequiredToSave: 1 })
    const synced = disk.count('syncDirectory', DIRECTORY)
    for (let n = 0; n < 4; n++) sender.send(new Uint8Array(300_000))
    await partition.flush()
    await until(() => partition.info().flusher.state === 'idle')
    const { segments } = partition.info()
    expect(
      segments.map(({ startOffset, endOffset, sealed, empty }) => ({ startOffset, endOffset, sealed, empty })),
    ).toEqual([
      { startOffset: 0n, endOffset: 3n, sealed: true, empty: false },
      { startOffset: 4n, endOffset: 4n, sealed: false, empty: true },
    ])
    expect(segments[0]!.sizeBytes).toBe(4 * 300_304)
    expect(disk.count('syncDirectory', DIRECTORY)).toBe(synced + 1)
    sender.send('next')
    await partition.flush()
    expect(await pollOffset(partition, 4n)).toEqual(['4:next'])
  })

  it('gives equal .log files whatever the grouping', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 400_000 }), flush: fc.boolean(), wait: fc.boolean() }), {
          minLength: 5,
          maxLength: 30,
        }),
        fc.integer({ min: 1, max: 5000 }),
        fc.bigInt(1n, 1_000_000n),
        async (batches, threshold, seed) => {
          const images = []
          for (const lazy of [false, true]) {
            const disk = new MemoryDisk()
            const { partition, sender, host } = await open(lazy ? new SlowDisk(disk, seed) : disk, {
              segmentSizeBytes: MIB,
              messagesRequiredToSave: lazy ? threshold : 1,
            })
            for (const { bytes, flush, wait } of batches) {
              sender.send(new Uint8Array(bytes).fill(bytes % 251))
              if (lazy && flush) void partition.flush()
              if (wait) await settle()
            }
            await partition.flush()
            await until(() => partition.info().flusher.state === 'idle')
            await partition.close()
            expect(host.failures).toEqual([])
            const logs = [...disk.snapshot()].filter(([path]) => path.endsWith('.log'))
            images.push(logs.map(([path, bytes]) => [path, Buffer.from(bytes!).toString('base64')]))
          }
          expect(images[0]).toEqual(images[1])
        },
      ),
      { numRuns: 30 },
    )
  })

  it('plants a segment of its own, behind an anchor, for a batch past a gap', async () => {
    const disk = new MemoryDisk()
    const { partition, sender, host } = await open(disk)
    sender.send('a', 'b')
    const op = ++sender.op
    const body = producedBatch([text('far')])
    stampBatch(host.hash, body, 0, { partitionId: 3, baseOffset: Offset(100n), baseTimestamp: Micros(5n) })
    const { header, frame } = prepare(op, body)
    expect(partition.append('repair', header, frame).ok).toBe(true)
    partition.apply(header)
    await partition.flush()
    expect(partition.info().segments.map(segment => segment.startOffset)).toEqual([0n, 100n])
    expect(host.notes.find(note => note.kind === 'gap_planted')?.data).toEqual({
      first: '2',
      last: '99',
      segment: '100',
    })
    expect(await pollOffset(partition, 0n)).toEqual(['0:a', '1:b', '100:far'])
    await partition.close()
    const again = await open(disk)
    expect(again.partition.info()).toMatchObject({ nextOffset: 101n, visibleEnd: 101n })
    expect(await pollOffset(again.partition, 50n)).toEqual(['100:far'])
  })
})

describe('a failed persist', () => {
  for (const [title, faults] of [
    ['PL-26 ends the process and moves no cursor when the index fails', [{ operation: 'datasync', ending: '.index' }]],
    ['PL-27 ends the process and moves no cursor when the log fails', [{ operation: 'write', ending: '.log' }]],
    [
      'PL-30 the boot is the retry, also when both halves failed',
      [
        { operation: 'write', ending: '.log' },
        { operation: 'datasync', ending: '.index' },
      ],
    ],
  ] as const) {
    it(title, async () => {
      const memory = new MemoryDisk()
      const disk = new SlowDisk(memory)
      const { partition, sender, host } = await open(disk, EAGER)
      sender.send('a')
      await partition.flush()
      const before = partition.info()
      disk.faults.push(...faults)
      sender.send('b')
      let told = false
      partition.whenPersisted(Op(2n), () => {
        told = true
      })
      await until(() => host.failures.length > 0)
      expect(host.failures.map(error => error.code)).toEqual(['PersistFailed'])
      expect(host.failures[0]!.message).toContain(faults[0].ending.slice(1))
      expect(told).toBe(false)
      const after = partition.info()
      expect(after.segments).toEqual(before.segments)
      expect(after.visibleEnd).toBe(1n)
      // PL-30: the boot is the retry
      const again = await open(memory, EAGER)
      expect((await pollOffset(again.partition, 0n))[0]).toBe('0:a')
      again.sender.send('c')
      await again.partition.flush()
      const offsets = (await pollOffset(again.partition, 0n)).map(message => message.split(':')[0])
      expect(offsets).toEqual(offsets.map((_, n) => String(n)))
    })
  }

  it('PL-28 surfaces only after both halves have settled', async () => {
    const disk = new SlowDisk(new MemoryDisk(), 1n, 0)
    const { sender, host } = await open(disk, EAGER)
    disk.faults.push({ operation: 'write', ending: '.index' }, { operation: 'write', ending: '.log', afterTurns: 6 })
    let runningAtFailure: number | undefined
    const fail = host.persistFailed.bind(host)
    host.persistFailed = error => {
      runningAtFailure = disk.running
      return fail(error)
    }
    sender.send('a')
    await until(() => host.failures.length > 0)
    expect(runningAtFailure).toBe(0)
  })

  it('ends the process too when the next segment cannot be created', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const { sender, host } = await open(disk, { ...EAGER, segmentSizeBytes: MIB })
    disk.faults.push({ operation: 'open', ending: '1.log' })
    sender.send(new Uint8Array(MIB))
    await until(() => host.failures.length > 0)
    expect(host.failures.map(error => error.code)).toEqual(['PersistFailed'])
  })

  it('is what a batch below the end of the log leads to, and no byte of it is written', async () => {
    const disk = new MemoryDisk()
    const { partition, sender, host } = await open(disk)
    sender.send('a', 'b')
    sender.send('c')
    await partition.flush()
    const before = must(disk.peek(log(0n)))
    // not on disk at boot, yet below the end: the group and this log have diverged
    const body = producedBatch([text('x')])
    stampBatch(host.hash, body, 0, { partitionId: 3, baseOffset: Offset(1n), baseTimestamp: Micros(5n) })
    const { header, frame } = prepare(3n, body)
    expect(partition.append('repair', header, frame).ok).toBe(true)
    partition.apply(header)
    await expect(partition.flush()).rejects.toThrow('starts at offset 1')
    expect(host.failures.map(error => error.code)).toEqual(['LogDiverged'])
    expect(must(disk.peek(log(0n)))).toEqual(before)
  })
})

describe('close', () => {
  it('waits for the round in flight, and a poll after it is refused', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const { partition, sender } = await open(disk, EAGER)
    sender.send('a')
    expect(disk.running).toBeGreaterThan(0)
    await partition.close()
    expect(disk.running).toBe(0)
    await expect(partition.poll({ kind: 'first' }, 1, 1000)).rejects.toThrow('closed')
  })
})

describe('the modes that are there to be measured', () => {
  const TEN = Array.from({ length: 10 }, (_, n) => `m${n}`)

  async function rounds(persist: PersistMode) {
    const disk = new SlowDisk(new MemoryDisk(), 3n)
    const host = new TestHost(disk)
    const partition = await openPartition({ ...testOptions(host, EAGER), persist })
    const sender = new Sender(partition)
    for (const message of TEN) sender.send(message)
    await partition.flush()
    expect(await pollOffset(partition, 0n, 10)).toEqual(TEN.map((message, offset) => `${offset}:${message}`))
    const order = disk.log
      .filter(({ operation, path }) => operation !== 'open' && /\.(log|index)$/.test(path))
      .map(({ operation, path }) => `${operation} ${path.split('.').at(-1)}`)
    return { order, syncs: disk.count('datasync', '.log'), ...partition.info().flusher }
  }

  it('serial: the index is not touched before the log is synced; both sync as often as when they go together', async () => {
    const serial = await rounds({ halves: 'serial', groupCommit: true })
    const round = ['write log', 'datasync log', 'write index', 'datasync index']
    expect(serial.order.slice(0, 8)).toEqual([...round, ...round])
    const together = await rounds({ halves: 'concurrent', groupCommit: true })
    expect(together.order.slice(0, 2).sort()).toEqual(['write index', 'write log'])
    expect(together.syncs).toBe(serial.syncs)
  })

  it('without group commit each batch has a round of its own', async () => {
    const alone = await rounds({ halves: 'concurrent', groupCommit: false })
    expect(alone).toMatchObject({ rounds: 10, batches: 10, syncs: 10 })
    const together = await rounds({ halves: 'concurrent', groupCommit: true })
    expect(together).toMatchObject({ rounds: 2, batches: 10, syncs: 2 })
  })
})
