/**
 * How a replica keeps its log one log: which held entries belong to the view it is in, and which must go (spec consensus.md
 * §5.7, Reconcile; the open question of the specification's README is answered here).
 *
 * Headers announced by a view name the top of its log. From the lowest of them the parents are followed down through what
 * is held, to the last applied op. Where the chain is whole, every entry is proven. Where an entry differs, it and all
 * above it are cut. Where there is a hole, what lies below cannot be judged yet: it stays, unproven, until the primary's
 * own copies come in, in ascending order, and confirm or replace it.
 */
import { Checksum, Op } from '../bytes/units.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { differ, fact, type GroupState, type KnownLog, maxOp, minOp, next } from './state.ts'

const NONE: KnownLog = { head: Op(0n), headers: [] }

/** Announced header of an op, when the log names it. */
export const named = (log: KnownLog, op: Op): PrepareHeader | undefined =>
  op > log.head ? undefined : log.headers[Number(log.head - op)]

/** Drops everything from `fromOp` on, in the journal and on its way there. */
export function truncate(s: GroupState, fromOp: Op): void {
  s.out.push({ kind: 'truncate', fromOp })
  fact(s, 'truncated', { op: fromOp })
  for (const op of [...s.inFlight.keys()]) if (op >= fromOp) s.inFlight.delete(op)
  s.truncatedFrom = s.truncatedFrom === undefined ? fromOp : minOp(s.truncatedFrom, fromOp)
  const keep = Op(fromOp - 1n)
  if (s.chain > keep) {
    s.chain = keep
    s.chainChecksum = heldAt(s, keep)?.checksum ?? Checksum(0n)
  }
  s.proven = minOp(s.proven, keep)
  s.unprovenTo = minOp(s.unprovenTo, keep)
}

/** Header that is held or on its way, as far as this step has not truncated it: the host has not acted yet. */
export function heldAt(s: GroupState, op: Op): PrepareHeader | undefined {
  const underway = s.inFlight.get(op)
  if (underway !== undefined) return underway.header
  return s.truncatedFrom !== undefined && op >= s.truncatedFrom ? undefined : s.journal.header(op)
}

/** The same without what is on its way: what may be acknowledged, applied and served. */
export const storedAt = (s: GroupState, op: Op): PrepareHeader | undefined =>
  s.inFlight.has(op) || (s.truncatedFrom !== undefined && op >= s.truncatedFrom) ? undefined : s.journal.header(op)

/**
 * Gives up what is not stored yet, or was taken in advance: the chain ends where the proven log ends. The checksum of what it
 * ended with is no parent there; where the journal does not hold that header any more, the parent is not known.
 */
export function standOnProven(s: GroupState): void {
  if (s.chain === s.proven) return
  s.chain = s.proven
  s.chainChecksum = storedAt(s, s.proven)?.checksum ?? Checksum(0n)
}

/** Whether what lies in the place of this prepare is this prepare (§3.3). */
export const isThis = (s: GroupState, held: PrepareHeader, prepare: PrepareHeader): boolean =>
  !differ(held.checksum, prepare.checksum) || !s.config.rules.ackComparesChecksum

export function highestHeld(s: GroupState): Op {
  let highest = s.journal.highestOp()
  if (s.truncatedFrom !== undefined) highest = minOp(highest, Op(s.truncatedFrom - 1n))
  for (const op of s.inFlight.keys()) if (op > highest) highest = Op(op)
  return highest
}

/**
 * Brings the log in line with `log`, whose head is the head of the whole log, and recomputes `proven`, `chain` and
 * `unprovenTo`. Entries at or below `commitMin` are applied and beyond judging.
 */
export function linkLog(s: GroupState, log: KnownLog = NONE): void {
  const floor = s.commitMin
  let cut: Op | undefined
  for (const header of log.headers) {
    const held = heldAt(s, header.op)
    if (held === undefined || !differ(held.checksum, header.checksum)) continue
    if (header.op <= floor) fact(s, 'frame_ignored', { op: header.op, detail: { reason: 'committed_divergence' } })
    else cut = cut === undefined ? header.op : minOp(cut, header.op)
  }
  const top = maxOp(log.head, floor)
  if (highestHeld(s) > top && s.config.rules.shorterStartViewCuts)
    cut = cut === undefined ? next(top) : minOp(cut, next(top))
  if (cut !== undefined) truncate(s, cut)

  s.proven = floor
  s.chain = floor
  s.chainChecksum =
    heldAt(s, floor)?.checksum ?? named(log, floor)?.checksum ?? named(log, next(floor))?.parent ?? Checksum(0n)
  s.unprovenTo = Op(0n)
  const linked = linkedDown(s, log)
  // Without the rule whatever is held in a row passes for proven.
  if (linked || !s.config.rules.unprovenIsWithheld) climb(s, log, true)
  const highest = highestHeld(s)
  if (highest > s.chain) s.unprovenTo = highest
}

/** Whether every held entry between the announced headers and the last applied op is an ancestor of them. Cuts where not. */
function linkedDown(s: GroupState, log: KnownLog): boolean {
  const floor = s.commitMin
  let child = log.headers[log.headers.length - 1]
  if (child === undefined) return highestHeld(s) <= floor
  while (child.op > next(floor)) {
    const op = Op(child.op - 1n)
    const held = heldAt(s, op)
    if (held === undefined) return highestHeld(s) <= floor
    if (differ(held.checksum, child.parent)) {
      truncate(s, op)
      return highestHeld(s) <= floor
    }
    child = held
  }
  return true
}

/**
 * Extends `chain` over what is held and vouched for: named by the log, or, with `linked`, known to be an ancestor of what
 * is named. False when a parent is broken, which means that a fetched entry below was wrong.
 */
export function climb(s: GroupState, log: KnownLog, linked = false): boolean {
  for (;;) {
    const op = next(s.chain)
    const held = heldAt(s, op)
    if (held === undefined) break
    if (!linked && named(log, op) === undefined) break
    // Without the rule the tail behind a shorter StartView passes for a part of its log.
    if (op > log.head && s.config.rules.shorterStartViewCuts) break
    if (differ(s.chainChecksum, held.parent)) return false
    s.chain = op
    s.chainChecksum = held.checksum
  }
  advanceProven(s)
  return true
}

/** `proven` follows `chain` over appends that have landed. */
export function advanceProven(s: GroupState): void {
  while (s.proven < s.chain && storedAt(s, next(s.proven)) !== undefined) s.proven = next(s.proven)
}
