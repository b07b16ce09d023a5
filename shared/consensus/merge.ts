/**
 * The merge of DoViewChange votes into the log of the new view (spec consensus.md §5.4). A pure function.
 *
 * The log of the highest log view is canonical: it was installed after everything older was decided. Within it an op stays
 * unless a nack quorum says it was never prepared, which no committed op can meet. What cannot be decided yet waits for
 * more votes; what can never be decided waits for the next view. Nothing is guessed and nothing is truncated without the
 * nack quorum.
 */
import { Op } from '../bytes/units.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { RULES_ON, type Rules } from '../protocol/rules.ts'
import { PREPARE_QUEUE_CEILING } from './pipeline.ts'
import type { Quorums } from './quorums.ts'
import { differ, maxOp, type StoredDvc } from './state.ts'
import { suffixEntry } from './suffix.ts'

export type MergeOutcome =
  | { readonly kind: 'awaiting_quorum'; readonly received: number }
  /** Another vote may decide `op`. */
  | { readonly kind: 'awaiting_repair'; readonly op: Op }
  /** No vote can decide `op` any more in this view. */
  | { readonly kind: 'deadlocked'; readonly op: Op; readonly reason: string }
  | {
      readonly kind: 'ready'
      readonly opHead: Op
      readonly commitMax: Op
      /** Head first, down to `max(commitMax, 1)`, without holes. */
      readonly headers: readonly PrepareHeader[]
      /** Headers below that are known committed from replicas with an older log view; descending. */
      readonly committedElsewhere: readonly PrepareHeader[]
    }

/** `depthMax`: no pipeline of the cluster is deeper, so an op this far below a head has committed. */
export function mergeVotes(
  votes: readonly StoredDvc[],
  replicaCount: number,
  quorums: Quorums,
  depthMax = PREPARE_QUEUE_CEILING,
  rules: Rules = RULES_ON,
): MergeOutcome {
  const received = votes.length
  if (received < quorums.viewChange) return { kind: 'awaiting_quorum', received }
  const canonicalView = Math.max(...votes.map(vote => vote.logView))
  const canonical = votes.filter(vote => vote.logView === canonicalView)
  const undecided = (op: Op, reason: string): MergeOutcome =>
    received < replicaCount ? { kind: 'awaiting_repair', op } : { kind: 'deadlocked', op, reason }

  let commitMax = Op(0n)
  for (const vote of votes) {
    commitMax = maxOp(commitMax, vote.commit)
    // The suffix floor proves nothing.
    if (vote.op > BigInt(depthMax)) commitMax = maxOp(commitMax, Op(vote.op - BigInt(depthMax)))
    const head = vote.suffix[0]?.header
    if (head !== undefined) commitMax = maxOp(commitMax, head.commit)
  }
  const low = maxOp(commitMax, Op(1n))
  const headMax = canonical.reduce((max, vote) => maxOp(max, vote.op), commitMax)
  if (headMax === 0n) return { kind: 'ready', opHead: Op(0n), commitMax: Op(0n), headers: [], committedElsewhere: [] }

  let opHead = headMax
  const chosen = new Map<bigint, PrepareHeader>()
  for (let op = low; op <= headMax; op = Op(op + 1n)) {
    const { header, conflict } = canonicalHeader(canonical, op)
    if (countNacks(votes, canonicalView, op, header, rules) >= quorums.nack) {
      if (op <= commitMax) return { kind: 'deadlocked', op, reason: 'a committed op is denied by a nack quorum' }
      opHead = Op(op - 1n)
      break
    }
    if (conflict) return undecided(op, 'canonical replicas name two prepares')
    if (header === undefined) return undecided(op, 'no canonical header')
    if (!votes.some(vote => holds(vote, op, header))) return undecided(op, 'nobody holds the prepare')
    chosen.set(op, header)
  }

  const headers: PrepareHeader[] = []
  for (let op = opHead; op >= low; op = Op(op - 1n)) {
    const header = chosen.get(op)!
    const above = headers[headers.length - 1]
    if (above !== undefined && differ(above.parent, header.checksum))
      return { kind: 'deadlocked', op: opHead, reason: `the chain is broken below op ${above.op}` }
    headers.push(header)
  }
  const committedElsewhere = collectCommitted(votes, canonicalView, headers)
  if (committedElsewhere === undefined)
    return { kind: 'deadlocked', op: opHead, reason: 'older replicas name two committed prepares for one op' }
  return { kind: 'ready', opHead, commitMax, headers, committedElsewhere }
}

function canonicalHeader(
  canonical: readonly StoredDvc[],
  op: Op,
): { header: PrepareHeader | undefined; conflict: boolean } {
  let header: PrepareHeader | undefined
  let conflict = false
  for (const vote of canonical) {
    const candidate = suffixEntry(vote.suffix, op)?.header
    if (candidate === undefined) continue
    if (header === undefined) header = candidate
    else if (header.checksum !== candidate.checksum) conflict = true
  }
  return { header, conflict }
}

const holds = (vote: StoredDvc, op: Op, header: PrepareHeader): boolean => {
  const entry = suffixEntry(vote.suffix, op)
  return entry?.present === true && entry.header?.checksum === header.checksum
}

/** Votes that the op was never prepared. A vote that reaches the op but whose suffix does not cover it abstains. */
function countNacks(
  votes: readonly StoredDvc[],
  canonicalView: number,
  op: Op,
  canonical: PrepareHeader | undefined,
  rules: Rules,
): number {
  let nacks = 0
  for (const vote of votes) {
    if (vote.op < op) {
      nacks++
      continue
    }
    const entry = suffixEntry(vote.suffix, op)
    if (entry === undefined) {
      if (vote.suffix.length === 0 && !rules.emptySuffixDeniesNothing) nacks++
      continue
    }
    const leftOut = vote.logView === canonicalView && !entry.present && !rules.canonicalDeniesByBit
    const otherPrepare =
      vote.logView < canonicalView &&
      entry.header !== undefined &&
      (canonical === undefined || entry.header.checksum !== canonical.checksum)
    if (entry.nack || otherPrepare || leftOut) nacks++
  }
  return nacks
}

/** Undefined when two of them contradict each other. */
function collectCommitted(
  votes: readonly StoredDvc[],
  canonicalView: number,
  headers: readonly PrepareHeader[],
): PrepareHeader[] | undefined {
  const merged = new Map<bigint, PrepareHeader>(headers.map(header => [header.op, header]))
  const found = new Map<bigint, PrepareHeader>()
  for (const vote of votes) {
    if (vote.logView >= canonicalView) continue
    for (const { op, header } of vote.suffix) {
      if (header === undefined || op > vote.commit || merged.has(op)) continue
      const other = found.get(op)
      if (other !== undefined && other.checksum !== header.checksum) return undefined
      found.set(op, header)
    }
  }
  const kept: PrepareHeader[] = []
  for (const header of [...found.values()].sort((a, b) => (a.op > b.op ? -1 : 1))) {
    const above = merged.get(header.op + 1n)
    if (above === undefined || differ(above.parent, header.checksum)) continue
    merged.set(header.op, header)
    kept.push(header)
  }
  return kept
}
