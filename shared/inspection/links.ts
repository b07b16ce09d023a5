/**
 * The links between the replicas as the console's proxies see them (design.md §4). A link is one TCP connection per pair;
 * each of its two ways has faults, held frames and counters of its own. Frames are named by their command.
 */
import { z } from 'zod'
import type { CommandName } from '../protocol/commands.ts'
import { decimal } from './envelope.ts'

/** Frames by which replicas elect a primary, and the name of the hold that lets a person step them. */
export const VOTES = ['StartViewChange', 'DoViewChange', 'StartView'] as const satisfies readonly CommandName[]
export const VOTES_HOLD = 'votes'

/** Absent: every frame. */
const commands = z.array(z.string()).optional()
/** How many more frames it takes; absent: no end. */
const left = z.number().int().nonnegative().optional()

export const linkFault = z.discriminatedUnion('fault', [
  z.object({ fault: z.literal('cut'), commands, left }),
  z.object({ fault: z.literal('hold'), name: z.string(), commands, left }),
  z.object({ fault: z.literal('double'), commands, left }),
  z.object({ fault: z.literal('delay'), ms: z.number(), jitterMs: z.number() }),
])
export type LinkFault = z.infer<typeof linkFault>

export const heldFrame = z.object({
  /** Number of this held frame on its way, for as long as the console runs. */
  number: z.number().int().positive(),
  hold: z.string(),
  command: z.string(),
  sizeBytes: z.number().int(),
  view: z.number().int(),
  op: decimal.optional(),
  group: decimal.optional(),
  /** As its sender counts. */
  link: z.object({ id: z.string(), ordinal: z.number().int().positive() }),
  sinceWallUs: decimal,
})
export type HeldFrame = z.infer<typeof heldFrame>

export const linkCounters = z.object({
  /** Arrived at the proxy, handshakes included. */
  frames: z.number().int(),
  bytes: z.number().int(),
  dropped: z.number().int(),
  doubled: z.number().int(),
  held: z.number().int(),
  released: z.number().int(),
  delayed: z.number().int(),
})
export type LinkCounters = z.infer<typeof linkCounters>

export const linkStatus = z.object({
  from: z.number().int(),
  to: z.number().int(),
  /** Port of the proxy; both ways of a link share it. */
  port: z.number().int(),
  /** A connection stands through the proxy and has shaken hands. */
  connected: z.boolean(),
  /** `from>to#connection`, as in the events of both nodes; null while there is none. */
  id: z.string().nullable(),
  faults: z.array(linkFault),
  heldFrames: z.array(heldFrame),
  counters: linkCounters,
})
export type LinkStatus = z.infer<typeof linkStatus>

export const linksAnswer = z.object({ takenWallUs: decimal, links: z.array(linkStatus) })
export type LinksAnswer = z.infer<typeof linksAnswer>

export const linkAction = z.enum(['cut', 'heal', 'delay', 'hold', 'double', 'release'])
export type LinkAction = z.infer<typeof linkAction>
