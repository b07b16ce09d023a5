import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Micros, Offset } from '../bytes/units.ts'
import { decodeBatch } from '../protocol/batch.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import type { Partition, PartitionSettings, PollStart } from './contract.ts'
import { openPartition } from './open.ts'
import {
  DIRECTORY,
  EAGER,
  hash,
  messagesOf,
  must,
  pollOffset,
  Sender,
  settle,
  TestHost,
  testOptions,
  text,
  until,
} from './testing/harness.ts'
import { SlowDisk } from './testing/slow-disk.ts'

const name = (start: bigint, kind: string) => `${DIRECTORY}/${start.toString().padStart(20, '0')}.${kind}`

async function open(disk: MemoryDisk | SlowDisk, settings: Partial<PartitionSettings> = {}) {
  const host = new TestHost(disk)
  const partition = await openPartition(testOptions(host, settings))
  return { host, partition, sender: new Sender(partition) }
}

const poll = async (partition: Partition, start: PollStart, count = 1000, bytesMax = 1 << 26) =>
  messagesOf((await partition.poll(start, count, bytesMax)).records)

describe('poll strategies', () => {
  it('serve from memory and from disk alike, sliced at both ends of a batch', async () => {
    const { partition, sender } = await open(new MemoryDisk())
    sender.send('a', 'b', 'c', 'd')
    sender.send('e')
    sender.send('f', 'g')
    for (const flushed of [false, true]) {
      if (flushed) await partition.flush()
      const result = await partition.poll({ kind: 'offset', offset: Offset(1n) }, 2, 1 << 20)
      expect(result).toMatchObject({ currentOffset: 6n, messages: 2, lastOffset: 2n })
      const record = decodeBatch(must(result.records[0]), 0, hash)
      expect(record.header).toMatchObject({ baseOffset: 0n, messageCount: 2, batchLength: 256n + 2n * 49n })
      expect(record.messages.map(message => message.header.offsetDelta)).toEqual([1, 2])
      expect(await poll(partition, { kind: 'first' }, 2)).toEqual(['0:a', '1:b'])
      expect(await poll(partition, { kind: 'last' }, 3)).toEqual(['4:e', '5:f', '6:g'])
      expect(await poll(partition, { kind: 'last' }, 1000)).toHaveLength(7)
      expect(await poll(partition, { kind: 'next', consumer: { kind: 'consumer', id: 1 } }, 1)).toEqual(['0:a'])
      expect(await poll(partition, { kind: 'offset', offset: Offset(6n) })).toEqual(['6:g'])
      expect(await partition.poll({ kind: 'offset', offset: Offset(7n) }, 10, 1000)).toEqual({
        currentOffset: 6n,
        messages: 0,
        records: [],
      })
      expect((await partition.poll({ kind: 'first' }, 0, 1000)).messages).toBe(0)
    }
  })

  it('hand a whole batch on as it is stored', async () => {
    const disk = new MemoryDisk()
    const { partition, sender } = await open(disk)
    sender.send('a', 'b')
    const fromMemory = must((await partition.poll({ kind: 'first' }, 10, 1 << 20)).records[0])
    await partition.flush()
    const fromDisk = must((await partition.poll({ kind: 'first' }, 10, 1 << 20)).records[0])
    expect(fromDisk).toEqual(must(disk.peek(name(0n, 'log'))))
    expect([...fromMemory]).toEqual([...fromDisk])
  })

  it('keep to the byte bound, but never stop in front of a message that is larger', async () => {
    const { partition, sender } = await open(new MemoryDisk())
    sender.send(new Uint8Array(1000), new Uint8Array(1000), new Uint8Array(1000))
    sender.send(new Uint8Array(1000))
    for (const flushed of [false, true]) {
      if (flushed) await partition.flush()
      const within = async (bytesMax: number) => (await partition.poll({ kind: 'first' }, 100, bytesMax)).messages
      expect(await within(10)).toBe(1)
      expect(await within(256 + 1048)).toBe(1)
      expect(await within(256 + 2 * 1048)).toBe(2)
      expect(await within(256 + 3 * 1048 + 300)).toBe(3)
      expect(await within(2 * 256 + 4 * 1048)).toBe(4)
    }
  })

  it('G22: by time, the first message at or after it in log order, with and without an index and with a rebuilt one', async () => {
    const disk = new MemoryDisk()
    const { partition, sender } = await open(disk)
    const chunks = [1000n, 3000n, 2000n, 2100n, 2200n, 2300n]
    const expected = new Map([
      [999n, 0],
      [1000n, 0],
      [1001n, 1],
      [2500n, 1],
      [3000n, 1],
      [3001n, 6],
    ])
    for (const timestamp of chunks) {
      sender.timestamp = timestamp - 1n
      sender.send(`t${timestamp}`)
      await partition.flush()
    }
    const check = async (checked: Partition) => {
      for (const [timestamp, first] of expected) {
        const found = await poll(checked, { kind: 'timestamp', timestamp: Micros(timestamp) })
        expect(found, `at ${timestamp}`).toEqual(chunks.map((t, n) => `${n}:t${t}`).slice(first))
      }
    }
    await check(partition)
    expect((await partition.indexEntries(Offset(0n)))?.entries.map(entry => entry.timestamp)).toEqual(chunks)
    await partition.close()
    for (const damage of ['none', 'missing'] as const) {
      if (damage === 'missing') await disk.unlink(name(0n, 'index'))
      const again = await open(disk)
      await check(again.partition)
      await again.partition.close()
    }
  })

  it('G22: by time, go on through memory in order, older batches included', async () => {
    const { partition, sender } = await open(new MemoryDisk())
    for (const [n, timestamp] of [1000n, 500n, 2000n].entries()) {
      sender.timestamp = timestamp - 1n
      sender.send(`t${timestamp}`)
      if (n === 0) await partition.flush()
    }
    const at = (timestamp: bigint) => poll(partition, { kind: 'timestamp', timestamp: Micros(timestamp) })
    expect(await at(900n)).toEqual(['0:t1000', '1:t500', '2:t2000'])
    expect(await at(1001n)).toEqual(['2:t2000'])
    expect(await at(2001n)).toEqual([])
  })

  it('G52 OR-23: go on from below the earliest and from inside a gap, and have nothing beyond the end', async () => {
    const disk = new MemoryDisk()
    disk.put(name(10n, 'log'), new Uint8Array(0))
    const { partition, sender } = await open(disk)
    sender.send('a')
    for (const flushed of [false, true]) {
      if (flushed) await partition.flush()
      expect(await poll(partition, { kind: 'offset', offset: Offset(3n) })).toEqual(['10:a'])
      expect(await poll(partition, { kind: 'first' })).toEqual(['10:a'])
      expect(await poll(partition, { kind: 'offset', offset: Offset(11n) })).toEqual([])
      expect(await poll(partition, { kind: 'offset', offset: Offset(2n ** 63n) })).toEqual([])
    }
  })
})

