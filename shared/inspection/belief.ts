/**
 * What may be concluded from reports, and what may not. Nothing here averages: each conclusion names who supports it.
 *
 * - A node is *live* when its process runs and that very process was heard within STALE_MS. A dead node's last words stay
 *   visible and support nothing, also while its successor starts.
 * - A group has a primary when a majority of the live reporters names the same one in the same view, that one is live and
 *   says so itself, and the live reporters are enough for a quorum of the whole cluster. Otherwise it has none, and the
 *   answer says why: a killed primary is "no primary" until a majority of live reporters agrees on a new one, although
 *   its backups still name it in their (normal) view.
 * - A backup is *behind* when what it has applied is less than what somebody had reported as committed COMMIT_SLACK_MS
 *   before it spoke: a commit reaches a backup with the next prepare or the next heartbeat, 500 ms at most, so less than
 *   that is the protocol at work and more is not. A recovering, transferring or view-changing replica is never healthy.
 */
import { type ClusterView, type GroupView, msOf, type NodeView, type ReplicaCell } from './view.ts'

/** A node is asked twice a second; four unanswered questions are a silence. */
export const STALE_MS = 2_000
/** Two commit heartbeats of 500 ms. */
export const COMMIT_SLACK_MS = 1_000

export type Liveness = 'live' | 'paused' | 'silent' | 'down' | 'unknown'

/** `process` undefined (a recording, a simulator): only the age speaks. */
export function livenessOf(node: NodeView | undefined, nowMs: number): Liveness {
  if (!node) return 'unknown'
  const state = node.process?.state
  if (state === 'stopped' || state === 'crashed' || state === 'refused') return 'down'
  if (state === 'paused') return 'paused'
  // A new process must speak for itself: the fresh words of the one before it are not its own.
  if (node.boot === undefined || node.lifeEnded) return 'unknown'
  return nowMs - node.heardMs <= STALE_MS ? 'live' : 'silent'
}

/** Milliseconds since the node was last heard; undefined when it never was. */
export const ageMsOf = (node: NodeView | undefined, nowMs: number): number | undefined =>
  node && node.heardMs > 0 ? Math.max(0, nowMs - node.heardMs) : undefined

export const majorityOf = (count: number): number => Math.floor(count / 2) + 1

/** One list a view: it is asked for once a group, and there are thousands of those. */
const idsOf = new WeakMap<ClusterView, readonly number[]>()
export const replicaIds = (view: ClusterView): readonly number[] => {
  const known = idsOf.get(view)
  if (known) return known
  const count = Math.max(view.replicaCount, ...[...view.nodes.keys()].map(id => id + 1), 0)
  const ids = Array.from({ length: count }, (_, id) => id)
  idsOf.set(view, ids)
  return ids
}

/* ------------------------------------------------------------------------------------------------ primary */

export type NoPrimaryReason =
  | 'no_reports'
  | 'no_quorum'
  | 'primary_down'
  | 'primary_paused'
  | 'primary_silent'
  | 'view_change'
  | 'disagree'

export type PrimaryVerdict =
  | { readonly kind: 'primary'; readonly node: number; readonly view: number; readonly agreeing: readonly number[] }
  | {
      readonly kind: 'none'
      readonly reason: NoPrimaryReason
      /** Who led last, as far as anybody reported, and when that was last confirmed. */
      readonly last: { readonly node: number; readonly view: number; readonly atMs: number } | undefined
      /** Replicas that are missing for a quorum, or whose voice is not heard. */
      readonly missing: readonly number[]
      readonly words: string
    }

