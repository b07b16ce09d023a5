/**
 * What may stand in the address of each screen. Everything selected is in here, as text: a 64-bit offset in a URL must
 * survive to the digit, so the router's habit of reading search values as JSON numbers is switched off. A value that does
 * not parse is dropped, the screen shows its default, and a note says so (`onInvalid`): a link never blanks the page.
 */
import { z } from 'zod'
import { pollStrategy } from '../shared/inspection/polls.ts'

const decimalText = z.string().regex(/^(0|[1-9][0-9]{0,19})$/)
const nodeId = z.string().regex(/^([0-9]|[12][0-9]|3[01])$/)
const flag = z.literal('1')
const momentMs = z.string().regex(/^\d{1,14}(\.\d{1,3})?$/)

export const searchSchemas = {
  cluster: {
    plane: z.enum(['metadata', 'partitions']),
    group: decimalText,
    node: nodeId,
    /** What stands beside the ring: the nodes, or their links, or the cluster as a whole. */
    side: z.enum(['links', 'cluster']),
    table: flag,
    /** What each invariant was checked on is shown. */
    rules: flag,
  },
  load: { table: flag },
  bench: { run: z.string().regex(/^[0-9a-f]{12}$/) },
  wal: {
    group: decimalText,
    op: decimalText,
    slot: z.string().regex(/^(0|[1-9][0-9]{0,6})$/),
    field: z.string().regex(/^[a-zA-Z0-9_.]{1,64}$/),
  },
  clients: {
    client: z.string().regex(/^[0-9a-f]{1,32}$/),
    q: z.string().max(64),
    sort: z.enum(['eviction', 'slot']),
    /** Number of a request that comes again. */
    request: decimalText,
  },
  node: {
    tab: z.enum(['status', 'wal', 'clients', 'boot', 'disk', 'log']),
    group: decimalText,
    /** Of the files, only those that changed. */
    only: flag,
  },
  partitions: { q: z.string().max(255), sort: z.enum(['group', 'name', 'offsets', 'lag']) },
  partition: {
    node: nodeId,
    seg: decimalText,
    /** Byte position of the selected batch in its segment file. */
    batch: decimalText,
    offset: decimalText,
    /** Name of the selected field of the batch. */
    field: z.string().regex(/^[a-zA-Z0-9_.]{1,64}$/),
    /** Bytes shown by the lens, and where it starts. */
    span: decimalText,
    from: decimalText,
    tab: z.enum(['bytes', 'messages', 'decoded']),
    table: flag,
    /** First byte shown of a long batch, counted from its beginning. */
    byte: decimalText,
    /** What stands below the chain on the left, when it is not the batches. */
    pane: z.enum(['poll', 'consumers', 'compare']),
    /** How messages are polled: strategy, its offset or microseconds, how many, and for whom. */
    by: pollStrategy,
    value: decimalText,
    count: z.string().regex(/^([1-9][0-9]?|100)$/),
    consumer: z.string().min(1).max(255),
    /** Offset of the polled message that is open. */
    msg: decimalText,
  },
  superblocks: {
    group: decimalText,
    node: nodeId,
    /** Two nodes, whose records of the group are laid side by side. */
    compare: z.string().regex(/^([0-9]|[12][0-9]|3[01]),([0-9]|[12][0-9]|3[01])$/),
    field: z.string().regex(/^[a-zA-Z0-9_.]{1,64}$/),
    only: z.enum(['unreadable']),
  },
  forwards: {
    outcome: z.enum(['accepted', 'refused', 'unknown', 'waiting']),
    /** Nonce of the selected forward, hex. */
    id: z.string().regex(/^[0-9a-f]{1,32}$/),
  },
  recoveries: { run: z.string().regex(/^R-[0-9]{1,6}$/) },
  timeline: {
    group: z.string().regex(/^(all|0|[1-9][0-9]{0,19})$/),
    q: z.string().max(255),
    /** Families of kinds that are shown, and how many of the newest events. */
    kinds: z.string().regex(/^[a-z,]{0,80}$/),
    newest: z.enum(['1000', '5000']),
    quiet: z.enum(['shown']),
    /** The stretch of time that is shown, in milliseconds since 1970; open at an end that is not named. */
    from: momentMs,
    to: momentMs,
    /** Reporter, boot and number of the selected event: names it for good. */
    sel: z.string().regex(/^\d{1,3}\.[\w-]{1,64}\.\d{1,16}$/),
    table: flag,
  },
  recordings: {},
  drills: {},
  drill: {
    world: z.enum(['sim', 'real']),
    broken: flag,
    seed: decimalText,
    /** Predictions made, by index. */
    predict: z.string().regex(/^\d{1,2}(,\d{1,2})*$/),
    /** Run that is shown; without it the newest. `new`: none, to predict anew. */
    run: z.string().regex(/^([1-9][0-9]{0,8}|new)$/),
    /** Key of the evidence that is open. */
    item: z.string().regex(/^[a-z0-9.]{1,32}$/),
    all: flag,
    present: flag,
    /** Another run that the one shown is compared with. */
    with: z.string().regex(/^[1-9][0-9]{0,8}$/),
    /** Moment of the run that its replay stands at; without it there is no replay. */
    at: z.string().regex(/^(decisive|0|[1-9]\d{0,5})$/),
  },
  settings: {},
} as const
export type ScreenName = keyof typeof searchSchemas
type Shape<S extends ScreenName> = (typeof searchSchemas)[S]
export type Search<S extends ScreenName> = {
  readonly [K in keyof Shape<S>]?: z.infer<Shape<S>[K] & z.ZodType> | undefined
}

