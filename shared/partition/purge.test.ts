/** Purge, removal of segments and retention of one partition (spec partition.md §4). */
import { describe, expect, test } from 'vitest'
import { Micros, Offset } from '../bytes/units.ts'
import { encodeBody } from '../protocol/codec.ts'
import { Ident } from '../protocol/ident.ts'
import { storeOffset } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import type { Disk } from '../storage/disk.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { decodePurgeGen, writePurgeGen } from '../storage/purge-gen.ts'
import { ScriptedDisk } from '../storage/testing/scripted-disk.ts'
import type { Partition, PartitionSettings } from './contract.ts'
import { openPartition } from './open.ts'
import { DIRECTORY, pollOffset, prepare, producedBatch, TestHost, testOptions, text, until } from './testing/harness.ts'
import { TestSuperblock } from './testing/superblock.ts'

const SMALL: Partial<PartitionSettings> = { segmentSizeBytes: 1024, messagesRequiredToSave: 1, enforceFsync: true }
const LAZY: Partial<PartitionSettings> = { segmentSizeBytes: 1024, messagesRequiredToSave: 1_000_000 }

class Node {
  readonly host: TestHost
  readonly superblock: TestSuperblock
  readonly partition: Partition
  private last = 0n
  private constructor(host: TestHost, superblock: TestSuperblock, partition: Partition) {
    this.host = host
    this.superblock = superblock
    this.partition = partition
  }

  static async open(disk: Disk, settings = SMALL, replicaCount = 1): Promise<Node> {
    const host = new TestHost(disk)
    await disk.makeDirectory(DIRECTORY)
    const superblock = await TestSuperblock.open(disk, replicaCount)
    const options = { ...testOptions(host, settings), replicaCount, superblock }
    return new Node(host, superblock, await openPartition(options))
  }

  prepared(payload: string, generation = this.partition.purgeGeneration, op = this.last + 1n) {
    return prepare(op, producedBatch([text(payload)]), {
      purgeGeneration: generation,
      timestamp: Micros(1_700_000_000_001_000n + op),
    })
  }

  /** The next op, whatever it does. */
  op(body: Uint8Array, operation: number) {
    this.last++
    return prepare(this.last, body, { operation, purgeGeneration: this.partition.purgeGeneration })
  }

  /** One message as primary; its offset. */
  async send(payload: string): Promise<bigint | undefined> {
    const { header, frame } = this.prepared(payload)
    for (;;) {
      const result = this.partition.append('primary', header, frame)
      if (result.ok) {
        this.last++
        return this.partition.apply(result.header).baseOffset
      }
      if (!result.pending) throw result.error
      await new Promise<void>(done => this.partition.whenReserved(done))
    }
  }

  async fill(count: number, from = 0): Promise<void> {
    for (let number = from; number < from + count; number++) await this.send(`m${number}`)
  }
}

const pathsOf = (disk: MemoryDisk): string[] =>
  [...disk.snapshot()].flatMap(([path, bytes]) =>
    bytes && path.startsWith(DIRECTORY) ? [path.slice(DIRECTORY.length + 1)] : [],
  )
const logsOf = (disk: MemoryDisk): string[] => pathsOf(disk).filter(path => path.endsWith('.log'))
const SEGMENT_0 = '00000000000000000000.log'
const COLD = { kind: 'consumer', id: 7 } as const

