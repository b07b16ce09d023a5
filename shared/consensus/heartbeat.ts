/** Commit heartbeats (spec consensus.md §4): the only thing that tells a backup that its primary lives. */
import type { ReplicaId } from '../bytes/units.ts'
import type { FrameOf } from '../protocol/frames.ts'
import { learnCommit, walkCommits } from './commit.ts'
import { commitFrame, startViewFrame } from './frames-out.ts'
import { broadcastScoped } from './gate.ts'
import { beginViewProbe } from './probe.ts'
import { armRepair } from './repair.ts'
import { suffixHeaders } from './start-view.ts'
import { type GroupState, ignored, isActingPrimary, isPrimaryByView, isTransferring, primaryOf } from './state.ts'
import { noticeNewerView } from './view-change.ts'

export function onCommitTimer(s: GroupState): void {
  const timer = s.timers.commitMessage
  // A replica without peers has nobody to tell.
  if (!isActingPrimary(s) || s.config.replicaCount === 1) {
    timer.stop()
    return
  }
  // A newer view is at work: this primary is deposed and must ask, not beat.
  if (s.observedNewerView > s.view) {
    beginViewProbe(s)
    return
  }
  timer.reset()
  if (isDeaf(s)) return
  s.heartbeatTimestamp++
  broadcastScoped(s, commitFrame(s))
}

/**
 * A primary that can send but not receive would keep its backups loyal for ever while nothing commits (drills VC-20). After
 * a heartbeat timeout without any acknowledgement it falls silent, so that they elect; the first one lets it beat again.
 * Only where the others can elect without it.
 */
function isDeaf(s: GroupState): boolean {
  return s.unheardTicks > s.config.timers.normalHeartbeat && s.config.replicaCount - 1 >= s.quorums.viewChange
}

export function tickHearing(s: GroupState): void {
  if (s.pipeline.size === 0 || !isActingPrimary(s)) s.unheardTicks = 0
  else s.unheardTicks++
}

export function onCommit(s: GroupState, from: ReplicaId, { header }: FrameOf<'Commit'>): void {
  if (isPrimaryByView(s) && s.status === 'normal') {
    if (header.view > s.view) {
      noticeNewerView(s, header.view)
      return
    }
    // The primary of an older view still beats: tell it, and everybody, where the group is.
    if (header.view < s.view && from === primaryOf(s, header.view) && isActingPrimary(s)) {
      broadcastScoped(s, startViewFrame(s, s.sequencer, suffixHeaders(s), 0n))
    }
    return
  }
  if (header.view > s.view) noticeNewerView(s, header.view)
  if (s.status !== 'normal') {
    ignored(s, 'not_normal', from)
    return
  }
  if (header.view !== s.view) {
    ignored(s, header.view > s.view ? 'newer_view' : 'older_view', from)
    return
  }
  if (from !== primaryOf(s, s.view)) {
    ignored(s, 'not_primary', from)
    return
  }
  if (header.timestampMonotonic > s.heartbeatTimestamp) {
    s.heartbeatTimestamp = header.timestampMonotonic
    s.timers.normalHeartbeat.start()
  }
  learnCommit(s, header.commit)
  if (isTransferring(s)) return
  walkCommits(s)
  if (s.commitMax > s.chain) armRepair(s, from)
}
