import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Command } from '../protocol/commands.ts'
import { type FrameOf, parseReplicaFrame, sealFrame } from '../protocol/frames.ts'
import { prepareLayout, startViewLayout } from '../protocol/headers.ts'
import { type ClusterOptions, TestCluster } from './testing/cluster.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const cluster = (options: Partial<ClusterOptions> = {}) =>
  new TestCluster(hash, { seed: 5, replicas: 3, plane: 'partition', ...options })
const leads = (c: TestCluster, index: number) => () => c.node(index).group?.isCaughtUpPrimary() === true
const group = (c: TestCluster, index: number) => c.node(index).group!
const opOf = (frame: Uint8Array) => prepareLayout.decode(frame).op
const disk = (c: TestCluster, index: number) => (c.node(index).journal as unknown as { disk: string[] }).disk

function withOps(count: number): TestCluster {
  const c = cluster()
  for (let op = 0; op < count; op++) {
    c.request(0)
    c.tick()
  }
  c.until(`${count} ops`, () => c.converged())
  return c
}

/** Replica 2 has missed five ops of eight; the two that hold all of them have lost their memory, and there is a primary again. */
function withOneBehind(): TestCluster {
  const c = withOps(3)
  c.isolate(2)
  for (let op = 0; op < 5; op++) c.request(0)
  c.until('they go on', () => c.node(0).group!.commitMin === 8n && c.node(1).group!.commitMin === 8n)
  c.crash(0)
  c.crash(1)
  c.checker.canonical.length = 0
  c.heal()
  c.restart(0)
  c.restart(1)
  c.until('a primary', () => c.primary() !== undefined, 2000)
  return c
}

