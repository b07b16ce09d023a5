/** The dry-run boot: what it says that a boot would write is what a boot writes (design.md §7, `--plan`). */
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bootOn, planBoot } from '../replica/plan.ts'
import { type DiskImage, MemoryDisk } from '../storage/memory-disk.ts'
import { type PlannedWrite, TraceDisk } from '../storage/trace-disk.ts'
import { breathe, hash, newWorld, runningIds, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

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

async function loaded(nodes: number, options: object, messages = 12): Promise<World> {
  const world = newWorld({ seed: 5n, nodes })
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

async function compared(image: DiskImage) {
  const below = copyOf(image)
  const plan = await planBoot(below, { hash, scheduler })
  expect(digestOf(below.snapshot())).toEqual(digestOf(copyOf(image).snapshot()))
  const disk = new TraceDisk(copyOf(image), hash)
  const real = await bootOn(disk, plan.identity, { hash, scheduler })
  expect(byPartition(plan.writes)).toEqual(byPartition(disk.writes))
  expect([plan.verdict, plan.refused]).toEqual([real.verdict, real.refused])
  return plan
}

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
  })

  test('holds for random surgeries', async () => {
    const image = killed(await loaded(1, EAGER, 24))
    const files = [...image].filter(([path, bytes]) => bytes && bytes.length > 0 && path.startsWith(DIRECTORY))
    let seed = 12345
    const below = (limit: number) => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
      return Math.floor((seed / 2 ** 32) * limit)
    }
    for (let round = 0; round < 200; round++) {
      const [path] = files[below(files.length)]!
      const cut = below(3)
      const surgery = changed(image, path, bytes => {
        const at = below(bytes.length)
        if (cut === 0) return bytes.slice(0, at)
        if (cut === 1) return undefined
        bytes[at]! ^= 1 + below(255)
        return bytes
      })
      await compared(surgery)
    }
  })
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
