/**
 * Focus profiles: a draw of the swarm in which some rates and sizes are not drawn but named, so that what is rare in the
 * swarm is common (spec drills.md §2.7). Nothing but rates and sizes: faults, checkers and replicas are those of every run.
 */
import type { Profile } from './profile.ts'

export interface Focus extends Partial<Omit<Profile, 'links' | 'workload' | 'metadata' | 'partition'>> {
  readonly links?: Partial<Profile['links']>
  readonly workload?: Partial<Profile['workload']>
  readonly metadata?: Partial<Profile['metadata']>
  readonly partition?: Partial<Profile['partition']>
}

export type FocusName =
  | 'clients'
  | 'views'
  | 'folds'
  | 'tears'
  | 'slots'
  | 'rot'
  | 'late-answers'
  | 'depths'
  | 'segments'
  | 'segments-solo'
  | 'segments-stops'
  | 'segments-power'
  | 'segments-polls'
  | 'segments-late'

const SEGMENTS_LOAD = {
  clients: 4,
  pauseMs: 200,
  metadata: 1,
  produce: 10,
  poll: 10,
  reconnect: 0,
  batchMessages: 5,
  payloadBytes: 200,
  wrongNode: 0,
  saveEach: 6,
}
const SMALL_SEGMENTS = { evictedRingCapacity: 64, offsetReservationLease: 16, segmentBytesMax: 4_096 }

