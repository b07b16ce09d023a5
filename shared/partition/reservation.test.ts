import { describe, expect, it } from 'vitest'
import { Offset } from '../bytes/units.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { OFFSET_LEASE_DEFAULT, OffsetReservation } from './reservation.ts'
import { DIRECTORY, must, pollOffset, prepare, producedBatch, TestHost, text, until } from './testing/harness.ts'
import { Life, type LifeOptions } from './testing/lives.ts'
import { SlowDisk } from './testing/slow-disk.ts'
import { TestSuperblock } from './testing/superblock.ts'

const LEASE = BigInt(OFFSET_LEASE_DEFAULT)
const FOUR: LifeOptions = { settings: { messagesRequiredToSave: 4 } }
const name = (start: bigint, kind: string) => `${DIRECTORY}/${start.toString().padStart(20, '0')}.${kind}`
const names = (disk: MemoryDisk) =>
  [...disk.snapshot().keys()]
    .filter(path => path.startsWith(`${DIRECTORY}/`) && path.endsWith('.log'))
    .map(path => BigInt(path.slice(DIRECTORY.length + 1, -4)))

/** A life whose process is killed: what it had written stays, nothing more is written. */
const killed = async (disk: MemoryDisk, sends: number, options: LifeOptions, tag: string): Promise<bigint[]> => {
  const life = await Life.open(disk, options)
  const offsets = await life.sendEach(sends, tag)
  await until(() => life.partition.info().flusher.state === 'idle')
  return offsets
}

describe('the fence', () => {
  const fenced = async (lease: number, ahead: boolean, disk = new MemoryDisk()) => {
    const host = new TestHost(disk)
    const superblock = await TestSuperblock.open(disk)
    const reservation = new OffsetReservation({ superblock, lease, solo: true, held: () => 0n, host, ahead })
    const through = async (last: bigint) => {
      while (reservation.fence(last) === 'pending') await new Promise<void>(done => reservation.whenSettled(done))
      if (ahead) reservation.used(last)
      return reservation.fence(last)
    }
    return { host, superblock, reservation, through }
  }

  it('OR-04 writes once per lease: 17 covers 0 to 16, and 17 writes 34', async () => {
    const { superblock, reservation, through } = await fenced(16, false)
    expect(await through(0n)).toBe('open')
    expect([superblock.writes, reservation.reserved]).toEqual([1, 17n])
    for (let last = 1n; last <= 16n; last++) await through(last)
    expect(superblock.writes).toBe(1)
    await through(17n)
    expect([superblock.writes, reservation.reserved]).toEqual([2, 34n])
  })

  it('OR-05 covers a batch longer than the lease with one write', async () => {
    const { superblock, reservation, through } = await fenced(4, false)
    await through(99n)
    expect([superblock.writes, reservation.reserved]).toEqual([1, 104n])
  })

  it('OR-07 two appends that race one extension lead to one write', async () => {
    const { superblock, reservation } = await fenced(16, true)
    expect([reservation.fence(0n), reservation.fence(3n)]).toEqual(['pending', 'pending'])
    let called = 0
    await new Promise<void>(done => {
      reservation.whenSettled(() => called++)
      reservation.whenSettled(done)
    })
    expect([called, superblock.writes, reservation.fence(0n), reservation.fence(3n)]).toEqual([1, 1, 'open', 'open'])
  })

  it('OR-22 is extended ahead at half a lease, so that one message at a time never meets it, one write per half lease', async () => {
    const { superblock, reservation, through } = await fenced(16, true)
    await through(0n)
    let waits = 0
    for (let last = 1n; last < 400n; last++) {
      if (reservation.fence(last) !== 'open') waits++
      reservation.used(last)
      await new Promise<void>(done => reservation.whenSettled(done))
    }
    expect(waits).toBe(0)
    expect(superblock.writes).toBeLessThanOrEqual(2 * Math.ceil(400 / 16) + 1)
    expect(superblock.writes).toBeGreaterThan(400 / 16 - 1)
  })

  it('OR-15 a reservation is never below the frontier', async () => {
    const { superblock, reservation } = await fenced(16, true)
    expect(await reservation.advance(100n)).toBe(true)
    expect(superblock.recorded()).toEqual({ frontier: 100n, reserved: 100n })
    expect(await reservation.advance(40n)).toBe(true)
    expect(superblock.recorded()).toEqual({ frontier: 100n, reserved: 100n })
  })

  it.each(['OR-17', 'OR-18'])('%s only an install and a purge bring it down', async () => {
    const superblock = await TestSuperblock.saying(new MemoryDisk(), 500n, 70_000n)
    const host = new TestHost(new MemoryDisk())
    const reservation = new OffsetReservation({ superblock, lease: 16, solo: false, held: () => 0n, host })
    expect(await reservation.install(1_030n)).toBe(true)
    expect(superblock.recorded()).toEqual({ frontier: 1_030n, reserved: 1_030n })
    // a jump that was announced and not taken is the only trace of what others may have confirmed
    reservation.armFloor(5_000n)
    expect(await reservation.install(1_040n)).toBe(true)
    expect([superblock.recorded(), reservation.armedFloor]).toEqual([{ frontier: 1_040n, reserved: 5_000n }, 5_000n])
    expect(await reservation.reset(0n)).toBe(true)
    expect(superblock.recorded()).toEqual({ frontier: 0n, reserved: 0n })
    // a base that was announced before the purge belongs to an offset space that is gone
    reservation.armFloor(4_000n)
    expect(reservation.armedFloor).toBe(0n)
  })

  it('OR-21 the default lease is 65,536', async () => {
    expect(OFFSET_LEASE_DEFAULT).toBe(65_536)
    const life = await Life.open(new MemoryDisk())
    await life.send('a')
    expect(life.superblock.recorded()).toEqual({ frontier: 0n, reserved: 1n + LEASE })
  })
})

