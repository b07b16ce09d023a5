import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Op, ReplicaId, View } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { sealFrame } from '../protocol/frames.ts'
import { prepareLayout } from '../protocol/headers.ts'
import { toRepairPrepare } from '../protocol/seal.ts'
import { type ClusterOptions, TestCluster } from './testing/cluster.ts'
import { sealedHeader } from './testing/headers.ts'
import type { MemoryJournal, WalJournal } from './testing/journal.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const command = (frame: Uint8Array) => frame[60]
const group = (c: TestCluster, index: number) => c.node(index).group!

function withOps(count: number, options: Partial<ClusterOptions> = {}): TestCluster {
  const c = new TestCluster(hash, { seed: 11, replicas: 3, plane: 'metadata', ...options })
  more(c, count)
  return c
}

function more(c: TestCluster, count: number) {
  const goal = c.checker.ackedCount + count
  for (let op = 0; op < count; op++) {
    c.request(0)
    c.tick()
  }
  c.until('served', () => c.checker.ackedCount === goal, 3000)
}

/** A replica that hears that its primary lives, and nothing else. */
const heartbeatsOnly = (index: number) => (_from: number, to: number, frame: Uint8Array) =>
  to !== index || command(frame) === Command.Commit

const settled = (c: TestCluster) => () => c.converged()

describe.each(['metadata', 'partition'] as const)('repair of a %s group', plane => {
  it('ST-17 a hole in the middle is fetched, in rounds of at most 128, and a lost round is asked for again', () => {
    const c = withOps(3, { plane })
    c.filter = heartbeatsOnly(2)
    more(c, 300)
    let rounds = 0
    let inRound = 0
    let largest = 0
    c.filter = (_from, to, frame) => {
      if (to !== 2) return true
      if (command(frame) === Command.RepairPrepare) {
        inRound++
        largest = Math.max(largest, inRound)
        // The middle of the first round is lost.
        return !(rounds === 0 && inRound > 20 && inRound < 40)
      }
      if (command(frame) === Command.RepairDone) {
        rounds++
        inRound = 0
      }
      return true
    }
    c.until('whole again', settled(c))
    expect([largest <= 128, rounds >= 3]).toEqual([true, true])
  })

  it('G32 entries are taken in order only, so the parent of the next prepare is never rewound', () => {
    const c = withOps(3, { plane })
    c.filter = heartbeatsOnly(1)
    more(c, 5)
    c.filter = (_from, to, frame) => !(to === 1 && command(frame) === Command.RepairPrepare)
    c.until('it asks', () => group(c, 1).snapshot().repair !== undefined)
    for (const op of [8n, 6n, 4n, 7n, 5n, 6n, 5n, 7n, 8n]) {
      const frame = toRepairPrepare(c.node(0).journal.frame(Op(op))!)
      c.step(c.node(1), { kind: 'frame', from: ReplicaId(0), bytes: frame, nowMicros: c.clock(c.node(1)) })
      c.tick()
    }
    expect(c.node(1).journal.highestOp()).toBe(8n)
    expect(group(c, 1).snapshot().lastPrepareChecksum).toBe(c.checker.canonical[7]!.checksum)
    c.filter = undefined
    c.crash(0)
    c.until('it leads', () => group(c, 1).isCaughtUpPrimary())
    c.request(1)
    c.until('op 9', () => group(c, 1).commitMin === 9n)
    expect(c.checker.canonical[8]!.parent).toBe(c.checker.canonical[7]!.checksum)
  })

  it('a round that comes in any order is asked for once, and of one with a loss only what is missing', () => {
    const c = withOps(3, { plane })
    c.filter = heartbeatsOnly(2)
    more(c, 60)
    const held = new Map<bigint, Uint8Array>()
    let again: number | undefined
    c.filter = (_from, to, frame) => {
      if (to !== 2 || command(frame) !== Command.RepairPrepare) return true
      if (again !== undefined) again++
      else held.set(prepareLayout.decode(frame).op, frame.slice())
      return again !== undefined
    }
    c.until('the round is out', () => held.size === 60)
    again = 0
    held.delete(14n)
    for (const bytes of [...held.values()].reverse())
      c.step(c.node(2), { kind: 'frame', from: ReplicaId(0), bytes, nowMicros: c.clock(c.node(2)) })
    c.until('whole again', settled(c))
    expect(again).toBe(1)
  })

  it('an altered repair frame is dropped, and the true one is fetched', () => {
    const c = withOps(3, { plane })
    c.filter = heartbeatsOnly(2)
    more(c, 10)
    let altered = 0
    c.filter = (from, to, frame) => {
      if (to !== 2 || command(frame) !== Command.RepairPrepare || altered > 0) return true
      altered++
      const bad = frame.slice()
      bad[200]! ^= 1
      c.step(c.node(2), { kind: 'frame', from, bytes: bad, nowMicros: c.clock(c.node(2)) })
      return false
    }
    c.until('whole again', settled(c))
    expect(altered).toBe(1)
  })

  it('a frame that does not continue the chain is not journaled, whoever sends it', () => {
    const c = withOps(3, { plane })
    c.filter = heartbeatsOnly(2)
    more(c, 3)
    c.until('it asks', () => group(c, 2).snapshot().repair !== undefined)
    const { frame } = sealedHeader(hash, { op: 4n, parent: 0xbadn, group: c.group, body: new Uint8Array(16) })
    const forged = toRepairPrepare(frame)
    c.step(c.node(2), { kind: 'frame', from: ReplicaId(0), bytes: forged, nowMicros: c.clock(c.node(2)) })
    c.tick()
    expect(c.node(2).journal.highestOp()).toBe(3n)
    c.filter = undefined
    c.until('whole again', settled(c))
  })

  it('a candidate asks another voter when the first one does not serve', () => {
    const c = withOps(3, { plane, replicas: 5 })
    c.filter = heartbeatsOnly(1)
    more(c, 4)
    c.filter = (from, to, frame) => !(to === 1 && from === 2 && command(frame) === Command.RepairPrepare)
    c.crash(0)
    c.until('it leads with all of it', () => group(c, 1).isCaughtUpPrimary() && group(c, 1).commitMin === 7n)
    expect(group(c, 1).view).toBe(1)
  })
})