export const FOCUS: Readonly<Record<FocusName, Focus>> = {
  /** A client table that is full all the time, and clients that come and go. */
  clients: {
    nodes: 3,
    links: { delayMinMicros: 20_000, delayMeanMicros: 20_000, loss: 0, duplicate: 0, corrupt: 0, reorder: false },
    crashes: 3,
    crashKinds: ['process'],
    everybody: 0,
    meanDownMs: 1_000,
    partitions: 0,
    workload: {
      clients: 8,
      pauseMs: 100,
      metadata: 10,
      produce: 5,
      poll: 0,
      reconnect: 10,
      leadersReconnect: 0,
      wrongNode: 0.5,
      batchMessages: 1,
    },
    metadata: { clientsTableMax: 6, prepareQueueDepth: 32 },
  },
  /** One view after the other over a network that loses much: primaries die and are cut off, backups stay behind. */
  views: {
    nodes: 3,
    links: { delayMinMicros: 200, delayMeanMicros: 2_000, loss: 0.1, duplicate: 0, corrupt: 0, reorder: false },
    crashes: 25,
    crashKinds: ['process'],
    everybody: 0,
    meanDownMs: 3_000,
    partitions: 20,
    oneWay: false,
    workload: { clients: 4, pauseMs: 200, metadata: 11, produce: 3, poll: 0, reconnect: 0, wrongNode: 0 },
  },
  /** Checkpoints one after the other, and nodes that restart from them. */
  folds: {
    nodes: 3,
    links: { delayMinMicros: 0, delayMeanMicros: 500, loss: 0, duplicate: 0, corrupt: 0, reorder: false },
    crashes: 30,
    crashKinds: ['process'],
    everybody: 0,
    meanDownMs: 300,
    partitions: 0,
    pauses: 0,
    slowDisks: 0,
    rot: 0,
    lostDisks: 0,
    workload: { clients: 4, pauseMs: 20, metadata: 11, produce: 0, poll: 0, reconnect: 0, wrongNode: 0 },
    metadata: { journalSlots: 256, prepareQueueDepth: 32 },
  },
  /** Power fails everywhere at once, while slow disks write to their logs: of one entry some sectors come and others do not. */
  tears: {
    nodes: 3,
    links: { delayMinMicros: 200, delayMeanMicros: 500, loss: 0, duplicate: 0, corrupt: 0, reorder: false },
    crashes: 120,
    crashKinds: ['torn'],
    midCall: 0,
    everybody: 1,
    meanDownMs: 100,
    cleanStops: 0,
    partitions: 0,
    pauses: 0,
    diskErrors: 0,
    wedges: 0,
    slowDisks: 30,
    rot: 0,
    lostDisks: 0,
    smallCore: false,
    workload: {
      clients: 4,
      pauseMs: 50,
      metadata: 11,
      produce: 0,
      poll: 0,
      reconnect: 0,
      wrongNode: 0,
      nameBytes: 250,
    },
  },
  /** A superblock that was written often rots, and is read again. */
  slots: {
    nodes: 3,
    crashes: 20,
    crashKinds: ['process'],
    everybody: 0,
    rot: 10,
    rotLogs: 0,
    lostDisks: 0,
    workload: { clients: 2, pauseMs: 1_000, metadata: 11, produce: 0, poll: 0, reconnect: 0 },
  },
  /** A sector of a log that is long rots, and its node restarts. */
  rot: {
    nodes: 3,
    links: { loss: 0, corrupt: 0 },
    crashes: 6,
    everybody: 0,
    diskErrors: 0,
    lostDisks: 0,
    rot: 3,
    rotSectors: 1,
    workload: { clients: 2, pauseMs: 500, metadata: 11, produce: 0, poll: 0, reconnect: 0 },
    metadata: { journalSlots: 1_024 },
  },
  /**
   * Replicas that restart again and again, soon after they have come back, while a full pipeline is on its way, and answers
   * to their probes that come once more: the letter to a former life then lies between what was committed and what is held.
   */
  'late-answers': {
    nodes: 3,
    links: {
      delayMinMicros: 150_000,
      delayMeanMicros: 20_000,
      loss: 0,
      duplicate: 0,
      corrupt: 0,
      reorder: false,
      lateAnswers: 0.95,
    },
    crashes: 15,
    midCall: 0,
    relapses: 8,
    crashKinds: ['process'],
    meanDownMs: 100,
    everybody: 0,
    cleanStops: 0,
    partitions: 0,
    pauses: 0,
    resets: 0,
    diskErrors: 0,
    wedges: 0,
    slowDisks: 0,
    rot: 0,
    lostDisks: 0,
    workload: { clients: 14, pauseMs: 30, metadata: 11, produce: 0, poll: 0, reconnect: 0, wrongNode: 0 },
    metadata: { journalSlots: 1_024, prepareQueueDepth: 32 },
  },
  /** Pipelines of different depth under steady load, and primaries that die with full ones. */
  depths: {
    nodes: 5,
    links: { delayMinMicros: 2_000, delayMeanMicros: 20_000, loss: 0.1, corrupt: 0, reorder: true },
    crashes: 12,
    crashKinds: ['process'],
    everybody: 0,
    meanDownMs: 3_000,
    workload: { clients: 6, pauseMs: 200, metadata: 11, produce: 0, poll: 0, reconnect: 0 },
    metadata: { journalSlots: 1_024, prepareQueueDepth: 32, prepareQueueDepths: [32, 1, 32, 1, 1] },
  },
  /** Small segments of three replicas: rotation, purge and removal under load, polls during persists, restarts of everybody. */
  segments: {
    nodes: 3,
    links: { loss: 0, duplicate: 0, corrupt: 0 },
    crashes: 8,
    crashKinds: ['process', 'part'],
    midCall: 0.5,
    meanDownMs: 1_000,
    everybody: 0.5,
    partitions: 0,
    pauses: 0,
    slowDisks: 0,
    rot: 0,
    lostDisks: 0,
    workload: { ...SEGMENTS_LOAD, remove: 1 },
    partition: SMALL_SEGMENTS,
  },
  /** One replica, which has no other to ask. */
  'segments-solo': {
    nodes: 1,
    crashes: 8,
    crashKinds: ['process'],
    midCall: 0.5,
    meanDownMs: 1_000,
    cleanStops: 2,
    workload: { ...SEGMENTS_LOAD, remove: 1 },
    partition: SMALL_SEGMENTS,
  },
  /** One replica that is stopped again and again, and whose disk fails while it writes what memory holds. */
  'segments-stops': {
    nodes: 1,
    crashes: 0,
    failedStops: 8,
    meanDownMs: 1_000,
    workload: { ...SEGMENTS_LOAD, saveEach: 200 },
    partition: SMALL_SEGMENTS,
  },
  /** One replica that loses its power while slow disks write; what memory alone has is not written at all. */
  'segments-power': {
    nodes: 1,
    crashes: 40,
    crashKinds: ['drop'],
    midCall: 0,
    meanDownMs: 500,
    slowDisks: 20,
    cleanStops: 0,
    workload: { ...SEGMENTS_LOAD, poll: 1, saveEach: 100_000 },
    partition: SMALL_SEGMENTS,
  },
  /**
   * Every process ends at once, and comes back at a time of its own: whoever had written most may find that the others have
   * begun anew without it.
   */
  'segments-late': {
    nodes: 3,
    links: { delayMinMicros: 60_000, delayMeanMicros: 20_000, loss: 0, duplicate: 0, corrupt: 0, reorder: false },
    crashes: 10,
    crashKinds: ['process'],
    midCall: 0,
    meanDownMs: 6_000,
    everybody: 1,
    cleanStops: 0,
    partitions: 0,
    pauses: 0,
    resets: 0,
    diskErrors: 0,
    wedges: 0,
    slowDisks: 0,
    rot: 0,
    lostDisks: 0,
    smallCore: false,
    workload: { ...SEGMENTS_LOAD, clients: 6, poll: 2, saveEach: 3 },
    partition: SMALL_SEGMENTS,
  },
  /** Slow polls over segments that are sealed under them. */
  'segments-polls': {
    nodes: 1,
    crashes: 0,
    cleanStops: 0,
    slowDisks: 20,
    workload: { ...SEGMENTS_LOAD, clients: 6, pauseMs: 50, poll: 20 },
    partition: SMALL_SEGMENTS,
  },
}

export const FOCUS_NAMES = Object.freeze(Object.keys(FOCUS) as FocusName[])
