import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Checksum, Op, ReplicaId, View } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { sealFrame } from '../protocol/frames.ts'
import { type ClusterOptions, TestCluster } from './testing/cluster.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const cluster = (options: Partial<ClusterOptions> = {}) =>
  new TestCluster(hash, { seed: 5, replicas: 3, plane: 'metadata', ...options })
const command = (frame: Uint8Array) => frame[60]
const group = (c: TestCluster, index: number) => c.node(index).group!
const commits = (c: TestCluster) => c.nodes.map(node => node.group?.commitMin)
const leads = (c: TestCluster, index: number) => () => c.node(index).group?.isCaughtUpPrimary() === true
const VIEW_SCOPED: readonly number[] = [Command.StartViewChange, Command.DoViewChange, Command.StartView]

function withOps(count: number, options: Partial<ClusterOptions> = {}): TestCluster {
  const c = cluster(options)
  for (let op = 0; op < count; op++) {
    c.request(0)
    c.tick()
  }
  c.until(`${count} ops`, () => c.converged() && c.checker.ackedCount === count)
  return c
}

describe.each(['metadata', 'partition'] as const)('a %s group loses its primary', plane => {
  it('VC-01 mid-load: another one leads, every acknowledged op is there, waiting clients are told', () => {
    const c = withOps(60, { plane })
    const waiting = [c.request(0), c.request(0)]
    c.crash(0)
    c.until('a new primary', leads(c, 1))
    const token = c.request(1)
    c.until('it serves', () => c.replies.has(token) && c.converged())
    expect(c.checker.canonical.length).toBeGreaterThanOrEqual(61)
    expect(waiting.some(unanswered => c.replies.has(unanswered))).toBe(false)
  })

  it('clients of a primary that is deposed learn that their outcome is unknown, queued ones that they were not admitted', () => {
    const c = withOps(3, { plane, prepareDepth: 2, requestDepth: 4 })
    c.isolate(0)
    const tokens = [c.request(0), c.request(0), c.request(0)]
    c.until('the others lead', leads(c, 1))
    c.heal()
    c.until('the old one follows', () => group(c, 0).view === 1)
    expect([c.node(0).cancelled, c.node(0).refused]).toEqual([tokens.slice(0, 2), ['not_primary']])
  })

  it('VC-05 G30 a next primary that lacks the committed op fetches it before it starts', () => {
    const c = withOps(2, { plane })
    c.filter = (_from, to, frame) => !(to === 1 && command(frame) === Command.Prepare)
    // The chain ends at the deaf replica 1; the retransmission reaches replica 2.
    const token = c.request(0)
    c.until('committed without replica 1', () => c.replies.has(token))
    expect(c.node(1).journal.highestOp()).toBe(2n)
    c.crash(0)
    c.filter = undefined
    c.until('replica 1 leads', leads(c, 1))
    expect([group(c, 1).view, group(c, 1).snapshot().op]).toEqual([1, 3n])
    c.until('the op is there', () => c.converged())
    expect(commits(c)).toEqual([undefined, 3n, 3n])
    expect(c.countNotes('repair_started', c.node(1))).toBeGreaterThan(0)
  })

  it('VC-06 a winner far behind its own commit catches up before it serves', () => {
    const c = withOps(2, { plane })
    c.filter = (_from, to, frame) =>
      !(to === 1 && (command(frame) === Command.Prepare || command(frame) === Command.RepairPrepare))
    for (let op = 0; op < 20; op++) {
      c.request(0)
      c.run(12)
    }
    expect([group(c, 1).commitMin, group(c, 1).commitMax > 10n]).toEqual([2n, true])
    c.crash(0)
    c.filter = undefined
    c.until('replica 1 leads with all of it', leads(c, 1))
    expect(group(c, 1).commitMin).toBe(22n)
  })

  it('VC-16 the old primary comes back with or without its disk, and never answers for the old view', () => {
    const c = withOps(4, { plane })
    c.crash(0)
    c.until('another leads', leads(c, 1))
    c.restart(0)
    expect(group(c, 0).isCaughtUpPrimary()).toBe(false)
    c.until('it follows', () => c.converged(), 200)
    expect([group(c, 0).view, c.checker.elections]).toEqual([1, 1])
  })

  it('VC-19 lost votes are sent again: the view change ends in the view it began', () => {
    const c = withOps(3, { plane })
    let lost = 0
    c.filter = (_from, _to, frame) => command(frame) !== Command.DoViewChange || ++lost > 6
    c.crash(0)
    c.until('a new primary', leads(c, 1))
    expect([lost > 6, group(c, 1).view]).toEqual([true, 1])
  })

  it('VC-20 a primary that can send and not receive is replaced, and nothing is acknowledged twice', () => {
    const c = withOps(3, { plane })
    c.cut.add(1 * 32 + 0)
    c.cut.add(2 * 32 + 0)
    const unheard = c.request(0)
    c.until('it falls silent and another leads', leads(c, 1))
    const token = c.request(1)
    c.until('progress', () => c.replies.has(token))
    expect(c.replies.has(unheard)).toBe(false)
    c.heal()
    c.until('one log', () => c.converged())
  })

  it('VC-21 two primaries, two clients: only the majority acknowledges, and the minority follows', () => {
    const c = withOps(3, { plane })
    c.isolate(0)
    const lonely = Array.from({ length: 5 }, () => c.request(0))
    c.until('the majority elects', leads(c, 1))
    const heard = Array.from({ length: 5 }, () => {
      const token = c.request(1)
      c.run(2)
      return token
    })
    c.until('the majority serves', () => heard.every(token => c.replies.has(token)))
    expect(lonely.some(token => c.replies.has(token))).toBe(false)
    c.heal()
    c.until('one log', () => c.converged())
    expect(commits(c)).toEqual([8n, 8n, 8n])
    expect(c.node(0).journal.header(Op(4n))?.checksum).toBe(c.checker.canonical[3]!.checksum)
  })

  it('a backup that missed a view change asks for the newer view it has heard of, and elects nobody', () => {
    const c = withOps(3, { plane })
    const heartbeat = sealFrame(hash, 'Commit', {
      cluster: 0x1234n,
      view: View(1),
      replica: ReplicaId(1),
      group: c.group,
      commitChecksum: Checksum(0n),
      timestampMonotonic: 1n,
      commit: Op(3n),
      checkpointOp: Op(0n),
    })
    c.isolate(2)
    c.step(c.node(2), { kind: 'frame', from: ReplicaId(1), bytes: heartbeat, nowMicros: c.clock(c.node(2)) })
    c.until('it misses its primary', () => group(c, 2).snapshot().status !== 'normal')
    expect(group(c, 2).snapshot()).toMatchObject({ status: 'recovering', view: 0, observedNewerView: 1 })
    c.heal()
    c.until('it is back', () => c.converged(), 50)
    expect(c.checker.elections).toBe(0)
  })

  it('VC-22 a replica that bumped its view in isolation does not lock the others out', () => {
    const c = withOps(3, { plane })
    c.isolate(2)
    c.run(1500)
    expect(group(c, 2).view).toBeGreaterThan(5)
    c.heal()
    c.until('one view', () => c.converged(), 300)
    const token = c.request(c.primary()!.replica)
    c.until('it serves', () => c.replies.has(token))
  })

  it('a deposed primary whose heartbeat counter was lower does not lose its backups again', () => {
    const c = withOps(1, { plane })
    c.run(600)
    c.crash(0)
    c.until('another leads', leads(c, 1))
    c.run(1000)
    expect([group(c, 1).view, c.checker.elections]).toEqual([1, 1])
  })

  it('G31 an op that only the lost primary held is given up, and the view starts', () => {
    const c = withOps(3, { plane })
    c.filter = (_from, _to, frame) => command(frame) !== Command.Prepare
    c.request(0)
    c.run(3)
    c.crash(0)
    c.filter = undefined
    c.until('a new primary', leads(c, 1))
    expect(group(c, 1).snapshot().op).toBe(3n)
  })

  it('with five replicas, two losses and a late one: the log goes on', () => {
    const c = withOps(10, { plane, replicas: 5 })
    c.crash(0)
    c.crash(1)
    c.until('the third leads', leads(c, 2))
    const token = c.request(2)
    c.until('it serves', () => c.replies.has(token))
    c.restart(1)
    c.until('all agree', () => c.converged())
    expect(commits(c).filter(commit => commit === 11n)).toHaveLength(4)
  })
})