describe('an append that meets the fence', () => {
  it('OR-06 waits, fails closed when the record cannot be written, and changes nothing', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const life = await Life.open(disk)
    const before = life.partition.info()
    disk.faults.push({ operation: 'sync', ending: '.tmp', times: 1 })
    await expect(life.send('a')).rejects.toMatchObject({ code: 'ReservationFailed' })
    expect(life.partition.info()).toEqual(before)
    expect((await life.partition.poll({ kind: 'first' }, 10, 1 << 20)).messages).toBe(0)
    expect(life.partition.mayReserve()).toBe(false)
    expect(life.fact('reservation_failed')).toBeDefined()
    life.superblock.off = false
    expect(await life.send('b')).toBe(0n)
  })

  it('OR-06 a backup stores nothing either, and a repaired batch is not asked', async () => {
    const life = await Life.open(new MemoryDisk(), { replicaCount: 3 })
    life.superblock.off = true
    const source = await Life.open(new MemoryDisk())
    await source.send('a')
    const frame = must(source.partition.journal.frame(1n as never))
    const header = must(source.partition.journal.header(1n as never))
    const refused = life.partition.append('backup', header, frame)
    expect(!refused.ok && refused.error.code).toBe('ReservationFailed')
    expect(life.partition.journal.highestOp()).toBe(0n)
    expect(life.partition.append('repair', header, frame).ok).toBe(true)
  })
})

