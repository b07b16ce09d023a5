import { beforeEach, describe, expect, it } from 'vitest'
import { createHash } from '../../../shared/bytes/hash.ts'
import type { Checksum, Offset, Op, ReplicaId, View } from '../../../shared/bytes/units.ts'
import { globMatches } from '../../../shared/scenario/failpoints.ts'
import { type DiskFile, readFile } from '../../../shared/storage/disk.ts'
import { MemoryDisk } from '../../../shared/storage/memory-disk.ts'
import { SuperblockStore } from '../../../shared/storage/superblock.ts'
import type { VsrState } from '../../../shared/storage/superblock-record.ts'
import { describeDisk } from '../../../shared/storage/testing/disk-conformance.ts'
import { Failpoints } from './failpoints.ts'
import { FaultDisk } from './fault-disk.ts'
import { NodeFaults } from './node-faults.ts'

describeDisk('FaultDisk', async () => ({
  disk: new FaultDisk(new MemoryDisk(), new Failpoints()),
  dispose: async () => {},
}))

const hash = await createHash()
let memory: MemoryDisk
let points: Failpoints
let disk: FaultDisk
let deaths = 0
beforeEach(() => {
  memory = new MemoryDisk()
  deaths = 0
  points = new Failpoints(() => deaths++)
  disk = new FaultDisk(memory, points)
})

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    error => error.disk ?? error.code,
  )
const open = async (path: string): Promise<DiskFile> => disk.open(path, 'create')
const ONE = [new Uint8Array([1, 2, 3, 4])]

describe('a fault', () => {
  it('takes the nth call of its operation on its paths, so often and no more', async () => {
    points.arm('before.datasync@dir/*.log', { effect: { effect: 'error', error: 'Io' }, after: 1, times: 2 })
    await disk.makeDirectory('dir')
    const [log, other] = [await open('dir/a.log'), await open('b.log')]
    const seen: string[] = []
    for (let call = 0; call < 5; call++) {
      seen.push(await failure(log.datasync()))
      expect(await failure(other.datasync())).toBe('done')
    }
    expect(seen).toEqual(['done', 'Io', 'Io', 'done', 'done'])
    expect(points.state()).toMatchObject([{ hits: 3, happened: 2, left: 0 }])
  })

  it('what is only counted changes nothing, and hides nothing that is armed at the same moment', async () => {
    points.arm('before.datasync', { effect: { effect: 'count' }, times: 1 })
    points.arm('before.datasync', { effect: { effect: 'error', error: 'Io' }, after: 1, times: 1 })
    const file = await open('x')
    const seen: string[] = []
    for (let call = 0; call < 3; call++) seen.push(await failure(file.datasync()))
    expect(seen).toEqual(['done', 'Io', 'done'])
    expect(points.state()).toMatchObject([
      { hits: 3, happened: 0 },
      { hits: 2, happened: 1 },
    ])
  })

  it('a full disk takes a part of the bytes', async () => {
    points.arm('before.write', { effect: { effect: 'short', bytes: 3, error: 'NoSpace' } })
    const file = await open('x')
    expect(await failure(file.write(0, ONE))).toBe('NoSpace')
    expect([...(await readFile(memory, 'x', 10))]).toEqual([1, 2, 3])
    points.disarm('before.write')
    expect(await failure(file.write(0, ONE))).toBe('done')
  })

  it('an error after the call leaves its effect', async () => {
    points.arm('after.write', { effect: { effect: 'error', error: 'Io' }, times: 1 })
    const file = await open('x')
    expect(await failure(file.write(0, ONE))).toBe('Io')
    expect([...(await readFile(memory, 'x', 10))]).toEqual([1, 2, 3, 4])
  })

  it('a held call waits until it is released, and others pass', async () => {
    points.arm('before.datasync@x', { effect: { effect: 'hold' } })
    const [file, other] = [await open('x'), await open('y')]
    let done = false
    const held = file.datasync().then(() => {
      done = true
    })
    await other.datasync()
    await new Promise(resolve => setTimeout(resolve, 10))
    expect([done, points.state()[0]!.waiting]).toEqual([false, 1])
    expect(points.release('before.datasync@x')).toBe(1)
    await held
    const again = file.datasync()
    await new Promise(resolve => setTimeout(resolve, 0))
    points.disarm('before.datasync@x')
    await again
    expect(points.state()).toEqual([])
  })

  it('a kill is a call that never ends', async () => {
    points.arm('after.write', { effect: { effect: 'kill' } })
    const file = await open('x')
    const ended = await Promise.race([
      failure(file.write(0, ONE)),
      new Promise(resolve => setTimeout(resolve, 20, 'never')),
    ])
    expect([ended, deaths]).toEqual(['never', 1])
  })
})