describe('votes', () => {
  it('a prepare that a backup has applied is acknowledged again: a new primary may not know that it committed', () => {
    const c = withOps(0)
    let prepare: Uint8Array | undefined
    const acks: number[] = []
    c.filter = (from, to, frame) => {
      if (command(frame) === Command.Prepare && to === 1) prepare ??= frame.slice()
      if (command(frame) === Command.PrepareOk && from === 1) acks.push(c.now)
      return true
    }
    c.request(0)
    c.until('applied', () => c.converged())
    acks.length = 0
    c.step(c.node(1), { kind: 'frame', from: ReplicaId(0), bytes: prepare!, nowMicros: c.clock(c.node(1)) })
    expect(acks).toHaveLength(1)
  })

  it('nobody votes in the group of another incarnation: its frames name another cluster', () => {
    const c = cluster({ plane: 'partition' })
    c.run(2)
    const from = (cluster: bigint) =>
      sealFrame(hash, 'StartViewChange', { cluster, view: View(1), replica: ReplicaId(2), group: c.group })
    c.send(ReplicaId(2), ReplicaId(1), from(0x1234n ^ (9n << 64n)))
    c.run(2)
    expect(group(c, 1).view).toBe(0)
    c.send(ReplicaId(2), ReplicaId(1), from(0x1234n))
    c.run(2)
    expect(group(c, 1).view).toBe(1)
  })

  it('the first vote of a replica counts: a later one that says otherwise replaces nothing', () => {
    const c = cluster({ replicas: 5 })
    c.run(2)
    const svc = (from: number) =>
      sealFrame(hash, 'StartViewChange', {
        cluster: 0x1234n,
        view: View(1),
        replica: ReplicaId(from),
        group: c.group,
      })
    const dvc = (from: number, op: number) =>
      sealFrame(hash, 'DoViewChange', {
        cluster: 0x1234n,
        view: View(1),
        replica: ReplicaId(from),
        group: c.group,
        op: Op(BigInt(op)),
        commit: Op(0n),
        logView: View(0),
        heldFrontier: 0n,
        reservedFrontier: 0n,
        committedFrontier: 0n,
        forgetful: 0,
        originKnown: 0,
        logStart: 0n,
        firstBase: 0n,
        jumpBase: 0n,
        nackBitset: 0n,
        presentBitset: 0n,
      })
    const feed = (from: number, bytes: Uint8Array) =>
      c.step(c.node(1), { kind: 'frame', from: ReplicaId(from), bytes, nowMicros: c.clock(c.node(1)) })
    feed(2, svc(2))
    feed(2, dvc(2, 3))
    feed(2, dvc(2, 4))
    const { doViewChange } = group(c, 1).snapshot().votes
    expect(doViewChange.map(({ replica, op }) => [replica, op])).toEqual([
      [1, 0n],
      [2, 3n],
    ])
  })

  it('a partition replica that lost its memory lets those who remember decide first', () => {
    const c = withOps(3, { plane: 'partition' })
    // Op 4 is committed by 0 and 2; replica 1 never gets it.
    c.filter = (_from, to, frame) => !(to === 1 && command(frame) === Command.Prepare)
    const token = c.request(0)
    c.until('committed', () => c.replies.has(token))
    let votesOfZero = 0
    c.filter = (from, to, frame) => {
      const kind = command(frame)
      // Replica 1 misses the primary, replica 2 finds nobody who answers, and the vote of 0 is late.
      if (from === 0 && kind === Command.Commit) return false
      if (from === 0 && to === 2 && kind === Command.StartView) return false
      return !(from === 0 && to === 1 && kind === Command.DoViewChange && ++votesOfZero <= 1)
    }
    c.run(85)
    c.crash(2)
    c.restart(2)
    c.until('a view starts', () => c.live().some(node => node.group!.view > 0 && node.group!.isCaughtUpPrimary()))
    c.filter = undefined
    c.until('one log', () => c.converged())
    expect(c.checker.canonical.length).toBeGreaterThanOrEqual(4)
    expect(commits(c)).toEqual([4n, 4n, 4n])
  })
})

