/** The dry-run boot: what it says that a boot would write is what a boot writes (design.md §7, `--plan`). */
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Xoshiro256 } from '../bytes/random.ts'
import type { ReplicaConfig } from '../replica/contract.ts'
import { bootOn, planBoot } from '../replica/plan.ts'
import { type DiskImage, MemoryDisk } from '../storage/memory-disk.ts'
import { type PlannedWrite, TraceDisk } from '../storage/trace-disk.ts'
import { breathe, hash, newWorld, runningIds, startAll } from './testing/worlds.ts'
import type { World, WorldFact } from './world.ts'

const DIRECTORY = 'streams/0/topics/0/partitions/0'
const TARGET = { kind: 'partition', partition: 0 } as const
const scheduler = { yield: breathe }
const EAGER = { messagesRequiredToSave: 1, enforceFsync: true, segmentSize: 1n << 20n }

const copyOf = (image: DiskImage): MemoryDisk => {
  const disk = new MemoryDisk()
  disk.restore(image)
  return disk
}

const digestOf = (image: DiskImage) => [...image].map(([path, bytes]) => `${path} ${bytes && hash.xxh3(bytes)}`)

async function loaded(nodes: number, options: object, messages = 12, config: Partial<ReplicaConfig> = {}) {
  const world = newWorld({ seed: 5n, nodes, config })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', 1, options))
  await world.until(() => runningIds(world).every(id => world.replica(id).inspect.groups().length === 1), 5_000)
  for (let number = 0; number < messages; number++)
    await world.drive(client.sendMessages('s', 't', TARGET, [{ payload: `${number}`.padEnd(10_000, 'x') }]))
  client.close()
  await world.run(500)
  return world
}

/** What lies on the disk of a node that was killed. */
function killed(world: World, id = 0): Map<string, Uint8Array | undefined> {
  world.kill(id)
  const image = new Map<string, Uint8Array | undefined>()
  for (const path of world.nodes[id]!.disk.paths()) image.set(path, world.nodes[id]!.disk.peek(path))
  return image
}

/** Partitions open side by side: the order counts inside each of them. */
const byPartition = (writes: readonly PlannedWrite[]): PlannedWrite[] => {
  const place = ({ path }: PlannedWrite) => /^streams\/\d+\/topics\/\d+\/partitions\/\d+/.exec(path)?.[0] ?? ''
  return [...writes].sort((a, b) => (place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : 0))
}

/** A topic that was purged and written to again. */
async function purged(): Promise<World> {
  const world = await loaded(1, EAGER)
  const client = world.client([0])
  await world.drive(client.purgeTopic('s', 't'))
  expect(await world.until(() => world.factsOf('partition_purged').length > 0, 5_000)).toBe(true)
  await world.drive(client.sendMessages('s', 't', TARGET, [{ payload: 'after' }]))
  return world
}

/** Node 2 in the middle of an install: with chunks beside the chain, or with its files half renamed. */
async function installing(sign: '.log.staging' | '.index'): Promise<World> {
  const partition = {
    prepareQueueDepth: 32,
    evictedRingCapacity: 2,
    evictedRingBytesMax: 1 << 20,
    segmentBytesMax: 40_000,
  }
  const world = await loaded(3, EAGER, 12, { partition })
  world.kill(2)
  world.wipe(2)
  world.start(2)
  const { disk } = world.nodes[2]!
  const there = () => disk.paths().some(path => path.startsWith(DIRECTORY) && path.endsWith(sign))
  const renamed = () => sign === '.log.staging' || disk.paths().every(path => !path.endsWith('.index.staging'))
  const half = () => there() && renamed() && world.factsOf('transfer_requested').some(({ node }) => node === 2)
  expect(await world.until(half, 60_000)).toBe(true)
  return world
}

/** Killed, booted and killed again: a segment of its own behind an anchor. */
async function rebooted(world: World): Promise<DiskImage> {
  world.kill(0)
  world.start(0)
  expect(await world.until(() => runningIds(world).length === 1, 5_000)).toBe(true)
  const client = world.client([0])
  await world.drive(client.sendMessages('s', 't', TARGET, [{ payload: 'second life' }]))
  const image = killed(world)
  expect([...image.keys()].some(path => path.endsWith('.anchor'))).toBe(true)
  return image
}

const same = (a: Uint8Array | undefined, b: Uint8Array) => a !== undefined && hash.xxh3(a) === hash.xxh3(b)

/** A write of the file itself, or a rename to its name or to that of a directory above it. */
const concerns = ({ path, to }: PlannedWrite, file: string): boolean =>
  path === file || (to !== undefined && (to === file || file.startsWith(`${to}/`)))

