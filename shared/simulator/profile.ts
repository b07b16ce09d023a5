/**
 * What one seed draws before it runs (spec drills.md §2.7): first which faults, requests and sizes there are at all, then how
 * much of each. A mix of everything hides what needs one fault to be absent. Counts of faults are per run.
 */
import type { Dice } from './dice.ts'
import type { CrashKind } from './disk.ts'
import { CALM, type LinkFaults } from './links.ts'
import type { WorkloadShape } from './workload.ts'

export interface Profile {
  readonly nodes: number
  readonly links: LinkFaults
  readonly crashes: number
  readonly crashKinds: readonly CrashKind[]
  /** Of the crashes, how many happen in the middle of a handler: 0 to 1. */
  readonly midCall: number
  readonly meanDownMs: number
  /** All processes at once: 0 to 1 of the crashes. */
  readonly everybody: number
  readonly cleanStops: number
  readonly partitions: number
  readonly oneWay: boolean
  readonly pauses: number
  readonly resets: number
  readonly diskErrors: number
  readonly wedges: number
  readonly slowDisks: number
  readonly rot: number
  readonly lostDisks: number
  readonly clockSteps: number
  readonly workload: WorkloadShape
  readonly metadata: {
    readonly journalSlots: number
    readonly clientsTableMax: number
    readonly prepareQueueDepth: number
  }
  readonly partition: { readonly evictedRingCapacity: number; readonly offsetReservationLease: number }
  /** At the end only a majority comes back. */
  readonly smallCore: boolean
}

export type ProfileName = 'swarm' | 'calm' | 'crash' | 'network' | 'disk' | 'idle'
export const PROFILES: readonly ProfileName[] = ['swarm', 'calm', 'crash', 'network', 'disk', 'idle']

/** Virtual time in which the faults of a run lie, and the least that a run takes. */
export const RUN_MS = 120_000
export const COMMITTED_MIN = 300

export function drawProfile(dice: Dice, name: ProfileName): Profile {
  const nodes = dice.pick([1, 3, 3, 3, 3, 3, 5, 5])
  const on = (probability: number) => dice.chance(probability)
  const crash = name === 'swarm' ? on(0.85) : name === 'crash' || name === 'disk'
  const network = name === 'swarm' ? on(0.75) : name === 'network'
  const disk = name === 'swarm' ? on(0.6) : name === 'disk'
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
      clients: dice.between(2, 6),
      pauseMs: dice.pick([200, 500, 1_000]),
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
  return profile
}
