/**
 * The checkers of the swarm, watching the world of a scenario. A node whose files were edited by hand is not asked for what
 * it held; topics in memory may lose what they had when a majority is gone.
 */
import type { Hash } from '../bytes/hash.ts'
import type { GroupId } from '../bytes/units.ts'
import type { GroupSummary } from '../inspection/snapshots.ts'
import { unpackGroup } from '../protocol/groups.ts'
import { Checker, type Violation } from './checkers/checker.ts'
import { coldOpen } from './checkers/cold-open.ts'
import { groupOfPath } from './checkers/lives.ts'
import { PartitionChecker, type PartitionView } from './checkers/partitions.ts'
import { Watches } from './checkers/watch.ts'
import { ScenarioWitness } from './witness.ts'
import type { World, WorldFact, WorldObserver } from './world.ts'

/** What a boot says of files that it will not open. */
const REFUSALS: ReadonlySet<string> = new Set(['partition_refused', 'chain_refused'])

export class ScenarioChecks {
  readonly checker: Checker
  readonly witness: ScenarioWitness
  private readonly world: World
  private readonly watches: Watches
  private readonly partitions: PartitionChecker
  private readonly edited = new Set<number>()

  constructor(world: World, hash: Hash) {
    this.world = world
    const disks = world.nodes.map(({ disk }) => disk)
    const nowMs = () => world.nowMs
    this.checker = new Checker(disks, hash)
    this.witness = new ScenarioWitness(this.checker, () => this.atRest())
    this.watches = new Watches({
      checker: this.checker,
      hash,
      nodes: disks.length,
      disks,
      nowMs,
      group: (node, group) => (world.isRunning(node) ? world.replica(node).inspect.group(group as GroupId) : undefined),
    })
    this.partitions = new PartitionChecker({
      checker: this.checker,
      hash,
      disks,
      partitions: node => this.groups(node).flatMap(({ group }) => this.partition(node, group) ?? []),
      partition: (node, group) => this.partition(node, group),
      troubled: node => this.edited.has(node),
      nowMs,
    })
    world.links.observer = {
      sent: (from, to, frame) => {
        this.checker.sent(from, frame)
        this.watches.sent(from, to, frame)
        this.partitions.sent(from, frame)
      },
      arrived: (from, to, frame) => this.watches.arrived(from, to, frame),
    }
  }

  /** What the world tells while it runs. */
  readonly observer: WorldObserver = {
    fact: fact => this.fact(fact),
    applied: (node, group, header) => {
      this.checker.applied(node, group, header)
      this.watches.applied(node, group, header)
    },
    booted: node => {
      this.checker.booted(node, BigInt(this.world.replica(node).inspect.metadata().commitMin))
      this.watches.booted(node)
      this.partitions.booted(node)
    },
    ended: node => this.ended(node),
    counted: (node, group, kind) => this.partitions.counted(node, group, kind),
    diskCall: (node, call, path) => {
      this.partitions.diskCall(node, call, path)
      this.watches.diskCall(node, call, path)
    },
  }

  /** @returns how much was compared, and every objection */
  result(): { looked: number; violations: readonly Violation[] } {
    for (const { id } of this.world.nodes) if (this.holdsAll(id)) coldOpen(this.checker, id)
    const looked = this.checker.pairsCompared + this.checker.canonical.length + this.witness.looked
    return { looked, violations: this.checker.violations }
  }

  starting(node: number): void {
    this.checker.starting(node)
    this.watches.starting(node)
  }

  edit(node: number): void {
    this.edited.add(node)
    this.checker.rotted(node)
  }

  wiped(node: number): void {
    this.edited.delete(node)
    this.checker.wiped(node)
    this.watches.wiped(node)
  }

  private fact(fact: WorldFact): void {
    this.watches.fact(fact)
    this.partitions.fact(fact)
    const { kind, node, group, data, op } = fact
    if (kind === 'partition_materialised') this.checker.opened(node, group, String(data.createdRevision))
    if (kind === 'recovery_step' && data.step === 'partition' && data.verdict === 'opened')
      this.checker.opened(node, groupOfPath(String(data.path)).toString(), String(data.createdRevision))
    if (kind === 'transfer_installed' && fact.plane === 'metadata' && op !== undefined)
      this.checker.installed(node, BigInt(op))
    if (REFUSALS.has(kind) && !this.edited.has(node))
      this.checker.fail('boot', `refuses a partition on a healthy disk: ${data.code}: ${data.message}`, node)
  }

  /** The disk takes its crash first. Journals of partitions live in memory: with a majority they are gone. */
  private ended(node: number): void {
    this.world.timeline.after(0, () => {
      this.checker.ended(node)
      this.watches.ended(node)
      this.partitions.ended(node)
    })
    const { nodes } = this.world
    const others = nodes.filter(({ life, id }) => life !== undefined && id !== node).length
    if (others > nodes.length / 2) return
    this.checker.forgetPartitions()
    this.witness.memoryLost()
  }

  /** A node at rest: its disk can be read for what everybody has applied. */
  private holdsAll(node: number): boolean {
    if (this.edited.has(node) || !this.world.isRunning(node)) return false
    return BigInt(this.world.replica(node).inspect.metadata().commitMin) === BigInt(this.checker.canonical.length)
  }

  /** Every node runs, and all of them have applied the same. */
  private atRest(): boolean {
    const { nodes } = this.world
    if (!nodes.every(({ id }) => this.world.isRunning(id))) return false
    const standings = nodes.map(({ id }) =>
      this.world
        .replica(id)
        .inspect.groups()
        .map(({ group, status, commitMin }) => `${group} ${status} ${commitMin}`)
        .sort()
        .join(),
    )
    return standings.every(standing => standing === standings[0] && !standing.includes('view_change'))
  }

  private groups(node: number): GroupSummary[] {
    if (!this.world.isRunning(node)) return []
    return this.world
      .replica(node)
      .inspect.groups()
      .filter(group => group.plane === 'partition')
  }

  private partition(node: number, group: string): PartitionView | undefined {
    const key = this.world.isRunning(node) ? unpackGroup(BigInt(group) as GroupId) : undefined
    return key && this.world.replica(node).inspect.partition(key)
  }
}
