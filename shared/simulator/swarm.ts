/**
 * One run of the simulator: a seed draws a profile, a fault script and a workload; the run ends by the first violation, or
 * when its time, its commits and its faults are spent, everything is healed, and the core has come to rest with all that it
 * acknowledged (spec drills.md §2.5, core liveness).
 */
import type { Hash } from '../bytes/hash.ts'
import type { GroupId } from '../bytes/units.ts'
import type { GroupSummary } from '../inspection/snapshots.ts'
import { METADATA_GROUP, packGroup, unpackGroup } from '../protocol/groups.ts'
import { RULES_ON, type Rules } from '../protocol/rules.ts'
import type { GroupStanding } from '../replica/contract.ts'
import { Aftermath } from './aftermath.ts'
import { Answers } from './checkers/answers.ts'
import { Checker, name as groupName, type Violation } from './checkers/checker.ts'
import { coldOpen } from './checkers/cold-open.ts'
import { groupOfPath } from './checkers/lives.ts'
import { PartitionChecker } from './checkers/partitions.ts'
import { Watches } from './checkers/watch.ts'
import { Dice } from './dice.ts'
import { Driver } from './driver.ts'
import { drawFaults, type Fault } from './faults.ts'
import { Fingerprint } from './fingerprint.ts'
import { WEAKENED_CLAIM, weakenedCheckers } from './fsync-lie.ts'
import { NameLedger, OffsetLedger } from './ledgers.ts'
import type { LieShape } from './lying-drive.ts'
import { Marks } from './marks.ts'
import { MetadataClients } from './metadata-clients.ts'
import { COMMITTED_MIN, drawProfile, type Profile, type ProfileName, RUN_MS } from './profile.ts'
import { Remembering } from './remembering.ts'
import { Traffic } from './traffic.ts'
import { PARTITIONS, Workload } from './workload.ts'
import { World, type WorldFact } from './world.ts'

export interface SeedOptions {
  readonly seed: bigint
  readonly hash: Hash
  readonly breathe: () => Promise<void>
  readonly profile?: ProfileName
  readonly rules?: Partial<Rules>
  /** Instead of the script that the seed draws. */
  readonly faults?: readonly Fault[]
  /** Checkers whose objections are passed over, to look for what lies behind. */
  readonly ignore?: readonly string[]
  /** Stops at this event and says what was seen last. */
  readonly until?: number
  /**
   * A shorter run: faults begin before this time only, and then everything is healed at once, whatever is committed. Up to
   * then it is the run that the seed alone draws. The replay of a recorded find needs no more than led to it.
   */
  readonly runMs?: number
}

export interface SeedResult {
  readonly seed: string
  readonly profile: ProfileName
  readonly verdict: 'pass' | 'fail'
  readonly fingerprint: string
  readonly violations: readonly Violation[]
  readonly marks: Readonly<Record<string, number>>
  readonly events: number
  readonly virtualMs: number
  readonly committed: number
  /** How much the checkers had to compare: a run in which that is little proves little. */
  readonly compared: number
  readonly faults: readonly Fault[]
  readonly drawn: Profile
  /** A drive has lied and it came out: from then on the run claims less, and these checkers were not asked any more. */
  readonly weakened?: Weakened
  /** Of a failed run, or one stopped by `until`: the last facts, and where everybody stands. */
  readonly last?: readonly string[]
}

export interface Weakened {
  readonly claim: string
  readonly fromMs: number
  readonly node: number
  /** What was lost first though it had been synced. */
  readonly path: string
  readonly notAsked: readonly string[]
}

/** A run that has not come to its end by then never will. */
const VIRTUAL_MS_MAX = 600_000
const LIVENESS_MS = 90_000
const FACTS_KEPT = 2_000
const ASK_MS = 50
/** Of the topic `eager`, the first that is made. */
const EAGER_DIRECTORY = 'streams/0/topics/0'
/** Share of the seeds with clients that change and read all of the metadata there is, beside the workload. */
const METADATA_READ = 0.125
/** Share of the seeds whose group commits wait for company. */
const PACED = 0.25

