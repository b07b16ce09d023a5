/**
 * Messages as a client gets them, and what is stored of consumers: what the console's interface says of both (design.md §4,
 * spec wire.md §3.7, §3.8.3). 64-bit values are decimal text, bytes are hex.
 */
import { z } from 'zod'
import { decimal } from './envelope.ts'
import { reporter } from './snapshots.ts'

/** Messages of one poll. */
export const POLL_COUNT_MAX = 100
/** Bytes of each payload in the answer to a poll; the whole of one has a route of its own. */
export const PAYLOAD_SHOWN_BYTES = 4096
/** User headers are small pairs; more than this is left out and said so. */
export const HEADERS_SHOWN_BYTES = 4096
/** Files of consumers in one answer. */
export const CONSUMERS_MAX = 1000

export const pollStrategy = z.enum(['offset', 'timestamp', 'first', 'last', 'next'])
export type PollStrategyName = z.infer<typeof pollStrategy>

export const polledMessage = z.object({
  offset: decimal,
  /** Append time of the batch, microseconds. */
  timestampUs: decimal,
  originTimestampUs: decimal,
  /** Hex, 32 digits. */
  id: z.string(),
  checksum: z.string(),
  payloadBytes: z.number().int(),
  /** The first PAYLOAD_SHOWN_BYTES of it. */
  payloadHex: z.string(),
  headersBytes: z.number().int(),
  headersHex: z.string(),
})
export type PolledMessageJson = z.infer<typeof polledMessage>

export const polledAnswer = z.object({
  /** The node that the client is connected to: it serves the poll from what it knows to be committed. */
  servedBy: z.number().int(),
  /** When the answer was there, by the console's clock. */
  takenWallUs: decimal,
  /** Highest committed offset that this node knows; 0 also when nothing is there. */
  currentOffset: decimal,
  /** Of the consumer, at this node; null when nothing is stored. Only `next` looks at it. */
  storedOffset: decimal.nullable(),
  messages: z.array(polledMessage),
})
export type PolledAnswer = z.infer<typeof polledAnswer>

/** What is stored for a consumer says up to where it has read. `consumer`: a number, or a name (spec wire.md §3.7). */
export const storeOffsetBody = z.object({ consumer: z.string().min(1).max(255), offset: decimal })
export const storeOffsetResult = z.object({ consumer: z.number().int(), offset: decimal })

/**
 * The file of one consumer or group. `foreign`: its name is no number, so no boot looks at it; `no_file`: something else
 * than a file has its name. `torn` counts as nothing stored; `corrupt` is removed by the next boot.
 */
export const consumerVerdict = z.enum(['valid', 'legacy', 'torn', 'corrupt', 'foreign', 'no_file'])
export type ConsumerVerdict = z.infer<typeof consumerVerdict>
export const consumerFile = z.object({
  kind: z.enum(['consumer', 'group']),
  /** Name of the file: the number of the consumer or of the group. */
  name: z.string(),
  path: z.string(),
  verdict: consumerVerdict,
  offset: decimal.optional(),
  /** Of a corrupt one: the checksum that is stored, and the one that its offset has. */
  stored: z.string().optional(),
  computed: z.string().optional(),
})
export type ConsumerFile = z.infer<typeof consumerFile>

/** Read from the files of a node by the console, whether it runs or not. */
export const consumersAnswer = z.object({ reporter, total: z.number().int(), files: z.array(consumerFile) })
export type ConsumersAnswer = z.infer<typeof consumersAnswer>
