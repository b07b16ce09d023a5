/** Drives that lie, and what a run on them still claims (spec drills.md §2.3, 8). */
import { describe, expect, test } from 'vitest'
import { Checker } from './checkers/checker.ts'
import { Dice } from './dice.ts'
import { SimulatedDisk } from './disk.ts'
import { UNDER_LIES, WEAKENED_CLAIM } from './fsync-lie.ts'
import { OffsetLedger } from './ledgers.ts'
import { Life } from './life.ts'
import { LyingDrive } from './lying-drive.ts'
import { runSeed } from './swarm.ts'
import { breathe, hash } from './testing/worlds.ts'
import { Timeline } from './timeline.ts'

const PAGE = 4_096
const dice = () => new Dice(1n, 'test')
const filled = (length: number, value: number) => new Uint8Array(length).fill(value)

/** A disk on a drive of which this share of the syncs are lies, and a file on it whose name is safe. */
async function newDisk(share: number, heldMs = 1_000_000) {
  let nowMs = 0
  let lying = 0
  const timeline = new Timeline()
  const shape = {
    get share() {
      return lying
    },
    heldMs,
  }
  const disk = new SimulatedDisk(() => nowMs, new LyingDrive(shape, dice(), () => nowMs))
  const lost: string[] = []
  disk.lieCameOut = path => lost.push(path)
  const port = disk.attach(new Life(timeline), { latency: () => 1, fault: () => undefined })
  const drive = async <T>(work: Promise<T>): Promise<T> => {
    let settled = false
    const done = work.finally(() => {
      settled = true
    })
    done.catch(() => {})
    while (!settled) {
      timeline.step()
      await new Promise<void>(resolve => setImmediate(resolve))
    }
    return done
  }
  const file = await drive(port.open('log', 'create'))
  await drive(port.syncDirectory(''))
  lying = share
  const written = async (position: number, bytes: Uint8Array) => {
    await drive(file.write(position, [bytes]))
    await drive(file.sync())
  }
  return {
    disk,
    port,
    drive,
    written,
    lost,
    lie: (next: number) => {
      lying = next
    },
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

describe('a drive that lies', () => {
  test('loses with its power what a sync had covered, and says so', async () => {
    const { disk, written, lost } = await newDisk(1)
    await written(0, filled(10, 7))
    // What it says is durable is all that anybody can know.
    expect(disk.durable('log')!.content.size).toBe(10)
    disk.crash('drop', dice())
    expect([disk.peek('log')!.length, lost]).toEqual([0, ['log']])
  })

  test('loses nothing with a process, and with the power later all that the process had written', async () => {
    const { disk, written, lost, port, drive } = await newDisk(1)
    await written(0, filled(10, 7))
    await drive((await drive(port.open('log', 'write'))).write(10, [filled(10, 8)]))
    disk.crash('process', dice())
    expect([disk.peek('log')!.length, lost]).toEqual([20, []])
    disk.crash('keep', dice())
    expect([disk.peek('log')!.length, lost]).toEqual([0, ['log']])
  })

  test('keeps what its cache has given up by itself', async () => {
    const { disk, written, lost, pass } = await newDisk(1, 1)
    await written(0, filled(10, 7))
    pass(1_000)
    disk.crash('drop', dice())
    expect([disk.peek('log'), lost]).toEqual([filled(10, 7), []])
  })

  test('keeps all of a file with the next sync that is no lie', async () => {
    const { disk, written, lost, lie } = await newDisk(1)
    await written(0, filled(10, 7))
    lie(0)
    await written(10, filled(10, 8))
    disk.crash('drop', dice())
    expect([disk.peek('log')!.length, lost]).toEqual([20, []])
  })

  test('loses pages one by one, in no order', async () => {
    const { disk, written, pass } = await newDisk(1, 100)
    await written(0, filled(64 * PAGE, 7))
    pass(70)
    disk.crash('drop', dice())
    const after = disk.peek('log')!
    const pages = Array.from({ length: Math.ceil(after.length / PAGE) }, (_, page) => after[page * PAGE])
    expect(new Set(pages)).toEqual(new Set([0, 7]))
  })

  test('loses names too', async () => {
    const { disk, port, drive, lost } = await newDisk(1)
    await drive(port.open('other', 'create'))
    await drive(port.makeDirectory('made'))
    await drive(port.rename('log', 'moved'))
    await drive(port.syncDirectory(''))
    expect(disk.durable('moved')).toBeDefined()
    disk.crash('drop', dice())
    expect([disk.paths(), lost]).toEqual([['log'], ['']])
  })

  test('which never lies is a disk like any other', async () => {
    const { disk, written, lost } = await newDisk(0)
    await written(0, filled(10, 7))
    disk.crash('drop', dice())
    expect([disk.peek('log'), lost]).toEqual([filled(10, 7), []])
  })
})

describe('a run on such drives', () => {
  // Three replicas of which some are left waiting, five that refuse, one alone.
  test.each([7n, 20n, 6n])('detects, and serves nothing wrong (seed %s)', async seed => {
    const { violations, weakened, marks, drawn } = await runSeed({ seed, hash, breathe, profile: 'fsync-lie' })
    expect(violations, `sim --profile fsync-lie --seed ${seed}`).toEqual([])
    expect(drawn.lies).toBeDefined()
    expect(marks['world.lie_came_out']).toBeGreaterThan(0)
    expect(weakened).toMatchObject({ claim: WEAKENED_CLAIM })
    expect(weakened!.notAsked).toContain('lost-message')
    for (const kept of ['invented', 'cold-open', 'boot', 'engine']) expect(weakened!.notAsked).not.toContain(kept)
  })

  test('claims all as long as no lie has come out', async () => {
    const { violations, weakened, drawn } = await runSeed({
      seed: 21n,
      hash,
      breathe,
      profile: 'fsync-lie',
      faults: [],
      runMs: 20_000,
    })
    expect(drawn.lies).toBeDefined()
    expect([violations, weakened]).toEqual([[], undefined])
  })
})

test('every promise that is kept is kept by name, and what was acknowledged is not among them', () => {
  const kept = Object.entries(UNDER_LIES).filter(([, fate]) => fate === 'kept')
  expect(kept.map(([name]) => name)).toEqual(expect.arrayContaining(['invented', 'damage-refused', 'cold-open']))
  expect(UNDER_LIES).toMatchObject({ 'lost-message': 'weakened', 'offset-reuse': 'weakened', 'vote-once': 'weakened' })
})

describe('an answer to a poll', () => {
  const ledger = () => {
    const checker = new Checker([], hash)
    const offsets = new OffsetLedger(checker)
    offsets.sending('eager/0', ['one', 'two'])
    offsets.sending('eager/1', ['three'])
    return { checker, offsets }
  }

  test('holds what was sent to that partition, in order, from where it was asked for', () => {
    const { checker, offsets } = ledger()
    offsets.polled(
      'eager/0',
      [
        { offset: 4n, payload: 'one' },
        { offset: 7n, payload: 'two' },
      ],
      4n,
    )
    expect(checker.violations).toEqual([])
  })

  test.each([
    ['bytes that nobody sent', 'eager/0', [{ offset: 0n, payload: 'on\0' }], 0n],
    ['a message of another partition', 'eager/0', [{ offset: 0n, payload: 'three' }], 0n],
    ['an offset before the one that was asked for', 'eager/0', [{ offset: 3n, payload: 'one' }], 4n],
    [
      'an offset twice',
      'eager/0',
      [
        { offset: 3n, payload: 'one' },
        { offset: 3n, payload: 'one' },
      ],
      0n,
    ],
  ] as const)('must not hold %s', (_, partition, messages, from) => {
    const { checker, offsets } = ledger()
    offsets.polled(partition, messages, from)
    expect(checker.violations.map(({ checker }) => checker)).toEqual(['invented'])
  })
})