describe('a relic of an old view', () => {
  it('below the announced head is never applied or acknowledged, and is replaced by the true op', () => {
    const c = withOps(3, { network: { delayMax: 1, drop: 0, duplicate: 0 }, appendDelayMax: 1, superblockDelayMax: 3 })
    c.isolate(0)
    c.request(0)
    c.run(3)
    const relic = c.node(0).journal.header(Op(4n))
    c.until('the others lead', leads(c, 1))
    for (let op = 0; op < 6; op++) {
      c.request(1)
      c.run(10)
    }
    c.heal()
    c.until('one log', () => c.converged())
    expect(relic).toBeDefined()
    expect(c.node(0).journal.header(Op(4n))?.checksum).not.toBe(relic!.checksum)
    expect(commits(c)).toEqual([9n, 9n, 9n])
  })

  it('keeps the log view down until it is gone, so that a crash in between cannot make it canonical', () => {
    const c = withOps(3)
    c.isolate(0)
    c.request(0)
    c.run(3)
    c.until('the others lead', leads(c, 1))
    for (let op = 0; op < 6; op++) {
      c.request(1)
      c.run(10)
    }
    c.heal()
    c.filter = (_from, to, frame) => !(to === 0 && command(frame) === Command.RepairPrepare)
    c.until('it has adopted the view', () => group(c, 0).snapshot().status === 'normal' && group(c, 0).view === 1)
    c.run(40)
    expect(group(c, 0).snapshot()).toMatchObject({ view: 1, logView: 0, commitMin: 3n })
    c.crash(0)
    c.filter = undefined
    c.restart(0)
    c.until('one log', () => c.converged())
  })
})

