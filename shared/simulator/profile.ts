/**
 * What one seed draws before it runs (spec drills.md §2.7): first which faults, requests and sizes there are at all, then how
 * much of each. A mix of everything hides what needs one fault to be absent. Counts of faults are per run.
 */
import { CORNER_NAMES, CORNERS, type CornerName } from './corners.ts'
import type { Dice } from './dice.ts'
import type { CrashKind } from './disk.ts'
import { FOCUS, FOCUS_NAMES, type Focus, type FocusName } from './focus.ts'
import type { Lies } from './fsync-lie.ts'
import { CALM, type LinkFaults } from './links.ts'
import type { ClockShape } from './wall-clock.ts'
import type { WorkloadShape } from './workload.ts'

export interface Profile {
  readonly nodes: number
  readonly links: LinkFaults
  readonly crashes: number
  readonly crashKinds: readonly CrashKind[]
  /** Of the crashes, how many happen in the middle of a handler: 0 to 1. */
  readonly midCall: number
  readonly meanDownMs: number
  /** How often a node that crashed crashes again, each time soon after its return. Default: not at all. */
  readonly relapses?: number
  /** All processes at once: 0 to 1 of the crashes. */
  readonly everybody: number
  readonly cleanStops: number
  /** Stops whose flush of the default topic meets a disk that fails. */
  readonly failedStops?: number
  readonly partitions: number
  readonly oneWay: boolean
  readonly pauses: number
  readonly resets: number
  readonly diskErrors: number
  readonly wedges: number
  readonly slowDisks: number
  readonly rot: number
  /** Of the rot, how much lies in a log and not in a superblock: 0 to 1. Default: two thirds. */
  readonly rotLogs?: number
  /** Of the rot, how much takes a whole sector: 0 to 1. Default: each flips one bit. */
  readonly rotSectors?: number
  /** Sectors that cannot be read until they are written again. Default: none. */
  readonly unreadable?: number
  /** Writes to a log that land elsewhere in it. Default: none. */
  readonly misdirects?: number
  readonly lostDisks: number
  readonly clockSteps: number
  readonly workload: WorkloadShape
  readonly metadata: {
    readonly journalSlots: number
    readonly clientsTableMax: number
    readonly prepareQueueDepth: number
    /** By node, where they differ. */
    readonly prepareQueueDepths?: readonly number[]
  }
  readonly partition: {
    readonly evictedRingCapacity: number
    readonly offsetReservationLease: number
    /** Default: what the topics say. */
    readonly segmentBytesMax?: number
  }
  /** At the end only a majority comes back. */
  readonly smallCore: boolean
  /** Ways between two replicas on which nothing moves for a while. */
  readonly clogs?: number
  /** Disks that are full, or of which one kind of call fails, for a while. */
  readonly fullDisks?: number
  /** Rot in the files of partitions, and writes to them that land elsewhere in the same file. */
  readonly segmentRot?: number
  readonly segmentMisdirects?: number
  /** As many replicas may have damage at once as a cluster can spare, and more after those have new disks. Default: one, once. */
  readonly atlas?: boolean
  /** One disk that is so many times slower than the others, all the time. */
  readonly slowReplica?: SlowReplica
  /** Wall clocks that are wrong, by node. */
  readonly clocks?: readonly (ClockShape | undefined)[]
  /** Most frames that may be sent for an op that is committed, beyond what is due by time alone. Default: nobody counts. */
  readonly framesPerCommitMax?: number
  /** Drives that lie about their syncs; the claims of such a run are weakened (fsync-lie.ts). Default: none does. */
  readonly lies?: Lies
  /** Every boot comes to its end within so long, and no new disk is refused. Default: nobody looks. */
  readonly bootBudgetMs?: number
}

export interface SlowReplica {
  readonly node: number
  readonly reads: number
  readonly writes: number
  readonly syncs: number
}

export type ProfileName = 'swarm' | 'calm' | 'crash' | 'network' | 'disk' | 'idle' | FocusName | CornerName
export const PROFILES: readonly ProfileName[] = [
  ...(['swarm', 'calm', 'crash', 'network', 'disk', 'idle'] as const),
  ...FOCUS_NAMES,
  ...CORNER_NAMES,
]

/** Virtual time in which the faults of a run lie, and the least that a run takes. */
export const RUN_MS = 120_000
export const COMMITTED_MIN = 300

