/**
 * The fold: stream messages to a view model, one at a time, pure. Folding a batch equals folding its items one by one,
 * however they were split; unchanged parts keep their identity, so that a reader may compare by reference.
 *
 * Two truths must not be mixed. A snapshot says everything about one node at its `seq`; an event changes what it names,
 * and only if it is later than the snapshot. After a gap nothing of that node can be trusted to be current: the fold keeps
 * the old values, marks the node `needsSnapshot`, and only a snapshot that covers the gap clears the mark.
 * A new boot id ends everything the old life said; what arrives late from an old life is history, never state.
 */
import type { StreamMessage, StreamSnapshot } from './api.ts'
import { CONSOLE_NODE, type EventEnvelope, type EventGap, isGap } from './envelope.ts'
import { BROKEN_MAX, brokenBy } from './invariants.ts'
import { kindSpec, wordsOf } from './kinds.ts'
import type { GroupSnapshotJson, GroupSummary, NodeSnapshot } from './snapshots.ts'
import {
  type ClusterView,
  COMMIT_MARKS_MAX,
  FACTS_MAX,
  type Fact,
  type GroupView,
  msOf,
  type NodeProcess,
  type NodeView,
  OLD_BOOTS_MAX,
  type ReplicaCell,
  TRAFFIC_MAX,
} from './view.ts'

export function fold(view: ClusterView, message: StreamMessage): ClusterView {
  switch (message.event) {
    case 'hello':
      return {
        ...view,
        run: message.data.run,
        name: message.data.name,
        replicaCount: message.data.replicaCount,
        readOnly: message.data.readOnly,
      }
    case 'nodes': {
      const nodes = new Map(view.nodes)
      for (const process of message.data) {
        const { snapshot: _snapshot, snapshotWallUs: _at, ...rest } = process
        const node = nodes.get(process.id) ?? emptyNode(process.id)
        nodes.set(process.id, { ...node, process: rest, lifeEnded: node.lifeEnded === true || endsLife(node, rest) })
      }
      return { ...view, nodes }
    }
    case 'snapshot':
      return foldSnapshot(view, message.data)
    case 'load':
      return { ...view, load: message.data }
    case 'batch':
      return foldBatch(view, message.data)
    case 'gap':
      return foldBatch(view, [message.data])
    case 'heartbeat':
      return view
    default:
      // A console of a later build may say more.
      return view
  }
}

/** True when the process that `node` has words of can't be the one that is described now. */
function endsLife(node: NodeView, now: NodeProcess): boolean {
  if (node.boot === undefined) return false
  if (now.state !== 'running' && now.state !== 'paused') return true
  const before = node.process?.pid ?? null
  return before !== null && now.pid !== null && before !== now.pid
}

const emptyNode = (id: number): NodeView => ({
  id,
  process: undefined,
  snapshot: undefined,
  boot: undefined,
  oldBoots: [],
  lifeEnded: false,
  seq: 0,
  heardMs: 0,
  missing: undefined,
  needsSnapshot: true,
})

/** Copies of the parts of a view that a batch changes, made at the first change: one copy a batch, not one an event. */
class Draft {
  readonly base: ClusterView
  nodes: Map<number, NodeView> | undefined
  groups: Map<string, GroupView> | undefined
  facts: Fact[] | undefined
  traffic: Fact[] | undefined
  seq: number
  factCount: number
  eventCount: number
  gapCount: number

  constructor(base: ClusterView) {
    this.base = base
    this.seq = base.seq
    this.factCount = base.factCount
    this.eventCount = base.eventCount
    this.gapCount = base.gapCount
  }

  node(id: number): NodeView {
    return (this.nodes ?? this.base.nodes).get(id) ?? emptyNode(id)
  }

  setNode(node: NodeView): void {
    this.nodes ??= new Map(this.base.nodes)
    this.nodes.set(node.id, node)
  }

  group(id: string): GroupView | undefined {
    return (this.groups ?? this.base.groups).get(id)
  }

  setGroup(group: GroupView): void {
    this.groups ??= new Map(this.base.groups)
    this.groups.set(group.group, group)
  }

  allGroups(): Iterable<GroupView> {
    return (this.groups ?? this.base.groups).values()
  }

  deleteGroup(id: string): void {
    this.groups ??= new Map(this.base.groups)
    this.groups.delete(id)
  }

  addFact(fact: Omit<Fact, 'number'>): void {
    this.factCount += 1
    const numbered = { ...fact, number: this.factCount }
    if (kindSpec(fact.kind)?.routine) {
      this.traffic ??= this.base.traffic.slice()
      this.traffic.push(numbered)
    } else {
      this.facts ??= this.base.facts.slice()
      this.facts.push(numbered)
    }
  }

