/** What the install of a state transfer may change in a group, and what not (spec consensus.md §6.6, design.md §3). */
import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Checksum, type Micros, Op, ReplicaId, View } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { encodeSuffix, sealFrame } from '../protocol/frames.ts'
import { doViewChangeLayout, type PrepareHeader, prepareOkLayout } from '../protocol/headers.ts'
import { restampView } from '../protocol/seal.ts'
import type { GroupEvent, GroupJournal } from './contract.ts'
import { createGroup } from './group.ts'
import { encodeDvcSuffix } from './suffix.ts'
import { TestCluster } from './testing/cluster.ts'
import { sealedHeader } from './testing/headers.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const NOW = 1n as Micros
const VIEW = View(3)

/** Replica 1 of a partition, restarted; its primary in view 3 is replica 0. Driven by hand. */
function restarted() {
  const cluster = new TestCluster(hash, { seed: 1, replicas: 3, plane: 'partition' })
  const config = cluster.config(cluster.node(1))
  const { group } = config
  const log: { header: PrepareHeader; frame: Uint8Array }[] = []
  for (let op = 1n; op <= 8n; op++)
    log.push(sealedHeader(hash, { op, parent: log.at(-1)?.header.checksum ?? 0n, group, view: VIEW }))
  const held = new Map<bigint, { header: PrepareHeader; frame: Uint8Array }>()
  const disk = { verdict: 'not_yet' as 'joins' | 'not_yet' | 'no' }
  const journal: GroupJournal = {
    header: op => held.get(op)?.header,
    frame: op => held.get(op)?.frame,
    highestOp: () => Op([...held.keys()].reduce((max, op) => (op > max ? op : max), 0n)),
    oldestOp: () => Op(0n),
    floorOp: () => Op(0n),
    mayAcknowledge: () => true,
    joinsDisk: () => disk.verdict,
  }
  const none = Op(0n)
  const zero = View(0)
  const g = createGroup(
    config,
    {
      view: zero,
      logView: zero,
      viewDurable: zero,
      logViewDurable: zero,
      headOp: none,
      commitMin: none,
      commitMax: none,
      lastPrepareChecksum: Checksum(0n),
      lastTimestamp: 0n as Micros,
      join: 'probe',
    },
    journal,
  )
  const seen = { acked: [] as bigint[], truncated: [] as bigint[], kinds: [] as string[], votes: [] as Uint8Array[] }
  const options = { stores: true }
  const feed = (event: GroupEvent): void => {
    for (const action of g.step(event)) {
      seen.kinds.push(action.kind === 'note' ? action.note.kind : action.kind)
      if (action.kind === 'append' && options.stores) {
        held.set(action.header.op, action)
        feed({ kind: 'appended', header: action.header })
      }
      if (action.kind === 'truncate') {
        seen.truncated.push(action.fromOp)
        for (const op of [...held.keys()]) if (op >= action.fromOp) held.delete(op)
      }
      if (action.kind === 'persistSuperblock')
        feed({ kind: 'superblockWritten', view: action.view, logView: action.logView })
      if (action.kind !== 'send') continue
      if (action.frame[60] === Command.PrepareOk) seen.acked.push(prepareOkLayout.decode(action.frame).op)
      if (action.frame[60] === Command.DoViewChange) seen.votes.push(action.frame)
    }
  }
  const receive = (from: number, bytes: Uint8Array) =>
    feed({ kind: 'frame', from: ReplicaId(from), bytes, nowMicros: NOW })
  const from = (replica: number, view: View) => ({ cluster: config.cluster, replica: ReplicaId(replica), group, view })
  const headersTo = (op: number) => log.slice(0, op).map(({ header }) => header)
  const startView = (view: View, op: number, logStart: bigint) => {
    const header = { op: Op(BigInt(op)), commit: none, jumpBase: 0n, logStart, originKnown: 1, firstBase: 0n }
    const body = encodeSuffix(headersTo(op).reverse())
    receive(0, sealFrame(hash, 'StartView', { ...from(0, view), ...header, incarnation: 0n }, body))
  }
  const prepare = (op: number) => receive(0, restampView(log[op - 1]!.frame, VIEW))
  const installed = (op: number, commitMax: number, view = VIEW) => {
    for (const at of [...held.keys()]) if (at <= op) held.delete(at)
    const [to, known] = [Op(BigInt(op)), Op(BigInt(commitMax))]
    feed({ kind: 'transferInstalled', op: to, commitMax: known, timestamp: 0n as Micros, view })
  }
  /** It has joined view 3 at op 2, has ops 3 to 5 since, and hears then that its disk is not the beginning of that log. */
  const asks = () => {
    startView(VIEW, 2, 0n)
    for (let op = 1; op <= 5; op++) prepare(op)
    disk.verdict = 'no'
    feed({ kind: 'tick', nowMicros: NOW })
    prepare(5)
  }
  const elect = () => receive(2, sealFrame(hash, 'StartViewChange', from(2, View(4))))
  const voteOfTwo = () => {
    const suffix = headersTo(5)
      .reverse()
      .map(header => ({ op: header.op, header, nack: false, present: true }))
    const { body, ...bits } = encodeDvcSuffix(suffix)
    const frontiers = { forgetful: 0, heldFrontier: 0n, reservedFrontier: 0n, committedFrontier: 0n }
    const origin = { originKnown: 1, logStart: 0n, firstBase: 0n, jumpBase: 0n }
    const vote = { op: Op(5n), commit: none, logView: VIEW, ...frontiers, ...origin, ...bits }
    receive(2, sealFrame(hash, 'DoViewChange', { ...from(2, View(4)), ...vote }, body))
  }
  return { group: g, log, disk, seen, options, feed, startView, prepare, installed, asks, elect, voteOfTwo }
}

