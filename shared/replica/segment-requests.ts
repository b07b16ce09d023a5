/**
 * DeleteSegments (spec partition.md §4.3, wire.md §3.5). A client counts segments; the log wants an offset, so that every
 * replica removes the same. The metadata primary looks at its own chain: where a segment ends follows from the batches alone.
 */

import { DecodeError } from '../bytes/errors.ts'
import { Offset } from '../bytes/units.ts'
import { Reject } from '../metadata/streams.ts'
import { decodeRequest, encodeBody } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { packGroup } from '../protocol/groups.ts'
import { truncatePartition } from '../protocol/replicated.ts'
import { type DeleteSegments, deleteSegments } from '../protocol/topics.ts'
import type { Parts } from './parts.ts'

export type SegmentsAdmitted =
  /** The body of a TruncatePartition. */
  | { readonly kind: 'truncate'; readonly body: Uint8Array }
  /** No segment is sealed: success, and nothing to commit. */
  | { readonly kind: 'nothing' }
  /** In the result section. */
  | { readonly kind: 'rejected'; readonly code: number }
  | { readonly kind: 'denied'; readonly status: number }

export function admitSegments(parts: Parts, body: Uint8Array): SegmentsAdmitted {
  const { state } = parts.core.machine
  let request: DeleteSegments
  try {
    request = decodeRequest(deleteSegments, body)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return { kind: 'denied', status: ErrorCode.InvalidCommand }
  }
  const stream = state.stream(request.stream)
  if (!stream) return { kind: 'rejected', code: Reject.StreamIdNotFound }
  const topic = state.topic(stream, request.topic)
  if (!topic) return { kind: 'rejected', code: Reject.TopicIdNotFound }
  const { partitionId } = request
  const committed = topic.partitions.find(({ id }) => id === partitionId)
  if (!committed) return { kind: 'rejected', code: Reject.PartitionNotFound }
  const here = parts.partitions.get(packGroup({ stream: stream.id, topic: topic.id, partition: partitionId }))
  if (here?.createdRevision !== committed.createdRevision)
    return { kind: 'denied', status: ErrorCode.TransientNotAccepted }
  const sealed = here.partition.info().segments.filter(segment => segment.sealed)
  const last = sealed[Math.min(request.segmentsCount, sealed.length) - 1]
  if (last) {
    const target = { stream: request.stream, topic: request.topic, partition: partitionId }
    return { kind: 'truncate', body: encodeBody(truncatePartition, { ...target, upToOffset: Offset(last.endOffset) }) }
  }
  // A replica that lags behind its group may lack what the primary has sealed.
  const { group } = here
  const caughtUp = group.snapshot().status === 'normal' && group.commitMin === group.commitMax
  return caughtUp ? { kind: 'nothing' } : { kind: 'denied', status: ErrorCode.TransientNotAccepted }
}