export async function runSeed(options: SeedOptions): Promise<SeedResult> {
  const profileName = options.profile ?? 'swarm'
  const drawn = drawProfile(new Dice(options.seed, 'profile'), profileName, new Dice(options.seed, 'corner'))
  const { runMs = Number.POSITIVE_INFINITY } = options
  // Those that come too late meet a world that is healed: left out, they would make it another one from the beginning.
  const faults = options.faults ?? drawFaults(drawn, new Dice(options.seed, 'faults'))
  const run = new Run(options, drawn, faults)
  try {
    await run.play()
  } catch (error) {
    if (!(error instanceof Stopped)) run.checker.fail('engine', wordsOf(error))
  }
  const { checker, world } = run
  const failed = checker.violations.length > 0
  return {
    seed: options.seed.toString(),
    profile: profileName,
    verdict: failed ? 'fail' : 'pass',
    fingerprint: run.fingerprint.toString(),
    violations: checker.violations,
    marks: run.marks.toJson(),
    events: world.timeline.steps,
    virtualMs: Math.round(world.nowMs),
    committed: checker.committed,
    compared: checker.pairsCompared + run.names.compared + run.offsets.compared + run.answers.compared,
    faults: faults.filter(({ atMs }) => atMs < runMs),
    drawn,
    ...(run.weakened && { weakened: run.weakened }),
    ...((failed || options.until !== undefined) && { last: reportOf(run) }),
  }
}

/** An engine that has failed may fail once more when it is asked. */
function reportOf(run: Run): string[] {
  try {
    return run.report()
  } catch (error) {
    return [wordsOf(error)]
  }
}

/** The run is over: a violation, or the event that was asked for. */
class Stopped extends Error {}

class Run {
  readonly options: SeedOptions
  readonly world: World
  readonly checker: Checker
  private readonly watches: Watches
  private readonly partitions: PartitionChecker
  readonly marks = new Marks()
  readonly fingerprint = new Fingerprint()
  readonly names: NameLedger
  readonly offsets: OffsetLedger
  readonly answers: Answers
  private readonly profile: Profile
  private readonly faults: readonly Fault[]
  private readonly driver: Driver
  private readonly workload: Workload
  /** In some seeds. */
  private readonly metadataClients: MetadataClients | undefined
  private readonly remembering: Remembering
  private readonly traffic: Traffic
  private readonly kinds = new Map<string, number>()
  weakened: Weakened | undefined
  /** Groups of a node that said that only a state transfer helps, and, where nobody could serve one, only a person. */
  readonly transferWanted = new Set<string>()