/** Understood on every screen: which recording is watched, and which moment (a console sequence, and microseconds). */
const everywhere = {
  rec: z.string().regex(/^([0-9a-f]{1,32}|file-[0-9a-f]{12})$/),
  at: z.string().regex(/^\d{1,16}(\.\d{1,12})?$/),
}
export interface Everywhere {
  readonly rec?: string | undefined
  readonly at?: string | undefined
}
/** The theme is consumed at boot. */
const GLOBAL = new Set(['theme', ...Object.keys(everywhere)])

export function parseEverywhere(raw: Record<string, unknown>): Everywhere {
  const [rec, at] = [everywhere.rec.safeParse(raw.rec), everywhere.at.safeParse(raw.at)]
  return { ...(rec.success && { rec: rec.data }), ...(at.success && { at: at.data }) }
}

export interface InvalidSearch {
  readonly screen: ScreenName
  readonly key: string
  readonly value: string
}

/**
 * Parses the search of one screen. Unknown and invalid parameters are reported, and set to undefined rather than left out:
 * the router lays this over the raw search, where they would otherwise shine through.
 */
export function parseSearch<S extends ScreenName>(
  screen: S,
  raw: Record<string, unknown>,
  onInvalid: (note: InvalidSearch) => void = () => {},
): Search<S> {
  const shape = searchSchemas[screen] as Record<string, z.ZodType>
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(raw)) {
    if (value === undefined || GLOBAL.has(key)) continue
    const schema = Object.hasOwn(shape, key) ? shape[key] : undefined
    const parsed = schema?.safeParse(value)
    if (parsed?.success) result[key] = parsed.data
    else {
      result[key] = undefined
      onInvalid({ screen, key, value: String(value).slice(0, 80) })
    }
  }
  return result as Search<S>
}

/** Search text to record and back: strings only, the first of a repeated key wins. */
export function readSearch(text: string): Record<string, string> {
  const values = new Map<string, string>()
  for (const [key, value] of new URLSearchParams(text)) if (!values.has(key)) values.set(key, value)
  // From entries, because assigning would drop a parameter called __proto__.
  return Object.fromEntries(values)
}
export function writeSearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries(search)) if (value !== undefined) params.set(key, String(value))
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}
