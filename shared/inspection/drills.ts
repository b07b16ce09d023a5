/** What the console says of crash drills and their runs. */
import { z } from 'zod'
import { groupSummary } from './snapshots.ts'

export const drillVerdict = z.enum(['pass', 'fail', 'unknown'])
export const drillWorld = z.enum(['sim', 'real'])
/** `waiting`: before the next step of a run that goes step by step. `failed`: the run itself broke, and `error` says how. */
export const drillRunState = z.enum(['running', 'waiting', 'cancelling', 'done', 'cancelled', 'failed'])

export const startDrill = z.object({
  drill: z.string().regex(/^D\d{2}$/),
  world: drillWorld.default('sim'),
  broken: z.boolean().default(false),
  /** Of the simulated world; default: the drill's own. */
  seed: z
    .string()
    .regex(/^(0|[1-9]\d{0,18})$/)
    .optional(),
  stepwise: z.boolean().default(false),
  /** Predictions that were made, by their index. */
  predicted: z.array(z.number().int().min(0).max(99)).max(100).default([]),
  /** In the simulator: this many seeds, from `seed` (default 1) on, one after the other. */
  seeds: z.number().int().min(2).max(1_000).optional(),
  /** Nothing is run: the cluster of the drill is started, and waits for acts by hand. */
  free: z.boolean().default(false),
  /** Ends when nobody follows `/watch` of it for 6 s: for whoever may go away without a word. */
  watched: z.boolean().default(false),
})
export type StartDrill = z.input<typeof startDrill>

export const drillRunSummary = z.object({
  run: z.number().int(),
  drill: z.string(),
  world: drillWorld,
  broken: z.boolean(),
  /** By hand: nothing was asked, so a verdict is the checkers' alone. */
  free: z.boolean(),
  seed: z.string(),
  state: drillRunState,
  /** Null until it is done; a run that was cancelled has none. */
  verdict: drillVerdict.nullable(),
  /** A drill passes; with its rule off, the named checker objects. */
  asExpected: z.boolean().nullable(),
  /** Of the world's own time; of many seeds, of the wall. */
  tookMs: z.number(),
  /** Of a run over many seeds. What else is said of it is said of the first red one, or of the last. */
  sweep: z
    .object({
      total: z.number().int(),
      done: z.number().int(),
      /** Seeds that did not go as they must, and how each is run again. */
      red: z.array(z.object({ seed: z.string(), verdict: drillVerdict, what: z.string(), command: z.string() })),
    })
    .nullable(),
})
export type DrillRunSummary = z.infer<typeof drillRunSummary>

const node = z.number().int().min(0).max(31)
/** One act by hand. */
export const freeAct = z.discriminatedUnion('act', [
  z.object({ act: z.enum(['start', 'kill', 'terminate', 'pause', 'resume', 'wipe', 'undo']), node }),
  z.object({ act: z.literal('send'), payload: z.string().min(1).max(200) }),
  z.object({ act: z.enum(['read', 'rest']) }),
  z.object({ act: z.literal('pass'), ms: z.number().int().min(1).max(60_000) }),
  z.object({ act: z.enum(['cut', 'heal']), from: node, to: node }),
  z.object({
    act: z.literal('edit'),
    node,
    how: z.enum(['cut here', 'flip', 'zero', 'write', 'append', 'delete', 'copy', 'swap', 'reseal']),
    /** `log:chunk[3].body+17`, `wal:op[12].header.commit`, `sb:newest.payload.view`, … */
    at: z.string().max(200),
    value: z.string().max(20_000).default(''),
  }),
])
export type FreeActBody = z.input<typeof freeAct>

/** Where an edit would be made, and what stands there. */
export const drillPlace = z.object({
  path: z.string(),
  at: z.number().int(),
  fileBytes: z.number().int(),
  bytes: z.string(),
})

const fileState = z.object({ bytes: z.number().int(), hash: z.string() }).nullable()
const surgeryRecord = z.object({
  node,
  path: z.string(),
  edit: z.string(),
  before: fileState,
  after: fileState,
  /** First byte that differs, and what stood and stands from there on, hex. */
  at: z.number().int(),
  from: z.string(),
  to: z.string(),
  undone: z.boolean(),
})

const stepLine = z.object({ text: z.string(), count: z.number().int() })

export const drillSummary = z.object({
  id: z.string(),
  title: z.string(),
  teaches: z.string(),
  lesson: z.string(),
  worlds: z.array(drillWorld),
  rule: z.string(),
  /** Newest run of it that was not cancelled. */
  last: drillRunSummary.nullable(),
})
export const drillsAnswer = z.object({
  drills: z.array(drillSummary),
  /** The run that is going on. */
  active: z.number().int().nullable(),
  /** What an earlier console had left of a run, and what became of it. */
  cleaned: z.string().nullable(),
})
export type DrillsAnswer = z.infer<typeof drillsAnswer>

export const drillDetail = drillSummary.omit({ last: true }).extend({
  goal: z.string(),
  look: z.string(),
  whySafe: z.string(),
  predictions: z.array(z.string()),
  noticedBy: z.string(),
  brokenStory: z.string(),
  /** In words of the scenario: the finding at whose moment the lesson is visible. */
  decisive: z.string(),
  steps: z.object({ sim: z.array(stepLine), real: z.array(stepLine), broken: z.array(stepLine) }),
})
export type DrillDetail = z.infer<typeof drillDetail>