  finish(): ClusterView {
    const { base } = this
    return {
      ...base,
      seq: this.seq,
      nodes: this.nodes ?? base.nodes,
      groups: this.groups ?? base.groups,
      facts: this.facts ? this.facts.slice(-FACTS_MAX) : base.facts,
      factsDropped: base.factsDropped + Math.max(0, (this.facts?.length ?? 0) - FACTS_MAX),
      traffic: this.traffic ? this.traffic.slice(-TRAFFIC_MAX) : base.traffic,
      factCount: this.factCount,
      eventCount: this.eventCount,
      gapCount: this.gapCount,
    }
  }
}

function foldBatch(view: ClusterView, items: readonly (EventEnvelope | EventGap)[]): ClusterView {
  if (items.length === 0) return view
  const draft = new Draft(view)
  for (const item of items) {
    if (isGap(item)) foldGap(draft, item)
    else foldEvent(draft, item)
  }
  return draft.finish()
}

/* ------------------------------------------------------------------------------------------------- events */

function foldEvent(draft: Draft, event: EventEnvelope): void {
  if (event.consoleSeq !== undefined) {
    // A resumed stream may repeat what was folded already.
    if (event.consoleSeq <= draft.seq) return
    draft.seq = event.consoleSeq
  }
  draft.eventCount += 1
  const atMs = msOf(event.receivedWallUs ?? event.wallUs)
  if (event.class === 'fact') draft.addFact(factOf(event, atMs))
  if (event.node === CONSOLE_NODE) return

  const node = enterBoot(draft, event.node, event.boot, atMs)
  if (!node) return
  if (event.seq <= node.seq) return
  draft.setNode({ ...node, seq: event.seq, heardMs: Math.max(node.heardMs, atMs) })
  if (event.plane !== 'node') foldGroupEvent(draft, event, atMs)
}

function factOf(event: EventEnvelope, atMs: number): Omit<Fact, 'number'> {
  const about = event.node === CONSOLE_NODE && typeof event.data.node === 'number' ? event.data.node : event.node
  return {
    consoleSeq: event.consoleSeq,
    node: event.node,
    about,
    boot: event.boot,
    seq: event.seq,
    atMs,
    plane: event.plane,
    group: event.group,
    kind: event.kind,
    view: event.view,
    op: event.op,
    words: wordsOf(event),
    tone: kindSpec(event.kind)?.tone ?? 'plain',
    data: event.data,
  }
}

/** The node in the life `boot`, or undefined when that life is over. A life never heard of before ends the current one. */
function enterBoot(draft: Draft, id: number, boot: string, atMs: number): NodeView | undefined {
  const node = draft.node(id)
  if (node.boot === boot) return node
  if (node.oldBoots.includes(boot)) return undefined
  const oldBoots = node.boot === undefined ? node.oldBoots : [...node.oldBoots, node.boot].slice(-OLD_BOOTS_MAX)
  const next: NodeView = {
    ...node,
    boot,
    oldBoots,
    lifeEnded: false,
    seq: 0,
    snapshot: undefined,
    needsSnapshot: true,
    heardMs: Math.max(node.heardMs, atMs),
  }
  draft.setNode(next)
  for (const group of [...draft.allGroups()]) {
    if (!group.replicas.has(id) && !group.chains.has(id)) continue
    draft.setGroup({ ...group, replicas: without(group.replicas, id), chains: without(group.chains, id) })
  }
  return next
}

const without = <K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> => {
  if (!map.has(key)) return map
  const copy = new Map(map)
  copy.delete(key)
  return copy
}

/** Status and role that a kind announces. Everything else about the cell is in the envelope's own fields. */
const ANNOUNCES: Readonly<Record<string, Partial<Pick<ReplicaCell, 'status' | 'role'>>>> = {
  view_change_started: { status: 'view_change', role: 'backup' },
  view_started: { status: 'normal', role: 'primary' },
  view_adopted: { status: 'normal', role: 'backup' },
  probe_started: { status: 'recovering', role: 'backup' },
}

/** Kinds whose `op` the reporter has applied; and those whose `op` it holds. In others `op` may be a peer's. */
const NAMES_APPLIED = new Set(['op_committed', 'commit_advanced', 'metadata_applied', 'session_changed'])
const NAMES_HELD = new Set(['prepare_queued', 'prepare_acked', 'view_started', 'view_adopted'])

