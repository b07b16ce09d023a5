/**
 * A restarted replica does not take an answer to a probe of its former life for one to its own: a StartView that echoes
 * another nonce, is of no newer view and has a lower head would cut what was acknowledged since (spec consensus.md §5.7).
 */
import { Command } from '../../protocol/commands.ts'
import { METADATA_GROUP } from '../../protocol/groups.ts'
import type { WorldFact } from '../world.ts'
import type { SeenFrame, Watch, WatchWorld } from './watch.ts'

interface Life {
  /** View and head that the disk held at its beginning. */
  readonly view: number
  readonly head: bigint
  nonce: bigint
  adopted: boolean
  /** The StartView that came in last. */
  last: { readonly nonce: bigint; readonly view: number; readonly op: bigint } | undefined
}

export class FormerLife implements Watch {
  private readonly world: WatchWorld
  private readonly lives: (Life | undefined)[]

  constructor(world: WatchWorld) {
    this.world = world
    this.lives = world.disks.map(() => undefined)
  }

  starting(node: number): void {
    const durable = this.world.checker.durable[node]!
    const superblock = durable.superblock('metadata')
    let head = 0n
    for (const op of durable.log().keys()) if (op > head) head = op
    const view = superblock === undefined || superblock === 'corrupt' ? 0 : superblock.view
    this.lives[node] = { view, head, nonce: 0n, adopted: false, last: undefined }
  }

  sent(from: number, _to: number, { command, group, bytes }: SeenFrame): void {
    const life = this.lives[from]
    if (life && command === Command.RequestStartView && group === METADATA_GROUP) life.nonce = nonceOf(bytes)
  }

  arrived(_from: number, to: number, { command, group, view, bytes }: SeenFrame): void {
    const life = this.lives[to]
    if (!life || command !== Command.StartView || group !== METADATA_GROUP) return
    life.last = { nonce: nonceOf(bytes), view, op: bytes.getBigUint64(128, true) }
  }

  fact({ node, kind, plane }: WorldFact): void {
    const life = this.lives[node]
    if (!life || plane !== 'metadata' || life.adopted) return
    // Once it takes part, the other rules speak: what it holds may have changed since the boot.
    if (kind === 'view_change_started') life.adopted = true
    if (kind !== 'view_adopted') return
    life.adopted = true
    const { last } = life
    if (!last || last.nonce === 0n || last.nonce === life.nonce) return
    if (last.view > life.view || last.op >= life.head) return
    this.world.checker.fail(
      'former-life',
      `adopts view ${last.view} with head ${last.op} by an answer to a probe of another life; its disk holds op ${life.head} of view ${life.view}`,
      node,
    )
  }
}

const nonceOf = (frame: DataView): bigint => frame.getBigUint64(240, true) | (frame.getBigUint64(248, true) << 64n)
