/** Carries out a fault script in a world, brings back what went down, and heals everything at the end. */

import type { ReplicaId } from '../bytes/units.ts'
import { METADATA_GROUP } from '../protocol/groups.ts'
import type { GroupStanding } from '../replica/contract.ts'
import type { Checker } from './checkers/checker.ts'
import { readSegment } from './checkers/segments.ts'
import type { Watches } from './checkers/watch.ts'
import type { Dice } from './dice.ts'
import type { CrashKind, DiskCall } from './disk.ts'
import type { Fault, Victim } from './faults.ts'
import { CALM } from './links.ts'
import type { Marks } from './marks.ts'
import { Halted, type World } from './world.ts'

/** How often a node that refuses its boot is looked at: it gets a new disk once the others can spare it. */
const REPLACE_MICROS = 500_000
/** What a disk loses at once. */
const SECTOR_BYTES = 512
const LOG_PATH = 'metadata/journal.wal'
const slotPath = (fraction: number) => `metadata/superblock.${fraction < 0.5 ? 'a' : 'b'}`
/** Ends of a process that a restart heals: failed persist, wedged superblock, another program in the way. */
const RESTARTABLE: ReadonlySet<number> = new Set([74, 3])
/** Ends by which a node says that what its drive had promised is not there. */
const DETECTED: ReadonlySet<number> = new Set([65, 2])

export class Driver {
  private readonly world: World
  private readonly checker: Checker
  private readonly watches: Watches
  private readonly marks: Marks
  private readonly dice: Dice
  /** Nodes that shall stay down. */
  readonly gone = new Set<number>()
  /** Nodes whose disk was damaged, or whose disk calls failed, in this run. */
  readonly rotten = new Set<number>()
  readonly troubled = new Set<number>()
  /** Nodes with damage in the files of a partition, and in which of their lives it came. */
  private readonly scarred = new Map<number, number>()
  /** Nodes whose next write to their log goes astray. */
  private readonly straying = new Set<number>()
  lostDisks = 0
  /** Faults that have not come to an end yet. */
  private pending = 0
  private readonly crashKind = new Map<number, { kind: CrashKind; downMs: number }>()
  private readonly wedged = new Set<number>()
  /** A drive has lied, and it has come out: the promises of this run are weakened (fsync-lie.ts). */
  betrayed = false
  /** Nodes that have refused what a lie has left them. */
  private readonly refused = new Set<number>()
  /** Nodes with a new disk, and no loss of power since. */
  private readonly renewed = new Set<number>()
  /** Every boot comes to its end within so long. */
  bootBudgetMs: number | undefined
  private readonly failNext = new Map<number, { call: DiskCall; path: string; error: 'Io' | 'NoSpace' }[]>()
  private readonly failing = new Map<number, Set<Extract<Fault, { fault: 'diskFails' }>>>()
  private healed = false
  /** As many replicas may have damage at once as the cluster can spare: of each thing a quorum less one, at most. */
  atlas = false
  /** Hears of damage in a partition's directory. */
  partitionDamaged: (node: number, directory: string) => void = () => {}

  constructor(world: World, checker: Checker, watches: Watches, marks: Marks, dice: Dice) {
    this.world = world
    this.checker = checker
    this.watches = watches
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
    this.refused.delete(id)
    this.checker.starting(id)
    this.watches.starting(id)
    this.world.start(id)
    this.budgetBoot(id)
    if (this.world.nodes[id]!.lives > 1) this.marks.add('world.restart')
  }