describe('polls against flush and rotation', () => {
  const start = fc.oneof(
    fc.record({ kind: fc.constant('offset' as const), at: fc.double({ min: 0, max: 1.1, noNaN: true }) }),
    fc.record({ kind: fc.constant('timestamp' as const), at: fc.double({ min: 0, max: 1.1, noNaN: true }) }),
    fc.record({ kind: fc.constantFrom('first' as const, 'last' as const), at: fc.constant(0) }),
  )
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('send' as const),
        sizes: fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 5 }),
        jump: fc.integer({ min: -3, max: 10 }),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('poll' as const),
        start,
        count: fc.integer({ min: 1, max: 20 }),
        bytesMax: fc.constantFrom(700, 3000, 1 << 20),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
  )

  it('PL-38 give the messages that were visible when they started, in order, none twice, none left out', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 60 }),
        fc.constantFrom(1, 4, 30),
        fc.boolean(),
        fc.bigInt(1n, 1_000_000n),
        async (steps, messagesRequiredToSave, enforceFsync, seed) => {
          const memory = new MemoryDisk()
          const disk = new SlowDisk(memory, seed, 2)
          const settings = { segmentSizeBytes: 4096, messagesRequiredToSave, enforceFsync }
          let { host, partition, sender } = await open(disk, settings)
          const model: { offset: bigint; timestamp: bigint; line: string }[] = []
          const running: Promise<void>[] = []
          const expectPoll = async (asked: PollStart, count: number, bytesMax: number) => {
            // what is visible is decided when the poll starts
            const visible = model.slice(0, Number(partition.info().visibleEnd))
            const from =
              asked.kind === 'offset'
                ? Number(asked.offset)
                : asked.kind === 'last'
                  ? Math.max(0, visible.length - count)
                  : asked.kind === 'timestamp'
                    ? visible.findIndex(message => message.timestamp >= asked.timestamp)
                    : 0
            const wanted = from < 0 ? [] : visible.slice(from, from + count).map(message => message.line)
            const got = await poll(partition, asked, count, bytesMax)
            expect(got).toEqual(wanted.slice(0, got.length))
            if (bytesMax === 1 << 20) expect(got.length).toBe(wanted.length)
            else expect(got.length > 0).toBe(wanted.length > 0)
          }
          for (const action of steps) {
            if (action.do === 'send') {
              sender.timestamp += BigInt(action.jump)
              const payloads = action.sizes.map((size, n) => text(`${model.length + n}${'x'.repeat(size)}`))
              sender.send(...payloads)
              for (const payload of payloads) {
                const offset = BigInt(model.length)
                model.push({
                  offset,
                  timestamp: sender.timestamp,
                  line: `${offset}:${new TextDecoder().decode(payload)}`,
                })
              }
            } else if (action.do === 'poll') {
              const { kind, at } = action.start
              const asked: PollStart =
                kind === 'offset'
                  ? { kind, offset: Offset(BigInt(Math.floor(at * model.length))) }
                  : kind === 'timestamp'
                    ? { kind, timestamp: Micros(1_700_000_000_001_000n + BigInt(Math.floor(at * model.length))) }
                    : { kind }
              running.push(expectPoll(asked, action.count, action.bytesMax))
            } else if (action.do === 'flush') void partition.flush()
            else if (action.do === 'wait') await settle()
            else {
              await Promise.all(running.splice(0))
              await partition.flush()
              await partition.close()
              const next = await open(disk, settings)
              host = next.host
              partition = next.partition
              sender = new Sender(partition, 0n, sender.timestamp)
            }
          }
          await Promise.all(running)
          await partition.flush()
          expect(await pollOffset(partition, 0n)).toEqual(model.map(message => message.line))
          expect(host.failures).toEqual([])
          await until(() => partition.info().flusher.state === 'idle')
          await partition.close()
          // no descriptor stays open, no file is longer than what is served
          for (const segment of partition.info().segments) {
            expect(must(memory.peek(name(segment.startOffset, 'log'))).length).toBe(segment.sizeBytes)
          }
        },
      ),
      { numRuns: 60 },
    )
  }, 60_000)
})