describe('what peers no longer hold', () => {
  it('ST-16 partition: the floor is taken when what was fetched joins what is on disk', () => {
    const c = withOps(50, { plane: 'partition', ring: 10 })
    c.crash(2)
    more(c, 5)
    c.restart(2)
    c.until('caught up', settled(c))
    expect([c.node(2).needTransfer, group(c, 2).commitMin]).toEqual([false, 55n])
    c.crash(1)
    more(c, 1)
  })

  it('ST-16 partition: a floor whose round never ended is settled by the next one', () => {
    const c = withOps(50, { plane: 'partition', ring: 10 })
    c.crash(2)
    more(c, 5)
    let lost = 0
    c.filter = (_from, to, frame) => to !== 2 || command(frame) !== Command.RepairDone || ++lost > 1
    c.restart(2)
    c.until('caught up', settled(c))
    expect([lost > 1, c.node(2).needTransfer, group(c, 2).commitMin]).toEqual([true, false, 55n])
  })

  it('ST-16 partition: a floor is settled once the entries above it are in, in whatever order they come', () => {
    const c = withOps(50, { plane: 'partition', ring: 10 })
    c.crash(2)
    more(c, 5)
    const held: Uint8Array[] = []
    const kinds = new Set<number>([Command.RangeEvicted, Command.RepairPrepare, Command.RepairDone])
    c.filter = (_from, to, frame) => {
      if (to !== 2 || !kinds.has(command(frame)!)) return true
      held.push(frame.slice())
      return false
    }
    c.restart(2)
    c.until('the round is out', () => held.some(frame => command(frame) === Command.RepairDone))
    c.filter = undefined
    for (const bytes of held.reverse())
      c.step(c.node(2), { kind: 'frame', from: ReplicaId(0), bytes, nowMicros: c.clock(c.node(2)) })
    c.until('caught up', settled(c))
    expect([c.node(2).needTransfer, group(c, 2).commitMin]).toEqual([false, 55n])
  })

  it('ST-16 partition: what a round brought before the peer forgot it is applied, and nothing is passed over', () => {
    const c = withOps(50, { plane: 'partition', ring: 10 })
    c.crash(2)
    more(c, 5)
    let ends = false
    c.filter = (_from, to, frame) =>
      to !== 2 || (command(frame) !== Command.Prepare && (ends || command(frame) !== Command.RepairDone))
    c.restart(2)
    c.until('the first round is in', () => c.node(2).journal.highestOp() === 55n)
    // The ring of the others is past the floor of that round.
    more(c, 8)
    ends = true
    c.until('the second is in', () => group(c, 2).commitMin === 63n)
    c.filter = undefined
    c.until('caught up', settled(c))
    const [held, whole] = [2, 0].map(index => (c.node(index).journal as MemoryJournal).disk)
    expect([c.node(2).needTransfer, held]).toEqual([false, whole])
  })

  it('ST-15 partition: a floor that leaves a gap is refused; the replica says so, stays behind and acknowledges nothing', () => {
    const c = withOps(50, { plane: 'partition', ring: 10 })
    c.crash(2)
    more(c, 40)
    let acks = 0
    c.filter = (from, _to, frame) => {
      if (from === 2 && command(frame) === Command.PrepareOk) acks++
      return true
    }
    c.restart(2)
    more(c, 20)
    expect(group(c, 2).snapshot()).toMatchObject({ status: 'normal', transferStage: 'awaiting_target', commitMin: 0n })
    expect([c.node(2).needTransfer, acks]).toEqual([true, 0])
    expect(c.countNotes('transfer_needed', c.node(2))).toBe(1)
  })

  it('metadata: a range that is only in a snapshot needs a transfer', () => {
    const c = withOps(20)
    c.crash(2)
    more(c, 20)
    for (const index of [0, 1]) (c.node(index).journal as WalJournal).drainBelow(Op(35n))
    c.restart(2)
    c.run(60)
    expect(group(c, 2).snapshot()).toMatchObject({ transferStage: 'awaiting_target' })
    expect(c.node(2).needTransfer).toBe(true)
  })

  it('a peer that merely has less is not a peer that has evicted', () => {
    const c = withOps(3)
    const answers: number[] = []
    c.filter = (_from, to, frame) => {
      if (to === 2) answers.push(command(frame)!)
      return true
    }
    const request = sealFrame(hash, 'RequestPrepares', {
      cluster: 0x1234n,
      view: View(0),
      replica: ReplicaId(2),
      group: c.group,
      nonce: 5n,
      fromOp: Op(9n),
      toOp: Op(12n),
    })
    c.step(c.node(0), { kind: 'frame', from: ReplicaId(2), bytes: request, nowMicros: c.clock(c.node(0)) })
    expect(answers).toEqual([Command.RepairDone])
  })
})