async function compared(image: DiskImage, what = '') {
  const below = copyOf(image)
  const plan = await planBoot(below, { hash, scheduler })
  expect(digestOf(below.snapshot())).toEqual(digestOf(copyOf(image).snapshot()))
  const inner = copyOf(image)
  const disk = new TraceDisk(inner, hash)
  const real = await bootOn(disk, plan.identity, { hash, scheduler })
  expect(byPartition(plan.writes), what).toEqual(byPartition(disk.writes))
  // Both went through the same trace: what became of the files is the witness that nothing passed it by.
  const touched = [...inner.snapshot()].filter(([path, bytes]) => bytes && !same(image.get(path), bytes))
  const missed = touched.filter(([path]) => !plan.writes.some(write => concerns(write, path)))
  expect(
    missed.map(([path]) => path),
    what,
  ).toEqual([])
  expect([plan.verdict, plan.refused], what).toEqual([real.verdict, real.refused])
  return plan
}

const isPurge = ({ data }: WorldFact) => data.operation === 'PurgeTopic'

const changed = (image: DiskImage, path: string, change: (bytes: Uint8Array) => Uint8Array | undefined): DiskImage => {
  const copy = new Map(image)
  const bytes = change(copy.get(path)!.slice())
  if (bytes === undefined) copy.delete(path)
  else copy.set(path, bytes)
  return copy
}

