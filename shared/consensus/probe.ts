/**
 * Probes: how a replica that does not know its view finds it (spec consensus.md §5.8). A Recovering replica casts no vote,
 * acknowledges nothing and starts no election, until it adopts a view or its probes stay unanswered.
 *
 * Two deviations, both only about when: the first probe goes out at once, and a replica whose peers have all shown within
 * the last probe intervals that none of them can answer (they probe themselves, or are in a view change) does not wait for
 * the fifth expiry. docs/decisions/020.
 */
import type { ReplicaId } from '../bytes/units.ts'
import type { FrameOf } from '../protocol/frames.ts'
import { requestStartViewFrame, startViewFrame } from './frames-out.ts'
import { broadcastFree, dropHeld, sendScoped } from './gate.ts'
import { suffixHeaders } from './start-view.ts'
import { fact, type GroupState, ignored, isActingPrimary, isInstalling, isPrimaryByView, primaryOf } from './state.ts'
import { probeAgain, startElection } from './view-change.ts'

/** A peer's sign that it cannot answer is good for this many probe intervals. */
const SIGN_INTERVALS = 2

/** Stops taking part and asks for the current view, from the next tick on. */
export function beginViewProbe(s: GroupState): void {
  s.status = 'recovering'
  s.probeAttempts = 0
  s.repair = undefined
  dropHeld(s)
  s.timers.prepare.stop()
  s.timers.commitMessage.stop()
  s.timers.normalHeartbeat.stop()
  s.timers.requestStartView.start(1)
  fact(s, 'probe_started', { detail: { view: s.view, observed: s.observedNewerView } })
}

export function onProbeTimer(s: GroupState): void {
  const timer = s.timers.requestStartView
  if (s.status === 'recovering') {
    s.probeAttempts++
    if (s.probeAttempts >= s.config.probeAttemptsMax) {
      giveUpProbing(s)
      return
    }
    broadcastFree(s, requestStartViewFrame(s))
    fact(s, 'probe_sent', { detail: { attempt: s.probeAttempts, view: s.view } })
    timer.reset()
  } else if (s.status === 'view_change' && !isPrimaryByView(s)) {
    probeAgain(s)
    timer.reset()
  } else {
    timer.stop()
  }
}

function giveUpProbing(s: GroupState): void {
  if (!isInstalling(s)) s.transferStage = 'idle'
  s.timers.requestStartView.stop()
  startElection(s, 'view_probe_unanswered')
}

/** The peer probes, or is in a view change: it does not lead a view now. */
export function noteCannotLead(s: GroupState, peer: ReplicaId): void {
  if (s.status !== 'recovering') return
  s.cannotLead[peer] = 0
  // Hearing it must not wait for the own timer, or three restarted nodes lose a second each.
  if (s.probeAttempts > 0 && nobodyCanAnswer(s)) giveUpProbing(s)
}

function nobodyCanAnswer(s: GroupState): boolean {
  const limit = s.config.timers.requestStartView * SIGN_INTERVALS
  return s.cannotLead.every((age, peer) => peer === s.config.replica || (age !== undefined && age <= limit))
}

export function ageSigns(s: GroupState): void {
  for (let peer = 0; peer < s.cannotLead.length; peer++) {
    const age = s.cannotLead[peer]
    if (age !== undefined) s.cannotLead[peer] = age + 1
  }
}

export function onRequestStartView(s: GroupState, from: ReplicaId, { header }: FrameOf<'RequestStartView'>): void {
  if (s.status === 'recovering') noteCannotLead(s, from)
  if (s.status !== 'normal') {
    ignored(s, 'not_normal', from)
    return
  }
  if (from === primaryOf(s, s.view)) {
    // The replica that should lead this view asks for it: it cannot lead. A stale probe of an older view proves nothing.
    if (header.view === s.view) startElection(s, 'primary_probed_view')
    return
  }
  if (!isActingPrimary(s) || s.logView !== s.view) {
    ignored(s, 'not_primary', from)
    return
  }
  sendScoped(s, from, startViewFrame(s, s.sequencer, suffixHeaders(s), header.incarnation))
}