describe('a purge', () => {
  test('RP-05 is a full reset: no message, no stored offset, one empty segment at 0, and the next message gets offset 0', async () => {
    const disk = new MemoryDisk()
    disk.put(`${DIRECTORY}/offsets/groups/13`, new Uint8Array(3))
    const node = await Node.open(disk)
    await node.fill(30)
    node.partition.advanceOffset(COLD, Offset(12n))
    expect(await node.partition.purge(1n)).toBe(true)
    expect(node.partition.storedOffset(COLD)).toBeUndefined()
    expect(logsOf(disk)).toEqual([SEGMENT_0])
    expect(pathsOf(disk).filter(path => path.startsWith('offsets/groups/'))).toEqual([])
    expect(node.partition.info()).toMatchObject({ nextOffset: 0n, visibleEnd: 0n, frontier: 0n, held: 0n, floor: 0n })
    expect(node.partition.info().flusher).toMatchObject({ persistedBytes: 0n, journaledBytes: 0n })
    expect(await pollOffset(node.partition, 0n)).toEqual([])
    expect(await node.send('new')).toBe(0n)
    await node.partition.flush()
    expect(await pollOffset(node.partition, 0n)).toEqual(['0:new'])
  })

  test('whoever asks what a replica holds gets an answer at every moment of it', async () => {
    const node = await Node.open(new MemoryDisk())
    await node.fill(30)
    const { partition } = node
    let over = false
    const purged = partition.purge(1n).finally(() => {
      over = true
    })
    let bare = 0
    while (!over) {
      if (partition.info().segments.length === 0) bare++
      expect(partition.repairStanding()).not.toHaveProperty('placeFrom')
      await Promise.resolve()
    }
    await purged
    expect(bare).toBeGreaterThan(0)
  })

  test('RP-06 what was sent behind it survives a restart, and the purge is not repeated', async () => {
    const disk = new MemoryDisk()
    const node = await Node.open(disk)
    await node.fill(30)
    await node.partition.purge(3n)
    await node.send('new')
    await node.partition.flush()
    const again = await Node.open(disk)
    expect(again.partition.purgeGeneration).toBe(3n)
    expect(await again.partition.purge(3n)).toBe(true)
    expect(await pollOffset(again.partition, 0n)).toEqual(['0:new'])
  })

  test('RP-06 a generation of a dead incarnation counts for nothing', async () => {
    const disk = new MemoryDisk()
    await disk.makeDirectory(DIRECTORY)
    await writePurgeGen(disk, DIRECTORY, { generation: 9n, createdRevision: 6n })
    const node = await Node.open(disk)
    expect(node.partition.purgeGeneration).toBe(0n)
  })

  test('RP-07 messages that only memory held do not come back, neither by a flush nor by a restart', async () => {
    const disk = new MemoryDisk()
    const node = await Node.open(disk, LAZY)
    await node.fill(10)
    // journaled and not committed: it commits behind the purge, and still counts for nothing
    const { header, frame } = node.prepared('uncommitted')
    expect(node.partition.append('primary', header, frame).ok).toBe(true)
    await node.partition.purge(1n)
    expect(node.partition.apply(header)).toMatchObject({ messages: 0 })
    await node.partition.flush()
    expect(await pollOffset(node.partition, 0n)).toEqual([])
    await node.partition.close()
    const again = await Node.open(disk, LAZY)
    expect(await pollOffset(again.partition, 0n)).toEqual([])
    expect(await again.send('new')).toBe(0n)
  })

  test('a backup voids what was minted in front of its purge, and refuses what was minted behind one it has not applied', async () => {
    const node = await Node.open(new MemoryDisk(), SMALL, 3)
    await node.partition.purge(1n)
    const old = node.prepared('old', 0n, 1n)
    expect(node.partition.append('backup', old.header, old.frame).ok).toBe(true)
    expect(node.partition.apply(old.header)).toMatchObject({ messages: 0 })
    expect(node.partition.info()).toMatchObject({ nextOffset: 0n, visibleEnd: 0n })
    const ahead = node.prepared('ahead', 2n, 2n)
    const refused = node.partition.append('backup', ahead.header, ahead.frame)
    expect(refused).toMatchObject({ ok: false, error: { code: 'PurgeMismatch' } })
    const stale = node.prepared('stale', 0n, 2n)
    expect(node.partition.append('primary', stale.header, stale.frame)).toMatchObject({ ok: false })
  })

  test('RP-09 with a failing superblock is refused before anything is changed', async () => {
    const memory = new MemoryDisk()
    const disk = new ScriptedDisk(memory)
    const node = await Node.open(disk)
    await node.fill(10)
    await node.partition.flush()
    const before = pathsOf(memory)
    disk.fails = call => call.includes('superblock')
    expect(await node.partition.purge(1n)).toBe(false)
    expect(pathsOf(memory)).toEqual(before)
    expect(await pollOffset(node.partition, 0n)).toHaveLength(10)
    disk.fails = () => false
    expect(await node.partition.purge(1n)).toBe(true)
    expect(logsOf(memory)).toEqual([SEGMENT_0])
  })

  test('RP-08 crashed at any call of the disk it leaves the old data whole or nothing of it once it has run again', async () => {
    const seen: string[] = []
    for (let victim = 0; victim < 200; victim++) {
      const memory = new MemoryDisk()
      const disk = new ScriptedDisk(memory)
      const node = await Node.open(disk)
      await node.fill(30)
      await node.partition.flush()
      const first = disk.calls.length
      let died: string | undefined
      disk.dies = (call, number) => {
        if (number - first < victim) return false
        died ??= call
        return true
      }
      const done = node.partition.purge(1n).then(() => 'purged')
      const outcome = await Promise.race([done, until(() => died !== undefined).then(() => 'died')])
      if (outcome === 'purged') break
      seen.push(died!)
      const boot = await Node.open(memory)
      const kept = await pollOffset(boot.partition, 0n)
      const frontier = boot.superblock.recorded().frontier
      for (const line of kept) expect(line).toMatch(/^(\d+):m\1$/)
      // Before the reset is durable nothing is gone.
      if (frontier > 0n || boot.superblock.recorded().reserved > 0n) expect([died, kept.length]).toEqual([died, 30])
      const { purgeGeneration } = boot.partition
      // The generation is recorded last: only when nothing old is left.
      if (purgeGeneration === 1n) expect([died, kept]).toEqual([died, []])
      await boot.partition.purge(1n)
      expect([died, await pollOffset(boot.partition, 0n), logsOf(memory)]).toEqual([died, [], [SEGMENT_0]])
      expect(await boot.send('new')).toBe(0n)
    }
    const names = seen.join('\n')
    for (const step of [/rename .*superblock/, /unlink .*\.log$/m, /rename .*purge\.gen/]) expect(names).toMatch(step)
  })

  test('RP-12 a short purge.gen refuses the partition and changes nothing, a torn tail included', async () => {
    for (const replicaCount of [1, 3]) {
      const disk = new MemoryDisk()
      const node = await Node.open(disk, SMALL, replicaCount)
      await node.fill(3)
      await node.partition.close()
      const log = disk.peek(`${DIRECTORY}/${SEGMENT_0}`)!
      disk.put(`${DIRECTORY}/${SEGMENT_0}`, log.slice(0, -5))
      disk.put(`${DIRECTORY}/purge.gen`, disk.peek(`${DIRECTORY}/purge.gen`)!.slice(0, 8))
      const before = disk.snapshot()
      await expect(Node.open(disk, SMALL, replicaCount)).rejects.toMatchObject({ refusal: 'PurgeGenerationTorn' })
      expect(disk.snapshot()).toEqual(before)
    }
  })

  test('records the generation and the incarnation', async () => {
    const disk = new MemoryDisk()
    const node = await Node.open(disk)
    await node.partition.purge(5n)
    const bytes = disk.peek(`${DIRECTORY}/purge.gen`)!
    expect(decodePurgeGen(bytes)).toMatchObject({ kind: 'valid', generation: 5n, createdRevision: 7n })
  })
})