  constructor(options: SeedOptions, profile: Profile, faults: readonly Fault[]) {
    this.options = options
    this.profile = profile
    this.faults = faults
    const { seed, hash } = options
    const print = this.fingerprint
    this.world = new World({
      seed,
      hash,
      breathe: options.breathe,
      nodes: profile.nodes,
      factsMax: FACTS_KEPT,
      paced: new Dice(seed, 'pacing').chance(PACED),
      ...(profile.clocks && { clocks: byNode(profile.clocks) }),
      ...(profile.lies && { lies: liars(profile.nodes, profile.lies) }),
      config: {
        metadata: profile.metadata,
        partition: {
          prepareQueueDepth: 32,
          ...profile.partition,
          evictedRingBytesMax: 16 * 1024 * 1024,
        },
        rules: { ...RULES_ON, ...options.rules },
      },
      configOf: node => {
        const depth = profile.metadata.prepareQueueDepths?.[node]
        return depth === undefined ? {} : { metadata: { ...profile.metadata, prepareQueueDepth: depth } }
      },
      observer: {
        fact: fact => this.fact(fact),
        applied: (node, group, header) => {
          this.checker.applied(node, group, header)
          if (!this.weakened) this.answers.follow()
          this.watches.applied(node, group, header)
        },
        booted: node => {
          const group = this.world.replica(node).inspect.metadata()
          this.checker.booted(node, BigInt(group.commitMin))
          if (!this.weakened) this.answers.follow()
          this.watches.booted(node)
          this.partitions.booted(node)
        },
        ended: (node, why) => {
          print.add(node + 64)
          this.remembering.lost(node)
          // The disk takes its crash first.
          this.world.timeline.after(0, () => {
            this.checker.ended(node)
            this.watches.ended(node)
            this.partitions.ended(node)
            if (why === 'exit') this.driver.exited(node)
          })
        },
        clients: {
          requested: (...told) => this.weakened ?? this.answers.requested(...told),
          answered: (...told) => this.weakened ?? this.answers.answered(...told),
        },
        counted: (node, group, kind) => this.partitions.counted(node, group, kind),
        diskCall: (node, call, path) => {
          this.partitions.diskCall(node, call, path)
          print.add(this.world.timeline.nowMicros ^ (node << 24))
          print.add(path.length * 31 + call.length)
          this.watches.diskCall(node, call, path)
        },
      },
    })
    this.checker = new Checker(
      this.world.nodes.map(node => node.disk),
      hash,
    )
    this.checker.ignore = new Set(options.ignore)
    this.answers = new Answers(this.checker)
    this.traffic = new Traffic(profile.framesPerCommitMax)
    this.watches = new Watches({
      checker: this.checker,
      hash,
      nodes: profile.nodes,
      disks: this.world.nodes.map(node => node.disk),
      nowMs: () => this.world.nowMs,
      group: (node, group) =>
        this.world.isRunning(node) ? this.world.replica(node).inspect.group(group as GroupId) : undefined,
    })
    this.partitions = new PartitionChecker({
      checker: this.checker,
      hash,
      disks: this.world.nodes.map(node => node.disk),
      partitions: node => this.groups(node).flatMap(({ group }) => this.partition(node, group) ?? []),
      partition: (node, group) => this.partition(node, group),
      troubled: node => this.driver.troubled.has(node) || this.driver.rotten.has(node),
      nowMs: () => this.world.nowMs,
    })
    this.world.links.faults = profile.links
    this.world.links.observer = {
      sent: (from, to, frame) => {
        this.checker.sent(from, frame)
        this.watches.sent(from, to, frame)
        this.partitions.sent(from, frame)
        this.traffic.sent(frame)
      },
      arrived: (from, to, frame) => {
        this.watches.arrived(from, to, frame)
        print.add(this.world.timeline.nowMicros)
        print.add((from << 16) | (to << 8) | frame[60]!)
        print.add(frame[0]! | (frame[1]! << 8) | (frame[2]! << 16) | (frame[3]! << 24))
      },
    }
    this.remembering = new Remembering({
      world: this.world,
      forgotten: () => {
        this.marks.add('world.memory_lost')
        this.excuse('default')
        this.excuse('scratch')
        for (let partition = 0; partition < PARTITIONS; partition++) this.offsets.excuseOrphans(`eager/${partition}`)
        this.checker.forgetPartitions()
      },
      leftOut: node => {
        this.marks.add('world.left_out')
        this.excuse('eager', node)
      },
    })
    this.driver = new Driver(this.world, this.checker, this.watches, this.marks, new Dice(seed, 'driver'))
    this.driver.bootBudgetMs = profile.bootBudgetMs
    this.driver.atlas = profile.atlas === true
    this.driver.partitionDamaged = (node, directory) => this.partitions.damaged(node, directory)
    this.slowDown()
    for (const { id, disk } of this.world.nodes) disk.lieCameOut = path => this.lieCameOut(id, path)
    this.names = new NameLedger(this.checker)
    this.offsets = new OffsetLedger(this.checker)
    const keyOf = (name: string) => {
      const [topic, partition] = name.split('/')
      return { stream: 0, topic: this.workload.topics.indexOf(topic!), partition: Number(partition) }
    }
    this.offsets.acknowledged = (name, offset) => {
      // Of an answer that was on its way when a lie came out the disk says nothing any more.
      if (!this.weakened) this.partitions.confirmed(keyOf(name), offset)
    }
    this.checker.diskLost = node => {
      for (let partition = 0; partition < PARTITIONS; partition++) this.offsets.diskLost(`eager/${partition}`, node)
    }
    this.offsets.answeredBy = name => this.leaderOf(packGroup(keyOf(name)))
    this.workload = new Workload(this.world, profile.workload, new Dice(seed, 'workload'), this.names, this.offsets)
    // Focus profiles make something rare common and leave it at that.
    if ((options.profile ?? 'swarm') === 'swarm' && new Dice(seed, 'model reads').chance(METADATA_READ))
      this.metadataClients = new MetadataClients(this.world, new Dice(seed, 'metadata clients'))
  }

  async play(): Promise<void> {
    const { world, driver, workload, checker, profile } = this
    for (const { id } of world.nodes) {
      world.timeline.after(world.below(2_000_000), () => driver.start(id))
    }
    driver.schedule(this.faults)
    this.remembering.watch()
    const prepared = this.settles(workload.prepare())
    this.traffic.begin(checker.committed)
    if (await this.until(prepared, 240_000)) workload.begin()
    else if (!this.weakened) return checker.fail('core-liveness', 'the fixed topics could not be made')
    this.metadataClients?.begin()
    const wanted = () => (profile.workload.clients > 0 && !this.weakened ? COMMITTED_MIN : 0)
    const { runMs } = this.options
    const spent = () => world.nowMs >= RUN_MS && checker.committed >= wanted() && !driver.busy
    await this.until(runMs === undefined ? spent : () => world.nowMs >= runMs, VIRTUAL_MS_MAX)
    await this.finish()
  }

