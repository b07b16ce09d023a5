import { beforeEach, describe, expect, it } from 'vitest'
import { createHash } from '../bytes/hash.ts'
import type { Op } from '../bytes/units.ts'
import { MemoryDisk } from './memory-disk.ts'
import { concat, makeChain, makePrepare, type TestPrepare } from './testing/prepares.ts'
import { ScriptedDisk } from './testing/scripted-disk.ts'
import { Wal, type WalAppendResult } from './wal.ts'

const hash = await createHash()
const PATH = 'metadata/journal.wal'
const ENTRY = 266
const op = (value: number): Op => BigInt(value) as Op

let memory: MemoryDisk
let disk: ScriptedDisk
beforeEach(async () => {
  memory = new MemoryDisk()
  await memory.makeDirectory('metadata')
  disk = new ScriptedDisk(memory)
})

const open = (options: { slots?: number; snapshotOp?: Op } = {}) =>
  Wal.open({
    disk,
    path: PATH,
    hash,
    slots: options.slots ?? 16,
    post: run => run(),
    ...(options.snapshotOp === undefined ? {} : { snapshotOp: options.snapshotOp }),
  })
const append = (wal: Wal, prepare: TestPrepare): Promise<WalAppendResult> =>
  new Promise(done => wal.append(prepare.frame, done))
const codeOf = (result: WalAppendResult): string => (result.ok ? 'ok' : result.error.code)
const done = (start: (done: (error?: { code: string }) => void) => void): Promise<string> =>
  new Promise(resolve => start(error => resolve(error?.code ?? 'ok')))
const opsOf = (wal: Wal): number[] => wal.entries().map(({ header }) => Number(header.op))
const stored = () => memory.peek(PATH)!

