/** Carries out a fault script in a world, brings back what went down, and heals everything at the end. */

import { METADATA_GROUP } from '../protocol/groups.ts'
import type { Checker } from './checkers/checker.ts'
import type { Dice } from './dice.ts'
import type { CrashKind, DiskCall } from './disk.ts'
import type { Fault, Victim } from './faults.ts'
import { CALM } from './links.ts'
import type { Marks } from './marks.ts'
import type { World } from './world.ts'

/** How often a node that refuses its boot is looked at: it gets a new disk once the others can spare it. */
const REPLACE_MICROS = 500_000
/** Ends of a process that a restart heals: failed persist, wedged superblock, another program in the way. */
const RESTARTABLE: ReadonlySet<number> = new Set([74, 3])

export class Driver {
  private readonly world: World
  private readonly checker: Checker
  private readonly marks: Marks
  private readonly dice: Dice
  /** Nodes that shall stay down. */
  readonly gone = new Set<number>()
  /** Nodes whose disk was damaged, or whose disk calls failed, in this run. */
  readonly rotten = new Set<number>()
  readonly troubled = new Set<number>()
  lostDisks = 0
  /** Faults that have not come to an end yet. */
  private pending = 0
  private readonly crashKind = new Map<number, { kind: CrashKind; downMs: number }>()
  private readonly wedged = new Set<number>()
  private readonly failNext = new Map<number, { call: DiskCall; path: string; error: 'Io' | 'NoSpace' }[]>()
  private healed = false

  constructor(world: World, checker: Checker, marks: Marks, dice: Dice) {
    this.world = world
    this.checker = checker
    this.marks = marks
    this.dice = dice
    world.onCrash = id => {
      const plan = this.crashKind.get(id) ?? { kind: 'process' as const, downMs: 1_000 }
      this.crashKind.delete(id)
      this.crash(id, plan.kind, plan.downMs)
    }
    for (const node of world.nodes) {
      node.trouble.fault = (call, path) => this.diskFault(node.id, call, path)
    }
  }

  get busy(): boolean {
    return this.pending > 0
  }

  schedule(faults: readonly Fault[]): void {
    for (const fault of faults) {
      this.later(fault.atMs, () => this.carryOut(fault))
    }
  }

  start(id: number): void {
    if (this.gone.has(id) || this.world.nodes[id]!.life) return
    this.world.start(id)
    if (this.world.nodes[id]!.lives > 1) this.marks.add('world.restart')
  }

  /** A process has ended by itself. */
  exited(id: number): void {
    const { status, error } = this.world.nodes[id]!.exit!
    this.marks.add(`world.exit.${status}`)
    if (RESTARTABLE.has(status)) {
      if (!this.troubled.has(id))
        this.checker.fail('boot', `ends with status ${status} on a healthy disk: ${error.message}`, id)
      this.later(Math.round(this.dice.exponential(2_000)), () => this.start(id))
      return
    }
    if (status === 65 && !this.rotten.has(id) && this.troubled.has(id)) {
      // A read error at boot: the disk is asked again.
      this.later(1_000, () => this.start(id))
      return
    }
    if (!this.rotten.has(id))
      this.checker.fail(
        'boot',
        `ends with status ${status}, and its disk was not damaged: ${error.code}: ${error.message}`,
        id,
      )
    this.replaceWhenSpare(id)
  }

  /** From here on nothing fails any more. */
  heal(core: readonly number[]): void {
    this.healed = true
    const { world } = this
    world.links.faults = CALM
    world.links.healAll()
    this.wedged.clear()
    this.failNext.clear()
    this.crashKind.clear()
    for (const node of world.nodes) {
      node.trouble.slowness = 1
      node.crashIn = undefined
      world.resume(node.id)
      if (!core.includes(node.id)) {
        this.gone.add(node.id)
        world.kill(node.id)
      }
    }
    // A partition that was refused for a disk error is looked at again by the next boot only.
    for (const id of this.troubled) if (core.includes(id)) world.kill(id)
    for (const id of core) if (world.nodes[id]!.exit?.status !== 65 || !this.rotten.has(id)) this.start(id)
  }

  private carryOut(fault: Fault): void {
    if (this.healed) return
    const { world, marks } = this
    switch (fault.fault) {
      case 'crash': {
        const id = this.victim(fault.node)
        const node = id === undefined ? undefined : world.nodes[id]
        if (id === undefined || !node?.life) return
        if (fault.call === undefined) {
          this.crash(id, fault.kind, fault.downMs)
          return
        }
        this.crashKind.set(id, { kind: fault.kind, downMs: fault.downMs })
        node.crashIn = fault.call
        marks.add('world.crash.mid_call')
        return
      }
      case 'crashAll':
        marks.add('world.crash.all')
        for (const { id } of world.nodes) this.crash(id, fault.kind, fault.downMs[id] ?? 1_000)
        return
      case 'stop':
        if (!world.isRunning(fault.node) || world.nodes[fault.node]!.life?.paused) return
        marks.add('world.stop')
        this.pending++
        void this.stop(fault.node, fault.downMs)
        return
      case 'cut':
        marks.add('world.cut')
        for (const [from, to] of fault.ways) world.cut(from, to)
        this.later(fault.forMs, () => {
          for (const [from, to] of fault.ways) world.heal(from, to)
        })
        return
      case 'pause': {
        const id = this.victim(fault.node)
        if (id === undefined || !world.isRunning(id)) return
        marks.add('world.pause')
        const { life } = world.nodes[id]!
        life!.pause()
        this.later(fault.forMs, () => life!.resume())
        return
      }
      case 'reset':
        marks.add('world.reset')
        world.links.reset(world.nodes[fault.a]!.id, world.nodes[fault.b]!.id, fault.late)
        return
      case 'diskError': {
        const waiting = this.failNext.get(fault.node) ?? []
        this.failNext.set(fault.node, [...waiting, fault])
        return
      }
      case 'wedge':
        marks.add('world.wedge')
        this.wedged.add(fault.node)
        this.troubled.add(fault.node)
        this.later(fault.forMs, () => this.wedged.delete(fault.node))
        return
      case 'slow': {
        marks.add('world.slow_disk')
        const { trouble } = world.nodes[fault.node]!
        trouble.slowness = fault.factor
        this.later(fault.forMs, () => {
          trouble.slowness = 1
        })
        return
      }
      case 'rot':
        this.rot(fault.node, fault.file, fault.fraction)
        return
      case 'loseDisk':
        if (!this.canSpare(fault.node)) return
        world.kill(fault.node)
        this.wipe(fault.node)
        this.later(fault.downMs, () => this.start(fault.node))
        return
      case 'clock':
        marks.add('world.clock')
        world.nodes[fault.node]!.skewMicros += BigInt(fault.byMs) * 1_000n
        return
    }
  }