  /** A process has ended by itself. */
  exited(id: number): void {
    const { status, error } = this.world.nodes[id]!.exit!
    this.marks.add(`world.exit.${status}`)
    if (this.betrayed && DETECTED.has(status)) {
      if (this.renewed.has(id))
        this.checker.fail('boot', `refuses a disk that is new: ${error.code}: ${error.message}`, id)
      this.marks.add('world.lie_refused')
      this.refused.add(id)
      this.replaceWhenSpare(id)
      return
    }
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

  hasRefused(id: number): boolean {
    return this.refused.has(id) && !this.world.nodes[id]!.life
  }

  private budgetBoot(id: number): void {
    const { bootBudgetMs } = this
    if (bootBudgetMs === undefined) return
    const { life } = this.world.nodes[id]!
    this.world.timeline.after(bootBudgetMs * 1_000, () => {
      if (this.world.nodes[id]!.life !== life || this.world.isRunning(id) || life!.paused) return
      this.checker.fail('boot', `neither serves nor refuses ${bootBudgetMs} ms after its start`, id)
    })
  }

  /** The power of everybody fails, and is back. */
  blackOut(downMs: number): void {
    for (const { id } of this.world.nodes) this.crash(id, 'drop', downMs)
  }

  /** From here on nothing fails any more. */
  heal(core: readonly number[]): void {
    this.healed = true
    const { world } = this
    world.links.faults = CALM
    world.links.healAll()
    for (const { id: from } of world.nodes) for (const { id: to } of world.nodes) world.links.unclog(from, to)
    this.wedged.clear()
    this.failNext.clear()
    this.failing.clear()
    this.crashKind.clear()
    this.straying.clear()
    for (const node of world.nodes) {
      node.trouble.slowness = 1
      delete node.trouble.slownessOf
      node.crashIn = undefined
      node.disk.mend()
      world.resume(node.id)
      if (!core.includes(node.id)) {
        this.gone.add(node.id)
        world.kill(node.id)
      }
    }
    // A partition that was refused for a disk error is looked at again by the next boot only.
    for (const id of this.troubled) if (core.includes(id)) world.kill(id)
    for (const id of core)
      if ((world.nodes[id]!.exit?.status !== 65 || !this.rotten.has(id)) && !this.refused.has(id)) this.start(id)
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
      case 'diskFails': {
        marks.add(fault.error === 'NoSpace' ? 'world.disk_full' : 'world.disk_broken')
        const failing = this.failing.get(fault.node) ?? new Set()
        this.failing.set(fault.node, failing.add(fault))
        this.later(fault.forMs, () => failing.delete(fault))
        return
      }
      case 'clog': {
        marks.add('world.clog')
        const [from, to] = fault.way.map(id => world.nodes[id]!.id) as [ReplicaId, ReplicaId]
        world.links.clog(from, to)
        this.later(fault.forMs, () => world.links.unclog(from, to))
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
        this.rot(fault)
        return
      case 'unreadable':
        this.loseSector(fault)
        return
      case 'misdirect':
        this.misdirect(fault)
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
    if (kind !== 'process') {
      this.marks.add('world.crash.power')
      this.renewed.delete(id)
    }
    this.world.kill(id, kind)
    this.later(downMs, () => this.start(id))
  }

  private async stop(id: number, downMs: number): Promise<void> {
    const life = this.world.nodes[id]!.life
    // A node that is killed, or dies, while it stops never ends its stop.
    const limit = new Promise<void>(resolve => {
      this.world.timeline.after(20_000_000, resolve)
    })
    // One whose last flush fails ends by that, and not by its stop.
    const stopped = this.world.stop(id).catch((error: unknown) => {
      if (!(error instanceof Halted)) throw error
    })
    await Promise.race([stopped, limit])
    if (this.world.nodes[id]!.life === life && life) this.world.kill(id)
    this.pending--
    this.later(downMs, () => this.start(id))
  }

  /** At most one node of a cluster has damage, and never in the last entry of its log, which no scan can tell from a tear. */
  private rot({ node: id, file, fraction, sector }: Extract<Fault, { fault: 'rot' }>): void {
    const { disk } = this.world.nodes[id]!
    if (!this.mayDamage(id)) return
    if (file === 'segment') {
      this.rotSegment(id, fraction, sector === true)
      return
    }
    let done = false
    if (file === 'log') {
      const end = this.innerLog(id)
      if (end === undefined) return
      const at = Math.floor(fraction * end)
      const start = at - (at % SECTOR_BYTES)
      done = sector
        ? disk.clear(LOG_PATH, start, Math.min(start + SECTOR_BYTES, end))
        : disk.damage(LOG_PATH, at, 1 << this.dice.below(8))
    } else {
      done = disk.damage(slotPath(fraction), this.dice.below(110), 1 << this.dice.below(8))
    }
    if (done) this.damaged(id, 'world.rot')
  }

  /** Bytes are there, and nobody can read them: the log and the slots at the next boot, segments by the next poll. */
  private loseSector({ node: id, file, fraction }: Extract<Fault, { fault: 'unreadable' }>): void {
    const { disk } = this.world.nodes[id]!
    if (!this.mayDamage(id)) return
    const segments = disk.paths().filter(path => path.endsWith('.log') && (disk.live(path)?.size ?? 0) > 0)
    const path =
      file === 'log'
        ? LOG_PATH
        : file === 'superblock'
          ? slotPath(fraction)
          : segments[Math.floor(fraction * segments.length)]
    if (path === undefined || !disk.loseSector(path, Math.floor(fraction * (disk.live(path)?.size ?? 0)))) return
    this.damaged(id, 'world.unreadable')
    this.troubled.add(id)
  }

  private misdirect({ node: id, fraction, file }: Extract<Fault, { fault: 'misdirect' }>): void {
    if (file === 'segment') {
      this.misdirectSegment(id, fraction)
      return
    }
    const end = this.innerLog(id)
    if (!this.mayDamage(id) || end === undefined) return
    const at = Math.floor(fraction * end)
    const landed = () => {
      this.straying.delete(id)
      this.damaged(id, 'world.misdirected')
    }
    if (this.world.nodes[id]!.disk.misdirect(LOG_PATH, at - (at % SECTOR_BYTES), end, landed)) this.straying.add(id)
  }

  private rotSegment(id: number, fraction: number, sector: boolean): void {
    const inner = this.innerSegment(id, fraction)
    if (!inner) return
    const { path, end } = inner
    const at = Math.floor(fraction * end)
    const { disk } = this.world.nodes[id]!
    const start = at - (at % SECTOR_BYTES)
    const done = sector
      ? disk.clear(path, start, Math.min(start + SECTOR_BYTES, end))
      : disk.damage(path, at, 1 << this.dice.below(8))
    if (done) this.damagedSegment(id, path, 'world.rot.segment')
  }

  private misdirectSegment(id: number, fraction: number): void {
    const inner = this.innerSegment(id, fraction, true)
    if (!this.mayDamage(id) || !inner) return
    const { path, end } = inner
    const at = Math.floor(fraction * end)
    const landed = () => {
      this.straying.delete(id)
      this.damagedSegment(id, path, 'world.misdirected.segment')
    }
    if (this.world.nodes[id]!.disk.misdirect(path, at - (at % SECTOR_BYTES), end, landed)) this.straying.add(id)
  }

  private damagedSegment(id: number, path: string, mark: string): void {
    this.partitionDamaged(id, path.slice(0, path.lastIndexOf('/')))
    this.marks.add(mark)
    this.scarred.set(id, this.world.nodes[id]!.lives)
    // What it alone wrote to its disk before it answered lies there no more.
    this.checker.diskLost(id)
    // The next boot looks for it, at the latest when all is healed.
    this.troubled.add(id)
  }

  /** Whether a node has had damage in a partition that no later life of it has made good from the others. */
  private isScarred(id: number): boolean {
    const since = this.scarred.get(id)
    if (since === undefined) return false
    const { replica, lives } = this.world.nodes[id]!
    const whole = ({ status, commitMin, commitMax }: GroupStanding) => status === 'normal' && commitMin === commitMax
    if (lives === since || !replica?.inspect.standings().every(whole)) return true
    this.scarred.delete(id)
    return false
  }

  /** A segment with more than one batch on the disk, and where its last one begins: a scan cannot tell damage there from a tear. */
  private innerSegment(id: number, fraction: number, growing = false): { path: string; end: number } | undefined {
    const { disk } = this.world.nodes[id]!
    const all = disk.paths().filter(path => /^streams\/0\/topics\/[01]\/partitions\/\d+\/\d{20}\.log$/.test(path))
    const found = all.flatMap((path, index) => {
      const content = disk.durable(path)?.content
      if (!content) return []
      const [, partition, start] = /partitions\/(\d+)\/(\d+)\.log$/.exec(path)!
      const { bytes, size } = content
      const { batches } = readSegment(this.checker.hash, bytes, size, BigInt(start!), Number(partition), false)
      const isLast = all[index + 1]?.slice(0, -24) !== path.slice(0, -24)
      return batches.length < 2 || (growing && !isLast) ? [] : [{ path, end: batches.at(-1)!.position }]
    })
    return found[Math.floor(fraction * found.length)]
  }

  private mayDamage(id: number): boolean {
    const scarred = [...this.scarred.keys()].filter(each => this.isScarred(each))
    const damaged = new Set([...this.rotten, ...this.straying, ...scarred])
    if (!this.atlas) return damaged.size + this.lostDisks === 0
    const spare = Math.floor((this.world.nodes.length - 1) / 2)
    return !this.straying.has(id) && damaged.add(id).size <= spare
  }

  private damaged(id: number, mark: string): void {
    this.marks.add(mark)
    this.rotten.add(id)
    this.checker.rotted(id)
  }

  /** Where the last entry of a log begins that has others in front of it. */
  private innerLog(id: number): number | undefined {
    const entries = [...this.checker.durable[id]!.log().values()]
    return entries.length < 3 ? undefined : Math.max(...entries.map(({ position }) => position))
  }

  /** True when every other node holds all that this one has ever said it holds, so that it may forget it. */
  private canSpare(id: number): boolean {
    const { world } = this
    if (world.nodes.length < 3) return false
    if (this.betrayed) return this.majorityServes(id)
    const damaged = [...(this.atlas ? [] : this.rotten), ...this.straying, ...this.scarred.keys()]
    if (damaged.some(each => each !== id && (!this.scarred.has(each) || this.isScarred(each)))) return false
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

  /** What it held and what not is anybody's guess after a lie: whoever can go on without it does. */
  private majorityServes(id: number): boolean {
    const { nodes } = this.world
    const views = new Map<number, number>()
    for (const { id: other, replica, life } of nodes) {
      const group = other === id || life?.paused ? undefined : replica?.inspect.group(METADATA_GROUP)
      if (group?.status === 'normal') views.set(group.view, (views.get(group.view) ?? 0) + 1)
    }
    return Math.max(0, ...views.values()) > nodes.length / 2
  }

  private wipe(id: number): void {
    this.marks.add('world.lost_disk')
    this.world.wipe(id)
    if (this.bootBudgetMs !== undefined) this.renewed.add(id)
    this.rotten.delete(id)
    this.straying.delete(id)
    this.scarred.delete(id)
    this.lostDisks++
    this.checker.wiped(id)
    this.watches.wiped(id)
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
    for (const { calls, error } of this.failing.get(id) ?? []) {
      if (!calls.includes(call)) continue
      this.troubled.add(id)
      return error
    }
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