function foldGroupEvent(draft: Draft, event: EventEnvelope, atMs: number): void {
  const group = draft.group(event.group)
  // A group that no snapshot named yet: its plane and key are not known from one event, the next snapshot brings it.
  if (!group) return
  const old = group.replicas.get(event.node)
  if (!old) return
  const announced = ANNOUNCES[event.kind] ?? {}
  const view = event.view ?? old.view
  const op = bigintOf(event.op)
  const commit = bigintOf(event.commit)
  const applied = NAMES_APPLIED.has(event.kind) ? op : undefined
  const held = NAMES_HELD.has(event.kind) ? op : applied
  const durable = event.kind === 'superblock_durable'
  const cell: ReplicaCell = {
    ...old,
    ...announced,
    view,
    primary: draft.base.replicaCount > 0 ? view % draft.base.replicaCount : old.primary,
    logView: event.logView ?? old.logView,
    viewDurable: durable ? (numberOf(event.data.view) ?? view) : old.viewDurable,
    logViewDurable: durable ? (numberOf(event.data.logView) ?? old.logViewDurable) : old.logViewDurable,
    op: event.kind === 'truncated' && op !== undefined ? op - 1n : highest(held, old.op),
    commitMin: highest(applied, old.commitMin),
    commitMax: highest(commit, old.commitMax),
    heardMs: Math.max(old.heardMs, atMs),
    seq: event.seq,
    boot: event.boot,
    source: 'event',
  }
  draft.setGroup(withCell(withChain(group, event), cell, atMs))
}