/** @param corner dice of their own for what a corner draws */
export function drawProfile(dice: Dice, name: ProfileName, corner: Dice): Profile {
  const nodes = dice.pick([1, 3, 3, 3, 3, 3, 3, 5])
  const on = (probability: number) => dice.chance(probability)
  const focus =
    name in CORNERS ? CORNERS[name as CornerName](corner) : name in FOCUS ? FOCUS[name as FocusName] : undefined
  const mixed = name === 'swarm' || focus !== undefined
  const crash = mixed ? on(0.85) : name === 'crash' || name === 'disk'
  const network = mixed ? on(0.75) : name === 'network'
  const disk = mixed ? on(0.6) : name === 'disk'
  const many = nodes > 1
  const count = (wanted: boolean, low: number, high: number) => (wanted ? dice.between(low, high) : 0)
  const links: LinkFaults = network
    ? {
        delayMinMicros: dice.pick([0, 200, 2_000, 20_000]),
        delayMeanMicros: dice.pick([500, 2_000, 20_000, 60_000]),
        loss: on(0.6) ? dice.pick([0.005, 0.02, 0.1]) : 0,
        duplicate: on(0.4) ? dice.pick([0.01, 0.1, 0.3]) : 0,
        corrupt: on(0.2) ? 0.002 : 0,
        reorder: on(0.3),
      }
    : CALM
  const clients = dice.between(2, 6)
  const powerLoss: readonly CrashKind[] = ['process', 'drop', 'part', 'part', 'keep']
  const profile: Profile = {
    nodes,
    links,
    crashes: count(crash, 1, 6),
    crashKinds: disk ? powerLoss : ['process'],
    midCall: on(0.5) ? 0.6 : 0,
    meanDownMs: dice.pick([500, 3_000, 3_000, 8_000]),
    everybody: on(0.3) ? 0.3 : 0,
    cleanStops: count(crash && on(0.3), 1, 2),
    partitions: count(many && network && on(0.8), 1, 4),
    oneWay: on(0.4),
    pauses: count(many && network && on(0.5), 1, 3),
    resets: count(many && network && on(0.6), 1, 10),
    diskErrors: count(disk && on(0.4), 1, 2),
    wedges: count(many && disk && on(0.3), 1, 2),
    slowDisks: count(disk && on(0.3), 1, 2),
    rot: count(many && disk && on(0.25), 1, 1),
    lostDisks: count(many && disk && on(0.25), 1, 1),
    clockSteps: count(on(0.3), 1, 3),
    workload: {
      clients,
      // All of them together: three to six requests a second, so that a run comes by its commits in its time and goes on to the next seed.
      pauseMs: clients * dice.pick([180, 240, 300]),
      metadata: dice.pick([0, 1, 5, 10]) + 1,
      produce: dice.pick([0, 5, 10]),
      poll: dice.pick([0, 2]),
      reconnect: dice.pick([0, 1]),
      batchMessages: dice.pick([1, 5, 20]),
      payloadBytes: dice.pick([10, 200, 2_000]),
      wrongNode: dice.pick([0, 0.3, 1]),
    },
    metadata: {
      journalSlots: dice.pick([1_024, 256]),
      clientsTableMax: dice.pick([8_192, 64]),
      prepareQueueDepth: dice.pick([32, 32, 8, 1]),
    },
    partition: {
      evictedRingCapacity: dice.pick([4_096, 64, 8]),
      offsetReservationLease: dice.pick([65_536, 16, 1]),
    },
    smallCore: many && on(0.3),
    // Last, so that a seed without them is what it was before there were any.
    ...damagedSectors(dice, many && disk),
  }
  if (name === 'calm') return { ...profile, cleanStops: 0, clockSteps: 0, smallCore: false }
  if (name === 'idle') {
    return {
      ...profile,
      nodes: 3,
      cleanStops: 0,
      clockSteps: 0,
      smallCore: false,
      workload: { ...profile.workload, clients: 0 },
    }
  }
  return focus === undefined ? profile : focused(profile, focus)
}

/** One sector or one write in a few runs: what is damaged twice proves no more. */
function damagedSectors(dice: Dice, wanted: boolean): Pick<Profile, 'unreadable' | 'misdirects'> {
  if (!wanted || !dice.chance(0.15)) return {}
  return dice.chance(0.5) ? { unreadable: 1 } : { misdirects: 1 }
}

/** A draw of the swarm with the rates and sizes of a focus in their place; sectors are damaged only where it says so. */
function focused({ unreadable, misdirects, ...profile }: Profile, focus: Focus): Profile {
  return {
    ...profile,
    ...focus,
    links: { ...profile.links, ...focus.links },
    workload: { ...profile.workload, ...focus.workload },
    metadata: { ...profile.metadata, ...focus.metadata },
    partition: { ...profile.partition, ...focus.partition },
  }
}
