/**
 * The end of a run in which a drive has lied (spec drills.md §2.3, 8; fsync-lie.ts). Whatever the cluster has come to, each
 * node serves or refuses with a code, what is served is what clients sent, and a second reading of each disk agrees with its
 * node. Then the power fails everywhere, and the same holds again.
 */

import { ClientError } from '../client/errors.ts'
import { METADATA_GROUP } from '../protocol/groups.ts'
import type { Checker } from './checkers/checker.ts'
import type { PartitionChecker } from './checkers/partitions.ts'
import type { Driver } from './driver.ts'
import type { NameLedger, OffsetLedger } from './ledgers.ts'
import type { Marks } from './marks.ts'
import { PARTITIONS, type Workload } from './workload.ts'
import type { World } from './world.ts'

/** A cluster that can come to rest does so within this time; nobody promises that it can. */
const REST_MS = 20_000
const DECIDED_MS = 60_000
const READ_MS = 300_000
const DARK_MS = 100

export interface AftermathPorts {
  readonly world: World
  readonly checker: Checker
  readonly partitions: PartitionChecker
  readonly driver: Driver
  readonly workload: Workload
  readonly names: NameLedger
  readonly offsets: OffsetLedger
  readonly marks: Marks
  until(condition: () => boolean, limitMs: number): Promise<boolean>
  settles(work: Promise<void>): () => boolean
  /** Why the whole cluster is not at rest, or undefined. */
  unrest(): string | undefined
}

export class Aftermath {
  private readonly ports: AftermathPorts

  constructor(ports: AftermathPorts) {
    this.ports = ports
  }

  async play(): Promise<void> {
    const { driver, offsets, until } = this.ports
    offsets.calm = true
    await this.look()
    driver.blackOut(DARK_MS)
    await until(() => !driver.busy, 2 * DARK_MS)
    await this.look()
  }

  private async look(): Promise<void> {
    const { world, checker, driver, marks, partitions, until, settles, unrest } = this.ports
    const undecided = () => world.nodes.find(({ id }) => !world.isRunning(id) && !driver.hasRefused(id))
    if (!(await until(() => undecided() === undefined, DECIDED_MS))) {
      checker.fail('boot', `neither serves nor refuses ${DECIDED_MS} ms after everything was healed`, undecided()!.id)
      return
    }
    const atRest = await until(() => unrest() === undefined, REST_MS)
    const refused = world.nodes.some(({ id }) => driver.hasRefused(id))
    marks.add(`after_lie.${atRest ? 'served' : refused ? 'refused' : 'waits'}`)
    for (const { id } of world.nodes) {
      const read = settles(this.read(id))
      if (!(await until(read, READ_MS))) checker.fail('boot', 'a reader has no answer, not even a late one', id)
    }
    for (const { id } of world.nodes) {
      if (!world.isRunning(id)) continue
      partitions.settled([id])
      const problem = this.metadataProblem(id)
      if (problem !== undefined) checker.fail('cold-open', problem, id)
    }
  }

  /** All that a node serves; what it turns away it does not serve. */
  private async read(node: number): Promise<void> {
    const { world, workload, names, checker } = this.ports
    if (!world.isRunning(node)) return
    const client = workload.reader(node)
    await tried(async () => {
      for (const name of names.invented(await workload.readNames(client)))
        checker.fail('invented', `${name} exists and nobody asked for it`, node)
    })
    for (const topic of workload.topics)
      for (let partition = 0; partition < PARTITIONS; partition++)
        await tried(async () => void (await workload.readPartition(client, topic, partition)))
    client.close()
  }

  /** The log of a node, decoded a second time, reaches unbroken from its snapshot to what the node has applied. */
  private metadataProblem(node: number): string | undefined {
    const { world, checker } = this.ports
    const durable = checker.durable[node]!
    const superblock = durable.superblock('metadata')
    if (superblock === 'corrupt') return 'its metadata superblock does not verify'
    const log = durable.log()
    const applied = BigInt(world.replica(node).inspect.group(METADATA_GROUP)!.commitMin)
    for (let op = durable.coveredTo() + 1n; op <= applied; op++) {
      const entry = log.get(op)
      const before = log.get(op - 1n)
      if (!entry) return `has applied metadata op ${op}, which is not on its disk`
      if (before && entry.parent !== before.checksum)
        return `metadata op ${op} on its disk does not follow op ${op - 1n}`
      checker.pairsCompared++
    }
    return undefined
  }
}

async function tried(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
  }
}
