/**
 * One run of the simulator: a seed draws a profile, a fault script and a workload; the run ends by the first violation, or
 * when its time, its commits and its faults are spent, everything is healed, and the core has come to rest with all that it
 * acknowledged (spec drills.md §2.5, core liveness).
 */
import type { Hash } from '../bytes/hash.ts'
import { RULES_ON, type Rules } from '../consensus/rules.ts'
import type { GroupSummary } from '../inspection/snapshots.ts'
import { METADATA_GROUP, packGroup } from '../protocol/groups.ts'
import { Checker, name as groupName, type Violation } from './checkers/checker.ts'
import { coldOpen } from './checkers/cold-open.ts'
import { Dice } from './dice.ts'
import { Driver } from './driver.ts'
import { drawFaults, type Fault } from './faults.ts'
import { Fingerprint } from './fingerprint.ts'
import { NameLedger, OffsetLedger } from './ledgers.ts'
import { Marks } from './marks.ts'
import { COMMITTED_MIN, drawProfile, type Profile, type ProfileName, RUN_MS } from './profile.ts'
import { PARTITIONS, TOPICS, Workload } from './workload.ts'
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
  /** Of a failed run, or one stopped by `until`: the last facts, and where everybody stands. */
  readonly last?: readonly string[]
}

/** A run that has not come to its end by then never will. */
const VIRTUAL_MS_MAX = 600_000
const LIVENESS_MS = 90_000
const FACTS_KEPT = 2_000
const WATCH_MICROS = 200_000
const ASK_MS = 50