describe('VC-03 durable before vote', () => {
  it('a replica whose superblock fails casts no vote, and elects as soon as it works again', () => {
    const c = withOps(3)
    const sent: number[] = []
    c.filter = (from, _to, frame) => {
      if (from === 1) sent.push(command(frame)!)
      return true
    }
    c.node(1).failSuperblock = true
    c.crash(0)
    c.run(600)
    expect(sent.filter(kind => VIEW_SCOPED.includes(kind))).toEqual([])
    expect(c.primary()).toBeUndefined()
    c.node(1).failSuperblock = false
    c.until('an election', () => c.primary() !== undefined)
  })

  it('VC-04 its probe is sent all the same', () => {
    const c = withOps(3)
    c.node(1).failSuperblock = true
    c.crash(1)
    c.restart(1)
    let probes = 0
    c.filter = (from, _to, frame) => {
      if (from === 1 && command(frame) === Command.RequestStartView) probes++
      return true
    }
    c.run(30)
    expect(probes).toBeGreaterThan(0)
  })

  it('a failing write is retried with a growing pause, and a write under way is not repeated', () => {
    const c = withOps(1)
    c.node(1).failSuperblock = true
    c.crash(0)
    c.crash(2)
    c.run(150)
    const writes = () => c.countNotes('superblock_due', c.node(1))
    const early = writes()
    c.run(400)
    expect(writes() - early).toBeLessThan(10)
    expect(writes()).toBeGreaterThan(5)
  })

  it('VC-18 a request that arrives while the new view is being made durable commits once, above the inherited suffix', () => {
    const c = withOps(3, { superblockDelayMax: 0 })
    c.filter = (from, to, frame) => command(frame) !== Command.PrepareOk && !(from === 0 && to === 2)
    c.request(0)
    c.run(3)
    c.crash(0)
    c.filter = undefined
    c.until('it has started the view, not yet durable', () => {
      const { status, view, logViewDurable } = group(c, 1).snapshot()
      return status === 'normal' && view === 1 && logViewDurable === 0
    })
    const token = c.request(1)
    c.until('both committed', () => c.converged() && c.checker.canonical.length >= 4)
    if (!c.replies.has(token)) expect(c.node(1).refused).toEqual(['not_caught_up'])
  })
})