export const drillRunStep = stepLine.extend({
  state: z.enum(['ahead', 'waiting', 'now', 'done', 'stopped', 'not_reached']),
  tookMs: z.number().nullable(),
})
export const drillFinding = z.object({
  key: z.string(),
  what: z.string(),
  verdict: drillVerdict,
  seen: z.string(),
  atMs: z.number(),
  /** Index of its step in `steps`; null: one of the checks at the end. */
  step: z.number().int().nullable(),
  /** What was asked, in words and as it stands in the scenario; null: an action that could not be done. */
  asked: z.object({ text: z.string(), exact: z.string() }).nullable(),
  /** What was found, as JSON; null until the run has ended. */
  found: z.string().nullable(),
})
export type DrillFinding = z.infer<typeof drillFinding>
export const drillRun = drillRunSummary.extend({
  stepwise: z.boolean(),
  /** Of a run that goes on by hand: what each node is and, without a process, its files. */
  nodes: z.array(
    z.object({
      node,
      state: z.enum(['running', 'stopped', 'paused', 'crashed', 'refused']),
      files: z.array(z.object({ path: z.string(), bytes: z.number().int() })),
    }),
  ),
  /** What was done to files, with what stood there before. */
  surgery: z.array(surgeryRecord),
  startedWallUs: z.string(),
  steps: z.array(drillRunStep),
  findings: z.array(drillFinding),
  predictions: z.array(
    z.object({
      text: z.string(),
      chosen: z.boolean(),
      /** Whether it came so; null: this run says nothing about it. */
      cameTrue: z.boolean().nullable(),
    }),
  ),
  error: z.string().nullable(),
})
export type DrillRunAnswer = z.infer<typeof drillRun>
export const drillRunsAnswer = z.object({ runs: z.array(drillRunSummary) })

/** A run as it went, moment by moment, and the moment that decided its verdict. */
export const drillReplay = z.object({
  run: z.number().int(),
  nodes: z.number().int(),
  moments: z.array(
    z.object({
      /** Of the world's own time. */
      atMs: z.number(),
      /** The node it is about; absent: what was done or found. */
      node: z.number().int().optional(),
      /** Something that was done, that a node told, that became of its process, or that was judged. */
      is: z.enum(['step', 'event', 'life', 'finding']),
      text: z.string(),
      tone: z.enum(['plain', 'good', 'change', 'bad']),
      /** Of the finding that was made. */
      key: z.string().optional(),
      /** What had become of each node. */
      states: z.array(z.enum(['running', 'stopped', 'paused', 'crashed', 'refused'])),
    }),
  ),
  /** From this moment on a file has so many bytes; null: it is gone. In order. */
  files: z.array(z.object({ at: z.number().int(), node, path: z.string(), bytes: z.number().int().nullable() })),
  /** What clients were told of messages by this moment; a purge has the topic alone. In order. */
  told: z.array(
    z.object({
      at: z.number().int(),
      told: z.enum(['acked', 'read', 'purged']),
      partition: z.string(),
      offsets: z.array(z.string()),
    }),
  ),
  /** From this moment on a node says this of its groups, the metadata group first; null: it does not answer. In order. */
  standings: z.array(
    z.object({
      at: z.number().int(),
      node,
      groups: z
        .array(
          groupSummary
            .pick({
              status: true,
              role: true,
              view: true,
              logView: true,
              viewDurable: true,
              logViewDurable: true,
              op: true,
              commitMin: true,
            })
            .extend({ group: z.string(), next: z.string().optional(), persisted: z.string().optional() }),
        )
        .nullable(),
    }),
  ),
  /** Index of the moment that decided. */
  decisive: z.number().int(),
  /** What was not kept, since the run told more than is kept of one. */
  omitted: z.number().int(),
})
export type DrillReplay = z.infer<typeof drillReplay>

const seenKill = z.object({
  nodes: z.number().int(),
  node,
  /** Of the metadata group, before the kill. */
  view: z.number().int(),
  primary: node.nullable(),
  /** Who leads since, in which view, and how soon; null: nobody new, or not yet. */
  leader: node.nullable(),
  newView: z.number().int().nullable(),
  electedAfterMs: z.number().nullable(),
  /** When it served again; null: not yet. */
  backAfterMs: z.number().nullable(),
})
export const lastKill = z.object({ kill: seenKill.nullable() })
export const searchNearest = z.object({ seeds: z.number().int().min(1).max(100).default(12) })
/** The seed whose run comes nearest to the last kill, and the script that it runs. */
export const nearestSeed = z.object({
  kill: seenKill,
  tried: z.number().int(),
  seed: z.string(),
  leader: node.nullable(),
  newView: z.number().int().nullable(),
  electedAfterMs: z.number().nullable(),
  /** The scenario as JSON; `command` runs it from a file `kill.json`. */
  script: z.string(),
  command: z.string(),
})
export type NearestSeed = z.infer<typeof nearestSeed>
