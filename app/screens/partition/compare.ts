/**
 * Compares one segment of several nodes from its beginning, page by page of what each node lists of its own file, until they
 * first differ or end; then the bytes of the batch, to name the first one. Reads only, and stops when it is told to.
 */
import { fromHex } from '../../../shared/bytes/hex.ts'
import { BATCHES_LIMIT_MAX, BYTES_LENGTH_MAX } from '../../../shared/inspection/node-api.ts'
import {
  type BatchesSnapshot,
  type BytesSnapshot,
  batchesSnapshot,
  bytesSnapshot,
} from '../../../shared/inspection/snapshots.ts'
import { ask } from '../../data/ask.ts'
import { type PartitionAt, partitionPath } from '../../data/queries.ts'
import { compareStretches, type Difference, firstByte } from '../../geometry/difference.ts'

/** Bytes of a batch that are compared one by one; damage behind them is told by the batch. */
const BYTES_COMPARED_MAX = 2 ** 20
/** Bytes shown of each node around the first that differs. */
const AROUND = 16

export interface ByteDifference {
  /** In the file. */
  readonly positionBytes: number
  readonly rows: readonly { readonly node: number; readonly fromBytes: number; readonly bytes: Uint8Array }[]
}
export interface ComparedSoFar {
  readonly state: 'running' | 'done'
  readonly nodes: readonly number[]
  readonly equalBytes: number
  readonly equalBatches: number
  readonly ended: readonly { readonly node: number; readonly atBytes: number }[]
  readonly difference?: Difference
  readonly byte?: ByteDifference
  /** Milliseconds since the Unix epoch by the browser's clock, when the last list came. */
  readonly atMs: number
}

export interface CompareReads {
  batches(node: number, from: number): Promise<BatchesSnapshot>
  bytes(node: number, position: number, length: number): Promise<BytesSnapshot>
}

export const readsOf = (at: PartitionAt, segment: string, signal: AbortSignal): CompareReads => ({
  batches: (node, from) =>
    ask(
      `${partitionPath(node, at)}/segments/${segment}/batches?from=${from}&limit=${BATCHES_LIMIT_MAX}`,
      batchesSnapshot,
      signal,
    ),
  bytes: (node, position, length) =>
    ask(
      `${partitionPath(node, at)}/segments/${segment}/bytes?kind=log&position=${position}&length=${length}`,
      bytesSnapshot,
      signal,
    ),
})

/** Rejects with what a read rejects with: a node that goes away in the middle ends the comparison. */
export async function compareSegment(
  reads: CompareReads,
  nodes: readonly number[],
  nowMs: () => number,
  progress: (sofar: ComparedSoFar) => void,
): Promise<ComparedSoFar> {
  let left = [...nodes]
  let equalBytes = 0
  let equalBatches = 0
  const ended: { node: number; atBytes: number }[] = []
  for (;;) {
    const from = equalBytes
    const lists = await Promise.all(left.map(node => reads.batches(node, from)))
    const stretches = lists.map((list, index) => ({
      node: left[index]!,
      batches: list.batches,
      more: list.nextPositionBytes !== undefined,
      sizeBytes: list.sizeBytes,
    }))
    const found = compareStretches(stretches, from)
    equalBytes = found.equalBytes
    equalBatches += found.equalBatches
    ended.push(...found.ended)
    left = left.filter(node => !found.ended.some(end => end.node === node))
    const sofar: ComparedSoFar = {
      state: 'running',
      nodes,
      equalBytes,
      equalBatches,
      ended: [...ended],
      atMs: nowMs(),
      ...(found.difference && { difference: found.difference }),
    }
    if (found.difference) {
      const byte = await firstByteOf(reads, found.difference)
      return { ...sofar, state: 'done', ...(byte && { byte }) }
    }
    // A page that brought nothing for two nodes will not bring more when it is asked for again.
    if (left.length < 2 || found.equalBatches === 0) return { ...sofar, state: 'done' }
    progress(sofar)
  }
}

async function firstByteOf(reads: CompareReads, difference: Difference): Promise<ByteDifference | undefined> {
  const there = difference.cells.filter(({ batch }) => batch)
  if (there.length < 2) return undefined
  const length = Math.min(BYTES_COMPARED_MAX, ...there.map(({ batch }) => batch!.lengthBytes))
  for (let at = 0; at < length; at += BYTES_LENGTH_MAX) {
    const position = difference.positionBytes + at
    const size = Math.min(BYTES_LENGTH_MAX, length - at)
    const parts = await Promise.all(
      there.map(async ({ node }) => fromHex((await reads.bytes(node, position, size)).hex)),
    )
    const first = firstByte(parts)
    if (first === undefined) continue
    const from = Math.max(0, first - (first % AROUND))
    return {
      positionBytes: position + first,
      rows: there.map(({ node }, index) => ({
        node,
        fromBytes: position + from,
        bytes: parts[index]!.subarray(from, from + AROUND),
      })),
    }
  }
  return undefined
}
