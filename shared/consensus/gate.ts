/**
 * Durable before send (spec consensus.md §5.6). A frame that speaks for a view may leave only when the superblock holds
 * the pair (view, log_view); otherwise a crash could make this replica vote twice. The gate fences the send, not the state
 * change: what may not leave yet is held back here, released when the write of exactly these values has landed, and
 * dropped when it fails or when the pair moves on; timers make it anew.
 *
 * `dispatch` is the one place where a frame becomes an action. Its assertion catches a new call site that forgets the gate.
 */
import { EngineError } from '../bytes/errors.ts'
import { ReplicaId, TICK_MS, type View } from '../bytes/units.ts'
import { fact, type GroupState } from './state.ts'

/** View-change frames to every peer, twice, and a whole pipeline of acknowledgements; beyond it the oldest is dropped. */
const HELD_FRAMES_MAX = 256
/** Back-off of a failing superblock write: 10 ms << failures, at most 1 s (§1.4). */
const BACKOFF_BASE_MS = 10
const BACKOFF_SHIFT_MAX = 8
const BACKOFF_MS_MAX = 1000

export const isDurable = (s: GroupState): boolean =>
  (s.view === s.viewDurable && s.logView === s.logViewDurable) || !s.config.rules.durableBeforeSend

/** Sends what speaks for this view: StartViewChange, DoViewChange, StartView, PrepareOk, Commit, and prepares. */
export function sendScoped(s: GroupState, to: ReplicaId, frame: Uint8Array): void {
  if (to === s.config.replica) return
  if (isDurable(s)) {
    dispatch(s, to, frame, true)
    return
  }
  if (s.held.length >= HELD_FRAMES_MAX) s.held.shift()
  s.held.push({ to, frame })
  requestPersist(s)
}

/** Sends what claims nothing: probes, repair requests and their service (§5.6). */
export function sendFree(s: GroupState, to: ReplicaId, frame: Uint8Array): void {
  if (to !== s.config.replica) dispatch(s, to, frame, false)
}

export function broadcastScoped(s: GroupState, frame: Uint8Array): void {
  for (let peer = 0; peer < s.config.replicaCount; peer++) sendScoped(s, ReplicaId(peer), frame)
}

export function broadcastFree(s: GroupState, frame: Uint8Array): void {
  for (let peer = 0; peer < s.config.replicaCount; peer++) sendFree(s, ReplicaId(peer), frame)
}

function dispatch(s: GroupState, to: ReplicaId, frame: Uint8Array, scoped: boolean): void {
  if (scoped && !isDurable(s)) {
    throw new EngineError('GateBypassed', `a frame of view ${s.view} would leave before view ${s.view} is durable`)
  }
  s.out.push({ kind: 'send', to, frame })
}

/** The pair has moved on: what was held back speaks for a view that is over. */
export const dropHeld = (s: GroupState): void => {
  s.held.length = 0
}

/** Asks for the write of the current pair, unless one is under way, it is not needed, or a failure is too recent. */
export function requestPersist(s: GroupState): void {
  if (isDurable(s) || s.persistOutstanding !== undefined || s.persistBackoffTicks > 0) return
  s.persistOutstanding = { view: s.view, logView: s.logView }
  s.out.push({ kind: 'persistSuperblock', view: s.view, logView: s.logView, commitMax: s.commitMax })
  fact(s, 'superblock_due', { detail: { view: s.view, logView: s.logView } })
}

/** The written values are durable, never a later reading. Answers whether the current pair is durable now. */
export function onPersisted(s: GroupState, view: View, logView: View): boolean {
  s.persistOutstanding = undefined
  s.persistFailures = 0
  const durable = s.config.rules.writtenViewIsDurable ? { view, logView } : s
  if (durable.view >= s.viewDurable && durable.logView >= s.logViewDurable) {
    s.viewDurable = durable.view
    s.logViewDurable = durable.logView
  }
  fact(s, 'superblock_durable', { detail: { view, logView } })
  if (!isDurable(s)) {
    requestPersist(s)
    return false
  }
  const held = s.held
  s.held = []
  for (const { to, frame } of held) dispatch(s, to, frame, true)
  return true
}

export function onPersistFailed(s: GroupState): void {
  s.persistOutstanding = undefined
  s.persistFailures++
  dropHeld(s)
  const waitMs = Math.min(BACKOFF_BASE_MS << Math.min(s.persistFailures, BACKOFF_SHIFT_MAX), BACKOFF_MS_MAX)
  s.persistBackoffTicks = Math.ceil(waitMs / TICK_MS)
}

/** Once per tick, before the timers: a pending write goes out again when its back-off is over. */
export function tickPersist(s: GroupState): void {
  if (s.persistBackoffTicks > 0) s.persistBackoffTicks--
  requestPersist(s)
}
