/**
 * What a run may lose of its partitions and what not (docs/decisions/001). A partition's journal lives in memory. What was
 * confirmed on a default topic survives while a majority that has lost no memory can be heard; what was confirmed on an eager
 * one also survives the rest, when the disk of the node that answered is back within the wait. Only what is beyond that is excused,
 * and not before its time.
 */
import type { World } from './world.ts'

/** An election among those who forgot waits half a status timeout for the others: 2.5 s, less what a sample may miss. */
const WAIT_MS = 2_000
const SAMPLE_MICROS = 200_000

export interface RememberingPorts {
  readonly world: World
  /** What stood in memory only may be gone now. */
  readonly forgotten: () => void
  /** So may what this node alone had on its disk: the others may go on without it. */
  readonly leftOut: (node: number) => void
}

export class Remembering {
  private readonly ports: RememberingPorts
  /** Nodes that have lost nothing since they last held all that their partitions had committed. */
  private readonly intact: Set<number>
  /** Since when a node cannot be reached, and since when one has been up. */
  private readonly awayMs = new Map<number, number>()
  private readonly upMs = new Map<number, number>()
  /** Since when one of a pair of nodes does not hear the other. */
  private readonly deafMs = new Map<string, number>()
  /** Memory is gone, and the groups have not come to a view since. */
  private open = false

  constructor(ports: RememberingPorts) {
    this.ports = ports
    this.intact = new Set(ports.world.nodes.map(({ id }) => id))
  }

  /** Looks at the world from now on. */
  watch(): void {
    this.ports.world.timeline.after(SAMPLE_MICROS, () => {
      this.watch()
      this.sample()
      if (!this.isSafe()) this.forget()
      if (this.open) this.leaveOut()
      if (this.intact.size < this.ports.world.nodes.length) this.recover()
    })
  }

  /** A life has ended, and its memory with it. */
  lost(node: number): void {
    this.intact.delete(node)
    if (!this.isSafe()) this.forget()
  }

  private sample(): void {
    const { world } = this.ports
    const { nowMs } = world
    for (const { id: a } of world.nodes)
      for (const { id: b } of world.nodes)
        mark(this.deafMs, `${a} ${b}`, a < b && (world.links.isCut(a, b) || world.links.isCut(b, a)), nowMs)
    for (const { id, life } of world.nodes) {
      const up = world.isRunning(id) && life?.paused !== true
      const cut = world.nodes.some(({ id: other }) => this.deafMs.has(pair(id, other)) && world.isRunning(other))
      mark(this.upMs, id, up, nowMs)
      mark(this.awayMs, id, !up || cut, nowMs)
    }
  }

  /**
   * True while a majority that has lost nothing can hear each other, or has been able to within the wait. A crash that takes a
   * journal while another holder is cut off for longer leaves a majority in which nobody has what was acknowledged, and which must
   * go on by itself at some time.
   */
  private isSafe(): boolean {
    const { nodes } = this.ports.world
    const able = [...this.intact].filter(id => nodes[id]!.life?.paused !== true || !this.longer(this.awayMs, id))
    const hear = (a: number, b: number) => !this.longer(this.deafMs, pair(a, b))
    // Of at most five nodes every set can be looked at.
    for (let set = 0; set < 1 << able.length; set++) {
      const members = able.filter((_, index) => (set >> index) & 1)
      if (members.length >= this.quorum && members.every(a => members.every(b => a === b || hear(a, b)))) return true
    }
    return false
  }

  private forget(): void {
    this.open = true
    this.ports.forgotten()
    // Nobody holds what nobody holds: the next majority starts from what the disks have.
    if (this.intact.size === 0) for (const { id, life } of this.ports.world.nodes) if (life) this.intact.add(id)
  }

  /** Whoever is away for the wait, while others wait for it, may be left out of what they begin. */
  private leaveOut(): void {
    const { world, leftOut } = this.ports
    const ready = [...this.upMs.keys()].filter(id =>
      world
        .replica(id)
        .inspect.standings()
        .every(({ status }) => status === 'normal'),
    )
    const waiting = [...this.upMs.keys()].some(id => this.longer(this.upMs, id))
    if (this.upMs.size >= this.quorum && waiting)
      for (const id of this.awayMs.keys()) if (this.longer(this.awayMs, id)) leftOut(id)
    if (ready.length >= this.quorum) this.open = false
  }

  /** Which nodes have caught up again after they lost their memory. */
  private recover(): void {
    const { nodes } = this.ports.world
    const highest = new Map<bigint, bigint>()
    for (const node of this.intact) {
      for (const { group, commitMax } of nodes[node]!.replica?.inspect.standings() ?? [])
        if (commitMax > (highest.get(group) ?? -1n)) highest.set(group, commitMax)
    }
    for (const { id, replica } of nodes) {
      if (!replica || this.intact.has(id)) continue
      const groups = replica.inspect.standings()
      const whole = groups.every(
        ({ group, status, commitMin }) => status === 'normal' && commitMin >= (highest.get(group) ?? 0n),
      )
      if (whole && groups.length >= highest.size) this.intact.add(id)
    }
  }

  private get quorum(): number {
    return Math.floor(this.ports.world.nodes.length / 2) + 1
  }

  private longer<Key>(since: ReadonlyMap<Key, number>, key: Key): boolean {
    return this.ports.world.nowMs - (since.get(key) ?? Number.POSITIVE_INFINITY) >= WAIT_MS
  }
}

/** Notes since when something holds. */
function mark<Key>(since: Map<Key, number>, key: Key, holds: boolean, nowMs: number): void {
  if (!holds) since.delete(key)
  else if (!since.has(key)) since.set(key, nowMs)
}

const pair = (a: number, b: number): string => (a < b ? `${a} ${b}` : `${b} ${a}`)
