/**
 * Polls (spec partition.md §5). The plan is made in one synchronous step: which segments, up to which byte, and which
 * batches of the journal. Segment bytes and journal batches change hands only in the pump, in one step as well, so the
 * two tiers of a plan meet without gap or overlap, whatever flush or rotation does while the disk is read.
 *
 * A fault on the way ends the answer: what was found so far is returned, and with nothing found the fault is the answer.
 * Nothing is ever served from behind a fault.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { BATCH_HEADER_BYTES, batchLengthAt, checkBatch } from '../protocol/batch.ts'
import type { Rules } from '../protocol/rules.ts'
import { BatchVerifier } from '../storage/batch-verifier.ts'
import { DiskError } from '../storage/disk.ts'
import type { Scheduler } from '../storage/ports.ts'
import type { Chain } from './chain.ts'
import type { QueuedBatch } from './journal.ts'
import { positionIn, type ReadHandles } from './read-handles.ts'
import { dataView, RECORD_AT, recordBaseOffset, recordMessages } from './record.ts'
import type { Segment } from './segment.ts'
import { type Query, Selection } from './selection.ts'

/** First read of a walk, and its growth up to the chunk that sequential reading wants (§5.3). */
const CHUNK_BYTES_MIN = 64 * 1024
const CHUNK_BYTES_MAX = 1024 * 1024
const READ_ATTEMPTS = 3

interface Piece {
  readonly segment: Segment
  /** Persisted bytes when the plan was made. */
  readonly sizeBytes: number
}

export interface PollPlan {
  readonly query: Query
  /** Exclusive. */
  readonly ceiling: bigint
  readonly pieces: readonly Piece[]
  /** Start inside the first piece, when it is known without reading. */
  readonly position: number | undefined
  readonly queued: readonly QueuedBatch[]
}

/** Snapshot for one poll; `ceiling` is the exclusive end of what is visible, `count` bounds the journal part. */
export function planPoll(
  chain: Chain,
  queue: readonly QueuedBatch[],
  query: Query,
  ceiling: bigint,
  count: number,
): PollPlan {
  const from = firstPiece(chain.segments, queue, query)
  const first = from < 0 ? firstQueued(queue, query) : 0
  const queued: QueuedBatch[] = []
  let messages = 0
  for (let index = first; index < queue.length && messages < count; index++) {
    const entry = queue[index]!
    if (entry.batch.baseOffset >= ceiling) break
    queued.push(entry)
    messages += entry.batch.messages
    // the first batch may be sliced at its front; what it lacks then comes from one batch more
    if (index === first) messages = 0
  }
  if (from < 0) return { query, ceiling, pieces: [], position: 0, queued }
  const pieces = chain.segments.slice(from).map(segment => ({ segment, sizeBytes: segment.sizeBytes }))
  const start = pieces[0]!.segment
  let position: number | undefined
  const mark = query.by === 'offset' ? start.markBefore(query.from) : undefined
  if (mark?.offset === query.from) position = mark.position
  else if (start.index) {
    const indexed = query.by === 'timestamp' && !start.monotone ? 0 : positionIn(start.index, query)
    position = Math.max(indexed, mark?.position ?? 0)
  }
  return { query, ceiling, pieces, position, queued }
}

/** Index of the segment to start in, or -1 when the journal alone answers. */
function firstPiece(segments: readonly Segment[], queue: readonly QueuedBatch[], query: Query): number {
  if (query.by === 'timestamp')
    return segments.findIndex(segment => !segment.empty && segment.maxTimestamp >= query.from)
  const oldest = queue[0]
  if (oldest && query.from >= oldest.batch.baseOffset) return -1
  let low = 0
  let high = segments.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (segments[middle]!.startOffset <= query.from) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

function firstQueued(queue: readonly QueuedBatch[], query: Query): number {
  // time is looked up in order, since it may step back; the queue holds at most what the flush thresholds let gather
  if (query.by === 'timestamp')
    return Math.max(
      0,
      queue.findIndex(({ batch }) => batch.timestamp >= query.from),
    )
  let low = 0
  let high = queue.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (queue[middle]!.batch.endOffset <= query.from) low = middle + 1
    else high = middle
  }
  return low
}

export interface PollHost {
  readonly rules: Rules
  readonly hash: Hash
  readonly scheduler: Scheduler
  readonly handles: ReadHandles
  readonly validateChecksum: boolean
  /** False once the partition was closed; nothing may be read then. */
  alive(): boolean
  fault(error: EngineError): void
}

/**
 * Carries a plan out.
 * @throws EngineError `InvalidBatchChecksum` or `InvalidMessageChecksum` for a corrupt batch with nothing before it,
 * `PartitionClosed`. A disk that fails three times in a row gives the messages before it, or none.
 */
export async function runPoll(host: PollHost, plan: PollPlan, count: number, bytesMax: number): Promise<Selection> {
  const selection = new Selection(host.hash, plan.query, plan.ceiling, count, bytesMax)
  if (plan.pieces.length > 0) {
    const fault = await walkPieces(host, plan, selection)
    if (fault) {
      host.fault(fault)
      if (selection.messages === 0 && !(fault.cause instanceof DiskError)) throw fault
      return selection
    }
  }
  for (const { frame, batch } of plan.queued) {
    if (selection.full) break
    selection.take(frame, RECORD_AT, batch.bytes)
  }
  return selection
}

