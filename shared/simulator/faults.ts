/**
 * Faults as a script: what goes wrong when, as plain data, drawn from a profile or read from a file. A fault that the state
 * of the world does not allow when its time comes is left out, so any part of a script is a script too.
 */
import type { Dice } from './dice.ts'
import type { CrashKind, DiskCall } from './disk.ts'
import { type Profile, RUN_MS } from './profile.ts'

/** A node, or whoever leads the metadata group at that moment. */
export type Victim = number | 'primary'

export type Fault = { readonly atMs: number } & (
  | {
      readonly fault: 'crash'
      readonly node: Victim
      readonly kind: CrashKind
      readonly downMs: number
      /** At the nth port call from then on, wherever that is. */
      readonly call?: number
    }
  | { readonly fault: 'crashAll'; readonly kind: CrashKind; readonly downMs: readonly number[] }
  | { readonly fault: 'stop'; readonly node: number; readonly downMs: number }
  | { readonly fault: 'cut'; readonly ways: readonly (readonly [number, number])[]; readonly forMs: number }
  | { readonly fault: 'pause'; readonly node: Victim; readonly forMs: number }
  | { readonly fault: 'reset'; readonly a: number; readonly b: number; readonly late: boolean }
  /** The next call of this kind on a path with this text in it fails. */
  | {
      readonly fault: 'diskError'
      readonly node: number
      readonly call: DiskCall
      readonly path: string
      readonly error: 'Io' | 'NoSpace'
    }
  /** No superblock of this node can be written. */
  | { readonly fault: 'wedge'; readonly node: number; readonly forMs: number }
  | { readonly fault: 'slow'; readonly node: number; readonly factor: number; readonly forMs: number }
  /** Every call of these kinds fails, on any path: a full disk, or a broken one. */
  | {
      readonly fault: 'diskFails'
      readonly node: number
      readonly calls: readonly DiskCall[]
      readonly error: 'Io' | 'NoSpace'
      readonly forMs: number
    }
  /** Frames stay on their way. */
  | { readonly fault: 'clog'; readonly way: readonly [number, number]; readonly forMs: number }
  | {
      readonly fault: 'rot'
      readonly node: number
      readonly file: 'log' | 'superblock' | 'segment'
      readonly fraction: number
      /** A sector of the log is zeros; else one bit is another. */
      readonly sector?: true
    }
  /** A sector of this file cannot be read until it is written again. */
  | {
      readonly fault: 'unreadable'
      readonly node: number
      readonly file: 'log' | 'superblock' | 'segment'
      readonly fraction: number
    }
  /** The next write to the log, or to that of a partition, lands somewhere in its middle. */
  | { readonly fault: 'misdirect'; readonly node: number; readonly fraction: number; readonly file?: 'segment' }
  | { readonly fault: 'loseDisk'; readonly node: number; readonly downMs: number }
  | { readonly fault: 'clock'; readonly node: number; readonly byMs: number }
)

/** Before this the cluster starts; after the end of the window nothing new begins. */
const FIRST_MS = 3_000