describe('a majority of a partition lost its memory', () => {
  it('while one of an older view remembers: the longest disk leads', () => {
    const c = withOps(3)
    c.isolate(0)
    c.until('the others lead', leads(c, 1))
    for (let op = 0; op < 5; op++) c.request(1)
    c.until('they go on', () => c.node(2).group!.commitMin === 8n && c.node(1).group!.commitMin === 8n)
    c.crash(1)
    c.crash(2)
    c.checker.canonical.length = 0
    c.heal()
    c.restart(1)
    c.restart(2)
    c.until('another primary', () => c.live().some(({ group }) => group!.isCaughtUpPrimary() && group!.view > 1), 2000)
    c.until('one primary', () => group(c, 0).view > 1)
    expect(disk(c, c.primary()!.replica)).toHaveLength(8)
  })

  it('a candidate that was alone for longer than the wait still waits for the vote of one that it has heard', () => {
    const c = withOps(3)
    c.isolate(0)
    c.until('the others lead', leads(c, 1))
    c.heal()
    c.until('all are in its view', () => c.converged())
    // What 1 alone has written: the others acknowledge it and never hear of its commit.
    c.filter = (from, _to, frame) => from !== 1 || frame[60] !== Command.Commit
    c.request(1)
    c.until('it is confirmed', () => c.node(1).group!.commitMin === 4n)
    for (const node of [0, 1, 2]) c.crash(node)
    expect([0, 1, 2].map(node => disk(c, node).length)).toEqual([3, 4, 3])
    c.checker.canonical.length = 0
    c.heal()
    c.restart(0)
    const alone = () => group(c, 0).snapshot().status === 'view_change' && group(c, 0).view % 3 === 0
    c.until('it would lead', alone, 4_000)
    for (let tick = 0; tick < 50; tick++) c.tick()
    let lost = 1
    c.filter = (from, to, frame) => from !== 1 || to !== 0 || frame[60] !== Command.DoViewChange || lost-- <= 0
    c.restart(1)
    c.restart(2)
    c.until('a primary', () => c.primary() !== undefined, 2_000)
    expect(disk(c, c.primary()!.replica)).toHaveLength(4)
  })

  it('while one of the same view remembers less', () => {
    const c = withOneBehind()
    expect(disk(c, c.primary()!.replica)).toHaveLength(8)
  })

  it('one that remembers and had fallen behind follows the new log as one that has restarted', () => {
    const c = withOneBehind()
    const { life } = c.node(2)
    expect(life).toBe(1)
    c.until('it has started over', () => c.node(2).life === 2)
    c.until('it is in the view', () => group(c, 2).snapshot().status === 'normal')
    expect(group(c, 2).commitMin).toBe(0n)
  })

  it('one that has come to a part of what its own disk holds begins a new log behind all of it', () => {
    const c = withOps(3)
    c.crash(0)
    c.filter = (_from, to, frame) => !(to === 0 && frame[60] === Command.RepairPrepare && opOf(frame) > 1n)
    c.restart(0)
    c.until('it has joined', () => group(c, 0).snapshot().status === 'normal')
    c.run(30)
    expect([c.node(0).journal.highestOp(), group(c, 0).commitMin]).toEqual([1n, 0n])
    c.crash(1)
    c.crash(2)
    c.checker.canonical.length = 0
    for (const index of [1, 2]) disk(c, index).pop()
    c.filter = undefined
    for (const index of [1, 2]) {
      c.node(index).journal.standing = ({ logStart }) => (logStart > 2n ? 'behind' : 'joins')
      c.restart(index)
    }
    c.until('it leads', () => group(c, 0).isPrimary() && group(c, 0).view > 0, 2000)
    c.until('the others are told', () => [1, 2].every(index => c.node(index).needTransfer))
    expect(group(c, 0).snapshot().op).toBe(0n)
  })

  it('one that has joined and not caught up, too: whoever holds more on disk leads, and not for ever nobody', () => {
    const c = withOps(20)
    c.crash(2)
    c.filter = (_from, to, frame) => !(to === 2 && frame[60] === Command.RepairPrepare)
    c.restart(2)
    c.until('it has joined', () => group(c, 2).snapshot().status === 'normal')
    expect([group(c, 2).commitMin, group(c, 2).commitMax]).toEqual([0n, 20n])
    c.crash(0)
    c.crash(1)
    c.checker.canonical.length = 0
    c.filter = undefined
    c.restart(0)
    c.restart(1)
    c.until('a primary', () => c.primary() !== undefined, 2000)
    expect(disk(c, c.primary()!.replica)).toHaveLength(20)
  })
})

describe('the log begins with what only one disk holds', () => {
  /** All die at once with three messages on disk, the given ones with two. */
  function restarted(shorter: readonly number[]): TestCluster {
    const c = withOps(3)
    for (const { replica } of c.nodes) c.crash(replica)
    c.checker.canonical.length = 0
    for (const index of shorter) disk(c, index).pop()
    for (const { replica, journal } of c.nodes) {
      const end = BigInt(disk(c, replica).length)
      journal.standing = ({ logStart }) => (end < logStart ? 'behind' : 'joins')
      c.restart(replica)
    }
    c.until('a primary', () => c.primary() !== undefined, 2000)
    c.until('the others are told', () => shorter.every(index => c.node(index).needTransfer))
    return c
  }

  it('one that waits for it is forgetful and keeps its log view, also when its transfer is given up', () => {
    const c = restarted([0, 2])
    expect(c.primary()!.replica).toBe(1)
    c.request(1)
    for (const index of [0, 2]) {
      c.node(index).needTransfer = false
      c.step(c.node(index), { kind: 'transferAbandoned' })
      expect(c.node(index).needTransfer).toBe(true)
    }
    c.run(50)
    for (const index of [0, 2]) {
      const { view, logView, logViewDurable, status, transferStage } = group(c, index).snapshot()
      expect([view, status, transferStage]).toEqual([group(c, 1).view, 'normal', 'awaiting_target'])
      expect([logView, logViewDurable]).toEqual([0, 0])
    }
    expect(group(c, 1).commitMin).toBe(0n)
  })

  it('two that wait for it leave the lead to the one that holds it, when it returns within the wait', () => {
    const c = restarted([0, 2])
    const { view } = group(c, 1)
    c.isolate(1)
    const electing = [0, 2].map(index => group(c, index))
    c.until('they elect', () => electing.every(({ status }) => status === 'view_change'))
    c.run(25)
    expect(electing.filter(each => each.isCaughtUpPrimary())).toEqual([])
    c.heal()
    c.until('a primary', () => c.live().some(({ group }) => group!.isCaughtUpPrimary() && group!.view > view), 2000)
    c.until('one primary', () => group(c, 1).view > view)
    expect([c.primary()!.replica, disk(c, c.primary()!.replica).length]).toEqual([1, 3])
  })

  it('what one that joined has acknowledged to a leader that is gone stays, though the third does not remember', () => {
    const c = restarted([2])
    const leader = c.primary()!.replica
    const other = 1 - leader
    c.request(leader)
    c.until('op 1', () => group(c, leader).commitMin === 1n)
    expect(group(c, other).commitMin).toBe(0n)
    c.crash(leader)
    c.until('it leads', () => group(c, other).isPrimary(), 2000)
    expect(group(c, other).snapshot().op).toBe(1n)
  })
})

