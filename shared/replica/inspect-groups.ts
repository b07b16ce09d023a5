/** Groups as the inspection contract shows them (design.md §3, Inspection). */
import { TICK_MS } from '../bytes/units.ts'
import type { ConsensusGroup } from '../consensus/contract.ts'
import type { GroupSnapshotJson, GroupSummary } from '../inspection/snapshots.ts'
import { packGroup } from '../protocol/groups.ts'
import type { GroupStanding } from './contract.ts'
import type { ReplicatedPartition, Tombstone } from './partition-host.ts'
import type { TransferSession } from './transfer-session.ts'

/** @param transfer of the group, when it is one that fetches its state */
export function groupJson(
  group: ConsensusGroup,
  partition?: ReplicatedPartition,
  transfer: TransferSession | undefined = partition?.transfer,
): GroupSnapshotJson {
  const progress = transfer?.progress()
  const { timers, repair, pipeline, votes, ...of } = group.snapshot()
  return {
    group: of.group.toString(),
    plane: of.plane,
    status: of.status,
    role: of.role,
    primary: of.primary,
    ceded: of.ceded,
    view: of.view,
    logView: of.logView,
    viewDurable: of.viewDurable,
    logViewDurable: of.logViewDurable,
    op: of.op.toString(),
    commitMin: of.commitMin.toString(),
    commitMax: of.commitMax.toString(),
    observedNewerView: of.observedNewerView,
    transferStage: of.transferStage,
    probeAttempts: of.probeAttempts,
    quorums: { ...of.quorums },
    requestQueue: of.requestQueue,
    depths: { ...of.depths },
    pipeline: pipeline.map(entry => ({
      op: entry.op.toString(),
      checksum: hex(entry.checksum),
      operation: entry.operation,
      acks: [...entry.acks],
      quorum: entry.quorum,
    })),
    votes: {
      startViewChange: [...votes.startViewChange],
      doViewChange: votes.doViewChange.map(({ replica, logView, op, commit, checksum }) => ({
        replica,
        logView,
        op: op.toString(),
        commit: commit.toString(),
        ...(checksum !== undefined && { checksum: hex(checksum) }),
      })),
      parked: votes.parked,
    },
    timers: timers.map(({ name, ticking, remaining, period }) => ({
      name,
      ticking,
      remainingMs: remaining * TICK_MS,
      periodMs: period * TICK_MS,
    })),
    ...(repair && { repair: { peer: repair.peer, toOp: repair.toOp.toString(), idleMs: repair.idleTicks * TICK_MS } }),
    ...(progress && { transfer: progress }),
    ...(partition && { key: { ...partition.key }, offsets: offsetsOf(partition) }),
  }
}

export const standingOf = ({ config, status, view, commitMin, commitMax }: ConsensusGroup): GroupStanding => ({
  group: config.group,
  status,
  view,
  commitMin,
  commitMax,
})

function offsetsOf({ partition }: ReplicatedPartition): NonNullable<GroupSnapshotJson['offsets']> {
  const { nextOffset, visibleEnd, persistedEnd } = partition.info()
  return {
    next: nextOffset.toString(),
    visible: visibleEnd.toString(),
    persisted: persistedEnd.toString(),
    empty: nextOffset === 0n,
  }
}

/** A refused partition has no group; its place is kept, with the reason. */
export function tombstoneJson(tombstone: Tombstone): GroupSnapshotJson {
  return {
    group: packGroup(tombstone.key).toString(),
    plane: 'partition',
    key: { ...tombstone.key },
    status: 'tombstoned',
    role: 'backup',
    primary: 0,
    ceded: false,
    view: 0,
    logView: 0,
    viewDurable: 0,
    logViewDurable: 0,
    op: '0',
    commitMin: '0',
    commitMax: '0',
    observedNewerView: 0,
    transferStage: 'idle',
    probeAttempts: 0,
    quorums: { replication: 0, viewChange: 0, nack: 0 },
    pipeline: [],
    requestQueue: 0,
    votes: { startViewChange: [], doViewChange: [], parked: false },
    timers: [],
    refusal: {
      code: tombstone.code,
      message: tombstone.message,
      ...(tombstone.path !== undefined && { path: tombstone.path }),
      ...(tombstone.advice !== undefined && { advice: tombstone.advice }),
    },
  }
}

export function summaryOf(json: GroupSnapshotJson): GroupSummary {
  return {
    group: json.group,
    plane: json.plane,
    status: json.status,
    role: json.role,
    primary: json.primary,
    view: json.view,
    logView: json.logView,
    viewDurable: json.viewDurable,
    logViewDurable: json.logViewDurable,
    op: json.op,
    commitMin: json.commitMin,
    commitMax: json.commitMax,
    ...(json.key && { key: json.key }),
    ...(json.offsets && { offsets: json.offsets }),
  }
}

export const hex = (value: bigint): string => value.toString(16).padStart(16, '0')
