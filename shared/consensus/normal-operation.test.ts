import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Micros, Op, ReplicaId } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { prepareOkLayout } from '../protocol/headers.ts'
import { type ClusterOptions, TestCluster } from './testing/cluster.ts'
import { sealedHeader } from './testing/headers.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const cluster = (options: Partial<ClusterOptions> = {}) =>
  new TestCluster(hash, { seed: 1, replicas: 3, plane: 'metadata', ...options })
const command = (frame: Uint8Array) => frame[60]
const group = (c: TestCluster, index: number) => c.node(index).group!
const commits = (c: TestCluster) => c.nodes.map(node => node.group?.commitMin)
const ignoredFor = (c: TestCluster, index: number, reason: string) =>
  c.node(index).notes.filter(note => note.kind === 'frame_ignored' && note.detail?.reason === reason).length

describe.each(['metadata', 'partition'] as const)('a %s group in view 0', plane => {
  it('CN-01 every request commits once, in order, on all three', () => {
    const c = cluster({ plane })
    const tokens = Array.from({ length: 200 }, () => {
      c.tick()
      return c.request(0)
    })
    c.until('all applied everywhere', () => c.converged() && c.checker.ackedCount === 200)
    expect(tokens.map(token => c.replies.get(token))).toEqual(tokens.map((_, index) => BigInt(index + 1)))
    expect(c.checker.elections).toBe(0)
  })

  it('CN-02 a solo group commits in the pass of its own append, and sends nothing', () => {
    const c = cluster({ plane, replicas: 1 })
    for (let count = 0; count < 100; count++) {
      const token = c.request(0)
      c.tick()
      expect(c.replies.get(token)).toBe(BigInt(count + 1))
      expect(c.node(0).journal.highestOp()).toBe(BigInt(count + 1))
    }
    expect(c.sent).toBe(0)
  })

  it('CN-03 of two, both must hold an op: none commits while one is silent, and it commits once when it is back', () => {
    const c = cluster({ plane, replicas: 2 })
    c.run(20)
    c.cutLink(0, 1)
    const token = c.request(0)
    c.run(60)
    expect(c.replies.has(token)).toBe(false)
    c.heal()
    c.until('committed on both', () => c.converged())
    expect([c.replies.get(token), commits(c), c.checker.elections]).toEqual([1n, [1n, 1n], 0])
  })

  it('CN-05 a full pipeline queues, full queues refuse at once, and nothing is lost when acknowledgements resume', () => {
    const c = cluster({ plane, prepareDepth: 32, requestDepth: 64 })
    c.filter = (_from, _to, frame) => command(frame) !== Command.PrepareOk
    const tokens = Array.from({ length: 97 }, () => c.request(0))
    c.run(3)
    const { pipeline, requestQueue } = group(c, 0).snapshot()
    expect([pipeline.length, requestQueue, c.node(0).refused]).toEqual([32, 64, ['queues_full']])
    c.filter = undefined
    c.until('everything queued commits', () => c.converged())
    expect(tokens.slice(0, 96).map(token => c.replies.get(token))).toEqual(
      tokens.slice(0, 96).map((_, i) => BigInt(i + 1)),
    )
    expect(c.replies.has(tokens[96]!)).toBe(false)
  })

  it('CN-06 a lost prepare is sent again, and the timer ticks exactly while something is in flight', () => {
    const c = cluster({ plane })
    const ticking = () =>
      group(c, 0)
        .snapshot()
        .timers.find(timer => timer.name === 'prepare')!.ticking
    expect(ticking()).toBe(false)
    let lost = 0
    c.filter = (_from, _to, frame) => command(frame) !== Command.Prepare || ++lost > 1
    const token = c.request(0)
    c.tick()
    expect(ticking()).toBe(true)
    c.run(12)
    expect([c.replies.get(token), ticking(), c.countNotes('prepare_retransmitted', c.node(0)) > 0]).toEqual([
      1n,
      false,
      true,
    ])
  })

  it('CN-07 doubled and reordered acknowledgements count once each, and no commit runs ahead of its quorum', () => {
    const c = cluster({ plane, replicas: 5, network: { delayMax: 4, drop: 0, duplicate: 500 } })
    for (let count = 0; count < 500; count++) {
      c.request(0)
      if (count % 4 === 0) c.tick()
      for (const { acks, op } of group(c, 0).snapshot().pipeline) {
        expect(new Set(acks).size).toBe(acks.length)
        if (op <= group(c, 0).commitMax) expect(acks.length).toBeGreaterThanOrEqual(3)
      }
    }
    c.until('settled', () => c.converged())
    expect(ignoredFor(c, 0, 'duplicate_ack')).toBeGreaterThan(0)
  })

  it('CN-08 a prepare with a broken parent is not journaled; the chain stays whole and repair brings the true one', () => {
    const c = cluster({ plane })
    c.request(0)
    c.until('one op', () => c.converged())
    const body = new Uint8Array(16)
    const { frame: forged } = sealedHeader(hash, { op: 2n, parent: 0xbadn, body, group: c.group })
    c.step(c.node(1), { kind: 'frame', from: ReplicaId(0), bytes: forged, nowMicros: Micros(1n) })
    expect(c.node(1).journal.highestOp()).toBe(1n)
    expect(ignoredFor(c, 1, 'broken_parent')).toBe(1)
    expect(c.countNotes('repair_started', c.node(1))).toBe(1)
    c.request(0)
    c.until('the true op 2', () => c.converged())
    expect(commits(c)).toEqual([2n, 2n, 2n])
  })

  it('CN-09 one flipped bit, anywhere in a frame, is never acknowledged, and retransmission heals', () => {
    const c = cluster({ plane })
    let bit = 0
    c.filter = (from, to, frame) => {
      if (command(frame) !== Command.Prepare && command(frame) !== Command.PrepareOk) return true
      if (++bit % 2 === 0) return true
      const flipped = frame.slice()
      // The body of a partition prepare has a checksum of its own, which its journal checks.
      const length = plane === 'metadata' ? frame.length : 256
      const at = (bit * 37) % length
      // The view is outside the identity; a wrong one is another view's frame.
      if (at >= 52 && at < 56) return true
      flipped[at]! ^= 1 << (bit % 8)
      const before = c.node(to).journal.highestOp()
      c.step(c.node(to), { kind: 'frame', from, bytes: flipped, nowMicros: Micros(1n) })
      expect(c.node(to).journal.highestOp(), `byte ${at}`).toBe(before)
      return false
    }
    for (let count = 0; count < 40; count++) {
      c.request(0)
      c.run(30)
    }
    c.filter = undefined
    c.until('all forty', () => c.converged())
    expect(commits(c)).toEqual([40n, 40n, 40n])
  })

  it('CN-10 the heartbeat alone carries the last commit to the backups', () => {
    const c = cluster({ plane })
    c.request(0)
    c.until('the primary has it', () => group(c, 0).commitMin === 1n)
    c.run(10)
    expect(commits(c)).toEqual([1n, 1n, 1n])
  })

  it('CN-12 timestamps rise although the clock of the primary steps back an hour, across a view change too', () => {
    const c = cluster({ plane })
    for (let count = 0; count < 30; count++) {
      if (count === 10) c.skewMicros[0] = -3_600_000_000n
      c.request(0)
      c.tick()
    }
    c.until('settled', () => c.converged())
    c.skewMicros[1] = -7_200_000_000n
    c.crash(0)
    c.until('another primary', () => c.primary() !== undefined)
    c.request(1)
    c.until('its op', () => c.converged())
    const times = c.checker.canonical.map(header => header.timestamp)
    expect(times).toHaveLength(31)
    for (let index = 1; index < times.length; index++) expect(times[index]! > times[index - 1]!).toBe(true)
  })

  it('CN-13 a failed append takes its op back: the next request gets the same number', () => {
    const c = cluster({ plane })
    c.run(5)
    c.node(0).journal.failNext = 1
    const first = c.request(0)
    c.run(2)
    const { op, pipeline, timers } = group(c, 0).snapshot()
    const { cancelled, refused } = c.node(0)
    // A log on a disk may hold some of it: its outcome is unknown. A journal in memory that refused it holds nothing.
    expect([cancelled, refused]).toEqual(plane === 'metadata' ? [[first], []] : [[], ['append_failed']])
    expect([op, pipeline, timers.find(timer => timer.name === 'prepare')!.ticking]).toEqual([0n, [], false])
    const second = c.request(0)
    c.until('committed', () => c.converged())
    expect(c.replies.get(second)).toBe(1n)
  })

  it('CN-14 a client that no longer waits changes nothing: its op commits and the next one follows', () => {
    const c = cluster({ plane })
    c.request(0)
    const second = c.request(0)
    c.until('both', () => c.converged())
    expect([c.replies.get(second), commits(c)]).toEqual([2n, [2n, 2n, 2n]])
  })

  it('CN-20 an unknown command is dropped, and the group goes on', () => {
    const c = cluster({ plane })
    const frame = new Uint8Array(256)
    frame[60] = 200
    new DataView(frame.buffer).setUint32(48, 256, true)
    c.step(c.node(1), { kind: 'frame', from: ReplicaId(0), bytes: frame, nowMicros: Micros(1n) })
    expect(ignoredFor(c, 1, 'malformed_BadCommand')).toBe(1)
    c.request(0)
    c.until('it goes on', () => c.converged())
  })

  it('a backup that is known to be gone is skipped by the chain, so that the load does not wait for retransmissions', () => {
    const c = cluster({ plane })
    c.run(5)
    c.crash(1)
    const first = c.request(0)
    c.until('the first waits for one retransmission', () => c.replies.has(first), 10)
    const sentAgain = () => c.countNotes('prepare_retransmitted', c.node(0))
    const before = sentAgain()
    for (let count = 0; count < 50; count++) {
      c.request(0)
      c.run(2)
    }
    expect([c.checker.ackedCount, sentAgain() - before]).toEqual([51, 0])
  })

  it('a restarted backup joins a load that never pauses', () => {
    const c = cluster({ plane })
    const load = (ticks: number) => {
      for (let count = 0; count < ticks; count++) {
        c.request(0)
        c.tick()
      }
    }
    load(50)
    c.crash(2)
    load(200)
    c.restart(2)
    load(300)
    const { status, commitMin } = group(c, 2).snapshot()
    expect(status).toBe('normal')
    expect(group(c, 0).commitMin - commitMin).toBeLessThan(5n)
    expect(c.checker.elections).toBe(0)
  })
})

