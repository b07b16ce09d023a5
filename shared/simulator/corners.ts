/**
 * Corners that the swarm does not draw (spec drills.md §2.2, §2.3, §2.7): each is a draw of the swarm with rates and sizes of
 * its own in their place, and what it varies comes from dice of its own, so that no other history depends on it.
 */
import type { Dice } from './dice.ts'
import type { Focus } from './focus.ts'
import { drawLies, FSYNC_LIE } from './fsync-lie.ts'
import type { ClockShape } from './wall-clock.ts'

export type CornerName =
  | 'fsync-lie'
  | 'atlas'
  | 'torn-indexes'
  | 'full-disks'
  | 'slow-replica'
  | 'clocks'
  | 'clogs'
  | 'sizes'
  | 'performance'

/** No fault of any kind. */
const CALM_WORLD: Focus = {
  links: { delayMinMicros: 200, delayMeanMicros: 1_000, loss: 0, duplicate: 0, corrupt: 0, reorder: false },
  crashes: 0,
  cleanStops: 0,
  partitions: 0,
  pauses: 0,
  resets: 0,
  diskErrors: 0,
  wedges: 0,
  slowDisks: 0,
  rot: 0,
  lostDisks: 0,
  clockSteps: 0,
  smallCore: false,
}

/** Nothing befalls a disk but what the corner is about. */
const SOUND_DISKS: Focus = { diskErrors: 0, wedges: 0, slowDisks: 0, rot: 0, lostDisks: 0, smallCore: false }
const STEADY = { clients: 4, pauseMs: 1_000, metadata: 4, produce: 10, poll: 4 }

export const CORNERS: Readonly<Record<CornerName, (dice: Dice) => Focus>> = {
  'fsync-lie': dice => ({ ...FSYNC_LIE, nodes: dice.pick([1, 3, 3, 3, 5]), lies: drawLies(dice) }),
  /**
   * Rot, lost sectors and misplaced writes, one after the other, in the log and in the files of partitions: on as many
   * replicas at once as the others can spare, so that of everything a clean copy is left (§2.3, 5 to 7).
   */
  atlas: dice => ({
    ...SOUND_DISKS,
    nodes: dice.pick([3, 3, 5]),
    links: { loss: 0, corrupt: 0 },
    crashes: 8,
    crashKinds: ['process'],
    everybody: 0,
    meanDownMs: 1_000,
    partitions: 0,
    atlas: true,
    rot: dice.between(0, 3),
    rotLogs: 0.7,
    rotSectors: 0.5,
    misdirects: dice.between(0, 2),
    segmentRot: dice.between(1, 6),
    segmentMisdirects: dice.between(0, 3),
    workload: { ...STEADY, batchMessages: 5, payloadBytes: 200, saveEach: 6 },
    partition: { segmentBytesMax: 4_096, evictedRingCapacity: 64 },
  }),
  /** Power that fails at the worst moment: what is an index of comes, and what it is of does not. */
  'torn-indexes': dice => ({
    ...SOUND_DISKS,
    nodes: dice.pick([1, 3]),
    crashes: 12,
    crashKinds: ['indexes', 'indexes', 'last', 'torn', 'part'],
    meanDownMs: 1_000,
    everybody: 0.3,
    workload: { ...STEADY, batchMessages: 5, payloadBytes: 200, saveEach: 6 },
    partition: { segmentBytesMax: 4_096, evictedRingCapacity: 64 },
  }),
  /** Disks that are full, or of which one kind of call ends in an error, again and again, for seconds. */
  'full-disks': dice => ({
    ...SOUND_DISKS,
    nodes: dice.pick([1, 3, 3]),
    crashes: 2,
    crashKinds: ['process'],
    everybody: 0,
    fullDisks: dice.between(2, 6),
    workload: { ...STEADY, saveEach: 6 },
    partition: { segmentBytesMax: 16_384 },
  }),
  /** One disk that is fifty times slower than the others, or more, reads, writes and syncs each for itself. */
  'slow-replica': dice => ({
    ...SOUND_DISKS,
    nodes: 3,
    crashes: 4,
    everybody: 0,
    slowReplica: {
      node: dice.below(3),
      reads: dice.pick([1, 50, 250]),
      writes: dice.pick([50, 500]),
      syncs: dice.pick([50, 200]),
    },
    workload: STEADY,
  }),
  /** Wall clocks that drift, sway or stutter, each its own way, beside those that are set. */
  clocks: dice => ({
    nodes: 3,
    clockSteps: 4,
    clocks: Array.from({ length: 3 }, () => drawClock(dice)),
    workload: STEADY,
  }),
  /** Ways that hold few frames, lose many, give them twice and more, and come to a standstill. */
  clogs: dice => ({
    nodes: dice.pick([3, 3, 5]),
    links: {
      delayMinMicros: dice.pick([0, 5_000, 30_000]),
      delayMeanMicros: dice.pick([30_000, 100_000]),
      loss: dice.pick([0, 0.1, 0.3]),
      duplicate: dice.pick([0.1, 0.5]),
      replayed: true,
      reorder: dice.chance(0.5),
      ...(dice.chance(0.5) && { capacity: dice.between(2, 20) }),
    },
    clogs: 20,
    workload: STEADY,
  }),
  /** Clusters of every size, and the smallest of everything that a configuration may name. */
  sizes: dice => ({
    ...SOUND_DISKS,
    nodes: dice.pick([1, 2, 2, 3, 6, 6, 7, 7]),
    workload: { ...STEADY, clients: 3, reconnect: dice.pick([0, 1]) },
    metadata: {
      journalSlots: 256,
      clientsTableMax: dice.pick([2, 4, 8]),
      prepareQueueDepth: dice.pick([1, 4]),
    },
    partition: {
      evictedRingCapacity: dice.pick([1, 8]),
      offsetReservationLease: dice.between(1, 16),
      segmentBytesMax: 1_024,
    },
  }),
  /** Nothing fails, and what an op costs in frames is counted: from each replica to the next, and back to the primary. */
  performance: dice => {
    const nodes = dice.pick([1, 3, 3, 5])
    return {
      ...CALM_WORLD,
      nodes,
      framesPerCommitMax: 1.1 * 2 * (nodes - 1),
      workload: { ...STEADY, clients: 6, pauseMs: dice.pick([100, 300]), reconnect: 0, wrongNode: 0 },
    }
  },
}

const drawClock = (dice: Dice): ClockShape | undefined =>
  dice.pick<ClockShape | undefined>([
    undefined,
    { kind: 'drift', perSecondMicros: dice.pick([-20_000, -200, 200, 20_000]) },
    { kind: 'periodic', amplitudeMs: dice.pick([50, 5_000]), periodMs: dice.pick([1_000, 30_000]) },
    { kind: 'noisy', amplitudeMs: dice.pick([5, 500]) },
  ])

export const CORNER_NAMES = Object.freeze(Object.keys(CORNERS) as CornerName[])
