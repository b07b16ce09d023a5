/** Stored offsets of all nodes beside each other, one row a consumer, and what each means for its reader. Pure. */
import type { ConsumerFile, ConsumersAnswer, ConsumerVerdict } from '../../../shared/inspection/polls.ts'

export interface ConsumerRow {
  readonly kind: ConsumerFile['kind']
  readonly name: string
  /** What each node has, in the order of the nodes; undefined where its files have none. */
  readonly files: readonly (ConsumerFile | undefined)[]
  /** Nodes do not agree: one is behind, or lacks it, or has damage. */
  readonly differs: boolean
}

/** @param answers of the nodes that could be read, each with its number */
export function consumerRows(
  answers: readonly { readonly node: number; readonly data: ConsumersAnswer | undefined }[],
): ConsumerRow[] {
  const rows = new Map<string, { kind: ConsumerFile['kind']; name: string }>()
  for (const { data } of answers)
    for (const { kind, name } of data?.files ?? []) rows.set(`${kind} ${name}`, { kind, name })
  return [...rows.values()]
    .map(({ kind, name }) => {
      const files = answers.map(({ data }) => data?.files.find(file => file.kind === kind && file.name === name))
      const said = files.filter((_, index) => answers[index]!.data !== undefined)
      const essence = (file: ConsumerFile | undefined) => `${file?.verdict} ${file?.offset}`
      return { kind, name, files, differs: said.some(file => essence(file) !== essence(said[0])) }
    })
    .sort((a, b) => (a.kind === b.kind ? byName(a.name, b.name) : a.kind < b.kind ? -1 : 1))
}

const isNumber = (name: string): boolean => /^\d{1,10}$/.test(name)
const byName = (a: string, b: string): number =>
  isNumber(a) && isNumber(b) ? Number(a) - Number(b) : Number(isNumber(b)) - Number(isNumber(a)) || (a < b ? -1 : 1)

/** Where a reader stands in a log that holds `first` up to `end` (exclusive). */
export type Standing =
  | { readonly kind: 'behind'; readonly by: bigint }
  | { readonly kind: 'at_end' }
  /** What it would read next is gone: it goes on at the earliest (G52). */
  | { readonly kind: 'below_earliest'; readonly skips: bigint }
  /** Past the end: nothing can be read there until the log has grown to it. */
  | { readonly kind: 'beyond'; readonly by: bigint }

export function standingOf(stored: bigint, first: bigint, end: bigint): Standing {
  const next = stored + 1n
  if (next < first) return { kind: 'below_earliest', skips: first - next }
  if (next > end) return { kind: 'beyond', by: next - end }
  return next === end ? { kind: 'at_end' } : { kind: 'behind', by: end - next }
}

export const CONSUMER_VERDICTS: Readonly<Record<ConsumerVerdict, string>> = {
  valid: 'checksum agrees',
  legacy: 'no checksum, older build',
  torn: 'torn: counts as none',
  corrupt: 'checksum differs',
  foreign: 'no number: never read',
  no_file: 'not a file',
}