  private async finish(): Promise<void> {
    const { world, driver, checker, workload, profile } = this
    const ids = world.nodes.map(node => node.id as number)
    const whole = !profile.smallCore || driver.lostDisks > 0 || driver.rotten.size > 0
    const dice = new Dice(this.options.seed, 'core')
    const core = whole ? ids : drawCore(ids, dice)
    const storm = this.traffic.end(checker.committed)
    if (storm !== undefined) return checker.fail('frames-per-commit', storm)
    driver.heal(core)
    const stopped = () => [workload, this.metadataClients].every(clients => clients?.stop() ?? true)
    await this.until(stopped, LIVENESS_MS)
    if (!stopped())
      return checker.fail('core-liveness', `requests without an answer ${LIVENESS_MS} ms after everything was healed`)
    if (workload.failure !== undefined) throw workload.failure
    if (this.metadataClients?.failure !== undefined) throw this.metadataClients.failure
    if (this.weakened) return this.aftermath()
    if (!(await this.until(() => this.settled(core) === undefined, LIVENESS_MS)))
      return checker.fail('core-liveness', `${this.settled(core)}, ${LIVENESS_MS} ms after everything was healed`)
    this.offsets.calm = true
    const served = this.settles(this.serve(core))
    if (!(await this.until(served, LIVENESS_MS))) return checker.fail('core-liveness', 'a settled core does not serve')
    await this.until(() => this.settled(core) === undefined, LIVENESS_MS)
    this.compareClients(core)
    const readers = this.settles(this.readBack(core))
    if (!(await this.until(readers, LIVENESS_MS))) return checker.fail('core-liveness', 'a settled core cannot be read')
    // A reader logs out when it leaves, which is an op like any other: disks are compared when nothing is on its way.
    if (!(await this.until(() => this.settled(core) === undefined, LIVENESS_MS)))
      return checker.fail('core-liveness', `${this.settled(core)}, ${LIVENESS_MS} ms after the last reader`)
    for (const id of core) coldOpen(this.checker, id)
    if (this.settled(core) === undefined && this.transferWanted.size === 0) this.partitions.settled(core)
    this.throwIfViolated()
  }

  private slowDown(): void {
    const { slowReplica } = this.profile
    if (!slowReplica) return
    const { reads, writes, syncs } = slowReplica
    this.world.nodes[slowReplica.node]!.trouble.slownessOf = call =>
      call === 'sync' || call === 'datasync' || call === 'syncDirectory' ? syncs : call === 'read' ? reads : writes
  }

  /** What a sync had covered is gone: from here on the run claims less (fsync-lie.ts). */
  private lieCameOut(node: number, path: string): void {
    this.marks.add('world.lie_came_out')
    this.checker.durable[node]!.forget()
    if (this.weakened) return
    const notAsked = weakenedCheckers()
    this.weakened = { claim: WEAKENED_CLAIM, fromMs: Math.round(this.world.nowMs), node, path: path || '.', notAsked }
    this.checker.ignore = new Set([...this.checker.ignore, ...notAsked])
    this.driver.betrayed = true
  }

  private async aftermath(): Promise<void> {
    const ids = this.world.nodes.map(node => node.id as number)
    const aftermath = new Aftermath({
      world: this.world,
      checker: this.checker,
      partitions: this.partitions,
      driver: this.driver,
      workload: this.workload,
      names: this.names,
      offsets: this.offsets,
      marks: this.marks,
      until: (condition, limitMs) => this.until(condition, limitMs),
      settles: work => this.settles(work),
      unrest: () => this.settled(ids),
    })
    await aftermath.play()
    this.throwIfViolated()
  }

  /** One request on each plane, by a new client. */
  private async serve(core: readonly number[]): Promise<void> {
    const client = this.world.client(core, { budgetMs: 75_000 })
    await client.createStream('after-all')
    this.names.created('after-all', 'ok')
    for (const topic of this.workload.topics) {
      for (let partition = 0; partition < PARTITIONS; partition++) {
        if (this.transferWanted.size > 0) continue
        const payload = `after-all-${topic}-${partition}`
        this.offsets.sending(`${topic}/${partition}`, [payload])
        const confirmed = await client.sendMessages('fixed', topic, { kind: 'partition', partition }, [{ payload }])
        if (confirmed) this.offsets.confirmed(`${topic}/${partition}`, confirmed.baseOffset, payload, true)
      }
    }
    client.close()
  }