function withChain(group: GroupView, event: EventEnvelope): GroupView {
  if (event.plane !== 'partition') return group
  if (event.kind !== 'segment_rolled' && event.kind !== 'persisted') return group
  const old = group.chains.get(event.node) ?? { rolls: 0, activeStart: undefined, persistRounds: 0 }
  const start = event.data.segment
  const chain =
    event.kind === 'persisted'
      ? { ...old, persistRounds: old.persistRounds + 1 }
      : { ...old, rolls: old.rolls + 1, activeStart: bigintOf(start) ?? old.activeStart }
  return { ...group, chains: new Map(group.chains).set(event.node, chain) }
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined

const highest = (said: bigint | undefined, known: bigint): bigint => (said !== undefined && said > known ? said : known)

/** Anything that reads as an unsigned integer; undefined otherwise, because `data` is whatever a node said. */
function bigintOf(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined
  return typeof value === 'string' && /^\d{1,20}$/.test(value) ? BigInt(value) : undefined
}

function withCell(group: GroupView, cell: ReplicaCell, atMs: number): GroupView {
  const leads = cell.role === 'primary' && cell.status === 'normal'
  const known = group.lastPrimary
  const lastPrimary =
    leads && (!known || cell.view > known.view || (cell.view === known.view && known.node === cell.node))
      ? { node: cell.node, view: cell.view, atMs }
      : known
  const broken = brokenBy(group, cell, atMs)
  return {
    ...group,
    ...(broken && { broken: [...(group.broken ?? []), broken].slice(0, BROKEN_MAX) }),
    replicas: new Map(group.replicas).set(cell.node, cell),
    commitMarks: markCommit(group.commitMarks, cell.commitMax, atMs),
    lastPrimary,
  }
}

/** Marks are half a second apart at least, so that the ring spans several seconds at any rate of events. */
const COMMIT_MARK_SPACING_MS = 500

function markCommit(marks: GroupView['commitMarks'], commit: bigint, atMs: number): GroupView['commitMarks'] {
  const last = marks.at(-1)
  if (!last) return [{ atMs, commit }]
  if (commit <= last.commit) return marks
  const before = marks.at(-2)
  const spaced = !before || last.atMs - before.atMs >= COMMIT_MARK_SPACING_MS
  const mark = { atMs: Math.max(atMs, last.atMs), commit }
  return spaced ? [...marks, mark].slice(-COMMIT_MARKS_MAX) : [...marks.slice(0, -1), mark]
}

/* --------------------------------------------------------------------------------------------------- gaps */

function foldGap(draft: Draft, gap: EventGap): void {
  if (gap.consoleSeq !== undefined) {
    if (gap.consoleSeq <= draft.seq) return
    draft.seq = gap.consoleSeq
  }
  draft.gapCount += 1
  const ofConsole = gap.node === CONSOLE_NODE
  if (ofConsole && gap.toSeq > draft.seq) draft.seq = gap.toSeq
  const lastMs = draft.facts?.at(-1)?.atMs ?? draft.base.facts.at(-1)?.atMs ?? 0
  draft.addFact({
    consoleSeq: gap.consoleSeq ?? (ofConsole ? gap.toSeq : undefined),
    node: gap.node,
    about: gap.node,
    boot: gap.boot,
    seq: gap.toSeq,
    atMs: lastMs,
    plane: 'node',
    group: 'node',
    kind: 'gap',
    view: undefined,
    op: undefined,
    // Another run of the console numbers its events anew: what lies between says nothing of how many there were.
    words: `${gap.reason === 'console_restarted' ? 'Any number of' : gap.toSeq - gap.fromSeq + 1} events are missing (${gap.reason.replaceAll('_', ' ')})`,
    tone: 'bad',
    data: { fromSeq: gap.fromSeq, toSeq: gap.toSeq, reason: gap.reason },
  })
  if (ofConsole) {
    for (const node of [...(draft.nodes ?? draft.base.nodes).values()]) {
      draft.setNode({ ...node, missing: { seq: node.missing?.seq ?? 0, consoleSeq: gap.toSeq }, needsSnapshot: true })
    }
    return
  }
  const node = enterBoot(draft, gap.node, gap.boot, 0)
  if (!node) return
  const missing = { seq: gap.toSeq, consoleSeq: node.missing?.consoleSeq ?? 0 }
  draft.setNode({ ...node, seq: Math.max(node.seq, gap.toSeq), missing, needsSnapshot: true })
}

/* ---------------------------------------------------------------------------------------------- snapshots */

function foldSnapshot(
  view: ClusterView,
  { seq: consoleSeq, node: id, receivedWallUs, snapshot }: StreamSnapshot,
): ClusterView {
  const draft = new Draft(view)
  const atMs = msOf(receivedWallUs)
  const node = enterBoot(draft, id, snapshot.reporter.boot, atMs)
  if (!node) return view
  const { seq } = snapshot.reporter
  // A late, older answer never overwrites a newer one; events already folded past it count as newer.
  if (node.snapshot && seq < node.snapshot.reporter.seq) return view
  if (node.snapshot && msOf(snapshot.reporter.takenWallUs) < msOf(node.snapshot.reporter.takenWallUs)) return view
  const { missing } = node
  const covers = !missing || (seq >= missing.seq && consoleSeq >= missing.consoleSeq)
  draft.setNode({
    ...node,
    snapshot,
    seq: Math.max(node.seq, seq),
    heardMs: Math.max(node.heardMs, atMs),
    missing: covers ? undefined : missing,
    needsSnapshot: !covers,
  })
  foldReplica(draft, snapshot, snapshot.metadata, atMs)
  for (const summary of snapshot.groups) foldReplica(draft, snapshot, summary, atMs)
  dropGroups(draft, id, snapshot)
  return draft.finish()
}

function foldReplica(draft: Draft, snapshot: NodeSnapshot, said: GroupSummary | GroupSnapshotJson, atMs: number): void {
  const group: GroupView = draft.group(said.group) ?? {
    group: said.group,
    plane: said.plane,
    key: said.key,
    replicas: new Map(),
    chains: new Map(),
    commitMarks: [],
    lastPrimary: undefined,
  }
  const { node, boot, seq } = snapshot.reporter
  const old = group.replicas.get(node)
  // An event later than this snapshot was folded into the cell: the cell is newer.
  if (old && old.boot === boot && old.seq > seq) return
  const refusal =
    'refusal' in said && said.refusal ? { code: said.refusal.code, message: said.refusal.message } : undefined
  const cell: ReplicaCell = {
    node,
    status: said.status,
    role: said.role,
    primary: said.primary,
    view: said.view,
    logView: said.logView,
    viewDurable: said.viewDurable,
    logViewDurable: said.logViewDurable,
    op: BigInt(said.op),
    commitMin: BigInt(said.commitMin),
    commitMax: BigInt(said.commitMax),
    offsets: said.offsets && {
      next: BigInt(said.offsets.next),
      visible: BigInt(said.offsets.visible),
      persisted: BigInt(said.offsets.persisted),
      empty: said.offsets.empty,
    },
    refusal,
    heardMs: atMs,
    seq,
    boot,
    source: 'snapshot',
  }
  draft.setGroup(withCell({ ...group, key: group.key ?? said.key }, cell, atMs))
}

/** A partition that its node no longer lists is gone there; a group that nobody lists is gone. */
function dropGroups(draft: Draft, id: number, snapshot: NodeSnapshot): void {
  const listed = new Set([snapshot.metadata.group, ...snapshot.groups.map(group => group.group)])
  for (const group of [...draft.allGroups()]) {
    if (listed.has(group.group) || (group.replicas.size > 0 && !group.replicas.has(id))) continue
    const replicas = without(group.replicas, id)
    if (replicas.size === 0) draft.deleteGroup(group.group)
    else draft.setGroup({ ...group, replicas, chains: without(group.chains, id) })
  }
}