describe('a log that began without a replica', () => {
  /** 0 and 1 write three messages, die together, and go on with a log behind those; 2 has heard of nothing yet. */
  function begunWithout2(messages: number): TestCluster {
    const c = cluster({ startAt: [0, 0, undefined] })
    for (let op = 0; op < messages; op++) {
      c.request(0)
      c.tick()
    }
    c.until('written', () => [0, 1].every(index => disk(c, index).length === messages))
    for (const index of [0, 1]) c.crash(index)
    c.checker.canonical.length = 0
    for (const index of [0, 1]) {
      c.node(index).journal.standing = ({ logStart }) => (logStart > BigInt(messages) ? 'behind' : 'joins')
      c.restart(index)
    }
    c.until('a primary, and both in its view', () => c.converged(), 2000)
    c.filter = (_from, to, frame) => !(to === 2 && frame[60] === Command.StartView)
    return c
  }
  const startThird = (c: TestCluster) => {
    c.node(2).journal.standing = ({ logStart }) => (logStart > 0n ? 'behind' : 'joins')
    c.start(c.node(2))
  }
  const started = (c: TestCluster, index: number) =>
    c.node(index).notes.filter(({ kind }) => kind === 'view_started').length

  it('is not led by that one, which lacks what stood on disks before op 1', () => {
    const c = begunWithout2(3)
    const leader = c.primary()!.replica
    c.request(leader)
    c.until('op 1', () => [0, 1].every(index => group(c, index).commitMin === 1n))
    startThird(c)
    c.isolate(1)
    const { view } = group(c, 0)
    c.until('0 leads, and 2 votes', () => group(c, 0).isPrimary() && group(c, 0).view > view, 4_000)
    expect([started(c, 2), group(c, 0).snapshot().op, disk(c, 0).length]).toEqual([0, 1n, 4])
  })

  it('is led by one of it, though the vote beside its own is of the log before, and knows ops of that as committed', () => {
    const c = withOps(3)
    c.isolate(2)
    for (const index of [0, 1]) c.crash(index)
    c.checker.canonical.length = 0
    for (const index of [0, 1]) {
      c.node(index).journal.standing = () => 'joins'
      c.restart(index)
    }
    c.until('a log without 2', () => c.primary() !== undefined, 4_000)
    const leader = c.primary()!.replica
    c.until('both are in it', () => [0, 1].every(index => group(c, index).view === group(c, leader).view))
    const asks = () => group(c, 2).view > group(c, leader).view && group(c, 2).view % 3 === leader
    c.until('2 wants a view that it would lead', asks, 4_000)
    c.heal()
    c.isolate(1 - leader)
    const before = started(c, leader)
    c.filter = (_from, to, frame) => !(to === 2 && frame[60] === Command.StartView)
    c.until('it leads once more', () => started(c, leader) > before, 4_000)
    const undecided = c.node(leader).notes.filter(({ kind }) => kind === 'merge_undecided')
    expect(undecided).toEqual([])
  })

  it('may be led by it when nothing stood there, and goes on at the base that was announced', () => {
    const c = begunWithout2(0)
    startThird(c)
    const jump = 900n
    c.filter = (_from, to, frame) => {
      if (to !== 2 || frame[60] !== Command.DoViewChange) return !(to === 2 && frame[60] === Command.StartView)
      const vote = parseReplicaFrame(hash, frame) as FrameOf<'DoViewChange'>
      if (vote.header.jumpBase === jump) return true
      const bytes = sealFrame(hash, 'DoViewChange', { ...vote.header, jumpBase: jump }, vote.body)
      c.step(c.node(2), { kind: 'frame', from: vote.header.replica, bytes, nowMicros: c.clock(c.node(2)) })
      return false
    }
    let announced: bigint | undefined
    const deliver = c.filter
    c.filter = (from, to, frame) => {
      if (from === 2 && frame[60] === Command.StartView) announced = startViewLayout.decode(frame).jumpBase
      return deliver(from, to, frame)
    }
    c.isolate(1)
    c.until('2 leads', () => announced !== undefined, 4_000)
    expect([started(c, 2), announced]).toEqual([1, jump])
  })
})

