import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Checksum, Op, ReplicaId, View } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { encodeSuffix, sealFrame } from '../protocol/frames.ts'
import { prepareLayout, prepareOkLayout, startViewLayout } from '../protocol/headers.ts'
import { restampView } from '../protocol/seal.ts'
import type { GroupJournal } from './contract.ts'
import { createGroup } from './group.ts'
import { TestCluster } from './testing/cluster.ts'
import { chainOf, sealedHeader } from './testing/headers.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const cluster = () => new TestCluster(hash, { seed: 5, replicas: 3, plane: 'metadata' })
const command = (frame: Uint8Array) => frame[60]

/** A group alone, driven by hand. */
function alone(overrides: {
  readonly log?: number
  readonly view?: number
  readonly logView?: number
  readonly commit?: number
  readonly incarnation?: bigint
}) {
  const log = chainOf(hash, overrides.log ?? 0)
  const truncated: bigint[] = []
  const appended: bigint[] = []
  const acked: bigint[] = []
  const held = new Map(log.map(header => [header.op as bigint, header]))
  const journal: GroupJournal = {
    header: op => held.get(op),
    frame: op => {
      const header = held.get(op)
      return header && prepareLayout.encode(header)
    },
    highestOp: () => Op([...held.keys()].reduce((max, op) => (op > max ? op : max), 0n)),
    oldestOp: () => Op(held.size > 0 ? 1n : 0n),
    floorOp: () => Op(0n),
    mayAcknowledge: () => true,
  }
  const probe = cluster()
  const config = { ...probe.config(probe.node(0)), replica: ReplicaId(0), incarnation: overrides.incarnation ?? 77n }
  const view = View(overrides.view ?? 1)
  const logView = View(overrides.logView ?? 1)
  const commit = Op(BigInt(overrides.commit ?? 0))
  const g = createGroup(
    config,
    {
      view,
      logView,
      viewDurable: view,
      logViewDurable: logView,
      headOp: Op(BigInt(log.length)),
      commitMin: commit,
      commitMax: commit,
      lastPrepareChecksum: log[log.length - 1]?.checksum ?? Checksum(0n),
      lastTimestamp: log[log.length - 1]?.timestamp ?? (0n as never),
      join: 'probe',
    },
    journal,
  )
  let pair: { view: View; logView: View } | undefined
  const persisted = () => {
    if (pair !== undefined) feed({ kind: 'superblockWritten', ...pair })
    pair = undefined
  }
  const feed = (event: Parameters<typeof g.step>[0]) => {
    for (const action of g.step(event)) {
      if (action.kind === 'append') appended.push(action.header.op)
      if (action.kind === 'send' && command(action.frame) === Command.PrepareOk) {
        acked.push(prepareOkLayout.decode(action.frame).op)
      }
      if (action.kind === 'persistSuperblock') pair = { view: action.view, logView: action.logView }
      if (action.kind !== 'truncate') continue
      truncated.push(action.fromOp)
      for (const op of [...held.keys()]) if (op >= action.fromOp) held.delete(op)
    }
  }
  const startView = (fields: { view: number; op: number; commit: number; incarnation: bigint; headers?: number }) => {
    const headers = log.slice(Math.max(fields.op - (fields.headers ?? 0), 0), fields.op).reverse()
    const frame = sealFrame(
      hash,
      'StartView',
      {
        cluster: 0x1234n,
        view: View(fields.view),
        replica: ReplicaId(fields.view % 3),
        op: Op(BigInt(fields.op)),
        commit: Op(BigInt(fields.commit)),
        group: config.group,
        jumpBase: 0n,
        logStart: 0n,
        originKnown: 0,
        firstBase: 0n,
        incarnation: fields.incarnation,
      },
      encodeSuffix(headers),
    )
    expect(frame.length - 256).toBe(headers.length * 256)
    expect(startViewLayout.size).toBe(256)
    feed({ kind: 'frame', from: ReplicaId(fields.view % 3), bytes: frame, nowMicros: 1n as never })
  }
  return { group: g, log, startView, truncated, appended, acked, feed, persisted }
}