export function primaryOf(view: ClusterView, groupId: string, nowMs: number): PrimaryVerdict {
  const group = view.groups.get(groupId)
  const ids = replicaIds(view)
  const live = ids.filter(id => livenessOf(view.nodes.get(id), nowMs) === 'live' && group?.replicas.has(id))
  const missing = ids.filter(id => !live.includes(id))
  const none = (reason: NoPrimaryReason, words: string): PrimaryVerdict => ({
    kind: 'none',
    reason,
    last: group?.lastPrimary,
    missing,
    words,
  })
  if (!group || live.length === 0) return none('no_reports', 'no node reports on this group')

  const claims = new Map<string, number[]>()
  for (const id of live) {
    const cell = group.replicas.get(id)!
    if (cell.status !== 'normal') continue
    const claim = `${cell.view}:${cell.primary}`
    claims.set(claim, [...(claims.get(claim) ?? []), id])
  }
  const [claim, agreeing] = [...claims].sort((a, b) => b[1].length - a[1].length)[0] ?? [undefined, []]
  if (claim !== undefined && agreeing.length >= majorityOf(live.length)) {
    const [claimedView, node] = claim.split(':').map(Number) as [number, number]
    if (!live.includes(node)) {
      const how = livenessOf(view.nodes.get(node), nowMs)
      const reason = how === 'paused' ? 'primary_paused' : how === 'down' ? 'primary_down' : 'primary_silent'
      const what = how === 'paused' ? 'is paused' : how === 'down' ? 'is down' : 'is not heard'
      return none(reason, `node-${node}, which led view ${claimedView}, ${what}; no other leads yet`)
    }
    if (live.length < majorityOf(ids.length)) return none('no_quorum', noQuorum(missing, live.length, ids.length))
    if (agreeing.includes(node) && group.replicas.get(node)!.role === 'primary') {
      return { kind: 'primary', node, view: claimedView, agreeing }
    }
    return none('disagree', `node-${node} is taken for the primary of view ${claimedView} and does not say so itself`)
  }
  if (live.length < majorityOf(ids.length)) return none('no_quorum', noQuorum(missing, live.length, ids.length))
  const changing = live.filter(id => group.replicas.get(id)!.status !== 'normal')
  if (changing.length > 0) {
    const top = Math.max(...changing.map(id => group.replicas.get(id)!.view))
    return none(
      'view_change',
      `view change to view ${top} is under way on ${changing.map(id => `node-${id}`).join(', ')}`,
    )
  }
  return none('disagree', 'the live nodes name different primaries')
}

const noQuorum = (missing: readonly number[], live: number, count: number): string =>
  `no quorum: ${live} of ${count} report, ${majorityOf(count)} are needed; missing ${missing.map(id => `node-${id}`).join(', ')}`

/* ----------------------------------------------------------------------------------------------- standing */

/**
 * How one replica stands in one group. Only `primary` and `healthy` are good; `gap` counts ops from what it has applied
 * to the highest commit that anybody reports.
 */
export interface Standing {
  readonly kind:
    | 'primary'
    | 'healthy'
    | 'behind'
    | 'recovering'
    | 'view_change'
    | 'tombstoned'
    | 'paused'
    | 'silent'
    | 'down'
    | 'unknown'
  readonly gap: bigint
  readonly words: string
}

export function standingOf(view: ClusterView, groupId: string, id: number, nowMs: number): Standing {
  const group = view.groups.get(groupId)
  const cell = group?.replicas.get(id)
  const liveness = livenessOf(view.nodes.get(id), nowMs)
  const gap = cell && group ? gapOf(group, cell) : 0n
  if (liveness !== 'live' && liveness !== 'unknown') return { kind: liveness, gap, words: liveness }
  if (!cell || !group || liveness === 'unknown') return { kind: 'unknown', gap, words: 'not heard' }
  const withGap = (words: string) => (gap > 0n ? `${words}, ${gap} behind` : words)
  if (cell.status === 'tombstoned') return { kind: 'tombstoned', gap, words: 'refused' }
  if (cell.status === 'recovering') return { kind: 'recovering', gap, words: withGap('recovering') }
  if (cell.status === 'view_change') return { kind: 'view_change', gap, words: `view change v${cell.view}` }
  const primary = primaryOf(view, groupId, nowMs)
  if (cell.role === 'primary') {
    // It may be a deposed one that does not know yet: it leads only if the majority says so.
    if (primary.kind === 'primary' && primary.node === id)
      return { kind: 'primary', gap: 0n, words: `primary v${cell.view}` }
    return { kind: 'behind', gap, words: withGap(`claims to lead v${cell.view}`) }
  }
  if (primary.kind === 'primary' && cell.view < primary.view) {
    return { kind: 'behind', gap, words: withGap(`backup v${cell.view}, the group is in v${primary.view}`) }
  }
  if (trails(group, cell)) return { kind: 'behind', gap, words: withGap(`backup v${cell.view}`) }
  return { kind: 'healthy', gap, words: `backup v${cell.view}` }
}

const knownCommit = (group: GroupView): bigint => {
  let known = 0n
  for (const cell of group.replicas.values()) if (cell.commitMax > known) known = cell.commitMax
  return known
}

export const gapOf = (group: GroupView, cell: ReplicaCell): bigint => {
  const known = knownCommit(group)
  return known > cell.commitMin ? known - cell.commitMin : 0n
}

function trails(group: GroupView, cell: ReplicaCell): boolean {
  // Commits known now are no measure: they were not known when it spoke.
  let due = 0n
  for (const mark of group.commitMarks) if (mark.atMs <= cell.heardMs - COMMIT_SLACK_MS) due = mark.commit
  return cell.commitMin < due
}

/* ----------------------------------------------------------------------------------------------- beliefs */

export type BeliefWord = 'primary' | 'backup' | 'candidate' | 'voted' | 'no_vote' | 'recovering' | 'silent' | 'nothing'

