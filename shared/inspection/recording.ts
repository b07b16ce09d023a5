/**
 * A recording: what the console told its readers while a cluster ran, in order, so that it can be folded again (design.md
 * §3, §4). It holds facts, sampled flow, snapshots, and at keyframes the answers that the screens of bytes are drawn from;
 * it holds no segment bytes. Files of the console and bundles for other people carry the same lines.
 *
 * A line is one JSON text: the stream message, and when the console had it. Lines are additive: a reader skips an `event`
 * that it does not know. A reader may begin at any keyframe, which begins with `hello`.
 */
import { z } from 'zod'
import { clusterNode, loadState, streamHello, streamSnapshot } from './api.ts'
import { decimal, eventBatch, eventGap } from './envelope.ts'

export const RECORDING_VERSION = 1

/** Bounds of what is read back, whoever wrote it: a recording may come from anywhere. */
export const LINE_CHARS_MAX = 4 * 2 ** 20
export const PART_PLAIN_BYTES_MAX = 64 * 2 ** 20
const REPLICAS_MAX = 32
const BATCH_ITEMS_MAX = 100_000

/** What the console itself answered at `path`, kept where it differed from what was kept before. */
export const recordedAnswer = z.object({
  path: z.string().startsWith('/api/').max(500),
  status: z.number().int(),
  json: z.unknown(),
})
export type RecordedAnswer = z.infer<typeof recordedAnswer>

const at = { t: z.number().nonnegative() }
const node = clusterNode.extend({
  id: z
    .number()
    .int()
    .min(0)
    .max(REPLICAS_MAX - 1),
})
const hello = streamHello.extend({ replicaCount: z.number().int().min(1).max(REPLICAS_MAX) })
export const recordedLine = z.discriminatedUnion('event', [
  z.object({ ...at, event: z.literal('hello'), data: hello }),
  z.object({ ...at, event: z.literal('nodes'), data: z.array(node).max(REPLICAS_MAX) }),
  z.object({ ...at, event: z.literal('snapshot'), data: streamSnapshot }),
  z.object({ ...at, event: z.literal('load'), data: loadState }),
  z.object({ ...at, event: z.literal('batch'), data: eventBatch.max(BATCH_ITEMS_MAX) }),
  z.object({ ...at, event: z.literal('gap'), data: eventGap }),
  z.object({ ...at, event: z.literal('answer'), data: recordedAnswer }),
])
export type RecordedLine = z.infer<typeof recordedLine>
const LINE_EVENTS = new Set(['hello', 'nodes', 'snapshot', 'load', 'batch', 'gap', 'answer'])

/** What was wrong with a recording or a bundle; `code` is stable, `advice` says what to do. */
export class RecordingError extends Error {
  readonly code: RecordingErrorCode
  constructor(code: RecordingErrorCode, message: string) {
    super(message)
    this.name = 'RecordingError'
    this.code = code
  }
  get advice(): string {
    return RECORDING_ERRORS[this.code]
  }
}
export const RECORDING_ERRORS = {
  CON_RECORDING_FOREIGN: 'Choose a bundle that was exported from a recording.',
  CON_RECORDING_DAMAGED: 'Get the bundle anew from whoever exported it; what is damaged is not shown in part.',
  CON_RECORDING_NEWER: 'Open it with the version that wrote it, or a later one.',
  CON_RECORDING_TOO_LARGE: 'Nothing that a console exports is as large; do not trust where it comes from.',
} as const
export type RecordingErrorCode = keyof typeof RECORDING_ERRORS

/**
 * Reads one line. Undefined for an `event` of a later build.
 * @throws RecordingError CON_RECORDING_DAMAGED, CON_RECORDING_TOO_LARGE
 */
export function parseLine(text: string): RecordedLine | undefined {
  if (text.length > LINE_CHARS_MAX)
    throw new RecordingError('CON_RECORDING_TOO_LARGE', `A line of the recording has ${text.length} characters.`)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new RecordingError('CON_RECORDING_DAMAGED', 'A line of the recording is not JSON.')
  }
  const event = (json as { event?: unknown } | null)?.event
  if (typeof event === 'string' && !LINE_EVENTS.has(event)) return undefined
  const parsed = recordedLine.safeParse(json)
  if (parsed.success) return parsed.data
  const where = parsed.error.issues[0]
  throw new RecordingError(
    'CON_RECORDING_DAMAGED',
    `A line of the recording is not as it should be (${where?.path.join('.') ?? ''}: ${where?.message ?? ''}).`,
  )
}

/** What the console keeps of one run of itself. */
export const recordingInfo = z.object({
  /** The run of the console, which its `hello` names. */
  id: z.string(),
  name: z.string(),
  replicaCount: z.number().int(),
  version: z.number().int(),
  fromMs: z.number(),
  toMs: z.number(),
  firstSeq: z.number(),
  lastSeq: z.number(),
  /** On disk, compressed. */
  bytes: z.number(),
  parts: z.number(),
  /** Whether this very run writes it still. */
  active: z.boolean(),
  /** Bytes at the end of a file that make no whole block: a console that was killed wrote them last. */
  tornBytes: z.number(),
  /** Whether the oldest parts were removed because the recording had reached its bound. */
  beginningGone: z.boolean(),
  /** Why it can't be read, or why it is not written any more. */
  problem: z.object({ code: z.string(), message: z.string() }).nullable(),
})
export type RecordingInfo = z.infer<typeof recordingInfo>

export const recordingsAnswer = z.object({
  recordings: z.array(recordingInfo),
  bytes: z.number(),
  limits: z.object({ runBytes: z.number(), allBytes: z.number(), ageMs: z.number() }),
  directory: z.string().nullable(),
  takenWallUs: decimal,
})
export type RecordingsAnswer = z.infer<typeof recordingsAnswer>