const installing: GroupEvent = { kind: 'transferStage', stage: 'installing' }

describe('an install that ends below what has come in the view', () => {
  it('cuts nothing that was acknowledged since the view was adopted, and the next vote denies nothing of it', () => {
    const { group, seen, asks, installed, elect } = restarted()
    asks()
    expect([group.transferStage, [...new Set(seen.acked)]]).toEqual(['awaiting_target', [1n, 2n, 3n, 4n, 5n]])
    installed(3, 3)
    expect([seen.truncated, group.commitMin, group.snapshot().op]).toEqual([[], 3n, 5n])
    elect()
    const { op, nackBitset, presentBitset } = doViewChangeLayout.decode(seen.votes[0]!)
    expect([op, nackBitset, presentBitset]).toEqual([5n, 0n, 0b011n])
  })

  it('one that ends above all of it leaves a parent that nobody knows, and no append in flight passes for it', () => {
    const { group, seen, log, options, asks, installed, prepare, elect } = restarted()
    asks()
    installed(6, 6)
    options.stores = false
    prepare(7)
    expect(group.snapshot().lastPrepareChecksum).toBe(log[6]!.header.checksum)
    elect()
    expect([seen.truncated, group.snapshot().lastPrepareChecksum]).toEqual([[], 0n])
  })
})

describe('an install that a view change overtakes', () => {
  it('what it holds is of a log that the group has left: the replica starts over', () => {
    const { group, seen, asks, feed, startView, installed } = restarted()
    asks()
    feed(installing)
    startView(View(6), 5, 900n)
    expect([group.transferStage, group.commitMin]).toEqual(['installing', 0n])
    installed(3, 3)
    expect([seen.kinds.at(-1), group.status, group.commitMin]).toEqual(['startOver', 'recovering', 0n])
  })

  it('what it holds ends behind the log of the view: that log has lost it, and the replica starts over', () => {
    const { seen, asks, feed, startView, installed } = restarted()
    asks()
    feed(installing)
    startView(View(6), 2, 0n)
    installed(3, 3)
    expect(seen.kinds.at(-1)).toBe('startOver')
  })

  it('of the log of the view, it is taken', () => {
    const { group, asks, feed, startView, installed } = restarted()
    asks()
    feed(installing)
    startView(View(6), 5, 0n)
    installed(3, 3)
    expect([group.status, group.commitMin, group.transferStage]).toEqual(['normal', 3n, 'idle'])
  })

  it('no view begins with a disk that is being changed: the candidate waits for the end of it', () => {
    const { group, seen, asks, feed, elect, voteOfTwo, installed } = restarted()
    asks()
    feed(installing)
    elect()
    voteOfTwo()
    expect([group.status, seen.kinds.includes('view_started')]).toEqual(['view_change', false])
    installed(3, 3)
    expect([group.status, group.view, group.isPrimary(), group.commitMin]).toEqual(['normal', 4, true, 3n])
  })
})
