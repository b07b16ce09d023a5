/** What may not be done to a stored offset (spec partition.md §9.2, wire.md §3.7). */
import { DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import type { ConsumerKey } from '../partition/contract.ts'
import { decodeRequest } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { type Consumer, consumerId } from '../protocol/ident.ts'
import { deleteOffset, storeOffset } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import type { ReplicatedPartition } from './partition-host.ts'

/** The consumer whose offset is meant; undefined for a group, since no group exists yet that it could be of. */
export const consumerKey = (hash: Hash, { kind, id }: Consumer): ConsumerKey | undefined =>
  kind === 'group' ? undefined : { kind, id: consumerId(hash, id) }

/** Codec of a store or a delete. */
export const offsetCodec = (operation: number) =>
  operation === Operation.StoreConsumerOffset ? storeOffset : deleteOffset

/** The status of an offset request from a peer that may not enter a log. */
export function offsetBodyFault(operation: number, body: Uint8Array): number | undefined {
  try {
    const { consumer } = decodeRequest(offsetCodec(operation), body)
    return consumer.kind === 'group' ? ErrorCode.FeatureUnavailable : undefined
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return ErrorCode.InvalidCommand
  }
}

/** On the primary: what may not be stored or deleted, by what is committed here (§9.2); undefined for other writes. */
export function offsetFault(
  hash: Hash,
  { partition }: ReplicatedPartition,
  operation: number,
  body: Uint8Array,
): number | undefined {
  if (operation === Operation.SendMessages) return undefined
  if (operation === Operation.StoreConsumerOffset) {
    const { offset } = decodeRequest(storeOffset, body)
    return offset < partition.info().visibleEnd ? undefined : ErrorCode.InvalidOffset
  }
  const consumer = consumerKey(hash, decodeRequest(deleteOffset, body).consumer)
  const known = consumer !== undefined && partition.storedOffset(consumer) !== undefined
  return known ? undefined : ErrorCode.ConsumerOffsetNotFound
}