describe('the plan of a boot', () => {
  const log = `${DIRECTORY}/00000000000000000000.log`
  const index = `${DIRECTORY}/00000000000000000000.index`

  test('lists exactly the writes of the boot, for directories of six kinds', async () => {
    const image = killed(await loaded(1, EAGER))
    const tail = [...image.keys()]
      .filter(path => path.endsWith('.log'))
      .sort()
      .at(-1)!
    const tailIndex = tail.replace('.log', '.index')
    // killed, with a reservation that was not collapsed: re-anchored
    const reanchored = await compared(image)
    expect(reanchored.writes.map(write => write.path)).toContainEqual(expect.stringMatching(/\.anchor\.staging$/))
    // torn
    const torn = await compared(changed(image, tail, bytes => bytes.slice(0, -7)))
    expect(torn.writes).toContainEqual(expect.objectContaining({ path: tail, operation: 'truncate' }))
    // floored: the index is ahead of the log
    expect(torn.writes).toContainEqual(expect.objectContaining({ path: tailIndex, operation: 'truncate' }))
    // index gone: rebuilt beside and renamed
    const rebuilt = await compared(changed(image, index, () => undefined))
    expect(rebuilt.writes).toContainEqual(expect.objectContaining({ operation: 'rename', to: index }))
    // refused: damage in the middle
    const refused = await compared(changed(image, log, bytes => bytes.fill(0xff, 20_000, 20_100)))
    expect(refused.refused).toEqual([expect.objectContaining({ path: DIRECTORY, code: 'InteriorDamage' })])
    expect(refused.writes.filter(({ path }) => path.startsWith(DIRECTORY))).toEqual([])
    // mid-purge and mid-install: no log any more, and scratch that is swept
    const emptied = new Map(image)
    for (const path of emptied.keys()) if (/\.(log|index)$/.test(path)) emptied.delete(path)
    await compared(emptied)
    const staged = new Map(image).set(`${log}.staging`, new Uint8Array(100))
    expect((await compared(staged)).writes).toContainEqual({ path: `${log}.staging`, operation: 'unlink' })
    // a replica of a cluster that refuses its chain sets it aside
    const member = killed(await loaded(3, EAGER), 1)
    const fenced = await compared(changed(member, log, bytes => bytes.fill(0xff, 20_000, 20_100)))
    expect(fenced.writes.map(({ to }) => to)).toContainEqual(expect.stringMatching(/\.fenced\.0\//))
    expect(fenced.verdict).toBe('boots')
    // and one that has lost its metadata begins a log
    const forgetful = new Map([...member].filter(([path]) => !path.startsWith('metadata')))
    const begun = await compared(forgetful)
    expect(begun.writes).toContainEqual({ path: 'metadata/journal.wal', operation: 'create' })
  })

  test('lists them for a topic that was purged, and for a purge that nobody has applied yet', async () => {
    expect((await compared(killed(await purged()))).refused).toEqual([])

    const other = await loaded(1, EAGER)
    const asked = other.drive(other.client([0]).purgeTopic('s', 't')).catch(() => {})
    expect(await other.until(() => other.factsOf('metadata_applied').some(isPurge), 5_000)).toBe(true)
    const image = killed(other)
    void asked
    const plan = await compared(image)
    expect(plan.verdict).toBe('boots')
    // No write of the boot, and yet what a person must know before it: the messages go as soon as the node runs.
    expect(plan.steps).toContainEqual({
      step: 'purge',
      path: DIRECTORY,
      verdict: 'pending',
      detail: { applied: '0', committed: '1', first: '0', last: '11' },
    })
  })

  test('says that the directory of a deleted incarnation is set aside whole, with what it held', async () => {
    const image = killed(await loaded(1, EAGER))
    const plan = await compared(changed(image, `${DIRECTORY}/purge.gen`, bytes => bytes.fill(0, 8)))
    const to = `${DIRECTORY}.fenced.0`
    expect(plan.writes).toContainEqual({ path: DIRECTORY, operation: 'rename', to })
    const aside = { step: 'incarnation', path: DIRECTORY, verdict: 'set aside', detail: { to, createdRevision: '1' } }
    expect(plan.steps).toContainEqual(aside)
  })

  test('refuses a partition of a later incarnation on a lone node, which learns nothing more, with what to do; a replica waits', async () => {
    const image = killed(await loaded(1, EAGER))
    const later = changed(image, `${DIRECTORY}/purge.gen`, bytes => bytes.fill(0x33, 8, 9))
    const plan = await compared(later)
    expect(plan).toMatchObject({ verdict: 'boots_without_some_partitions' })
    expect(plan.refused).toEqual([
      {
        path: DIRECTORY,
        code: 'IncarnationAhead',
        message: expect.stringContaining('made by revision 51'),
        advice: expect.any(String),
      },
    ])
    const member = killed(await loaded(3, EAGER), 1)
    const waiting = await compared(changed(member, `${DIRECTORY}/purge.gen`, bytes => bytes.fill(0x33, 8, 9)))
    expect(waiting).toMatchObject({ verdict: 'boots', refused: [] })
    const deferred = { step: 'partition', path: DIRECTORY, verdict: 'deferred' }
    expect(waiting.steps).toContainEqual(expect.objectContaining(deferred))
  })

  test('lists what is written beside a partition that cannot be read, before the boot ends', async () => {
    const world = await loaded(1, EAGER)
    const client = world.client([0])
    await world.drive(client.createTopic('s', 'other', 1, EAGER))
    await world.drive(client.sendMessages('s', 'other', TARGET, [{ payload: 'x' }]))
    const image = killed(world)
    const plan = await compared(new Map(image).set(log, undefined))
    expect(plan).toMatchObject({ verdict: 'PartitionUnreadable', advice: expect.any(String) })
    const planted = plan.writes.filter(({ path }) => path.startsWith('streams/0/topics/1/'))
    expect(planted).toContainEqual(
      expect.objectContaining({ operation: 'create', path: expect.stringMatching(/65537/) }),
    )
  })

  test('lists them for a replica that was killed in the middle of an install, chunks and half-renamed files', async () => {
    for (const sign of ['.log.staging', '.index'] as const) {
      const world = await installing(sign)
      expect((await compared(killed(world, 2))).refused).toEqual([])
    }
  }, 120_000)

  test('holds for two hundred random surgeries of directories of each kind, on any of their files', async () => {
    const images = [
      killed(await loaded(1, EAGER, 24)),
      killed(await loaded(3, EAGER, 24), 1),
      await rebooted(await loaded(1, EAGER)),
      killed(await purged()),
      killed(await installing('.index'), 2),
    ]
    const random = new Xoshiro256(200n)
    const below = (limit: number) => random.upTo(limit - 1)
    for (let round = 0; round < 200; round++) {
      const image = images[round % images.length]!
      const files = [...image].filter(([, bytes]) => bytes && bytes.length > 0)
      const [path] = files[below(files.length)]!
      const cut = below(4)
      const surgery = changed(image, path, bytes => {
        const at = below(bytes.length)
        if (cut === 0) return bytes.slice(0, at)
        if (cut === 1) return undefined
        if (cut === 2) return Uint8Array.of(...bytes.subarray(0, 100), ...bytes.subarray(0, at % 1_000))
        bytes[at]! ^= 1 + below(255)
        return bytes
      })
      await compared(surgery, `round ${round}, ${path}, ${cut}`)
    }
  }, 120_000)
})

const GOLDEN = new URL('../../../shared/golden/three-checkpoint/node-0', import.meta.url).pathname
if (!existsSync(GOLDEN)) console.warn(`no golden data at ${GOLDEN}`)

describe.skipIf(!existsSync(GOLDEN) && !process.env.CI)('a directory of the peer', () => {
  test('is refused by name, and the assumption shows what would follow', async () => {
    const { DirectoryDisk } = await import('../../server/node/directory-disk.ts')
    const disk = new DirectoryDisk(GOLDEN, { readOnly: true })
    const plan = await planBoot(disk, { hash, scheduler })
    expect(plan).toMatchObject({ verdict: 'WrongLength', writes: [], identity: { replica: 0, replicaCount: 3 } })
    expect(plan.message).toContain('66')
    const assumed = await planBoot(disk, { hash, scheduler, assumeUnreserved: true })
    expect(assumed.verdict).not.toBe('WrongLength')
  })
})