describe('a restarted replica of a partition', () => {
  /** Op 4 is acknowledged by replicas 0 and 1 alone; then 0 loses its memory, and 1 cannot be reached. */
  function acknowledgedByTwo(): TestCluster {
    const c = withOps(3)
    c.filter = (_from, to, frame) => !(to === 2 && frame[60] === Command.Prepare)
    c.request(0)
    c.until('op 4', () => group(c, 0).commitMin === 4n)
    c.filter = undefined
    c.crash(0)
    c.isolate(1)
    disk(c, 0).pop()
    c.restart(0)
    return c
  }

  it('denies nothing that it may have acknowledged: the vote of one that remembers is waited for', () => {
    const c = acknowledgedByTwo()
    c.until('they elect', () => group(c, 2).snapshot().status === 'view_change')
    c.run(25)
    expect(c.live().some(({ group }) => group!.view > 0 && group!.isCaughtUpPrimary())).toBe(false)
    c.heal()
    c.until('one log', () => c.converged() && group(c, 2).view > 0)
    expect(c.checker.canonical).toHaveLength(4)
  })

  it('is not waited for, for ever: after a status timeout the others go on without what nobody remembers', () => {
    const c = acknowledgedByTwo()
    c.until('two lead without it', () => [0, 2].some(id => group(c, id).view > 0 && group(c, id).isCaughtUpPrimary()))
    expect(c.countNotes('jump_announced')).toBe(1)
    c.checker.canonical.length = 3
    c.heal()
    c.until('the third has started over', () => c.node(1).life === 2)
  })

  it('denies nothing either while it has joined a view and does not hold its log again', () => {
    const c = withOps(3)
    c.filter = (_from, to, frame) => !(to === 1 && frame[60] === Command.Prepare)
    c.request(0)
    c.until('op 4', () => group(c, 0).commitMin === 4n)
    c.crash(2)
    c.filter = (_from, to, frame) =>
      !(to !== 0 && [Command.RepairPrepare, Command.Prepare].some(is => is === frame[60]))
    disk(c, 2).length = 3
    c.restart(2)
    c.until('it has joined', () => group(c, 2).snapshot().status === 'normal')
    c.isolate(0)
    c.until('they elect', () => group(c, 1).snapshot().status === 'view_change')
    c.run(25)
    c.filter = undefined
    c.heal()
    c.until('one log', () => c.converged() && group(c, 2).view > 0)
    expect(c.checker.canonical).toHaveLength(4)
  })
})
