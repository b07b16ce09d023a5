/** Reports of benchmarks as tables: every figure that the command printed, none that it did not. Pure. */
import type { BenchReport, BenchRun } from '../../../shared/inspection/bench.ts'
import { duration } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'

export interface Figure {
  readonly arm: string
  readonly name: string
  readonly value: string
}

/** What names an arm, in the order in which the suites use them. */
const NAMES = ['case', 'name', 'after'] as const

export const armName = (arm: Record<string, unknown>, index: number): string => {
  const key = NAMES.find(name => typeof arm[name] === 'string')
  return key === undefined ? `arm ${index + 1}` : String(arm[key])
}

/** Leaves of an arm by path; lists of numbers stay together, for they are the spread. */
export function figuresOf(report: BenchReport): Figure[] {
  return report.arms.flatMap((arm, index) => {
    const name = armName(arm, index)
    const figures: Figure[] = []
    const visit = (path: string, value: unknown): void => {
      if (Array.isArray(value) && value.every(item => typeof item !== 'object' || item === null))
        figures.push({ arm: name, name: path, value: value.join(', ') })
      else if (Array.isArray(value))
        value.forEach((item, at) => {
          visit(`${path} ${nameOf(item) ?? at + 1}`, item)
        })
      else if (typeof value === 'object' && value !== null)
        for (const [key, item] of Object.entries(value)) visit(path === '' ? key : `${path}.${key}`, item)
      else if (path !== '' && !(NAMES as readonly string[]).includes(path.split('.').at(-1)!))
        figures.push({ arm: name, name: path, value: String(value) })
    }
    visit('', arm)
    return figures
  })
}

const nameOf = (item: unknown): string | undefined =>
  typeof item === 'object' && item !== null && typeof (item as { name?: unknown }).name === 'string'
    ? (item as { name: string }).name
    : undefined

/** The ratios of pairs of runs that an arm carries, with what they come to. */
export interface Ratios {
  readonly name: string
  readonly ratios: readonly number[]
  readonly ratio: number
  readonly interval: readonly [number, number]
}

export function ratiosOf(report: BenchReport): Ratios[] {
  return report.arms.flatMap((arm, index) => {
    const { ratios, ratio, interval } = arm
    if (typeof ratio !== 'number' || !isNumbers(ratios) || !isNumbers(interval) || interval.length !== 2) return []
    return [{ name: armName(arm, index), ratios, ratio, interval: [interval[0]!, interval[1]!] as const }]
  })
}
const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every(item => typeof item === 'number')

/** Share of a scale from nothing to its end, where 1 is marked: ratios are compared with one, so it is always on it. */
export const scaleEnd = (all: readonly Ratios[]): number =>
  Math.max(1.25, ...all.flatMap(({ ratios, interval }) => [...ratios, interval[1]])) * 1.05

/** One thing that a suite did or is at, and how much of it where the suite counts. */
export interface BenchStep {
  readonly words: string
  readonly count: { readonly done: number; readonly of: number } | undefined
}

const COUNTED = /\b(\d+)(?: of |\/)(\d+)\b/

/** From what the command says as it goes: a line is a step, an indented one a part of it that may say which of how many. */
export function stepsOf(lines: readonly string[]): BenchStep[] {
  const steps: { words: string; count: BenchStep['count'] }[] = []
  for (const line of lines) {
    if (line.trim() === '') continue
    const found = COUNTED.exec(line)
    const [at, of] = found ? [Number(found[1]), Number(found[2])] : [0, 0]
    const counted = found !== null && at <= of
    const last = steps.at(-1)
    if (/^\s/.test(line)) {
      // A part is told when it is over.
      if (last && counted) last.count = { done: at, of }
      continue
    }
    const words = counted ? line.replace(COUNTED, '').trim() : line.trim()
    // The same step again, its next part begun.
    if (last && counted && last.words === words) last.count = { done: at - 1, of }
    else steps.push({ words, count: counted ? { done: at - 1, of } : undefined })
  }
  return steps
}

const LABEL = 'Benchmarks'
const SAFE =
  'Each is the command itself, in a process and a directory of its own, on nodes of its own: this cluster is not touched.'

export function benchSituation(run: BenchRun | undefined): NowWords {
  const next = 'Choose a suite and run it; stop the load first, or the machine counts as busy.'
  if (!run)
    return {
      tone: 'plain',
      glyph: 'absent',
      colour: 'none',
      label: LABEL,
      what: 'Nothing was measured here yet.',
      why: SAFE,
      next,
    }
  const name = `bench ${run.suite}, ${run.size}`
  switch (run.state) {
    case 'running':
    case 'cancelling':
      return {
        tone: 'plain',
        glyph: 'prepared',
        colour: 'none',
        label: LABEL,
        what: run.state === 'running' ? `${name}: running for ${duration(run.tookMs)}.` : `${name}: ending.`,
        why: run.lines.at(-1)?.trim() ?? 'It looks whether the machine is quiet.',
        next:
          run.expectedMs === null
            ? 'How long it takes is not known: it never ran to its end here.'
            : `The last one took ${duration(run.expectedMs)}.`,
      }
    case 'refused':
      return {
        tone: 'change',
        glyph: 'stopped',
        colour: 'change',
        label: LABEL,
        what: 'Nothing was measured: the machine is busy.',
        why: run.error?.message ?? '',
        next: 'Wait until it is quiet, or measure all the same; the report will say that it was forced.',
      }
    case 'failed':
      return {
        tone: 'bad',
        glyph: 'fail',
        colour: 'danger',
        label: LABEL,
        what: `${name} ended without a report.`,
        why: run.error ? `${run.error.code}: ${run.error.message}` : '',
        next,
      }
    case 'cancelled':
      return {
        tone: 'plain',
        glyph: 'stopped',
        colour: 'none',
        label: LABEL,
        what: `${name} was cancelled.`,
        why: 'A run that was cut short has no figures.',
        next,
      }
    case 'done': {
      const bad = run.report?.findings.filter(finding => !finding.ok) ?? []
      const ok = run.report?.ok === true
      return {
        tone: ok ? 'good' : 'bad',
        glyph: ok ? 'ok' : 'fail',
        colour: ok ? 'ok' : 'danger',
        label: LABEL,
        what: ok
          ? `${name}: every figure is within its bounds.`
          : bad.length > 0
            ? `${name}: ${bad.map(finding => finding.name).join(', ')} out of bounds.`
            : `${name}: a figure is out of its bounds.`,
        why: run.report?.forced
          ? 'It was forced on a busy machine: the figures are worth less.'
          : run.size === 'quick'
            ? 'A quick run: few and short samples; the full one is what bounds are made for.'
            : SAFE,
        next,
      }
    }
  }
}