describe('a solo node that is killed', () => {
  it('OR-01 OR-25 gives out no offset again that only memory knew', async () => {
    const disk = new MemoryDisk()
    const first = await Life.open(disk)
    expect(await first.sendEach(3)).toEqual([0n, 1n, 2n])
    // a poll saw them, too
    expect(await pollOffset(first.partition, 0n)).toHaveLength(3)
    const second = await Life.open(disk)
    expect(second.fact('memory_tail_lost')).toMatchObject({ first: '0', last: LEASE.toString() })
    expect(await second.send('again')).toBe(1n + LEASE)
    expect(names(disk)).toEqual([1n + LEASE])
  })

  it('OR-02 OR-03 G09 G13 each life begins above the one before, on a segment of its own, and the third boot serves all', async () => {
    const disk = new MemoryDisk()
    expect(await killed(disk, 6, FOUR, 'a')).toEqual([0n, 1n, 2n, 3n, 4n, 5n])
    const second = await Life.open(disk, FOUR)
    expect(second.fact('reanchored')).toMatchObject({ sealedEnd: '3', first: '4', frontier: '65537' })
    expect(names(disk)).toEqual([0n, 65_537n])
    expect(await second.sendEach(6, 'b')).toEqual([65_537n, 65_538n, 65_539n, 65_540n, 65_541n, 65_542n])
    await until(() => second.partition.info().flusher.state === 'idle')
    const third = await Life.open(disk, FOUR)
    expect(third.fact('gap_admitted')).toMatchObject({ first: '4', last: '65536' })
    expect(await third.send('c')).toBe(131_074n)
    expect(await pollOffset(third.partition, 0n)).toEqual([
      ...['0:a0', '1:a1', '2:a2', '3:a3'],
      ...['65537:b0', '65538:b1', '65539:b2', '65540:b3'],
      '131074:c',
    ])
  })

  it('OR-08 spends the floor once', async () => {
    const disk = new MemoryDisk()
    const life = await Life.open(disk, { record: [0n, 65_537n] })
    expect([await life.send('a'), await life.send('b')]).toEqual([65_537n, 65_538n])
  })

  it('keeps the floor when the first append is refused', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const life = await Life.open(disk, { record: [0n, 65_537n] })
    disk.faults.push({ operation: 'sync', ending: '.tmp', times: 1 })
    await expect(life.send('a')).rejects.toMatchObject({ code: 'ReservationFailed' })
    life.superblock.off = false
    expect(await life.send('a')).toBe(65_537n)
  })

  it('OR-13 an empty tail below the floor goes, durably, before the new segment is there', async () => {
    const memory = new MemoryDisk()
    await killed(memory, 2, {}, 'a')
    expect(names(memory)).toEqual([0n])
    const disk = new SlowDisk(memory)
    const life = await Life.open(disk)
    expect(life.fact('stale_segment_removed')).toMatchObject({ start: '0', frontier: '65537' })
    const at = (operation: string, path: string) =>
      disk.log.findIndex(entry => entry.operation === operation && entry.path === path)
    const unlinked = at('unlink', name(0n, 'log'))
    const synced = disk.log.findIndex((e, index) => index > unlinked && e.operation === 'syncDirectory')
    expect(unlinked).toBeGreaterThanOrEqual(0)
    expect(synced).toBeGreaterThan(unlinked)
    expect(at('open', name(65_537n, 'log'))).toBeGreaterThan(synced)
    expect(memory.peek(name(0n, 'index'))).toBeUndefined()
  })

  it('OR-23 a consumer reads across the hole without a stall, from inside it too', async () => {
    const disk = new MemoryDisk()
    await killed(disk, 6, { settings: { messagesRequiredToSave: 6 } }, 'a')
    const life = await Life.open(disk)
    await life.send('b')
    expect(await pollOffset(life.partition, 4n)).toEqual(['4:a4', '5:a5', '65537:b'])
    expect(await pollOffset(life.partition, 6n)).toEqual(['65537:b'])
    expect(await pollOffset(life.partition, 40_000n)).toEqual(['65537:b'])
  })

  it('OR-29 says which recorded offsets are missing, serves the rest, and the third boot accepts', async () => {
    const disk = new MemoryDisk()
    const first = await Life.open(disk, { settings: { messagesRequiredToSave: 1 } })
    await first.sendEach(8)
    await first.partition.flush()
    await first.partition.close()
    const life = await Life.open(disk, { record: [20n, 65_537n] })
    expect(life.fact('missing_range')).toMatchObject({ first: '8', last: '19' })
    expect(await pollOffset(life.partition, 0n)).toHaveLength(8)
    expect(await life.send('next')).toBe(65_537n)
    await life.stop()
    const again = await Life.open(disk)
    expect(again.fact('chain_refused')).toBeUndefined()
    expect(await pollOffset(again.partition, 7n)).toEqual(['7:m7', '65537:next'])
    expect(again.partition.info().nextOffset).toBe(65_538n)
  })
})

