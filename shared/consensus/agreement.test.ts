import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { RULES_ON } from '../protocol/rules.ts'
import type { Plane } from './contract.ts'
import { TestCluster } from './testing/cluster.ts'
import { Dice } from './testing/dice.ts'

const SEEDS = Number(process.env.CONSENSUS_SEEDS ?? 150)
const FIRST_SEED = Number(process.env.CONSENSUS_FIRST_SEED ?? 1)

/** One random history: load, losses, partitions and crashes, then a healed network in which everything must settle. */
function history(hash: Hash, seed: number, plane: Plane): TestCluster {
  const draw = new Dice(seed * 104_729 + (plane === 'metadata' ? 1 : 2))
  const chance = (permille: number) => draw.chance(permille)
  const replicas = [3, 3, 3, 2, 5, 4][draw.upTo(5)]!
  const crashes = chance(700)
  const cluster = new TestCluster(hash, {
    seed,
    replicas,
    plane,
    network: {
      delayMax: draw.upTo(3) * draw.upTo(4),
      drop: chance(500) ? draw.upTo(150) : 0,
      duplicate: chance(500) ? draw.upTo(200) : 0,
    },
    prepareDepth: 1 + draw.upTo(11),
    requestDepth: 8,
    appendDelayMax: draw.upTo(4),
    superblockDelayMax: draw.upTo(5),
    startAt: Array.from({ length: replicas }, () => draw.upTo(chance(500) ? 40 : 0)),
  })
  const partitions = chance(600)
  const failures = chance(200)
  // A partition group keeps its journal in memory: what it promises holds while at most a minority is down or catching up.
  const minority = Math.floor((replicas - 1) / 2)
  const ticks = 400
  for (let tick = 0; tick < ticks; tick++) {
    if (chance(300)) cluster.request(chance(800) ? (cluster.primary()?.replica ?? 0) : draw.upTo(replicas - 1))
    if (crashes && chance(8)) {
      const victim = draw.upTo(replicas - 1)
      const others = cluster.nodes.filter(node => node.replica !== victim)
      const settled = others.filter(node => {
        const s = node.group?.snapshot()
        return (
          s !== undefined &&
          s.status === 'normal' &&
          s.logView === s.view &&
          s.commitMin >= cluster.checker.canonical.length
        )
      })
      if (plane === 'metadata' || settled.length >= replicas - minority) cluster.crash(victim)
    }
    if (chance(15))
      for (const node of cluster.nodes) if (node.group === undefined && chance(500)) cluster.restart(node.replica)
    if (partitions && chance(10)) {
      cluster.heal()
      const [one, other] = [draw.upTo(replicas - 1), draw.upTo(replicas - 1)]
      const shape = draw.upTo(2)
      if (shape === 0) cluster.isolate(one)
      else if (shape === 1) cluster.cutLink(one, other)
      else cluster.cut.add(one * 32 + other)
    }
    if (failures) for (const node of cluster.nodes) if (chance(20)) node.failSuperblock = chance(300)
    cluster.tick()
  }
  cluster.heal()
  for (const node of cluster.nodes) {
    node.failSuperblock = false
    cluster.restart(node.replica)
  }
  cluster.until('a primary that serves', () => cluster.primary() !== undefined, 4000)
  const before = cluster.checker.ackedCount
  cluster.until(
    'everybody agrees and serves',
    () => {
      if (cluster.now % 20 === 0 && cluster.checker.ackedCount === before)
        cluster.request(cluster.primary()?.replica ?? 0)
      return cluster.checker.ackedCount > before && cluster.converged()
    },
    6000,
  )
  return cluster
}

describe.each(['metadata', 'partition'] as const)('a %s group under faults', plane => {
  let hash: Hash
  beforeAll(async () => {
    hash = await createHash()
  })

  it(`replicas never disagree, nothing acknowledged is lost, and everything settles: ${SEEDS} seeds`, () => {
    let acked = 0
    let elections = 0
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      try {
        const cluster = history(hash, seed, plane)
        acked += cluster.checker.ackedCount
        elections += cluster.checker.elections
      } catch (error) {
        throw new Error(`seed ${seed}, plane ${plane}: ${(error as Error).stack}`)
      }
    }
    expect(acked).toBeGreaterThan(SEEDS * 10)
    expect(elections).toBeGreaterThan(SEEDS / 2)
  }, 300_000)
})

it('VC-03 with the rule "durable before send" off, the checker sees a replica speak for a view that it could forget', async () => {
  const cluster = new TestCluster(await createHash(), {
    seed: 1,
    replicas: 3,
    plane: 'metadata',
    superblockDelayMax: 5,
    rules: { ...RULES_ON, durableBeforeSend: false },
  })
  cluster.run(20)
  cluster.crash(0)
  expect(() => cluster.run(300)).toThrow(/speaks for view 1, durable is 0/)
})