async function walkPieces(host: PollHost, plan: PollPlan, selection: Selection): Promise<EngineError | undefined> {
  const first = plan.pieces[0]!
  if (first.segment.sealed) host.handles.touch(first.segment)
  for (const piece of plan.pieces) {
    if (selection.full) return undefined
    if (piece.sizeBytes === 0) continue
    let position = 0
    if (piece === first) {
      position = plan.position ?? (await sealedPosition(host, piece.segment, plan.query))
      checkAlive(host)
    }
    const fault = await walkSegment(host, piece, position, selection)
    if (fault) return fault
  }
  return undefined
}

async function sealedPosition(host: PollHost, segment: Segment, query: Query): Promise<number> {
  try {
    return await host.handles.startPosition(segment, query)
  } catch (error) {
    if (!(error instanceof DiskError)) throw error
    host.fault(error)
    return 0
  }
}

async function walkSegment(
  host: PollHost,
  piece: Piece,
  from: number,
  selection: Selection,
): Promise<EngineError | undefined> {
  const { segment, sizeBytes } = piece
  let position = from
  // offsets are contiguous inside a segment; a header that breaks the run must not move a poll past its start
  let expected = from === 0 ? segment.startOffset : undefined
  let chunkBytes = CHUNK_BYTES_MIN
  // A large batch is checked in slices: one reader must not make everybody else wait.
  const verifier = host.validateChecksum ? new BatchVerifier(host.hash, host.scheduler) : undefined
  while (position < sizeBytes && !selection.full) {
    const chunk = await readChunk(host, segment, position, Math.min(chunkBytes, sizeBytes - position))
    checkAlive(host)
    if (!(chunk instanceof Uint8Array)) return chunk
    let at = 0
    let needed = 0
    while (!selection.full && at < chunk.length) {
      const left = sizeBytes - position - at
      if (left < BATCH_HEADER_BYTES) return corrupt(segment, position + at, 'header_cut', `${left} bytes are no batch`)
      if (chunk.length - at < BATCH_HEADER_BYTES) break
      const length = batchLengthAt(chunk, at)
      if (length > left)
        return corrupt(segment, position + at, 'batch_cut', `a batch of ${length} bytes, ${left} are left`)
      if (length > chunk.length - at) {
        needed = length
        break
      }
      const view = dataView(chunk)
      const base = recordBaseOffset(view, at)
      const end = base + BigInt(recordMessages(view, at))
      if (expected !== undefined && base !== expected) {
        return corrupt(segment, position + at + 8, 'offset', `offset ${base} where ${expected} belongs`)
      }
      // what lies before the start is not served, so only its extent must hold: a rotten batch does not hide the ones behind it
      if (!selection.skips(end)) {
        const record = chunk.subarray(at, at + Math.max(length, BATCH_HEADER_BYTES))
        const checked = verifier ? verifier.verify(record) : checkBatch(record)
        const verdict = checked instanceof Promise ? await checked : checked
        checkAlive(host)
        if (!verdict.ok) return corrupt(segment, position + at + verdict.position, verdict.check, verdict.message)
        selection.take(chunk, at, length)
        // the batch that a poll ended inside is where the next one starts
        if (selection.end !== undefined && selection.end < end) segment.remember(base, position + at)
        if (selection.full && selection.end !== end) break
      } else if (length < BATCH_HEADER_BYTES) {
        return corrupt(segment, position + at + 32, 'batch_length', `a batch of ${length} bytes`)
      }
      expected = end
      at += length
    }
    position += at
    // the next read starts at the record that did not fit, and is large enough for it
    chunkBytes = Math.max(Math.min(CHUNK_BYTES_MAX, chunkBytes * 4), needed)
  }
  if (expected !== undefined && selection.end === expected) segment.remember(expected, position)
  return undefined
}

async function readChunk(
  host: PollHost,
  segment: Segment,
  position: number,
  length: number,
): Promise<Uint8Array | EngineError> {
  for (let attempt = 1; ; attempt++) {
    try {
      const shared = await host.handles.acquire(segment)
      try {
        const bytes = new Uint8Array(length)
        const read = await shared.file.read(position, bytes)
        if (read === length) return bytes
        return corrupt(
          segment,
          position + read,
          'batch_cut',
          `the file ends before its ${position + length} persisted bytes`,
        )
      } finally {
        shared.release()
      }
    } catch (error) {
      if (!(error instanceof DiskError)) throw error
      // reading again would hide a descriptor that was closed under the reader
      if (attempt === READ_ATTEMPTS || !host.rules.readersHoldDescriptors) {
        return new EngineError('ReadFailed', error.message, { path: segment.logPath, position }, { cause: error })
      }
      await host.scheduler.yield()
    }
  }
}

function corrupt(segment: Segment, position: number, check: string, message: string): EngineError {
  const code = check === 'message_checksum' ? 'InvalidMessageChecksum' : 'InvalidBatchChecksum'
  return new EngineError(code, `${segment.logPath} at byte ${position}: ${message}`, {
    path: segment.logPath,
    position,
    actual: check,
    advice: 'inspect the segment; an intact copy may be on another replica',
  })
}

function checkAlive(host: PollHost): void {
  if (!host.alive()) throw new EngineError('PartitionClosed', 'the partition was closed while it was read')
}
