/** A solo partition and a receiving replica lose their process or their power at every call of the disk, and boot three times. */
import { describe, expect, it } from 'vitest'
import { Micros, Offset } from '../bytes/units.ts'
import { openPartition } from '../partition/open.ts'
import {
  messagesOf,
  prepare,
  producedBatch,
  Sender,
  TestHost,
  testOptions,
  text,
} from '../partition/testing/harness.ts'
import { TestSuperblock } from '../partition/testing/superblock.ts'
import type { Disk } from '../storage/disk.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { Dice } from './dice.ts'
import { type CrashKind, SimulatedDisk } from './disk.ts'
import { Life } from './life.ts'
import { Timeline } from './timeline.ts'

const KINDS = ['drop', 'keep', 'part'] as const satisfies readonly CrashKind[]
/** Written when they are flushed, and synced then: until that only memory has them. */
const SETTINGS = { enforceFsync: true, messagesRequiredToSave: 1_000, segmentSizeBytes: 4_096 }
const LEASE = 4
const breathe = () => new Promise<void>(resolve => setImmediate(resolve))

/** One machine: a disk, and lives that end at a given call of it. */
class Machine {
  readonly disk = new SimulatedDisk()
  private readonly timeline = new Timeline()
  private readonly dice: Dice
  calls = 0

  constructor(seed: bigint) {
    this.dice = new Dice(seed, 'crash sweep')
  }

  /** Runs `work` in a life of its own; false when it was cut short, at call number `victim`. */
  async live(
    work: (disk: Disk) => Promise<void>,
    kind: CrashKind,
    victim = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    const life = new Life(this.timeline)
    this.calls = 0
    const disk = this.disk.attach(life, {
      latency: () => this.dice.between(1, 50),
      fault: () => undefined,
      completing: () => {
        if (++this.calls !== victim) return
        life.end()
        throw new Error('the power is gone')
      },
    })
    let done = false
    let failure: unknown
    work(disk).then(
      () => {
        done = true
      },
      (error: unknown) => {
        failure = error
        done = true
      },
    )
    await breathe()
    // the engine lets its host breathe too, without a call of the disk
    for (let idle = 0; !done && !life.ended && idle < 100; ) {
      idle = this.timeline.step() ? 0 : idle + 1
      await breathe()
    }
    const finished = done && !life.ended
    life.end()
    this.disk.crash(kind, this.dice)
    if (finished && failure !== undefined) throw failure
    return finished
  }
}

/** What clients were told: one offset, one payload. */
class Told {
  private readonly payloads = new Map<bigint, string>()

  add(offset: bigint, payload: string): void {
    expect(this.payloads.get(offset) ?? payload, `offset ${offset}`).toBe(payload)
    this.payloads.set(offset, payload)
  }
}

let sent = 0

class Solo {
  readonly partition: Awaited<ReturnType<typeof openPartition>>
  readonly host: TestHost
  private readonly told: Told
  private op = 0n

  private constructor(partition: Solo['partition'], host: TestHost, told: Told) {
    this.partition = partition
    this.host = host
    this.told = told
  }

  /** A boot; what it serves is what was told. @throws PartitionRefused */
  static async boot(disk: Disk, told: Told): Promise<Solo> {
    const host = new TestHost(disk)
    const superblock = await TestSuperblock.open(disk)
    const partition = await openPartition({ ...testOptions(host, SETTINGS), superblock, offsetLease: LEASE })
    const { records } = await partition.poll({ kind: 'offset', offset: Offset(0n) }, 10_000, 1 << 24)
    for (const line of messagesOf(records)) told.add(BigInt(line.split(':')[0]!), line.split(':')[1]!)
    return new Solo(partition, host, told)
  }

  async send(count: number): Promise<void> {
    for (let number = 0; number < count; number++) {
      const payload = `m${sent++}`
      const op = ++this.op
      const { header, frame } = prepare(op, producedBatch([text(payload)]), {
        timestamp: Micros(1_700_000_000_001_000n + op),
      })
      let result = this.partition.append('primary', header, frame)
      while (!result.ok && result.pending) {
        await new Promise<void>(resolve => this.partition.whenReserved(resolve))
        result = this.partition.append('primary', header, frame)
      }
      if (!result.ok) throw result.error
      this.told.add(this.partition.apply(result.header).baseOffset!, payload)
    }
  }

  async stop(): Promise<void> {
    await this.partition.flush()
    expect(await this.partition.collapse(true)).toBe(true)
    await this.partition.close()
  }
}