const STATE: VsrState = {
  cluster: 7n,
  replicaId: 0 as ReplicaId,
  replicaCount: 1,
  view: 1 as View,
  logView: 1 as View,
  commitMax: 0n as Op,
  checkpointOp: 0n as Op,
  checkpointChecksum: 0n as Checksum,
  offsetFrontier: 6n as Offset,
  offsetReserved: 6n as Offset,
}

describe('the points of a superblock', () => {
  it.each([
    ['sb.tempCreate', { 'superblock.a.tmp': 0 }],
    ['sb.tempHalf', { 'superblock.a.tmp': 55 }],
    ['sb.tempSync', { 'superblock.a.tmp': 110 }],
    ['sb.rename', { 'superblock.a': 110 }],
    ['sb.dirSync', { 'superblock.a': 110 }],
  ])('%s leaves what its name says', async (point, files) => {
    await memory.makeDirectory('metadata')
    points.arm(point, { effect: { effect: 'kill' } })
    const { store } = await SuperblockStore.openWithLatest(disk, 'metadata', hash)
    void store.write(() => STATE)
    for (let turn = 0; turn < 100 && deaths === 0; turn++) await Promise.resolve()
    expect(deaths).toBe(1)
    const found: Record<string, number> = {}
    for (const name of await memory.list('metadata')) found[name] = (await memory.stat(`metadata/${name}`)).sizeBytes
    expect(found).toEqual(files)
  })
})

it('globs', () => {
  expect(globMatches('streams/**/*.log', 'streams/0/topics/1/partitions/0/00.log')).toBe(true)
  expect(globMatches('streams/*.log', 'streams/0/00.log')).toBe(false)
  expect(globMatches('a.b', 'aXb')).toBe(false)
})

describe('the routes of a node', () => {
  const faults = () => new NodeFaults({ volatileDisk: false })
  const query = (text: string) => new URLSearchParams(text)

  it('arm, tell and disarm', () => {
    const node = faults()
    node.handle('POST', ['arm'], query('point=wal.afterSync&effect=delay&ms=5&after=2&times=1'))
    expect(node.handle('GET', [], query(''))).toMatchObject({
      points: [{ point: 'wal.afterSync', effect: { effect: 'delay', ms: 5 }, left: 1 }],
    })
    expect(node.handle('POST', ['disarm'], query('point=wal.afterSync')).points).toEqual([])
    expect(node.handle('POST', ['clock'], query('byMs=-500')).clockByMs).toBe(-500)
    const real = { nowMicros: () => 10_000_000n as never, monoMicros: () => 7 }
    expect([node.clock(real).nowMicros(), node.clock(real).monoMicros()]).toEqual([9_500_000n, 7])
  })

  it.each([
    ['POST', 'arm', 'point=nonsense&effect=kill', 'NoSuchPoint'],
    ['POST', 'arm', 'point=wal.afterSync&effect=explode', 'BadFault'],
    ['POST', 'arm', 'effect=kill', 'BadFault'],
    ['POST', 'arm', 'point=wal.afterSync&effect=delay&ms=-1', 'BadFault'],
    ['GET', 'arm', 'point=wal.afterSync&effect=kill', 'BadFault'],
  ])('%s %s?%s is refused: %s', (method, path, text, code) => {
    expect(() => faults().handle(method, [path], query(text))).toThrow(expect.objectContaining({ code }))
  })

  it('a point on the way of a frame is passed each time', () => {
    const node = faults()
    const sent: number[] = []
    const links = node.replicaLinks({ send: to => sent.push(to) > 0, isConnected: () => true })
    node.points.arm('send.Commit', { effect: { effect: 'delay', ms: 0 } })
    links.send(1 as never, new Uint8Array(256).fill(9, 60, 61))
    links.send(2 as never, new Uint8Array(256).fill(7, 60, 61))
    expect([sent, node.points.state()[0]!.hits]).toEqual([[1, 2], 1])
  })
})
