/** Benchmarks that the console runs: each is the command `bench SUITE --json`, and what is told of it is what it printed. */
import { z } from 'zod'
import { decimal } from './envelope.ts'

export const benchSuite = z.enum(['persist', 'produce', 'recover', 'page', 'partitions'])
export type BenchSuite = z.infer<typeof benchSuite>
/** `quick`: a minute or so, to look; `full`: the figures of the command without options. */
export const benchSize = z.enum(['quick', 'full'])
export type BenchSize = z.infer<typeof benchSize>

export const startBench = z.object({
  suite: benchSuite,
  size: benchSize.default('quick'),
  /** On a busy machine too; the report says so. */
  force: z.boolean().default(false),
})
export type StartBench = z.input<typeof startBench>

export const benchFinding = z.object({ name: z.string(), ok: z.boolean(), text: z.string() })
/** What the command printed, as far as every suite has it; `arms` differ by suite. */
export const benchReport = z.object({
  ok: z.boolean(),
  findings: z.array(benchFinding).default([]),
  arms: z.array(z.record(z.string(), z.unknown())).default([]),
  ratio: z.number().optional(),
  interval: z.tuple([z.number(), z.number()]).optional(),
  ceiling: z.union([z.number(), z.record(z.string(), z.number())]).optional(),
  machine: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  before: z.object({ load: z.number(), cores: z.number(), jitter: z.number() }).optional(),
  loadAfter: z.number().optional(),
  forced: z.boolean().optional(),
})
export type BenchReport = z.infer<typeof benchReport>

export const benchRun = z.object({
  /** Random; names the run for good. */
  id: z.string().regex(/^[0-9a-f]{12}$/),
  suite: benchSuite,
  size: benchSize,
  force: z.boolean(),
  /** The same as a line of shell. */
  command: z.string(),
  /** `refused`: nothing was measured, the machine is busy. `failed`: it ended without a report. */
  state: z.enum(['running', 'cancelling', 'done', 'refused', 'cancelled', 'failed']),
  startedWallUs: decimal,
  tookMs: z.number(),
  /** How long the last finished run of the same suite and size took; null when there was none. */
  expectedMs: z.number().nullable(),
  /** What it has said, newest last. */
  lines: z.array(z.string()),
  report: benchReport.nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
})
export type BenchRun = z.infer<typeof benchRun>

/** Newest first. */
export const benchAnswer = z.object({ runs: z.array(benchRun) })
export type BenchAnswer = z.infer<typeof benchAnswer>
