import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { type ClusterOptions, DEFAULT, TestCluster } from './testing/cluster.ts'
import { Dice } from './testing/dice.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const fresh = (options: Partial<ClusterOptions>) =>
  new TestCluster(hash, { seed: 3, replicas: 3, plane: 'metadata', timers: DEFAULT, ...options })
const views = (c: TestCluster) => c.nodes.map(node => node.group?.view)

describe('starting (real timer periods, a tick is 10 ms)', () => {
  it('fresh nodes, started in any order within ten seconds, settle in view 0 without an election', () => {
    const dice = new Dice(99)
    for (let trial = 0; trial < 40; trial++) {
      const startAt = [dice.upTo(1000), dice.upTo(1000), dice.upTo(1000)]
      const c = fresh({ seed: trial, startAt, network: { delayMax: 2, drop: 50, duplicate: 0 } })
      c.run(2000)
      expect([startAt, views(c), c.countNotes('view_change_started')]).toEqual([startAt, [0, 0, 0], 0])
      expect(c.primary()?.replica).toBe(0)
    }
  })

  it('with node 0 never started, the other two elect and serve within twenty seconds', () => {
    const dice = new Dice(7)
    for (let trial = 0; trial < 20; trial++) {
      const c = fresh({ seed: trial, startAt: [undefined, dice.upTo(500), dice.upTo(500)] })
      c.until('a primary', () => c.primary() !== undefined, 1700)
      const token = c.request(c.primary()!.replica)
      c.until('it serves', () => c.replies.has(token), 100)
      expect(c.now).toBeLessThan(2000)
    }
  })

  it('a partition born while its primary is out of reach elects in about a second, not after the whole timeout', () => {
    const c = fresh({ plane: 'partition', linksKnown: true, startAt: [undefined, 0, 10] })
    c.until('a primary', () => c.primary() !== undefined, 250)
    expect(c.primary()!.replica).toBe(1)
  })

  it('a fresh primary that hears nobody stays as it is', () => {
    const c = fresh({ startAt: [0, undefined, undefined] })
    c.run(5000)
    expect(c.node(0).group!.snapshot()).toMatchObject({ status: 'normal', view: 0 })
  })

  it('a primary that was heard once is missed after the normal heartbeat timeout, not after the first patience', () => {
    const c = fresh({})
    c.run(200)
    c.crash(0)
    c.until('an election', () => c.countNotes('view_change_started') > 0, 510)
  })

  it('a primary that prepared and died before its first heartbeat is missed after the normal timeout, too', () => {
    const c = fresh({})
    c.run(5)
    c.request(0)
    c.run(10)
    expect(c.node(1).group!.snapshot().op).toBe(1n)
    c.crash(0)
    c.until('an election', () => c.countNotes('view_change_started') > 0, 510)
  })

  it('an idle cluster holds no election in 100,000 ticks', () => {
    const c = fresh({ network: { delayMax: 2, drop: 20, duplicate: 20 } })
    c.run(100_000)
    expect([views(c), c.countNotes('view_change_started')]).toEqual([[0, 0, 0], 0])
  }, 60_000)

  it('a restarted backup probes at once and is answered at once', () => {
    const c = fresh({})
    c.request(0)
    c.until('one op', () => c.converged())
    c.crash(2)
    c.run(50)
    c.restart(2)
    c.until('it is back', () => c.converged(), 5)
    expect(c.checker.elections).toBe(0)
  })

  it.each(['metadata', 'partition'] as const)(
    'VC-17 all %s replicas restart, at any moment of a second: one election, one new view, nothing lost',
    plane => {
      const dice = new Dice(plane.length)
      for (let trial = 0; trial < 40; trial++) {
        const c = fresh({
          seed: trial,
          plane,
          network: { delayMax: 1, drop: 0, duplicate: 0 },
          appendDelayMax: 1,
          superblockDelayMax: 2,
        })
        for (let op = 0; op < 10; op++) c.request(0)
        c.until('ten ops', () => c.converged())
        if (plane === 'partition') c.checker.canonical.length = 0
        for (const node of c.nodes) c.crash(node.replica)
        const back = [dice.upTo(100), dice.upTo(100), dice.upTo(100)]
        for (let tick = 0; tick <= 100; tick++) {
          for (const { replica } of c.nodes) if (back[replica] === tick) c.restart(replica)
          c.tick()
        }
        c.until('one new view', () => c.primary() !== undefined && new Set(views(c)).size === 1, 600)
        expect([back, views(c)]).toEqual([back, [1, 1, 1]])
        const token = c.request(c.primary()!.replica)
        c.until('it serves', () => c.replies.has(token) && c.converged(), 200)
        if (plane === 'metadata') expect(c.checker.canonical).toHaveLength(11)
      }
    },
    60_000,
  )

  it('VC-17 with one node missing, four probes go unanswered and the fifth expiry elects', () => {
    const c = fresh({})
    c.request(0)
    c.until('one op', () => c.converged())
    for (const { replica } of c.nodes) c.crash(replica)
    c.restart(1)
    c.restart(2)
    for (const node of c.nodes) node.notes.length = 0
    c.until('an election', () => c.countNotes('view_change_started') > 0, 600)
    expect(c.countNotes('probe_sent', c.node(1))).toBe(4)
    c.until('a primary', () => c.primary() !== undefined, 300)
  })

  it('a restart without a prior life is a fresh start: no probe, the same view 0', () => {
    const c = fresh({})
    c.run(100)
    c.crash(0)
    c.run(10)
    c.restart(0)
    c.run(1000)
    expect([views(c), c.countNotes('probe_started')]).toEqual([[0, 0, 0], 0])
  })

  it('after a whole-cluster restart the longest partition replica leads', () => {
    const c = fresh({ plane: 'partition' })
    for (let op = 0; op < 10; op++) c.request(0)
    c.until('ten ops', () => c.converged())
    c.crash(0)
    c.crash(1)
    // Only the last one still wrote: as if its disk had got further than theirs.
    const disk = (c.node(2).journal as unknown as { disk: string[] }).disk
    disk.push('more', 'and more')
    c.crash(2)
    c.checker.canonical.length = 0
    for (const { replica } of c.nodes) c.restart(replica)
    c.until('a primary', () => c.primary() !== undefined, 2000)
    expect(c.primary()?.replica).toBe(2)
    // The shorter ones must not write behind a hole: they wait for a transfer.
    c.request(2)
    c.run(1000)
    for (const index of [0, 1]) {
      const journal = c.node(index).journal as unknown as { disk: string[] }
      expect([journal.disk.length, c.node(index).group!.commitMin]).toEqual([10, 0n])
    }
  })
})
