import { expect, it } from 'vitest'
import { createHash } from '../bytes/hash.ts'
import type { GroupEvent, GroupSnapshot, Plane } from './contract.ts'
import { type ClusterOptions, type Node, TestCluster } from './testing/cluster.ts'
import { Dice } from './testing/dice.ts'

const hash = await createHash()

const aTickLater = ({ timers, ...rest }: GroupSnapshot) => ({
  ...rest,
  timers: timers.map(timer => (timer.ticking ? { ...timer, remaining: timer.remaining - 1 } : timer)),
})

/** Holds every tick that a group calls quiet against what it does, and leaves every other one of them out. */
class QuietCluster extends TestCluster {
  quiet = 0

  override step(node: Node, event: GroupEvent): void {
    const group = node.group!
    if (event.kind !== 'tick' || group.quietTicks() === 0) {
      super.step(node, event)
      return
    }
    const expected = aTickLater(group.snapshot())
    const left = this.quiet++ % 2 === 0
    expect(group.step(left ? { kind: 'slept', ticks: 1 } : event)).toEqual([])
    expect(group.snapshot()).toEqual(expected)
  }
}

function run(options: ClusterOptions): QuietCluster {
  const cluster = new QuietCluster(hash, options)
  const draw = new Dice(options.seed * 31 + 7)
  for (let tick = 0; tick < 600; tick++) {
    if (tick % 100 < 20 && draw.chance(300)) cluster.request(cluster.primary()?.replica ?? 0)
    if (options.replicas > 1 && tick === 300) cluster.crash(draw.upTo(options.replicas - 1))
    if (tick === 340) for (const node of cluster.nodes) cluster.restart(node.replica)
    cluster.tick()
  }
  return cluster
}

it.each(['metadata', 'partition'] as const satisfies Plane[])(
  '%s: a tick that is called quiet does nothing but count timers down, through load, losses, a crash and a restart',
  plane => {
    for (let seed = 1; seed <= 6; seed++) {
      const replicas = 1 + (seed % 3)
      const network = { delayMax: seed % 4, drop: seed % 2 === 0 ? 60 : 0, duplicate: 0 }
      const cluster = run({ seed, replicas, plane, network, appendDelayMax: seed % 3, superblockDelayMax: seed % 3 })
      expect(cluster.quiet).toBeGreaterThan(300)
    }
  },
)

it('a replica without peers that has nothing to do is quiet for ever', () => {
  const cluster = new TestCluster(hash, { seed: 1, replicas: 1, plane: 'metadata', appendDelayMax: 9 })
  cluster.run(100)
  expect(cluster.node(0).group!.quietTicks()).toBe(Number.POSITIVE_INFINITY)
  cluster.request(0)
  expect(cluster.node(0).group!.quietTicks()).toBe(0)
  cluster.run(20)
  expect(cluster.node(0).group!.snapshot().commitMin).toBe(1n)
  expect(cluster.node(0).group!.quietTicks()).toBe(Number.POSITIVE_INFINITY)
})
