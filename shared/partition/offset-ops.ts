/** Bodies of StoreConsumerOffset and DeleteConsumerOffset prepares as a partition reads them (spec partition.md §9.2, §9.3). */
import type { Hash } from '../bytes/hash.ts'
import { U128_MAX } from '../bytes/units.ts'
import { decodeRequest } from '../protocol/codec.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { consumerId } from '../protocol/ident.ts'
import { deleteOffset, storeOffset } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import type { ConsumerKey } from './contract.ts'

export interface OffsetOp {
  readonly consumer: ConsumerKey
  /** Undefined: the stored offset goes. */
  readonly offset: bigint | undefined
  /** An auto-commit, which only moves forward. */
  readonly monotone: boolean
}

/** The client id under which a node commits offsets on behalf of polls (§5.5). */
export const AUTO_COMMIT_CLIENT = U128_MAX

/** `groupId` resolves a group's name; an op whose group is unknown has no effect, and comes back as undefined. @throws DecodeError */
export function readOffsetOp(
  hash: Hash,
  header: PrepareHeader,
  body: Uint8Array,
  groupId: ((name: string) => number | undefined) | undefined,
): OffsetOp | undefined {
  const stores = header.operation === Operation.StoreConsumerOffset
  const stored = stores ? decodeRequest(storeOffset, body) : undefined
  const { kind, id } = (stored ?? decodeRequest(deleteOffset, body)).consumer
  const numeric = kind === 'group' && id.kind === 'name' ? groupId?.(id.name) : consumerId(hash, id)
  if (numeric === undefined) return undefined
  return {
    consumer: { kind, id: numeric },
    offset: stored?.offset,
    monotone: header.client === AUTO_COMMIT_CLIENT,
  }
}