export function drawFaults(profile: Profile, dice: Dice): Fault[] {
  const { nodes } = profile
  const faults: Fault[] = []
  const at = () => dice.between(FIRST_MS, RUN_MS - 20_000)
  const node = () => dice.below(nodes)
  const victim = (): Victim => (dice.chance(0.4) ? 'primary' : node())
  const down = () => Math.round(dice.exponential(profile.meanDownMs))
  const times = (count: number, make: () => Fault) => {
    for (let index = 0; index < count; index++) faults.push(make())
  }
  times(profile.crashes, () => {
    const kind = dice.pick(profile.crashKinds)
    if (dice.chance(profile.everybody))
      return { atMs: at(), fault: 'crashAll', kind, downMs: Array.from({ length: nodes }, down) }
    const call = dice.chance(profile.midCall) ? { call: dice.between(1, 200) } : {}
    const crash: Extract<Fault, { fault: 'crash' }> = {
      atMs: at(),
      fault: 'crash',
      node: victim(),
      kind,
      downMs: down(),
      ...call,
    }
    let backMs = crash.atMs + crash.downMs
    for (let index = 0; index < (profile.relapses ?? 0) && crash.node !== 'primary'; index++) {
      const again = { ...crash, atMs: backMs + dice.between(300, 1_000), downMs: down() }
      faults.push(again)
      backMs = again.atMs + again.downMs
    }
    return crash
  })
  times(profile.cleanStops, () => ({ atMs: at(), fault: 'stop', node: node(), downMs: down() }))
  times(profile.partitions, () => ({
    atMs: at(),
    fault: 'cut',
    ways: drawCut(nodes, profile.oneWay && dice.chance(0.5), dice),
    forMs: Math.round(500 + dice.exponential(6_000)),
  }))
  times(profile.pauses, () => ({
    atMs: at(),
    fault: 'pause',
    node: victim(),
    forMs: Math.round(200 + dice.exponential(4_000)),
  }))
  times(profile.resets, () => {
    const a = node()
    return { atMs: at(), fault: 'reset', a, b: (a + dice.between(1, nodes - 1)) % nodes, late: dice.chance(0.5) }
  })
  times(profile.diskErrors, () => ({
    atMs: at(),
    fault: 'diskError',
    node: node(),
    call: dice.pick(['write', 'datasync', 'sync', 'rename', 'open', 'syncDirectory'] as const),
    path: dice.pick(['metadata', 'streams', 'superblock', 'journal.wal', '.log', '.index']),
    error: dice.pick(['Io', 'Io', 'NoSpace'] as const),
  }))
  times(profile.wedges, () => ({ atMs: at(), fault: 'wedge', node: node(), forMs: dice.between(1_000, 20_000) }))
  times(profile.slowDisks, () => ({
    atMs: at(),
    fault: 'slow',
    node: node(),
    factor: dice.pick([10, 50, 200]),
    forMs: dice.between(2_000, 30_000),
  }))
  times(profile.rot, () => ({
    atMs: at(),
    fault: 'rot',
    node: node(),
    file:
      profile.rotLogs === undefined
        ? dice.pick(['log', 'log', 'superblock'] as const)
        : dice.chance(profile.rotLogs)
          ? 'log'
          : 'superblock',
    fraction: dice.below(1_000) / 1_000,
    ...(profile.rotSectors !== undefined && dice.chance(profile.rotSectors) && { sector: true as const }),
  }))
  times(profile.lostDisks, () => ({ atMs: at(), fault: 'loseDisk', node: node(), downMs: down() }))
  times(profile.clockSteps, () => ({
    atMs: at(),
    fault: 'clock',
    node: node(),
    byMs: dice.pick([-3_600_000, -1_000, 1_000, 3_600_000]),
  }))
  for (let index = 0; index < (profile.failedStops ?? 0); index++) {
    const [atMs, victim] = [at(), node()]
    const path = 'topics/1/partitions/0/0'
    faults.push({ atMs, fault: 'stop', node: victim, downMs: down() })
    faults.push({ atMs, fault: 'diskError', node: victim, call: 'write', path, error: 'Io' })
  }
  // Last, so that a seed without them draws all others as ever.
  times(profile.unreadable ?? 0, () => ({
    atMs: at(),
    fault: 'unreadable',
    node: node(),
    file: dice.pick(['log', 'segment', 'segment', 'superblock'] as const),
    fraction: dice.below(1_000) / 1_000,
  }))
  times(profile.misdirects ?? 0, () => ({
    atMs: at(),
    fault: 'misdirect',
    node: node(),
    fraction: dice.below(1_000) / 1_000,
  }))
  times(profile.clogs ?? 0, () => {
    const from = node()
    const way = [from, (from + dice.between(1, nodes - 1)) % nodes] as const
    return { atMs: at(), fault: 'clog', way, forMs: Math.round(dice.exponential(dice.pick([500, 5_000]))) }
  })
  times(profile.fullDisks ?? 0, () => ({
    atMs: at(),
    fault: 'diskFails',
    node: node(),
    ...dice.pick(FAILURES),
    forMs: Math.round(500 + dice.exponential(4_000)),
  }))
  times(profile.segmentRot ?? 0, () => ({
    atMs: at(),
    fault: 'rot',
    node: node(),
    file: 'segment',
    fraction: dice.below(1_000) / 1_000,
    ...(dice.chance(0.5) && { sector: true as const }),
  }))
  times(profile.segmentMisdirects ?? 0, () => ({
    atMs: at(),
    fault: 'misdirect',
    node: node(),
    file: 'segment',
    fraction: dice.below(1_000) / 1_000,
  }))
  return faults.sort((a, b) => a.atMs - b.atMs)
}

/** A disk without room for anything, and disks of which one kind of call ends in an error. */
const FAILURES: readonly { readonly calls: readonly DiskCall[]; readonly error: 'Io' | 'NoSpace' }[] = [
  { calls: ['write', 'sync', 'datasync', 'rename', 'syncDirectory'], error: 'NoSpace' },
  { calls: ['write', 'sync', 'datasync', 'rename', 'syncDirectory'], error: 'NoSpace' },
  ...(['read', 'write', 'datasync', 'sync', 'truncate', 'rename', 'unlink', 'syncDirectory', 'open'] as const).map(
    call => ({
      calls: [call],
      error: 'Io' as const,
    }),
  ),
]

/** Directions that are cut between two sides: one node and the rest, or two random ones. */
function drawCut(nodes: number, oneWay: boolean, dice: Dice): [number, number][] {
  const lonely = dice.below(nodes)
  const alone = dice.chance(0.6)
  const side = Array.from({ length: nodes }, (_, id) => (alone ? id === lonely : dice.chance(0.5)))
  const ways: [number, number][] = []
  for (let from = 0; from < nodes; from++) {
    for (let to = 0; to < nodes; to++) {
      if (from === to || side[from] === side[to]) continue
      if (!oneWay || side[from]) ways.push([from, to])
    }
  }
  return ways
}