describe('descriptors', () => {
  it('PL-34 a consumer at the head opens nothing; of the sealed segments twelve stay open', async () => {
    const disk = new SlowDisk(new MemoryDisk(), 1n, 0)
    const { partition, sender } = await open(disk, { ...EAGER, segmentSizeBytes: 300 })
    for (let n = 0; n < 20; n++) {
      sender.send(`m${n}`)
      await partition.flush()
      await until(() => partition.info().flusher.state === 'idle')
    }
    sender.send('x')
    await partition.flush()
    await until(() => partition.info().flusher.state === 'idle')
    const opened = () => disk.log.filter(entry => entry.operation === 'open').length
    const read = async (offset: number) => poll(partition, { kind: 'offset', offset: Offset(BigInt(offset)) }, 1)
    let before = opened()
    for (let n = 0; n < 12; n++) await read(n)
    expect(opened() - before).toBe(12)
    before = opened()
    for (let n = 0; n < 12; n++) expect(await read(n)).toEqual([`${n}:m${n}`])
    expect(opened() - before).toBe(0)
    await read(12)
    expect(opened() - before).toBe(1)
    await read(0)
    expect(opened() - before).toBe(2)
    const { active, sealed, ...counts } = partition.info().descriptors
    // The last message has filled its segment.
    expect(active).toEqual({ startOffset: 21n, readers: 0 })
    // The most recent last; those that were pushed out are not among them.
    expect(sealed.map(({ startOffset }) => Number(startOffset))).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0])
    expect(sealed.every(({ log }) => log)).toBe(true)
    expect(counts).toEqual({ sealedMax: 12, opened: 14 })
  })

  it('PL-34 reads of the active segment go through its writer, and a round in flight is not seen early', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const { partition, sender } = await open(disk)
    sender.send('a')
    await partition.flush()
    const before = disk.count('open', '.log')
    for (let n = 0; n < 100; n++) expect(await pollOffset(partition, 0n)).toEqual(['0:a'])
    expect(disk.count('open', '.log')).toBe(before)
    expect(partition.info().descriptors).toMatchObject({
      active: { startOffset: 0n, readers: 0 },
      sealed: [],
      opened: 0,
    })
  })

  it('PL-35 a poll sees what was flushed after an earlier poll', async () => {
    const { partition, sender } = await open(new MemoryDisk(), EAGER)
    const seen: string[][] = []
    for (let n = 0; n < 5; n++) {
      sender.send(`m${n}`)
      await partition.flush()
      seen.push(await pollOffset(partition, BigInt(n)))
    }
    expect(seen).toEqual([0, 1, 2, 3, 4].map(n => [`${n}:m${n}`]))
  })

  it('a read that is under way when its segment is sealed and its partition closed ends without reading another file', async () => {
    const disk = new SlowDisk(new MemoryDisk(), 3n, 4)
    const { partition, sender } = await open(disk, EAGER)
    sender.send('a')
    await partition.flush()
    const running = pollOffset(partition, 0n)
    await partition.close()
    const result = await running.then(
      lines => lines.join(),
      error => (error as Error).message,
    )
    expect(['0:a', 'the partition was closed while it was read']).toContain(result)
  })
})

