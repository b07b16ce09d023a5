/**
 * A restarted replica has no say until it knows its view: no vote and no acknowledgement before a StartView has reached this
 * life, its probes have run out, or every other replica has shown that it cannot answer one (spec consensus.md §5.8).
 */
import { TICK_MS } from '../../bytes/units.ts'
import { Command } from '../../protocol/commands.ts'
import { DEFAULT_SETTINGS } from '../../replica/default-settings.ts'
import { name } from './checker.ts'
import { EarlierLives } from './lives.ts'
import type { SeenFrame, Watch, WatchWorld } from './watch.ts'

/** From the boot to the expiry that elects: the first probe goes out at once, and one interval follows each. */
const PROBING_MS = (DEFAULT_SETTINGS.probeAttemptsMax - 1) * DEFAULT_SETTINGS.timers.requestStartView * TICK_MS

interface Heard {
  readonly unable: Set<number>
  startView: boolean
}

export class Silence implements Watch {
  private readonly world: WatchWorld
  private readonly lives: EarlierLives
  private readonly bootedMs: number[]
  /** Per node, of this life, by group. */
  private readonly heard: Map<bigint, Heard>[]

  constructor(world: WatchWorld) {
    this.world = world
    this.lives = new EarlierLives(world.checker.durable)
    this.bootedMs = world.disks.map(() => 0)
    this.heard = world.disks.map(() => new Map())
  }

  starting(node: number): void {
    this.lives.starting(node)
    this.heard[node]!.clear()
  }

  booted(node: number): void {
    this.bootedMs[node] = this.world.nowMs()
  }

  fact(fact: Parameters<EarlierLives['fact']>[0]): void {
    this.lives.fact(fact)
  }

  arrived(from: number, to: number, { command, group }: SeenFrame): void {
    const heard = this.of(to, group)
    if (command === Command.StartView) heard.startView = true
    else if (
      command === Command.RequestStartView ||
      command === Command.StartViewChange ||
      command === Command.DoViewChange
    )
      heard.unable.add(from)
  }

  sent(from: number, _to: number, { command, group, view }: SeenFrame): void {
    const what = SAYS.get(command)
    if (what === undefined || !this.lives.has(from, group)) return
    const heard = this.of(from, group)
    if (heard.startView || heard.unable.size >= this.world.nodes - 1) return
    const sinceMs = this.world.nowMs() - this.bootedMs[from]!
    if (sinceMs >= PROBING_MS) return
    this.world.checker.fail(
      'recovering-votes',
      `${what} in view ${view} of ${name(group.toString())} ${Math.round(sinceMs)} ms after its boot, and knows no view yet`,
      from,
    )
  }

  private of(node: number, group: bigint): Heard {
    const known = this.heard[node]!.get(group)
    if (known) return known
    const heard: Heard = { unable: new Set(), startView: false }
    this.heard[node]!.set(group, heard)
    return heard
  }
}

const SAYS: ReadonlyMap<number, string> = new Map([
  [Command.StartViewChange, 'asks for a view change'],
  [Command.DoViewChange, 'votes'],
  [Command.PrepareOk, 'acknowledges'],
])