describe('appends that take time', () => {
  it('overlap on a backup: op k+1 is journaled while k is under way, and each is acknowledged when it has landed', () => {
    const c = cluster({ appendDelayMax: 0 })
    c.run(3)
    c.node(1).journal.hold = true
    c.filter = (from, to, frame) => !(command(frame) === Command.Prepare && from === 0 && to === 2)
    const acks: bigint[] = []
    const seen = c.filter
    c.filter = (from, to, frame) => {
      if (from === 1 && command(frame) === Command.PrepareOk) acks.push(prepareOkLayout.decode(frame).op)
      return seen(from, to, frame)
    }
    for (let count = 0; count < 3; count++) c.request(0)
    c.run(4)
    expect([acks, group(c, 1).snapshot().op]).toEqual([[], 0n])
    c.node(1).journal.hold = false
    c.run(2)
    expect([acks.slice(0, 3), group(c, 1).snapshot().op]).toEqual([[1n, 2n, 3n], 3n])
  })

  it('CN-13 a sibling that landed behind a failed append cannot be unwound: the head is unreconcilable', () => {
    const c = cluster()
    c.run(3)
    c.node(0).journal.failNext = 1
    c.request(0)
    c.request(0)
    c.run(2)
    expect(c.node(0).unreconcilable).toContain('op 2')
  })

  it('CN-13 siblings that fail together are taken back together', () => {
    const c = cluster()
    c.run(3)
    c.node(0).journal.failNext = 3
    const tokens = [c.request(0), c.request(0), c.request(0)]
    c.run(2)
    expect([c.node(0).unreconcilable, [...c.node(0).cancelled].sort()]).toEqual([undefined, tokens])
    const next = c.request(0)
    c.until('op 1 again', () => c.converged())
    expect(c.replies.get(next)).toBe(1n)
  })

  it('one that lands after its view is over moves no head, is not acknowledged, and is gone when the new view says so', () => {
    const c = cluster()
    c.request(0)
    c.until('one op', () => c.converged())
    c.node(0).journal.hold = true
    c.isolate(0)
    c.request(0)
    c.until('the others elect', () => group(c, 1).isCaughtUpPrimary())
    const other = c.request(1)
    c.until('their op 2', () => c.replies.has(other))
    c.heal()
    c.until('the old primary follows', () => group(c, 0).snapshot().view === 1)
    c.node(0).journal.hold = false
    c.until('one log', () => c.converged())
    expect(c.node(0).journal.header(Op(2n))?.checksum).toBe(c.checker.canonical[1]!.checksum)
  })

  it('one that failed on a backup is simply sent again', () => {
    const c = cluster()
    c.run(3)
    c.node(1).journal.failNext = 2
    c.request(0)
    c.request(0)
    c.request(0)
    c.until('all three everywhere', () => c.converged())
    expect(commits(c)).toEqual([3n, 3n, 3n])
  })
})