describe('a clean stop', () => {
  it('OR-10 brings the reservation down to the frontier, and the next life goes on densely', async () => {
    const disk = new MemoryDisk()
    const first = await Life.open(disk)
    await first.sendEach(25)
    await first.stop()
    const second = await Life.open(disk)
    expect(second.superblock.recorded()).toEqual({ frontier: 25n, reserved: 25n })
    expect(await second.send('next')).toBe(25n)
    expect(names(disk)).toEqual([0n])
  })

  it('OR-12 whose record cannot be written leaves a gap and no second use', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const first = await Life.open(disk)
    await first.sendEach(3)
    await first.partition.flush()
    disk.faults.push({ operation: 'sync', ending: '.tmp', times: 1 })
    expect(await first.partition.collapse(true)).toBe(false)
    await first.partition.close()
    const second = await Life.open(disk)
    expect(await second.send('next')).toBe(65_537n)
    expect(await pollOffset(second.partition, 0n)).toHaveLength(4)
  })

  it('OR-26 before the floor is spent keeps the reservation of the life before', async () => {
    const disk = new MemoryDisk()
    await killed(disk, 6, FOUR, 'a')
    const idle = await Life.open(disk, FOUR)
    await idle.stop()
    expect(idle.superblock.recorded().reserved).toBe(65_537n)
    const third = await Life.open(disk, FOUR)
    expect(await third.send('c')).toBe(65_537n)
    expect(await pollOffset(third.partition, 0n)).toEqual(['0:a0', '1:a1', '2:a2', '3:a3', '65537:c'])
  })

  it('keeps the reservation of a replica that may have confirmed what it does not hold', async () => {
    const life = await Life.open(new MemoryDisk(), { replicaCount: 3 })
    await life.sendEach(3)
    await life.partition.flush()
    const reserved = life.superblock.recorded().reserved
    expect(await life.partition.collapse(false)).toBe(true)
    expect(life.superblock.recorded().reserved).toBe(reserved)
    expect(await life.partition.collapse(true)).toBe(true)
    expect(life.superblock.recorded()).toEqual({ frontier: 3n, reserved: 3n })
  })
})

