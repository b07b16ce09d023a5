/**
 * A metadata op is committed when a replication quorum holds it durably, not before: when it is applied for the first time,
 * that many disks have it (spec consensus.md §1.3, §3.3).
 */

import { METADATA_GROUP } from '../../protocol/groups.ts'
import type { PrepareHeader } from '../../protocol/headers.ts'
import type { Watch, WatchWorld } from './watch.ts'

const METADATA = METADATA_GROUP.toString()

export class CommitQuorum implements Watch {
  private readonly world: WatchWorld
  private readonly quorum: number
  private highest = 0n

  constructor(world: WatchWorld) {
    this.world = world
    this.quorum = world.nodes === 2 ? 2 : Math.min(Math.ceil(world.nodes / 2), 3)
  }

  applied(node: number, group: string, { op, checksum }: PrepareHeader): void {
    if (group !== METADATA || op <= this.highest) return
    this.highest = op
    const { checker } = this.world
    let holders = 0
    for (let id = 0; id < this.world.nodes; id++)
      if (checker.isRotten(id) || checker.durable[id]!.holds(op, checksum)) holders++
    if (holders >= this.quorum) return
    checker.fail('commit-quorum', `applies metadata op ${op}, which is on the disks of ${holders} replicas`, node)
  }
}