  private async readBack(core: readonly number[]): Promise<void> {
    for (const node of core) {
      const client = this.workload.reader(node)
      this.names.listed(node, await this.workload.readNames(client))
      for (const topic of this.workload.topics) {
        for (let partition = 0; partition < PARTITIONS; partition++) {
          if (this.transferWanted.size > 0) continue
          const found = await this.workload.readPartition(client, topic, partition)
          this.offsets.readBack(`${topic}/${partition}`, node, found)
        }
      }
      client.close()
    }
  }

  /**
   * Nodes that have applied the same ops know the same of every client. How many old replies each keeps is its own affair, and
   * so are its slots: a transfer lists the clients in their order and names no slot (spec consensus.md §3.6).
   */
  private compareClients(core: readonly number[]): void {
    if (this.settled(core) !== undefined) return
    const tables = core.map(node => {
      const { table } = this.world.replica(node).inspect.clients()
      return table.map(({ cachedReplies, slot, ...entry }) => JSON.stringify(entry)).sort()
    })
    for (const [index, table] of tables.entries()) {
      const differing = table.filter(entry => !tables[0]!.includes(entry))
      if (differing.length === 0 && table.length === tables[0]!.length) continue
      const words = differing[0] === undefined ? 'fewer clients' : differing[0]
      this.checker.fail('client-table', `knows of ${words}, where node ${core[0]} differs`, core[index])
      return
    }
  }

  /** Why the core is not at rest, or undefined. */
  private settled(core: readonly number[]): string | undefined {
    const commits = new Map<bigint, GroupStanding>()
    const waiting = new Set([...this.transferWanted].map(each => BigInt(each.split(' ')[1]!)))
    const counted = (node: number) =>
      this.world
        .replica(node)
        .inspect.standings()
        .filter(({ group }) => !waiting.has(group))
    for (const node of core) {
      if (!this.world.isRunning(node))
        return `node ${node} is down (${this.world.nodes[node]!.exit?.error.message ?? 'booting'})`
      for (const group of counted(node)) {
        const { status, view, commitMin, commitMax } = group
        const where = () => `node ${node}, ${groupName(group.group.toString())}`
        if (status !== 'normal') return `${where()}: ${status} in view ${view}`
        if (commitMin !== commitMax) return `${where()}: applied ${commitMin} of ${commitMax}`
        const other = commits.get(group.group)
        if (other && (other.view !== view || other.commitMin !== commitMin))
          return `${where()}: (view commit) is ${view} ${commitMin}, elsewhere ${other.view} ${other.commitMin}`
        commits.set(group.group, group)
      }
    }
    for (const node of core) if (counted(node).length !== commits.size) return `node ${node} lacks a group`
    return undefined
  }

  /** Who leads a group, if one alone says that it does. */
  private leaderOf(group: GroupId): number | undefined {
    const leaders = this.world.nodes.filter(({ replica }) => {
      const of = replica?.inspect.group(group)
      return of?.role === 'primary' && of.status === 'normal'
    })
    return leaders.length === 1 ? leaders[0]!.id : undefined
  }

  private partition(node: number, group: string) {
    const key = this.world.isRunning(node) ? unpackGroup(BigInt(group) as GroupId) : undefined
    return key && this.world.replica(node).inspect.partition(key)
  }

  private groups(node: number): GroupSummary[] {
    const { inspect } = this.world.replica(node)
    return [inspect.group(METADATA_GROUP)!, ...inspect.groups().filter(group => group.plane === 'partition')]
  }

  private excuse(topic: string, node?: number): void {
    for (let partition = 0; partition < PARTITIONS; partition++) this.offsets.excuse(`${topic}/${partition}`, node)
  }

