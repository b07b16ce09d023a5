/** The first vote of a replica in a view is the one that its candidate counts, whatever comes later (spec consensus.md §5.3). */
import { Command } from '../../protocol/commands.ts'
import type { WorldFact } from '../world.ts'
import { name } from './checker.ts'
import { forgetGroup } from './lives.ts'
import type { SeenFrame, Watch, WatchWorld } from './watch.ts'

export class Votes implements Watch {
  private readonly world: WatchWorld
  /** Per node, of this life: the vote that was seen to count, by `group view voter`. */
  private readonly counted: Map<string, string>[]

  constructor(world: WatchWorld) {
    this.world = world
    this.counted = world.disks.map(() => new Map())
  }

  starting(node: number): void {
    this.counted[node]!.clear()
  }

  fact({ node, kind, group }: WorldFact): void {
    if (kind === 'partition_materialised') forgetGroup(this.counted[node]!, group)
  }

  arrived(_from: number, to: number, frame: SeenFrame): void {
    if (frame.command === Command.DoViewChange) this.look(to, frame.group)
  }

  sent(from: number, _to: number, frame: SeenFrame): void {
    if (frame.command === Command.StartViewChange) this.look(from, frame.group)
  }

  private look(node: number, group: bigint): void {
    const of = this.world.group(node, group)
    for (const { replica, checksum } of of?.votes.doViewChange ?? []) {
      if (checksum === undefined) continue
      const key = `${group} ${of!.view} ${replica}`
      const before = this.counted[node]!.get(key)
      if (before === undefined) this.counted[node]!.set(key, checksum)
      else if (before !== checksum)
        this.world.checker.fail(
          'vote-replaced',
          `a later vote of node ${replica} in view ${of!.view} of ${name(group.toString())} has taken the place of its first`,
          node,
        )
    }
  }
}
