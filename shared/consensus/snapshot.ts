/** A group as plain values, for people (spec consensus.md §1.2). */
import type { GroupSnapshot } from './contract.ts'
import { setMembers } from './replica-set.ts'
import { type GroupState, isPrimaryByView, primaryOf } from './state.ts'
import { TIMER_ORDER } from './timers.ts'

export const snapshotOf = (s: GroupState): GroupSnapshot => ({
  group: s.config.group,
  plane: s.config.plane,
  status: s.status,
  role: isPrimaryByView(s) && !s.ceded ? 'primary' : 'backup',
  primary: primaryOf(s, s.view),
  ceded: s.ceded,
  view: s.view,
  logView: s.logView,
  viewDurable: s.viewDurable,
  logViewDurable: s.logViewDurable,
  op: s.sequencer,
  commitMin: s.commitMin,
  commitMax: s.commitMax,
  observedNewerView: s.observedNewerView,
  lastPrepareChecksum: s.chainChecksum,
  transferStage: s.transferStage,
  probeAttempts: s.probeAttempts,
  quorums: { replication: s.quorums.replication, viewChange: s.quorums.viewChange, nack: s.quorums.nack },
  pipeline: s.pipeline.all().map(({ header, acks, quorum }) => ({
    op: header.op,
    checksum: header.checksum,
    operation: header.operation,
    acks: setMembers(acks),
    quorum,
  })),
  requestQueue: s.requestQueue.length,
  depths: { prepares: s.config.prepareDepth, requests: s.config.requestDepth },
  votes: {
    startViewChange: setMembers(s.svcFrom),
    doViewChange: s.dvcs
      .filter(vote => vote !== undefined)
      .map(({ replica, logView, op, commit, checksum }) => ({
        replica,
        logView,
        op,
        commit,
        ...(checksum !== undefined && { checksum }),
      })),
    parked: s.parked !== undefined,
  },
  timers: TIMER_ORDER.map(name => {
    const { ticking, remaining, period } = s.timers[name]
    return { name, ticking, remaining, period }
  }),
  ...(s.repair === undefined
    ? {}
    : { repair: { peer: s.repair.peer, toOp: s.repair.toOp, idleTicks: s.repair.idleTicks } }),
})