describe('a replica of a group', () => {
  it('OR-09 does not jump at boot, whatever was reserved', async () => {
    const disk = new MemoryDisk()
    const first = await Life.open(disk, { settings: { messagesRequiredToSave: 1 }, replicaCount: 3 })
    await first.sendEach(10)
    await first.partition.flush()
    await first.partition.close()
    const life = await Life.open(disk, { replicaCount: 3, record: [0n, 70_000n] })
    expect(life.partition.info()).toMatchObject({ nextOffset: 10n, floor: 0n, reserved: 70_000n, held: 10n })
    expect(names(disk)).toEqual([0n])
  })

  it('OR-27 jumps once to the announced base, as primary and as backup, and plants a segment there', async () => {
    const leader = await Life.open(new MemoryDisk(), { replicaCount: 3 })
    await leader.sendEach(2)
    await leader.partition.flush()
    leader.partition.jumpTo(Offset(1_000n))
    expect([await leader.send('c'), await leader.send('d')]).toEqual([1_000n, 1_001n])
    const backup = await Life.open(new MemoryDisk(), { replicaCount: 3 })
    const take = async (op: bigint) => {
      const header = must(leader.partition.journal.header(op as never))
      const frame = must(leader.partition.journal.frame(op as never))
      for (;;) {
        const result = backup.partition.append('backup', header, frame)
        if (result.ok || !result.pending) return result
        await new Promise<void>(done => backup.partition.whenReserved(done))
      }
    }
    for (const op of [1n, 2n]) expect((await take(op)).ok).toBe(true)
    const refused = await take(3n)
    expect(!refused.ok && refused.error.code).toBe('OffsetMismatch')
    backup.partition.jumpTo(Offset(1_000n))
    for (const op of [3n, 4n]) expect((await take(op)).ok).toBe(true)
    for (const op of [1n, 2n, 3n, 4n]) backup.partition.apply(must(backup.partition.journal.header(op as never)))
    for (const life of [leader, backup]) {
      await life.partition.flush()
      expect(life.fact('gap_planted')).toMatchObject({ first: '2', last: '999' })
      expect(life.partition.info().segments.map(segment => segment.startOffset)).toEqual([0n, 1_000n])
      expect(await pollOffset(life.partition, 0n)).toEqual(['0:m0', '1:m1', '1000:c', '1001:d'])
    }
  })

  it('P03 keeps the jump when the batch that would take it is refused', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const life = await Life.open(disk, { replicaCount: 3 })
    await life.sendEach(2)
    life.partition.jumpTo(Offset(100_000n))
    disk.faults.push({ operation: 'sync', ending: '.tmp', times: 1 })
    await expect(life.send('refused')).rejects.toMatchObject({ code: 'ReservationFailed' })
    life.superblock.off = false
    expect([await life.send('c'), await life.send('d')]).toEqual([100_000n, 100_001n])
  })

  it('P05 a jump that nobody has taken keeps the reservation at a clean stop', async () => {
    const life = await Life.open(new MemoryDisk(), { replicaCount: 3 })
    await life.sendEach(2)
    await life.partition.flush()
    const { reserved } = life.superblock.recorded()
    life.partition.jumpTo(Offset(reserved))
    expect(await life.partition.collapse(true)).toBe(true)
    expect(life.superblock.recorded().reserved).toBe(reserved)
  })

  it('arms the jump again when the batch that took it is truncated', async () => {
    const life = await Life.open(new MemoryDisk(), { replicaCount: 3 })
    await life.sendEach(2)
    life.partition.jumpTo(Offset(1_000n))
    const { header, frame } = prepare(3n, producedBatch([text('lost')]))
    let result = life.partition.append('primary', header, frame)
    if (!result.ok) {
      await new Promise<void>(done => life.partition.whenReserved(done))
      result = life.partition.append('primary', header, frame)
    }
    expect([result.ok, life.partition.info().nextOffset]).toEqual([true, 1_001n])
    life.partition.truncateFrom(3n as never)
    expect(await life.send('kept')).toBe(1_000n)
  })

  it.each(['OR-19', 'OR-20'])('%s the end of what is held is no counter: a claim raises only the counter', async () => {
    const life = await Life.open(new MemoryDisk(), { replicaCount: 3, record: [70_000n, 70_000n] })
    expect([life.partition.info().nextOffset, life.partition.heldEnd()]).toEqual([70_000n, 0n])
    await life.send('a')
    expect(life.partition.heldEnd()).toBe(70_001n)
  })

  it('OR-28 the name of an empty tail that no reservation planted is the next offset', async () => {
    for (const record of [undefined, [176n, 176n], [0n, 0n]] as const) {
      for (const replicaCount of [1, 3]) {
        const disk = new MemoryDisk()
        disk.put(name(176n, 'log'), new Uint8Array(0))
        const life = await Life.open(disk, { replicaCount, ...(record && { record }) })
        expect(await life.send('x')).toBe(176n)
        await life.stop()
        const again = await Life.open(disk, { replicaCount })
        expect(again.partition.info()).toMatchObject({ nextOffset: 177n, visibleEnd: 177n })
      }
    }
    const planted = new MemoryDisk()
    planted.put(name(65_537n, 'log'), new Uint8Array(0))
    const life = await Life.open(planted, { record: [0n, 65_537n] })
    expect(life.partition.info()).toMatchObject({ visibleEnd: 0n })
    expect(await life.send('x')).toBe(65_537n)
  })
})