describe('damage under a running partition', () => {
  async function three(disk: MemoryDisk, validateChecksum = true) {
    const host = new TestHost(disk)
    const partition = await openPartition({ ...testOptions(host), validateChecksum })
    const sender = new Sender(partition)
    for (const payload of ['aaaa', 'bbbb', 'cccc']) sender.send(payload)
    await partition.flush()
    return { host, partition }
  }

  it('PL-36 G25 a poll over a corrupt batch fails naming file and position, and serves nothing from behind it', async () => {
    const disk = new MemoryDisk()
    const { host, partition } = await three(disk)
    const file = await disk.open(name(0n, 'log'), 'write')
    const second = 256 + 52
    await file.write(second + 256 + 48, [text('B')])
    expect(await pollOffset(partition, 0n)).toEqual(['0:aaaa'])
    await expect(pollOffset(partition, 1n)).rejects.toMatchObject({
      code: 'InvalidMessageChecksum',
      context: { path: name(0n, 'log'), position: second + 256 },
    })
    // what is behind it stays readable to who asks for it
    expect(await pollOffset(partition, 2n)).toEqual(['2:cccc'])
    expect(host.notes.filter(note => note.kind === 'read_fault').length).toBe(2)
  })

  it('a rotten header never makes a poll skip a message', async () => {
    for (let at = 0; at < 256; at++) {
      const disk = new MemoryDisk()
      const { partition } = await three(disk)
      const file = await disk.open(name(0n, 'log'), 'write')
      const second = 256 + 52
      const byte = must(disk.peek(name(0n, 'log')))[second + at]!
      await file.write(second + at, [new Uint8Array([byte ^ 1])])
      for (const from of [1n, 2n]) {
        const got = await pollOffset(partition, from).catch(() => [])
        expect(['', '2:cccc'], `byte ${at}, from ${from}`).toContain(got.join())
        if (from === 1n) expect(got, `byte ${at}`).toEqual([])
      }
    }
  })

  it('a consumer of single messages in the middle of large batches does not walk their round again', async () => {
    const disk = new SlowDisk(new MemoryDisk(), 1n, 0)
    const { partition, sender } = await open(disk)
    for (let n = 0; n < 40; n++) sender.send(...Array.from({ length: 10 }, () => new Uint8Array(5000)))
    await partition.flush()
    await pollOffset(partition, 381n, 1)
    const before = disk.bytesRead
    for (let next = 382n; next < 388n; next++) expect(await pollOffset(partition, next, 1)).toHaveLength(1)
    expect(disk.bytesRead - before).toBeLessThan(6 * 200_000)
  })

  it('a consumer that reads on walks no batch twice, whatever the index has', async () => {
    const memory = new MemoryDisk()
    const disk = new SlowDisk(memory, 1n, 0)
    const { partition, sender } = await open(disk)
    for (let n = 0; n < 300; n++) sender.send(new Uint8Array(2000), new Uint8Array(2000))
    await partition.flush()
    expect((await partition.indexEntries(Offset(0n)))?.entries.length).toBeLessThan(3)
    const before = disk.bytesRead
    let next = 0n
    for (let count = 1; next < 600n; count = (count % 7) + 1) {
      const result = await partition.poll({ kind: 'offset', offset: Offset(next) }, count, 1 << 20)
      expect(messagesOf(result.records)[0]?.split(':')[0]).toBe(String(next))
      next = must(result.lastOffset) + 1n
    }
    // each poll reads one chunk, instead of everything from the index entry on
    expect(disk.bytesRead - before).toBeLessThan(170 * 64 * 1024)
  })

  it('names a bad length and a bad header', async () => {
    const disk = new MemoryDisk()
    const { partition } = await three(disk)
    const file = await disk.open(name(0n, 'log'), 'write')
    await file.write(32, [new Uint8Array([0xff, 0xff, 0xff, 0x7f])])
    await expect(pollOffset(partition, 0n)).rejects.toMatchObject({ code: 'InvalidBatchChecksum' })
    await file.write(32, [new Uint8Array([52 + 0, 1, 0, 0]), new Uint8Array(4)])
    await file.write(100, [new Uint8Array([1])])
    await expect(pollOffset(partition, 0n)).rejects.toMatchObject({
      code: 'InvalidBatchChecksum',
      context: { position: 100 },
    })
  })

  it('a reader of a large batch lets everybody else go on meanwhile, and finds damage in it where it is', async () => {
    const disk = new MemoryDisk()
    const { partition, sender, host } = await open(disk)
    sender.send('small', 'ones')
    sender.send(...Array.from({ length: 20_000 }, () => 'tiny'))
    await partition.flush()
    let breaths = 0
    const { yield: breathe } = host.scheduler
    host.scheduler.yield = () => {
      breaths++
      return breathe()
    }
    expect(await poll(partition, { kind: 'offset', offset: Offset(2n) }, 100_000)).toHaveLength(20_000)
    expect(breaths).toBeGreaterThan(50)
    const file = await disk.open(name(0n, 'log'), 'write')
    const second = 256 + 2 * 48 + 9
    const frame = second + 256 + 19_999 * 52
    await file.write(frame + 48, [text('T')])
    await expect(pollOffset(partition, 2n)).rejects.toMatchObject({ context: { position: frame } })
  })

  it('a disk that fails for a while is read again, and one that goes on failing gives nothing', async () => {
    const memory = new MemoryDisk()
    const disk = new SlowDisk(memory)
    const { partition, sender, host } = await open(disk)
    sender.send('a')
    await partition.flush()
    disk.faults.push({ operation: 'read', ending: '.log', times: 2 })
    expect(await pollOffset(partition, 0n)).toEqual(['0:a'])
    disk.faults.push({ operation: 'read', ending: '.log' })
    expect(await pollOffset(partition, 0n)).toEqual([])
    expect(host.kinds()).toContain('read_fault')
  })
})