export async function runSeed(options: SeedOptions): Promise<SeedResult> {
  const profileName = options.profile ?? 'swarm'
  const drawn = drawProfile(new Dice(options.seed, 'profile'), profileName)
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
    compared: checker.pairsCompared + run.names.compared + run.offsets.compared,
    faults,
    drawn,
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
  readonly marks = new Marks()
  readonly fingerprint = new Fingerprint()
  readonly names: NameLedger
  readonly offsets: OffsetLedger
  private readonly profile: Profile
  private readonly faults: readonly Fault[]
  private readonly driver: Driver
  private readonly workload: Workload
  /** Nodes that have lost nothing since they last held all that their partitions had committed. */
  private readonly intact = new Set<number>()
  private readonly kinds = new Map<string, number>()
  /** Groups of a node that said that only a state transfer helps. */
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
      config: {
        metadata: profile.metadata,
        partition: {
          prepareQueueDepth: 32,
          ...profile.partition,
          evictedRingBytesMax: 16 * 1024 * 1024,
        },
        rules: { ...RULES_ON, ...options.rules },
      },
      observer: {
        fact: fact => this.fact(fact),
        applied: (node, group, header) => this.checker.applied(node, group, header),
        booted: node => {
          const group = this.world.replica(node).inspect.metadata()
          this.checker.booted(node, BigInt(group.commitMin))
        },
        ended: (node, why) => {
          print.add(node + 64)
          this.lostMemory(node)
          // The disk takes its crash first.
          this.world.timeline.after(0, () => {
            this.checker.ended(node)
            if (why === 'exit') this.driver.exited(node)
          })
        },
        diskCall: (node, call, path) => {
          print.add(this.world.timeline.nowMicros ^ (node << 24))
          print.add(path.length * 31 + call.length)
        },
      },
    })
    this.checker = new Checker(
      this.world.nodes.map(node => node.disk),
      hash,
    )
    this.checker.ignore = new Set(options.ignore)
    this.world.links.faults = profile.links
    this.world.links.observer = {
      sent: (from, _to, frame) => this.checker.sent(from, frame),
      arrived: (from, to, frame) => {
        print.add(this.world.timeline.nowMicros)
        print.add((from << 16) | (to << 8) | frame[60]!)
        print.add(frame[0]! | (frame[1]! << 8) | (frame[2]! << 16) | (frame[3]! << 24))
      },
    }
    this.driver = new Driver(this.world, this.checker, this.marks, new Dice(seed, 'driver'))
    this.names = new NameLedger(this.checker)
    this.offsets = new OffsetLedger(this.checker)
    this.workload = new Workload(this.world, profile.workload, new Dice(seed, 'workload'), this.names, this.offsets)
  }

  async play(): Promise<void> {
    const { world, driver, workload, checker, profile } = this
    for (const { id } of world.nodes) {
      world.timeline.after(world.below(2_000_000), () => driver.start(id))
      this.intact.add(id)
    }
    driver.schedule(this.faults)
    this.watch()
    const prepared = this.settles(workload.prepare())
    if (!(await this.until(prepared, 240_000)))
      return checker.fail('core-liveness', 'the fixed topics could not be made')
    workload.begin()
    const wanted = profile.workload.clients > 0 ? COMMITTED_MIN : 0
    await this.until(() => world.nowMs >= RUN_MS && checker.committed >= wanted && !driver.busy, VIRTUAL_MS_MAX)
    await this.finish()
  }

  private async finish(): Promise<void> {
    const { world, driver, checker, workload, profile } = this
    const ids = world.nodes.map(node => node.id as number)
    const whole = !profile.smallCore || driver.lostDisks > 0 || driver.rotten.size > 0
    const dice = new Dice(this.options.seed, 'core')
    const core = whole ? ids : drawCore(ids, dice)
    if (core.length < ids.length) for (const topic of TOPICS) this.excuse(topic)
    driver.heal(core)
    await this.until(() => workload.stop(), LIVENESS_MS)
    if (!workload.stop())
      return checker.fail('core-liveness', `requests without an answer ${LIVENESS_MS} ms after everything was healed`)
    if (workload.failure !== undefined) throw workload.failure
    if (!(await this.until(() => this.settled(core) === undefined, LIVENESS_MS)))
      return checker.fail('core-liveness', `${this.settled(core)}, ${LIVENESS_MS} ms after everything was healed`)
    const served = this.settles(this.serve(core))
    if (!(await this.until(served, LIVENESS_MS))) return checker.fail('core-liveness', 'a settled core does not serve')
    await this.until(() => this.settled(core) === undefined, LIVENESS_MS)
    const readers = this.settles(this.readBack(core))
    if (!(await this.until(readers, LIVENESS_MS))) return checker.fail('core-liveness', 'a settled core cannot be read')
    for (const id of core) coldOpen(this.checker, id)
    this.throwIfViolated()
  }

  /** One request on each plane, by a new client. */
  private async serve(core: readonly number[]): Promise<void> {
    const client = this.world.client(core, { budgetMs: 30_000 })
    await client.createStream('after-all')
    this.names.created('after-all', 'ok')
    for (const topic of TOPICS) {
      for (let partition = 0; partition < PARTITIONS; partition++) {
        if (this.transferWanted.size > 0) continue
        const payload = `after-all-${topic}-${partition}`
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
      for (const topic of TOPICS) {
        for (let partition = 0; partition < PARTITIONS; partition++) {
          if (this.transferWanted.size > 0) continue
          const found = await this.workload.readPartition(client, topic, partition)
          this.offsets.readBack(`${topic}/${partition}`, node, found)
        }
      }
      client.close()
    }
  }

  /** Why the core is not at rest, or undefined. */
  private settled(core: readonly number[]): string | undefined {
    const commits = new Map<string, string>()
    const waiting = new Set([...this.transferWanted].map(each => each.split(' ')[1]))
    const counted = (node: number) => this.groups(node).filter(({ group }) => !waiting.has(group))
    for (const node of core) {
      if (!this.world.isRunning(node))
        return `node ${node} is down (${this.world.nodes[node]!.exit?.error.message ?? 'booting'})`
      for (const group of counted(node)) {
        const where = `node ${node}, ${groupName(group.group)}`
        if (group.status !== 'normal') return `${where}: ${group.status} in view ${group.view}`
        if (group.commitMin !== group.commitMax) return `${where}: applied ${group.commitMin} of ${group.commitMax}`
        const standing = `${group.view} ${group.commitMin}`
        const other = commits.get(group.group)
        if (other !== undefined && other !== standing)
          return `${where}: (view commit) is ${standing}, elsewhere ${other}`
        commits.set(group.group, standing)
      }
    }
    for (const node of core) if (counted(node).length !== commits.size) return `node ${node} lacks a group`
    return undefined
  }

  private groups(node: number): GroupSummary[] {
    const { inspect } = this.world.replica(node)
    return [inspect.group(METADATA_GROUP)!, ...inspect.groups().filter(group => group.plane === 'partition')]
  }

  /** Which nodes have caught up again after they lost their memory. */
  private watch(): void {
    const { world, intact } = this
    world.timeline.after(WATCH_MICROS, () => {
      this.watch()
      if (intact.size === world.nodes.length) return
      if (!this.memoryIsSafe()) this.forgetMemory()
      const highest = new Map<string, bigint>()
      for (const node of intact) {
        if (!world.isRunning(node)) continue
        for (const { group, commitMax } of this.groups(node))
          if (BigInt(commitMax) > (highest.get(group) ?? -1n)) highest.set(group, BigInt(commitMax))
      }
      for (const { id, replica } of world.nodes) {
        if (!replica || intact.has(id)) continue
        const groups = this.groups(id)
        const whole = groups.every(
          ({ group, status, commitMin }) => status === 'normal' && BigInt(commitMin) >= (highest.get(group) ?? 0n),
        )
        if (whole && groups.length >= highest.size) intact.add(id)
      }
    })
  }

  /** Partition journals live in memory: when too few nodes hold one, what was acknowledged on default topics may be gone. */
  private lostMemory(node: number): void {
    this.intact.delete(node)
    if (!this.memoryIsSafe()) this.forgetMemory()
  }

  /**
   * True while a majority that has lost nothing can hear each other. A crash that takes a journal while another holder is
   * cut off leaves a majority in which nobody has what was acknowledged, and which must go on by itself at some time.
   */
  private memoryIsSafe(): boolean {
    const { world, intact } = this
    const quorum = Math.floor(this.profile.nodes / 2) + 1
    const able = [...intact].filter(id => !world.nodes[id]!.life?.paused)
    const hear = (a: number, b: number) =>
      !world.links.isCut(world.nodes[a]!.id, world.nodes[b]!.id) &&
      !world.links.isCut(world.nodes[b]!.id, world.nodes[a]!.id)
    // Of at most five nodes every set can be looked at.
    for (let set = 0; set < 1 << able.length; set++) {
      const members = able.filter((_, index) => (set >> index) & 1)
      if (members.length >= quorum && members.every(a => members.every(b => a === b || hear(a, b)))) return true
    }
    return false
  }

  private forgetMemory(): void {
    this.marks.add('world.memory_lost')
    this.excuse('default')
    this.checker.forgetPartitions()
    // Nobody holds what nobody holds: the next majority starts from what the disks have.
    if (this.intact.size === 0) for (const { id, life } of this.world.nodes) if (life) this.intact.add(id)
  }

  private excuse(topic: string): void {
    for (let partition = 0; partition < PARTITIONS; partition++) this.offsets.excuse(`${topic}/${partition}`)
  }

  private fact(fact: WorldFact): void {
    this.marks.add(fact.kind)
    if (fact.kind === 'partition_materialised')
      this.checker.opened(fact.node, fact.group, String(fact.data.createdRevision))
    if (fact.kind === 'recovery_step' && fact.data.step === 'partition' && fact.data.verdict === 'opened')
      this.checker.opened(fact.node, groupOfPath(String(fact.data.path)), String(fact.data.createdRevision))
    if (fact.kind === 'transfer_installed' && fact.plane === 'metadata' && fact.op !== undefined)
      this.checker.installed(fact.node, BigInt(fact.op))
    if (fact.kind === 'transfer_unavailable') this.transferWanted.add(`${fact.node} ${fact.group}`)
    if (fact.kind === 'partition_refused' && !this.driver.troubled.has(fact.node))
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

function groupOfPath(path: string): string {
  const [, stream, , topic, , partition] = path.split('/')
  return packGroup({ stream: Number(stream), topic: Number(topic), partition: Number(partition) }).toString()
}

/** A random majority: what is left when the others never come back. */
function drawCore(ids: readonly number[], dice: Dice): number[] {
  const left = [...ids]
  const size = Math.floor(ids.length / 2) + 1
  while (left.length > size) left.splice(dice.below(left.length), 1)
  return left
}

const wordsOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))
