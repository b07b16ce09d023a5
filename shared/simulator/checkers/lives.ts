/** Which groups of a node had an earlier life when the present one began: its own word and its disk say so. */
import { METADATA_GROUP, packGroup } from '../../protocol/groups.ts'
import type { WorldFact } from '../world.ts'
import type { DurableState } from './durable.ts'

export class EarlierLives {
  private readonly durable: readonly DurableState[]
  private readonly groups: Set<bigint>[]

  constructor(durable: readonly DurableState[]) {
    this.durable = durable
    this.groups = durable.map(() => new Set())
  }

  /** A life of this node begins. */
  starting(node: number): void {
    const durable = this.durable[node]!
    const lived = durable.superblock('metadata') !== undefined || durable.log().size > 0
    this.groups[node] = new Set(lived ? [METADATA_GROUP] : [])
  }

  fact({ node, kind, group, data }: WorldFact): void {
    const groups = this.groups[node]!
    if (kind === 'partition_materialised') groups.delete(BigInt(group))
    if (kind === 'recovery_step' && data.step === 'partition' && data.verdict === 'opened')
      groups.add(groupOfPath(String(data.path)))
  }

  has(node: number, group: bigint): boolean {
    return this.groups[node]!.has(group)
  }
}

/** A partition was made anew, and begins with views of its own: what was noted of the last one of its ids, by `group …`, goes. */
export function forgetGroup(noted: Map<string, unknown>, group: string): void {
  for (const key of noted.keys()) if (key.startsWith(`${group} `)) noted.delete(key)
}

export function groupOfPath(path: string): bigint {
  const [, stream, , topic, , partition] = path.split('/')
  return packGroup({ stream: Number(stream), topic: Number(topic), partition: Number(partition) })
}