  private crash(id: number, kind: CrashKind, downMs: number): void {
    if (!this.world.nodes[id]!.life) return
    this.marks.add('world.crash')
    if (kind !== 'process') this.marks.add('world.crash.power')
    this.world.kill(id, kind)
    this.later(downMs, () => this.start(id))
  }

  private async stop(id: number, downMs: number): Promise<void> {
    const life = this.world.nodes[id]!.life
    // A node that is killed, or dies, while it stops never ends its stop.
    const limit = new Promise<void>(resolve => {
      this.world.timeline.after(20_000_000, resolve)
    })
    await Promise.race([this.world.stop(id), limit])
    if (this.world.nodes[id]!.life === life && life) this.world.kill(id)
    this.pending--
    this.later(downMs, () => this.start(id))
  }

  /** At most one node of a cluster has rot, and never in the last entry of its log, which no scan can tell from a tear. */
  private rot(id: number, file: 'log' | 'superblock', fraction: number): void {
    const { disk } = this.world.nodes[id]!
    if (this.rotten.size > 0 || this.lostDisks > 0) return
    let done = false
    if (file === 'log') {
      const entries = [...this.checker.durable[id]!.log().values()].sort((a, b) => a.position - b.position)
      const last = entries.at(-1)
      if (!last || entries.length < 3) return
      done = disk.damage('metadata/journal.wal', Math.floor(fraction * last.position), 1 << this.dice.below(8))
    } else {
      const path = `metadata/superblock.${fraction < 0.5 ? 'a' : 'b'}`
      done = disk.damage(path, this.dice.below(110), 1 << this.dice.below(8))
    }
    if (!done) return
    this.marks.add('world.rot')
    this.rotten.add(id)
    this.checker.rotted(id)
  }

  /** True when every other node holds all that this one has ever said it holds, so that it may forget it. */
  private canSpare(id: number): boolean {
    const { world } = this
    if (world.nodes.length < 3) return false
    for (const rotten of this.rotten) if (rotten !== id) return false
    const durable = this.checker.durable[id]!.superblock('metadata')
    const view = durable === undefined || durable === 'corrupt' ? 0 : durable.view
    const needed = this.checker.highestAcked(id)
    const views = new Set<number>()
    for (const node of world.nodes) {
      if (node.id === id) continue
      if (!node.replica || node.life?.paused) return false
      const group = node.replica.inspect.group(METADATA_GROUP)
      if (group?.status !== 'normal' || group.view < view || group.view !== group.viewDurable) return false
      if (group.view !== group.logViewDurable || BigInt(group.commitMin) < needed) return false
      views.add(group.view)
    }
    return views.size === 1
  }

  private wipe(id: number): void {
    this.marks.add('world.lost_disk')
    this.world.wipe(id)
    this.rotten.delete(id)
    this.lostDisks++
    this.checker.wiped(id)
  }

  private replaceWhenSpare(id: number): void {
    this.world.timeline.after(REPLACE_MICROS, () => {
      if (this.world.nodes[id]!.life) return
      if (!this.canSpare(id)) return this.replaceWhenSpare(id)
      this.wipe(id)
      this.start(id)
    })
  }

  private diskFault(id: number, call: DiskCall, path: string): 'Io' | 'NoSpace' | undefined {
    if (this.wedged.has(id) && call === 'rename' && path.includes('superblock')) return 'Io'
    const waiting = this.failNext.get(id)
    const index = waiting?.findIndex(each => each.call === call && path.includes(each.path)) ?? -1
    if (!waiting || index < 0) return undefined
    const [hit] = waiting.splice(index, 1)
    this.marks.add('world.disk_error')
    this.troubled.add(id)
    return hit!.error
  }

  private victim(wanted: Victim): number | undefined {
    if (wanted !== 'primary') return wanted
    for (const node of this.world.nodes) {
      const group = node.replica?.inspect.group(METADATA_GROUP)
      if (group?.role === 'primary' && group.status === 'normal') return node.id
    }
    return undefined
  }

  private later(ms: number, run: () => void): void {
    this.pending++
    this.world.timeline.after(Math.max(1, ms) * 1_000, () => {
      this.pending--
      run()
    })
  }
}