describe('a tail that the log of the group does not hold', () => {
  const restarted = async (messages: number, settings: LifeOptions['settings'] = { messagesRequiredToSave: 1 }) => {
    const disk = new MemoryDisk()
    const first = await Life.open(disk, { replicaCount: 3, settings: { ...settings, segmentSizeBytes: 1_000 } })
    for (let n = 0; n < messages; n++) {
      await first.send(`m${n}`)
      await first.partition.flush()
      await until(() => first.partition.info().flusher.state === 'idle')
    }
    await first.partition.close()
    return {
      disk,
      life: await Life.open(disk, { replicaCount: 3, settings: { ...settings, segmentSizeBytes: 1_000 } }),
    }
  }

  it('OR-27 goes to .fenced.N with its first and last offset, at any batch boundary, and the rest serves and boots', async () => {
    for (let from = 0; from < 9; from++) {
      const { disk, life } = await restarted(9)
      const origin = { logStart: Offset(BigInt(from)), firstBase: Offset(1_000n) }
      expect(life.partition.standing(origin, 0n as never)).toBe('diverged')
      expect(await life.partition.setTailAside()).toBe(true)
      expect(life.fact('tail_set_aside')).toMatchObject({ first: String(from), last: '8', to: `${DIRECTORY}.fenced.0` })
      expect(life.partition.heldEnd()).toBe(BigInt(from))
      expect(life.partition.standing(origin, 0n as never)).toBe('joins')
      const kept = Array.from({ length: from }, (_, n) => `${n}:m${n}`)
      expect(await pollOffset(life.partition, 0n)).toEqual(kept)
      life.partition.jumpTo(Offset(1_000n))
      expect(await life.send('new')).toBe(1_000n)
      await life.partition.flush()
      await until(() => life.partition.info().flusher.state === 'idle')
      await life.partition.close()
      const again = await Life.open(disk, { replicaCount: 3, settings: { segmentSizeBytes: 1_000 } })
      expect(again.fact('chain_refused')).toBeUndefined()
      expect(await pollOffset(again.partition, 0n)).toEqual([...kept, '1000:new'])
    }
  })

  it('one that lost a batch which straddles the beginning of the log lacks that beginning, and claims no more than it has', async () => {
    const disk = new MemoryDisk()
    const first = await Life.open(disk, { replicaCount: 3, settings: { messagesRequiredToSave: 1 } })
    await first.send('a')
    await first.send('b', 'c', 'd')
    await first.partition.flush()
    await first.partition.close()
    for (const [from, end] of [
      [3n, 1n],
      [1n, 1n],
      [0n, 0n],
    ] as const) {
      const copy = new MemoryDisk()
      copy.restore(disk.snapshot())
      const { partition } = await Life.open(copy, { replicaCount: 3 })
      const origin = { logStart: Offset(from), firstBase: Offset(1_000n) }
      expect(partition.standing(origin, 0n as never)).toBe('diverged')
      expect(await partition.setTailAside()).toBe(true)
      expect([partition.logEnd(), partition.heldEnd()]).toEqual([end, end])
      expect(partition.standing(origin, 0n as never)).toBe(end < from ? 'behind' : 'joins')
    }
  })

  it('a replica that lacks the beginning says so, and one that has it joins', async () => {
    const { life } = await restarted(5)
    const origin = (logStart: bigint) => ({ logStart: Offset(logStart), firstBase: Offset(0n) })
    expect(life.partition.standing(origin(6n), 0n as never)).toBe('behind')
    expect(life.partition.standing(origin(5n), 0n as never)).toBe('joins')
  })

  /** Prepares of the log that wrote what `restarted` finds, and of one that went on otherwise. */
  const logOf = async (messages: number, jumpTo?: bigint) => {
    const life = await Life.open(new MemoryDisk(), { replicaCount: 3 })
    const { partition } = life
    await life.sendEach(messages)
    if (jumpTo !== undefined) {
      partition.jumpTo(Offset(jumpTo))
      await life.send('behind the gap')
    }
    return (op: number) => {
      const at = BigInt(op) as never
      return { header: must(partition.journal.header(at)), frame: must(partition.journal.frame(at)) }
    }
  }
  const FROM_ZERO = { logStart: Offset(0n), firstBase: Offset(0n) }
  const NONE = 0n as never

  it('OR-27 a log joins the disk when it comes to its end; before that, all of what is on the disk stays committed', async () => {
    const { life } = await restarted(5)
    const { partition } = life
    const log = await logOf(5)
    partition.standing(FROM_ZERO, 5n as never)
    expect(partition.joinsDisk(NONE, NONE, false)).toBe('not_yet')
    for (let op = 1; op <= 4; op++) {
      partition.append('repair', log(op).header, log(op).frame)
      expect(partition.joinsDisk(NONE, BigInt(op) as never, false)).toBe('not_yet')
      expect([partition.logEnd(), partition.committedEnd()]).toEqual([5n, 5n])
    }
    partition.append('repair', log(5).header, log(5).frame)
    expect(partition.joinsDisk(NONE, 5n as never, false)).toBe('joins')
  })

  it('OR-27 a log that has ended within the disk does not join it before the rest was set aside', async () => {
    const { life } = await restarted(5)
    const { partition } = life
    const log = await logOf(3)
    partition.standing(FROM_ZERO, 3n as never)
    for (let op = 1; op <= 3; op++) partition.append('repair', log(op).header, log(op).frame)
    expect(partition.joinsDisk(NONE, 3n as never, true)).toBe('no')
    expect(await partition.setTailAside()).toBe(true)
    expect(life.fact('tail_set_aside')).toMatchObject({ first: '3', last: '4' })
    expect(partition.joinsDisk(NONE, 3n as never, true)).toBe('joins')
  })

  it('OR-27 what the disk holds where the log leaves a gap is no part of the log', async () => {
    const { disk, life } = await restarted(5)
    const { partition } = life
    const log = await logOf(3, 1_000n)
    partition.standing(FROM_ZERO, 4n as never)
    for (let op = 1; op <= 4; op++) expect(partition.append('repair', log(op).header, log(op).frame).ok).toBe(true)
    expect(partition.joinsDisk(NONE, 4n as never, false)).toBe('no')
    expect(await partition.setTailAside()).toBe(true)
    expect(life.fact('tail_set_aside')).toMatchObject({ first: '3', last: '4' })
    expect(partition.joinsDisk(NONE, 4n as never, false)).toBe('joins')
    for (let op = 1; op <= 4; op++) partition.apply(log(op).header)
    await partition.flush()
    expect(life.fact('gap_planted')).toMatchObject({ first: '3', last: '999' })
    await partition.close()
    const again = await Life.open(disk, { replicaCount: 3 })
    expect(await pollOffset(again.partition, 2n)).toEqual(['2:m2', '1000:behind the gap'])
  })

  it('OR-27 a gap behind what was evicted says nothing: the batches in front of it may be what the disk holds', async () => {
    const { life } = await restarted(5)
    const log = await logOf(5, 1_000n)
    life.partition.standing(FROM_ZERO, 6n as never)
    life.partition.append('repair', log(6).header, log(6).frame)
    expect(await life.partition.setTailAside()).toBe(false)
  })

  it('OR-27 a leader that holds less, and no batch that is missing here: the rest is set aside', async () => {
    const { life } = await restarted(5)
    life.partition.standing(FROM_ZERO, 9n as never)
    life.partition.endsAt(Offset(5n))
    expect(await life.partition.setTailAside()).toBe(false)
    life.partition.endsAt(Offset(4n))
    expect(await life.partition.setTailAside()).toBe(true)
    expect(life.fact('tail_set_aside')).toMatchObject({ first: '4', last: '4' })
  })

  it('OR-27 a prepare that is sent again is taken where the disk holds its batch, and refused where it holds another', async () => {
    const { life } = await restarted(5)
    const { partition } = life
    const log = await logOf(5)
    partition.standing(FROM_ZERO, 5n as never)
    for (let op = 1; op <= 4; op++) partition.append('repair', log(op).header, log(op).frame)
    expect(partition.append('backup', log(5).header, log(5).frame).ok).toBe(true)
    const { life: other } = await restarted(5)
    other.partition.standing(FROM_ZERO, 5n as never)
    other.partition.append('repair', log(1).header, log(1).frame)
    const strange = log(2).frame.slice()
    strange[strange.length - 1]! ^= 1
    expect(other.partition.append('backup', log(2).header, strange).ok).toBe(false)
  })

  it('P08 what is on disk is believed only of the same bytes: another batch at its offset is divergence', async () => {
    const { disk, life } = await restarted(5)
    const other = await Life.open(new MemoryDisk(), { replicaCount: 3 })
    await other.sendEach(3)
    await other.send('else')
    life.partition.standing({ logStart: Offset(0n), firstBase: Offset(0n) }, 4n as never)
    for (const op of [1n, 2n, 3n, 4n]) {
      const header = must(other.partition.journal.header(op as never))
      expect(life.partition.append('repair', header, must(other.partition.journal.frame(op as never))).ok).toBe(true)
    }
    // ops 1 to 3 are what is on disk, byte for byte; op 4 is not
    expect(life.partition.repairStanding()).toMatchObject({ recoveredEnd: 0n })
    expect(await life.partition.setTailAside()).toBe(true)
    expect(life.fact('tail_set_aside')).toMatchObject({ first: '3', last: '4' })
    expect(life.partition.repairStanding()).toEqual({ recoveredEnd: 3n, lowestUnapplied: 0n })
    for (const op of [1n, 2n, 3n, 4n]) life.partition.apply(must(life.partition.journal.header(op as never)))
    await life.partition.flush()
    expect(await pollOffset(life.partition, 0n)).toEqual(['0:m0', '1:m1', '2:m2', '3:else'])
    await life.partition.close()
    expect(await pollOffset((await Life.open(disk, { replicaCount: 3 })).partition, 0n)).toHaveLength(4)
  })
})