describe('a recovering replica and the StartViews that reach it', () => {
  it('VC-13 one for a former life is ignored; the echo of this boot is adopted', () => {
    const { group: g, startView } = alone({ log: 9, commit: 5 })
    startView({ view: 1, op: 7, commit: 7, incarnation: 76n })
    expect(g.snapshot().status).toBe('recovering')
    startView({ view: 1, op: 9, commit: 9, incarnation: 77n, headers: 2 })
    expect(g.snapshot()).toMatchObject({ status: 'normal', view: 1, logView: 1 })
  })

  it('VC-13 a newer view, and a head at or past the own, are adopted whatever the nonce', () => {
    const newer = alone({ log: 9, commit: 5 })
    newer.startView({ view: 2, op: 7, commit: 7, incarnation: 76n, headers: 1 })
    expect(newer.group.snapshot()).toMatchObject({ status: 'normal', view: 2 })
    const past = alone({ log: 9, commit: 5 })
    past.startView({ view: 1, op: 9, commit: 9, incarnation: 76n, headers: 1 })
    expect(past.group.snapshot().status).toBe('normal')
  })

  it('VC-14 a zero nonce claims nothing: the other rules decide', () => {
    const { group: g, startView } = alone({ log: 9, commit: 5 })
    startView({ view: 0, op: 9, commit: 9, incarnation: 0n })
    expect(g.snapshot().status).toBe('recovering')
    startView({ view: 1, op: 9, commit: 9, incarnation: 0n, headers: 1 })
    expect(g.snapshot().status).toBe('normal')
  })

  it('VC-14 one without a nonce, of the view whose log is held, cuts nothing of it', () => {
    const { group: g, startView, truncated } = alone({ log: 9, commit: 5 })
    startView({ view: 1, op: 7, commit: 6, incarnation: 0n, headers: 2 })
    expect([g.snapshot().status, truncated]).toEqual(['recovering', []])
    startView({ view: 2, op: 7, commit: 6, incarnation: 0n, headers: 2 })
    expect([g.snapshot().status, truncated]).toEqual(['normal', [8n]])
  })

  it('VC-15 a head below the own log in the same log view: adopted, and the suffix above is cut', () => {
    const { group: g, startView, truncated } = alone({ log: 9, commit: 5 })
    startView({ view: 1, op: 7, commit: 6, incarnation: 77n, headers: 2 })
    expect(g.snapshot()).toMatchObject({ status: 'normal', op: 7n, commitMin: 6n })
    expect(truncated).toEqual([8n])
  })

  it('one below its commit in the same log view is refused', () => {
    const { group: g, startView } = alone({ log: 9, commit: 8 })
    startView({ view: 1, op: 7, commit: 7, incarnation: 77n })
    expect(g.snapshot().status).toBe('recovering')
  })

  it('a second StartView of a view that it has joined lowers no head', () => {
    const { group: g, startView, truncated } = alone({ log: 9, commit: 5 })
    startView({ view: 1, op: 9, commit: 6, incarnation: 77n, headers: 4 })
    startView({ view: 1, op: 7, commit: 7, incarnation: 0n, headers: 1 })
    expect([g.snapshot().op, g.commitMin, truncated]).toEqual([9n, 7n, []])
  })

  it('an entry that no announced header vouches for is not acknowledged, and a live prepare of the view replaces it', () => {
    const { group: g, log, startView, truncated, appended, acked, feed, persisted } = alone({ log: 6, commit: 5 })
    startView({ view: 2, op: 8, commit: 5, incarnation: 77n })
    feed({ kind: 'tick', nowMicros: 1n as never })
    persisted()
    expect(g.snapshot()).toMatchObject({ status: 'normal', view: 2, logView: 1, viewDurable: 2 })
    const { frame } = sealedHeader(hash, { op: 6n, parent: log[4]!.checksum, flavour: 9, view: 2, commit: 5n })
    feed({ kind: 'frame', from: ReplicaId(2), bytes: frame, nowMicros: 1n as never })
    expect([truncated, appended, acked]).toEqual([[6n], [6n], []])
  })

  it('one that a live prepare of the view confirms is acknowledged from then on', () => {
    const { group: g, log, startView, truncated, appended, acked, feed, persisted } = alone({ log: 6, commit: 5 })
    startView({ view: 2, op: 6, commit: 5, incarnation: 77n })
    feed({ kind: 'tick', nowMicros: 1n as never })
    persisted()
    const frame = restampView(prepareLayout.encode(log[5]!), View(2))
    feed({ kind: 'frame', from: ReplicaId(2), bytes: frame, nowMicros: 1n as never })
    persisted()
    expect(g.snapshot().logView).toBe(2)
    expect([truncated, appended, [...new Set(acked)]]).toEqual([[], [], [6n]])
  })

  it('casts no vote and joins no election, whatever it hears', () => {
    const { group: g, feed } = alone({ log: 3, commit: 2 })
    const svc = sealFrame(hash, 'StartViewChange', {
      cluster: 0x1234n,
      view: View(9),
      replica: ReplicaId(1),
      group: g.config.group,
    })
    feed({ kind: 'frame', from: ReplicaId(1), bytes: svc, nowMicros: 1n as never })
    expect(g.snapshot()).toMatchObject({ status: 'recovering', view: 1 })
  })
})
