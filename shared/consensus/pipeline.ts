/**
 * Prepares in flight on a primary: consecutive ops, hash-chained, looked up by `op - head` (spec consensus.md §1.2).
 * At most 127 deep, one fewer than a view-change suffix can name.
 */
import { EngineError } from '../bytes/errors.ts'
import { Op } from '../bytes/units.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import type { RequestToken } from './contract.ts'
import type { ReplicaSet } from './replica-set.ts'

/** Hard cap on any node's prepare depth, and the cluster-wide bound of the merge (§1.1, §5.4). */
export const PREPARE_QUEUE_CEILING = 127

export interface PipelineEntry {
  readonly header: PrepareHeader
  /** The local client that waits, until it is cancelled. */
  token: RequestToken | undefined
  acks: ReplicaSet
  quorum: boolean
  /** Its journal append failed; it leaves as soon as it is the tail (§3.4). */
  failed: boolean
}

export class Pipeline {
  readonly depth: number
  private readonly entries: PipelineEntry[] = []

  constructor(depth: number) {
    if (!(depth >= 1 && depth <= PREPARE_QUEUE_CEILING))
      throw new RangeError(`a pipeline is 1..${PREPARE_QUEUE_CEILING} deep, not ${depth}`)
    this.depth = depth
  }

  get size(): number {
    return this.entries.length
  }
  get isFull(): boolean {
    return this.entries.length >= this.depth
  }
  get head(): PipelineEntry | undefined {
    return this.entries[0]
  }
  get tail(): PipelineEntry | undefined {
    return this.entries[this.entries.length - 1]
  }

  all(): readonly PipelineEntry[] {
    return this.entries
  }

  get(op: Op): PipelineEntry | undefined {
    const head = this.entries[0]
    if (head === undefined || op < head.header.op) return undefined
    return this.entries[Number(op - head.header.op)]
  }

  /** Throws EngineError PipelineBroken when the entry does not continue the chain: a defect of this engine. */
  push(header: PrepareHeader, token: RequestToken | undefined, acks: ReplicaSet): void {
    const tail = this.tail?.header
    if (this.isFull)
      throw new EngineError('PipelineBroken', `the pipeline is full at op ${header.op}`, { op: header.op })
    if (
      tail !== undefined &&
      (header.op !== Op(tail.op + 1n) || header.parent !== tail.checksum || header.view < tail.view)
    ) {
      throw new EngineError('PipelineBroken', `op ${header.op} does not continue op ${tail.op}`, { op: header.op })
    }
    this.entries.push({ header, token, acks, quorum: false, failed: false })
  }

  popHead(): PipelineEntry | undefined {
    return this.entries.shift()
  }
  popTail(): PipelineEntry | undefined {
    return this.entries.pop()
  }

  /** Takes the tokens of all clients that wait; the entries stay. */
  takeTokens(): RequestToken[] {
    const tokens: RequestToken[] = []
    for (const entry of this.entries) {
      if (entry.token !== undefined) tokens.push(entry.token)
      entry.token = undefined
    }
    return tokens
  }

  clear(): void {
    this.entries.length = 0
  }
}