describe('the write-ahead log', () => {
  it('WA-10 answers an append only after the entry is synced, one entry per sync', async () => {
    const wal = await open()
    disk.calls.length = 0
    const chain = makeChain(hash, 1, 3)
    const order: string[] = []
    await Promise.all(
      chain.map(prepare =>
        append(wal, prepare).then(() => {
          order.push(`${prepare.header.op}: ${disk.calls.length} calls`)
        }),
      ),
    )
    expect(disk.calls).toEqual([
      `write ${PATH}`,
      `datasync ${PATH}`,
      `write ${PATH}`,
      `datasync ${PATH}`,
      `write ${PATH}`,
      `datasync ${PATH}`,
    ])
    expect(order[0]).toBe('1: 2 calls')
    expect(stored()).toEqual(concat(chain.map(({ frame }) => frame)))
  })

  it('holds an entry in the index only once it is synced', async () => {
    const wal = await open()
    const first = makePrepare(hash, 1n, 0n)
    const appended = append(wal, first)
    expect(wal.header(op(1))).toBeUndefined()
    expect(wal.highestOp()).toBe(0n)
    await appended
    expect(wal.header(op(1))).toEqual(first.header)
    expect(wal.frame(op(1))).toEqual(first.frame)
    expect([wal.highestOp(), wal.oldestOp(), wal.floorOp()]).toEqual([1n, 1n, 0n])
    expect(wal.header(op(17))).toBeUndefined()
  })

  it('delivers every completion through post, and starts nothing behind one that was not run', async () => {
    const posted: (() => void)[] = []
    const wal = await Wal.open({ disk, path: PATH, hash, slots: 16, post: run => posted.push(run) })
    const results: string[] = []
    for (const { frame } of makeChain(hash, 1, 2)) wal.append(frame, result => results.push(codeOf(result)))
    const settle = () => new Promise(resolve => setTimeout(resolve, 5))
    await settle()
    expect([posted.length, results.length, wal.highestOp()]).toEqual([1, 0, 0n])
    posted.shift()!()
    expect([results, wal.highestOp()]).toEqual([['ok'], 1n])
    await settle()
    posted.shift()!()
    expect([results, wal.highestOp()]).toEqual([['ok', 'ok'], 2n])
  })

  it('WA-17 reopens with every entry, and appends behind the last one', async () => {
    const chain = makeChain(hash, 1, 11)
    const wal = await open()
    for (const prepare of chain.slice(0, 10)) await append(wal, prepare)
    await wal.close()
    const again = await open()
    expect(opsOf(again)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(again.entry(op(10))).toMatchObject({ position: 9 * ENTRY, frame: chain[9]!.frame })
    await append(again, chain[10]!)
    expect(again.entry(op(11))?.position).toBe(10 * ENTRY)
    expect(stored()).toEqual(concat(chain.map(({ frame }) => frame)))
  })

  it('makes the directory durable once, when it makes the file', async () => {
    await open()
    expect(disk.calls.filter(call => call.startsWith('syncDirectory'))).toEqual(['syncDirectory metadata'])
    disk.calls.length = 0
    await open()
    expect(disk.calls.filter(call => call.startsWith('syncDirectory'))).toEqual([])
  })

  it('refuses a buffer that is not as long as its size field, before any byte is written', async () => {
    const wal = await open()
    const { frame, header } = makePrepare(hash, 1n, 0n)
    expect(codeOf(await append(wal, { frame: concat([frame, new Uint8Array(1)]), header }))).toBe('WAL_LENGTH')
    expect(codeOf(await append(wal, { frame: frame.subarray(0, 200), header }))).toBe('WAL_LENGTH')
    expect(stored().length).toBe(0)
    expect(codeOf(await append(wal, { frame, header }))).toBe('ok')
  })

  it('WA-16 refuses an op whose slot holds one that no snapshot covers, before any byte is written', async () => {
    const chain = makeChain(hash, 1, 5)
    const wal = await open({ slots: 4 })
    for (const prepare of chain.slice(0, 4)) await append(wal, prepare)
    expect(wal.remainingCapacity()).toBe(0)
    expect(codeOf(await append(wal, chain[4]!))).toBe('WAL_SLOT_TAKEN')
    expect(codeOf(await append(wal, chain[3]!))).toBe('WAL_SLOT_TAKEN')
    expect(stored().length).toBe(4 * ENTRY)
    wal.raiseSnapshotOp(op(1))
    expect(wal.remainingCapacity()).toBe(1)
    expect(codeOf(await append(wal, chain[4]!))).toBe('ok')
    expect(opsOf(wal)).toEqual([2, 3, 4, 5])
  })

  it('refuses to open a log with fewer slots than it was written with, instead of forgetting entries', async () => {
    memory.put(PATH, concat(makeChain(hash, 1, 8).map(({ frame }) => frame)))
    await expect(open({ slots: 4 })).rejects.toMatchObject({ code: 'WAL_SLOTS' })
    expect(opsOf(await open({ slots: 4, snapshotOp: op(4) }))).toEqual([5, 6, 7, 8])
    await expect(open({ slots: 0 })).rejects.toMatchObject({ code: 'WAL_SLOTS' })
  })

  it('WA-03 refuses damage, naming file, byte, check and both values, and changes nothing', async () => {
    const chain = makeChain(hash, 1, 4)
    const bytes = concat(chain.map(({ frame }) => frame))
    bytes[ENTRY + 260]! ^= 1
    memory.put(PATH, bytes)
    await expect(open()).rejects.toMatchObject({
      code: 'WAL_DAMAGED',
      message: expect.stringContaining('BadBodyChecksum'),
      context: {
        path: PATH,
        position: ENTRY,
        op: 2n,
        actual: `0x${chain[1]!.header.checksumBody.toString(16).padStart(16, '0')}`,
        expected: expect.stringMatching(/^0x/),
      },
    })
    expect(stored()).toEqual(bytes)
  })

  it('WA-23 notes a torn tail and cuts it, durably, only with the first append', async () => {
    const chain = makeChain(hash, 1, 3)
    const torn = concat([chain[0]!.frame, chain[1]!.frame, chain[2]!.frame.subarray(0, 100)])
    memory.put(PATH, torn)
    const wal = await open()
    expect(wal.scan.end).toMatchObject({ kind: 'torn', position: 2 * ENTRY, bytes: 100 })
    expect(stored()).toEqual(torn)
    disk.calls.length = 0
    expect(codeOf(await append(wal, chain[2]!))).toBe('ok')
    expect(disk.calls).toEqual([`truncate ${PATH}`, `sync ${PATH}`, `write ${PATH}`, `datasync ${PATH}`])
    expect(stored()).toEqual(concat(chain.map(({ frame }) => frame)))
  })

  it('cuts a torn tail on demand, once', async () => {
    memory.put(PATH, concat([makePrepare(hash, 1n, 0n).frame, new Uint8Array(40).fill(0xa5)]))
    const wal = await open()
    expect(await done(each => wal.cutTornTail(each))).toBe('ok')
    expect(stored().length).toBe(ENTRY)
    disk.calls.length = 0
    expect(await done(each => wal.cutTornTail(each))).toBe('ok')
    expect(disk.calls).toEqual([])
  })

  it('a failed append poisons the log: nothing is taken behind bytes of unknown state', async () => {
    const chain = makeChain(hash, 1, 3)
    for (const failing of ['write', 'datasync']) {
      memory.put(PATH, chain[0]!.frame)
      const wal = await open()
      disk.fails = call => call.startsWith(`${failing} `)
      expect(codeOf(await append(wal, chain[1]!))).toBe('WAL_APPEND_FAILED')
      disk.fails = () => false
      expect(codeOf(await append(wal, chain[1]!))).toBe('WAL_POISONED')
      expect(await done(each => wal.drain(op(1), each))).toBe('WAL_POISONED')
      expect([wal.highestOp(), wal.mayAcknowledge()]).toEqual([1n, false])
      await wal.close()
    }
  })
})

describe('truncation', () => {
  it('WA-14 forgets the suffix at once, and the file follows before anything later is appended', async () => {
    const chain = makeChain(hash, 1, 6)
    const wal = await open()
    for (const prepare of chain) await append(wal, prepare)
    disk.calls.length = 0
    const truncated = done(each => wal.truncateFrom(op(4), each))
    expect([wal.highestOp(), wal.header(op(4)), opsOf(wal)]).toEqual([3n, undefined, [1, 2, 3]])
    const other = makePrepare(hash, 4n, chain[2]!.header.checksum, { view: 2, bodyBytes: 33 })
    const appended = append(wal, other)
    expect(await truncated).toBe('ok')
    expect(codeOf(await appended)).toBe('ok')
    expect(disk.calls).toEqual([
      `open ${PATH}.tmp`,
      `write ${PATH}.tmp`,
      `sync ${PATH}.tmp`,
      `rename ${PATH}.tmp`,
      'syncDirectory metadata',
      `open ${PATH}`,
      `write ${PATH}`,
      `datasync ${PATH}`,
    ])
    await wal.close()
    const again = await open()
    expect(opsOf(again)).toEqual([1, 2, 3, 4])
    expect(again.frame(op(4))).toEqual(other.frame)
  })

  it('overtakes appends that wait or are under way', async () => {
    const chain = makeChain(hash, 1, 4)
    const wal = await open()
    await append(wal, chain[0]!)
    const results = Promise.all(chain.slice(1).map(prepare => append(wal, prepare).then(codeOf)))
    const truncated = done(each => wal.truncateFrom(op(2), each))
    expect(await results).toEqual(['WAL_TRUNCATED', 'WAL_TRUNCATED', 'WAL_TRUNCATED'])
    expect(await truncated).toBe('ok')
    expect([opsOf(wal), wal.highestOp()]).toEqual([[1], 1n])
    expect(stored()).toEqual(chain[0]!.frame)
    expect(codeOf(await append(wal, chain[1]!))).toBe('ok')
    expect(opsOf(await open())).toEqual([1, 2])
  })

  it('overtakes an entry whose bytes are already written', async () => {
    const chain = makeChain(hash, 1, 2)
    const wal = await open()
    await append(wal, chain[0]!)
    let truncated: Promise<string> | undefined
    disk.fails = call => {
      if (call === `datasync ${PATH}`) truncated ??= done(each => wal.truncateFrom(op(2), each))
      return false
    }
    expect(codeOf(await append(wal, chain[1]!))).toBe('WAL_TRUNCATED')
    expect([wal.header(op(2)), wal.highestOp()]).toEqual([undefined, 1n])
    expect(await truncated).toBe('ok')
    expect(stored()).toEqual(chain[0]!.frame)
  })

  it('removing nothing rewrites nothing, and op 0 is refused', async () => {
    const wal = await open()
    await append(wal, makePrepare(hash, 1n, 0n))
    disk.calls.length = 0
    expect(await done(each => wal.truncateFrom(op(2), each))).toBe('ok')
    expect(disk.calls).toEqual([])
    expect(() => wal.truncateFrom(op(0))).toThrow(expect.objectContaining({ code: 'WAL_RANGE' }))
  })

  it('poisons when the file does not follow, whichever step fails', async () => {
    const chain = makeChain(hash, 1, 3)
    for (const failing of [`open ${PATH}.tmp`, `sync ${PATH}.tmp`, `rename ${PATH}.tmp`, 'syncDirectory metadata']) {
      memory.put(PATH, concat(chain.map(({ frame }) => frame)))
      const wal = await open()
      disk.fails = call => call === failing
      expect(await done(each => wal.truncateFrom(op(3), each)), failing).toBe('WAL_REWRITE_FAILED')
      disk.fails = () => false
      expect(codeOf(await append(wal, chain[2]!)), failing).toBe('WAL_POISONED')
    }
  })
})

describe('drain', () => {
  const filled = async (count: number) => {
    const chain = makeChain(hash, 1, count)
    memory.put(PATH, concat(chain.map(({ frame }) => frame)))
    return { chain, wal: await open() }
  }

  it('drops what a checkpoint covers and keeps the entry at it', async () => {
    const { chain, wal } = await filled(6)
    expect(await done(each => wal.drain(op(3), each))).toBe('ok')
    expect([opsOf(wal), wal.floorOp(), wal.oldestOp(), wal.highestOp()]).toEqual([[4, 5, 6], 3n, 4n, 6n])
    expect(stored()).toEqual(concat(chain.slice(3).map(({ frame }) => frame)))
    expect(wal.entry(op(5))?.position).toBe(ENTRY)
    expect(codeOf(await append(wal, makePrepare(hash, 7n, chain[5]!.header.checksum)))).toBe('ok')
    expect(opsOf(await open({ snapshotOp: op(4) }))).toEqual([4, 5, 6, 7])
  })

  it('op 0 drains nothing', async () => {
    const { wal } = await filled(2)
    expect(await done(each => wal.drain(op(0), each))).toBe('ok')
    expect(opsOf(wal)).toEqual([1, 2])
  })

  it('WA-18 refuses a second drain while one is under way', async () => {
    const { wal } = await filled(4)
    const first = done(each => wal.drain(op(2), each))
    expect(await done(each => wal.drain(op(3), each))).toBe('WAL_BUSY')
    expect(await first).toBe('ok')
    expect(opsOf(wal)).toEqual([3, 4])
    expect(await done(each => wal.drain(op(3), each))).toBe('ok')
  })

  it('WA-15 changes nothing when it fails before the rename, and poisons when it fails behind it', async () => {
    for (const failing of [`write ${PATH}.tmp`, `sync ${PATH}.tmp`, `rename ${PATH}.tmp`]) {
      const { chain, wal } = await filled(3)
      const before = memory.snapshot()
      disk.fails = call => call === failing
      expect(await done(each => wal.drain(op(2), each)), failing).toBe('WAL_REWRITE_FAILED')
      disk.fails = () => false
      expect(memory.snapshot(), failing).toEqual(before)
      expect([opsOf(wal), wal.floorOp()], failing).toEqual([[1, 2, 3], 0n])
      expect(codeOf(await append(wal, makePrepare(hash, 4n, chain[2]!.header.checksum))), failing).toBe('ok')
    }
    for (const failing of ['syncDirectory metadata', `open ${PATH}`]) {
      const { chain, wal } = await filled(3)
      disk.fails = call => call === failing
      expect(await done(each => wal.drain(op(2), each)), failing).toBe('WAL_REWRITE_FAILED')
      disk.fails = () => false
      expect(codeOf(await append(wal, makePrepare(hash, 4n, chain[2]!.header.checksum))), failing).toBe('WAL_POISONED')
      expect(opsOf(await open()), failing).toEqual([3])
    }
  })

  it('lets a truncation in between: both hold afterwards', async () => {
    const { chain, wal } = await filled(6)
    const drained = done(each => wal.drain(op(2), each))
    const truncated = done(each => wal.truncateFrom(op(5), each))
    expect(await Promise.all([drained, truncated])).toEqual(['ok', 'ok'])
    expect(opsOf(wal)).toEqual([3, 4])
    expect(stored()).toEqual(concat(chain.slice(2, 4).map(({ frame }) => frame)))
  })
})