  private fact(fact: WorldFact): void {
    this.marks.add(fact.kind)
    this.watches.fact(fact)
    this.partitions.fact(fact)
    if (fact.kind === 'partition_materialised')
      this.checker.opened(fact.node, fact.group, String(fact.data.createdRevision))
    if (fact.kind === 'partition_removed') this.checker.removed(fact.node, fact.group)
    if (fact.kind === 'recovery_step' && fact.data.step === 'partition') {
      const group = groupOfPath(String(fact.data.path)).toString()
      if (fact.data.verdict === 'opened') this.checker.opened(fact.node, group, String(fact.data.createdRevision))
      if (this.mayTearInside && isTornInside(String(fact.data.code), String(fact.data.path)))
        this.transferWanted.add(`${fact.node} ${group}`)
    }
    if (fact.kind === 'transfer_installed' && fact.plane === 'metadata' && fact.op !== undefined)
      this.checker.installed(fact.node, BigInt(fact.op))
    if (fact.kind === 'transfer_unavailable') this.transferWanted.add(`${fact.node} ${fact.group}`)
    if (fact.kind === 'partition_refused' && !this.driver.troubled.has(fact.node) && !this.weakened)
      this.checker.fail(
        'boot',
        `refuses a partition on a healthy disk: ${fact.data.code}: ${fact.data.message}`,
        fact.node,
      )
    let number = this.kinds.get(fact.kind)
    if (number === undefined) {
      number = 0
      for (let index = 0; index < fact.kind.length; index++) number = (number * 31 + fact.kind.charCodeAt(index)) | 0
      this.kinds.set(fact.kind, number)
    }
    this.fingerprint.add(number ^ (fact.node << 20))
    this.fingerprint.add(this.world.timeline.nowMicros)
  }

  /**
   * A loss of power may keep the end of a write and lose its beginning, and no boot can tell that from rot (spec partition.md
   * §6.6): a replica alone refuses such a partition until a person has looked at it.
   */
  private get mayTearInside(): boolean {
    return this.world.nodes.length === 1 && 'world.crash.power' in this.marks.toJson()
  }

  private settles(work: Promise<void>): () => boolean {
    let settled = false
    let failure: unknown
    work.then(
      () => {
        settled = true
      },
      (error: unknown) => {
        settled = true
        failure = error
      },
    )
    return () => {
      if (failure !== undefined) throw failure
      return settled
    }
  }

  private async until(condition: () => boolean, limitMs: number): Promise<boolean> {
    const { world, options } = this
    const limit = world.nowMs + limitMs
    for (let askedMs = Number.NEGATIVE_INFINITY; ; ) {
      this.throwIfViolated()
      // Asking costs more than an event does.
      if (world.nowMs >= askedMs + ASK_MS) {
        askedMs = world.nowMs
        if (condition()) return true
      }
      if (world.nowMs > limit) return condition()
      if (options.until !== undefined && world.timeline.steps >= options.until) throw new Stopped()
      if (!(await world.turn())) return condition()
    }
  }

  private throwIfViolated(): void {
    if (this.checker.violations.length > 0) throw new Stopped()
  }

  report(): string[] {
    const { world } = this
    const lines = world.facts.map(
      ({ atMicros, node, kind, group, op, data }) =>
        `${(atMicros / 1_000).toFixed(3)} node-${node} ${group === 'node' ? '' : `${groupName(group)} `}${kind}${op === undefined ? '' : ` op ${op}`} ${JSON.stringify(data)}`,
    )
    for (const { id, exit } of world.nodes) {
      if (!world.isRunning(id)) {
        lines.push(`node-${id} is down${exit ? `: status ${exit.status}, ${exit.error.message}` : ''}`)
        continue
      }
      for (const each of this.groups(id))
        lines.push(
          `node-${id} ${groupName(each.group)}: ${each.status} ${each.role} view ${each.view} (${each.logView}), durable ${each.viewDurable} (${each.logViewDurable}), op ${each.op}, commit ${each.commitMin} of ${each.commitMax}`,
        )
    }
    return lines
  }
}

function liars(nodes: number, { liars, ...shape }: NonNullable<Profile['lies']>): Map<number, LieShape> {
  const ids = liars === 'one' ? [0] : Array.from({ length: nodes }, (_, id) => id)
  return new Map(ids.map(id => [id, shape]))
}

/**
 * Whether a loss of power may lead to this verdict: it took what was not synced, and left what came later. A topic that syncs
 * what it acknowledges has no segment behind one that is not whole.
 */
const isTornInside = (code: string, path: string): boolean =>
  code === 'InteriorDamage' ||
  ((code === 'EmptyNonTailSegment' || code === 'Hole') && !path.startsWith(`${EAGER_DIRECTORY}/`))

const byNode = <T>(items: readonly (T | undefined)[]): Map<number, T> =>
  new Map(items.flatMap((item, node) => (item === undefined ? [] : [[node, item] as const])))

/** A random majority: what is left when the others never come back. */
function drawCore(ids: readonly number[], dice: Dice): number[] {
  const left = [...ids]
  const size = Math.floor(ids.length / 2) + 1
  while (left.length > size) left.splice(dice.below(left.length), 1)
  return left
}

const wordsOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))