describe('removal of segments', () => {
  const ends = (node: Node) =>
    node.partition.info().segments.map(({ startOffset, sealed }) => `${startOffset}${sealed ? '' : '*'}`)

  test.each(['RP-03', 'RP-04'])(
    '%s each segment goes exactly when the stored offset of the slowest consumer reaches its end',
    async () => {
      const node = await Node.open(new MemoryDisk())
      await node.fill(25)
      await node.partition.flush()
      const sealed = node.partition.info().segments.filter(segment => segment.sealed)
      expect(sealed.length).toBeGreaterThan(3)
      const all = sealed.at(-1)!.endOffset
      const store = async (id: number, offset: bigint) => {
        const { header, frame } = storeOp(node, id, offset)
        expect(node.partition.append('primary', header, frame).ok).toBe(true)
        node.partition.apply(header)
        await node.partition.flush()
      }
      await store(1, 0n)
      await store(2, 24n)
      let gone = 0
      for (let offset = 0n; offset < 25n; offset++) {
        await store(1, offset)
        const removal = await node.partition.removeSegments(all)
        const due = sealed.filter(({ endOffset }) => endOffset <= offset).length
        gone += removal.removed
        expect([offset, gone]).toEqual([offset, due])
        if (gone < sealed.length) expect(removal.heldBy).toBe('consumer/1')
      }
      expect(ends(node)).toHaveLength(1)
    },
  )

  test('RP-01 takes only sealed segments that have expired, the oldest first, and at most 16 in one pass', async () => {
    const disk = new MemoryDisk()
    const node = await Node.open(disk)
    await node.fill(130)
    await node.partition.flush()
    const { segments } = node.partition.info()
    expect(segments.length).toBeGreaterThan(20)
    const nowMicros = segments.at(-1)!.endTimestamp + 1_000_000n
    const expiring = (expiryMicros: bigint) => node.partition.retainedUpTo({ nowMicros, expiryMicros })
    expect(expiring(nowMicros)).toBeUndefined()
    const third = segments[2]!
    expect(expiring(nowMicros - third.endTimestamp)).toBe(third.endOffset)
    const upTo = expiring(1n)!
    expect(upTo).toBe(segments.at(-2)!.endOffset)
    expect(await node.partition.removeSegments(upTo)).toEqual({ removed: 16, budgetSpent: true })
    expect(logsOf(disk)).toHaveLength(segments.length - 16)
    await node.partition.removeSegments(upTo)
    expect(ends(node)).toEqual([`${segments.at(-1)!.startOffset}*`])
  })

  test('RP-02 trims from the oldest until the sealed bytes fit, and never the active segment', async () => {
    const node = await Node.open(new MemoryDisk())
    await node.fill(60)
    await node.partition.flush()
    const sealed = node.partition.info().segments.filter(segment => segment.sealed)
    const keep = BigInt(sealed.at(-1)!.sizeBytes + sealed.at(-2)!.sizeBytes)
    const upTo = node.partition.retainedUpTo({ nowMicros: 0n, sealedBytesMax: keep })!
    expect(upTo).toBe(sealed.at(-3)!.endOffset)
    expect(node.partition.retainedUpTo({ nowMicros: 0n, sealedBytesMax: 1n << 40n })).toBeUndefined()
    expect(node.partition.retainedUpTo({ nowMicros: 0n, sealedBytesMax: 0n })).toBe(sealed.at(-1)!.endOffset)
  })

  test('RP-11 a poll in flight ends well, and the next one begins at the first offset that is left', async () => {
    const node = await Node.open(new MemoryDisk())
    await node.fill(30)
    await node.partition.flush()
    const sealed = node.partition.info().segments.filter(segment => segment.sealed)
    const polling = node.partition.poll({ kind: 'first' }, 1000, 1 << 20).then(
      result => result.messages,
      () => 0,
    )
    await node.partition.removeSegments(sealed[1]!.endOffset)
    expect([0, 30]).toContain(await polling)
    const rest = await pollOffset(node.partition, 0n)
    expect(rest[0]).toMatch(new RegExp(`^${sealed[1]!.endOffset + 1n}:`))
    expect(rest).toHaveLength(30 - Number(sealed[1]!.endOffset) - 1)
  })

  test('RP-13 the frontier is durable before the last sized segment goes; a failing record keeps it', async () => {
    for (const replicaCount of [1, 3]) {
      const seen: string[] = []
      for (let victim = 0; victim < 60; victim++) {
        const memory = new MemoryDisk()
        const disk = new ScriptedDisk(memory)
        const node = await Node.open(disk, SMALL, replicaCount)
        let sent = 0
        const tail = () => node.partition.info().segments.at(-1)!
        do {
          await node.fill(1, sent++)
          await node.partition.flush()
          await until(() => node.partition.info().flusher.state === 'idle')
        } while (!tail().empty || node.partition.info().segments.length < 3)
        const end = BigInt(sent)
        const first = disk.calls.length
        if (victim === 0) {
          disk.fails = call => call.includes('superblock')
          expect(await node.partition.removeSegments(Offset(end - 1n))).toMatchObject({ removed: 0 })
          expect(logsOf(memory)).toHaveLength(node.partition.info().segments.length)
          continue
        }
        let died: string | undefined
        disk.dies = (call, number) => {
          if (number - first + 1 < victim) return false
          died ??= call
          return true
        }
        const done = node.partition.removeSegments(Offset(end - 1n)).then(() => 'removed')
        const outcome = await Promise.race([done, until(() => died !== undefined).then(() => 'died')])
        if (outcome === 'died') seen.push(died!)
        const boot = await Node.open(memory, SMALL, replicaCount)
        const whole = logsOf(memory).length === node.partition.info().segments.length
        expect([died, whole || boot.superblock.recorded().frontier >= end]).toEqual([died, true])
        expect([died, (await boot.send('new'))! >= end]).toEqual([died, true])
        await boot.partition.flush()
        expect((await pollOffset(boot.partition, end)).length).toBe(1)
        if (outcome === 'removed') break
      }
      expect(seen.join('\n')).toMatch(/rename .*superblock[\s\S]*unlink .*\.log/)
    }
  })
})

/** The op by which a consumer stores its offset. */
function storeOp(node: Node, id: number, offset: bigint) {
  const target = {
    consumer: { kind: 'consumer', id: Ident.id(id) },
    stream: Ident.id(1),
    topic: Ident.id(2),
    partition: 3,
    ack: 1,
  } as const
  return node.op(encodeBody(storeOffset, { ...target, offset: Offset(offset) }), Operation.StoreConsumerOffset)
}