interface Scenario {
  readonly name: string
  /** Lives in front of the one that is cut short. */
  readonly before: (machine: Machine, told: Told, kind: CrashKind) => Promise<void>
  readonly life: (disk: Disk, told: Told) => Promise<void>
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'the reservation fence',
    before: async () => {},
    life: async (disk, told) => (await Solo.boot(disk, told)).send(8),
  },
  {
    name: 'the re-anchoring',
    before: async (machine, told, kind) => {
      await machine.live(async disk => {
        const solo = await Solo.boot(disk, told)
        await solo.send(3)
        await solo.partition.flush()
        await solo.send(2)
      }, kind)
    },
    life: async (disk, told) => (await Solo.boot(disk, told)).send(2),
  },
  {
    name: 'the re-anchoring over an empty tail',
    before: async (machine, told, kind) => {
      for (const flushed of [true, false])
        await machine.live(async disk => {
          const solo = await Solo.boot(disk, told)
          await solo.send(2)
          if (flushed) await solo.partition.flush()
        }, kind)
    },
    life: async (disk, told) => (await Solo.boot(disk, told)).send(2),
  },
  {
    name: 'the clean stop',
    before: async () => {},
    life: async (disk, told) => {
      const solo = await Solo.boot(disk, told)
      await solo.send(6)
      await solo.stop()
    },
  },
]

describe.each(SCENARIOS)('a loss of power at every call of $name', ({ before, life }) => {
  it.each(KINDS)(
    '(%s) gives out no offset twice, and the second and third boot accept',
    async kind => {
      let calls = 0
      for (let victim = 1; ; victim++) {
        const machine = new Machine(BigInt(victim))
        const told = new Told()
        await before(machine, told, kind)
        const whole = await machine.live(disk => life(disk, told), kind, victim)
        for (let boot = 2; boot <= 3; boot++) {
          const again = await machine.live(async disk => (await Solo.boot(disk, told)).send(2), kind)
          expect(again, `call ${victim}, boot ${boot}`).toBe(true)
        }
        if (whole) break
        calls++
      }
      expect(calls).toBeGreaterThan(20)
    },
    180_000,
  )
})

/** Forty messages on an eager replica, as another one offers them. */
async function origin() {
  const partition = await replica(new MemoryDisk())
  await fill(partition, 40)
  return partition.offer()
}

async function replica(disk: Disk) {
  const superblock = await TestSuperblock.open(disk, 3)
  const settings = { ...SETTINGS, messagesRequiredToSave: 1 }
  return openPartition({ ...testOptions(new TestHost(disk), settings), replicaCount: 3, superblock })
}

async function fill(partition: Awaited<ReturnType<typeof replica>>, count: number): Promise<void> {
  const sender = new Sender(partition)
  for (let number = 0; number < count; number++) {
    while (partition.info().reserved <= partition.info().nextOffset) {
      partition.mayReserve()
      await new Promise<void>(resolve => partition.whenReserved(resolve))
    }
    sender.send(`m${number}`)
  }
  await partition.flush()
}

describe('a loss of power at every call of an install', () => {
  it.each(KINDS)(
    '(%s) boots to a stretch of the one history, never below what was held, and so does the third boot',
    async kind => {
      const offer = await origin()
      let calls = 0
      for (let victim = 1; ; victim++) {
        const machine = new Machine(BigInt(victim))
        let started = 0
        await machine.live(async disk => fill(await replica(disk), 15), kind)
        const install = async (disk: Disk, at: () => void) => {
          const partition = await replica(disk)
          const wanted = offer.segments.map(segment => ({ ...segment }))
          await partition.staging.begin(wanted)
          for (const [index, segment] of wanted.entries()) {
            await partition.staging.write(segment, 0, await offer.read(index, 0, segment.sizeBytes))
            await partition.staging.complete(segment)
          }
          at()
          await partition.install({ commitOp: offer.commitOp, offsets: offer.offsets }, 0n)
        }
        // how many calls come in front of the install is found out by one whole run
        const dry = new Machine(BigInt(victim))
        await dry.live(async disk => fill(await replica(disk), 15), kind)
        await dry.live(disk => install(disk, () => (started = dry.calls)), kind)
        const whole = await machine.live(disk => install(disk, () => {}), kind, started + victim)
        for (let boot = 2; boot <= 3; boot++) {
          const again = await machine.live(async disk => {
            const partition = await replica(disk)
            expect(partition.info().nextOffset).toBeGreaterThanOrEqual(15n)
            const from = partition.info().segments[0]!.startOffset
            const { records } = await partition.poll({ kind: 'offset', offset: from }, 1_000, 1 << 24)
            for (const line of messagesOf(records)) expect(line).toMatch(/^(\d+):m\1$/)
          }, kind)
          expect(again, `call ${victim}, boot ${boot}`).toBe(true)
        }
        if (whole) break
        calls++
      }
      expect(calls).toBeGreaterThan(20)
    },
    180_000,
  )
})
