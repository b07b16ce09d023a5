/**
 * Whoever leads a view was elected to it in this life: a quorum of DoViewChange votes for that view has reached it since its
 * boot, its own counted. The first view of a group that has no earlier life is the one exception (spec consensus.md §5.4, §7).
 */
import { Command } from '../../protocol/commands.ts'
import type { WorldFact } from '../world.ts'
import { name } from './checker.ts'
import { EarlierLives, forgetGroup } from './lives.ts'
import type { SeenFrame, Watch, WatchWorld } from './watch.ts'

export class Leadership implements Watch {
  private readonly world: WatchWorld
  private readonly lives: EarlierLives
  /** Per node, of this life: who voted, by `group view`. */
  private readonly votes: Map<string, Set<number>>[]
  private readonly quorum: number

  constructor(world: WatchWorld) {
    this.world = world
    this.lives = new EarlierLives(world.checker.durable)
    this.votes = world.disks.map(() => new Map())
    const replication = world.nodes === 2 ? 2 : Math.min(Math.ceil(world.nodes / 2), 3)
    this.quorum = world.nodes === 2 ? 2 : world.nodes - replication + 1
  }

  starting(node: number): void {
    this.lives.starting(node)
    this.votes[node]!.clear()
  }

  fact(fact: WorldFact): void {
    this.lives.fact(fact)
    if (fact.kind === 'partition_materialised') forgetGroup(this.votes[fact.node]!, fact.group)
  }

  arrived(from: number, to: number, { command, group, view }: SeenFrame): void {
    if (command !== Command.DoViewChange) return
    const key = `${group} ${view}`
    const voters = this.votes[to]!.get(key) ?? new Set()
    this.votes[to]!.set(key, voters.add(from))
  }

  sent(from: number, _to: number, { command, group, view }: SeenFrame): void {
    if (command !== Command.Commit && command !== Command.StartView) return
    if (view === 0 && !this.lives.has(from, group)) return
    const voters = this.votes[from]!.get(`${group} ${view}`)?.size ?? 0
    if (voters + 1 >= this.quorum) return
    this.world.checker.fail(
      'unelected-primary',
      `leads view ${view} of ${name(group.toString())} with the votes of ${voters} others in this life`,
      from,
    )
  }
}