export interface Belief {
  readonly about: number
  readonly word: BeliefWord
  readonly view: number | undefined
  /** Contradicts what `about` says of itself, or what another live reporter says of it. */
  readonly disagrees: boolean
  readonly why: string | undefined
}

export interface BeliefRow {
  readonly reporter: number
  readonly liveness: Liveness
  readonly ageMs: number | undefined
  readonly beliefs: readonly Belief[]
}

export interface BeliefMatrix {
  readonly rows: readonly BeliefRow[]
  /** One sentence for each disagreement. */
  readonly disagreements: readonly string[]
}

/** Rows are reporters, columns the replicas they speak about; the diagonal is what each says of itself. */
export function beliefMatrix(view: ClusterView, groupId: string, nowMs: number): BeliefMatrix {
  const ids = replicaIds(view)
  const group = view.groups.get(groupId)
  const said = new Map(ids.map(id => [id, saysOf(view, group, groupId, id, ids)]))
  const live = (id: number) => livenessOf(view.nodes.get(id), nowMs) === 'live'
  const disagreements: string[] = []
  const rows = ids.map(reporter => {
    const beliefs = said.get(reporter)!.map((belief): Belief => {
      const why = live(reporter) ? contradiction(belief, reporter, said, live) : undefined
      if (why !== undefined) disagreements.push(why)
      return { ...belief, disagrees: why !== undefined, why }
    })
    const node = view.nodes.get(reporter)
    return { reporter, liveness: livenessOf(node, nowMs), ageMs: ageMsOf(node, nowMs), beliefs }
  })
  return { rows, disagreements }
}

type Said = Pick<Belief, 'about' | 'word' | 'view'>

function saysOf(
  view: ClusterView,
  group: GroupView | undefined,
  groupId: string,
  reporter: number,
  ids: readonly number[],
): Said[] {
  const cell = group?.replicas.get(reporter)
  if (!cell) return ids.map(about => ({ about, word: 'nothing', view: undefined }))
  const snapshot = view.nodes.get(reporter)?.snapshot
  const connected = new Map(snapshot?.peers.map(peer => [peer.replica, peer.connected]))
  const votes = snapshot?.metadata.group === groupId ? snapshot.metadata.votes : undefined
  return ids.map((about): Said => {
    if (about !== reporter && connected.get(about) === false) return { about, word: 'silent', view: undefined }
    if (cell.status === 'recovering' || cell.status === 'tombstoned') {
      return about === reporter
        ? { about, word: 'recovering', view: cell.view }
        : { about, word: 'nothing', view: undefined }
    }
    if (cell.status === 'normal') return { about, word: about === cell.primary ? 'primary' : 'backup', view: cell.view }
    if (about === cell.primary) return { about, word: 'candidate', view: cell.view }
    if (about === reporter) return { about, word: 'voted', view: cell.view }
    if (!votes) return { about, word: 'nothing', view: undefined }
    const voted = votes.startViewChange.includes(about) || votes.doViewChange.some(vote => vote.replica === about)
    return { about, word: voted ? 'voted' : 'no_vote', view: cell.view }
  })
}

function contradiction(
  belief: Said,
  reporter: number,
  said: ReadonlyMap<number, readonly Said[]>,
  live: (id: number) => boolean,
): string | undefined {
  const { about } = belief
  if (belief.word === 'nothing' || belief.word === 'silent') return undefined
  if (about !== reporter) {
    if (!live(about)) return undefined
    const self = said.get(about)!.find(other => other.about === about)!
    if (self.word === 'nothing' || (self.word === belief.word && self.view === belief.view)) return undefined
    return `node-${reporter} takes node-${about} for ${phrase(belief)}; node-${about} says ${phrase(self)}`
  }
  if (belief.word !== 'primary') return undefined
  for (const [other, beliefs] of said) {
    if (other === reporter || !live(other)) continue
    const rival = beliefs.find(entry => entry.word === 'primary' && entry.about !== reporter)
    if (rival)
      return `node-${reporter} says it leads view ${belief.view}; node-${other} follows node-${rival.about} in view ${rival.view}`
  }
  return undefined
}

const PHRASES: Record<BeliefWord, string> = {
  primary: 'primary',
  backup: 'backup',
  candidate: 'candidate',
  voted: 'voter',
  no_vote: 'not voted',
  recovering: 'recovering',
  silent: 'silent',
  nothing: 'nothing',
}
const phrase = (said: Said): string =>
  said.view === undefined ? PHRASES[said.word] : `${PHRASES[said.word]} v${said.view}`

/** Whole seconds and less, for "heard 1.9 s ago": a wall time of a snapshot to its age. */
export const ageOfWallUs = (wallUs: string, nowMs: number): number => Math.max(0, nowMs - msOf(wallUs))
