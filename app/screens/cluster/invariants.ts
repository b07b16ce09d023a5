/**
 * What must hold whatever fails, as the page can check it: each rule with what it was checked on, and never a tick for
 * what nobody looked at. Pure.
 */
import type { LoadState } from '../../../shared/inspection/api.ts'
import type { Broken, BrokenRule } from '../../../shared/inspection/invariants.ts'
import { type ClusterView, msOf } from '../../../shared/inspection/view.ts'
import { groupName } from '../../names.ts'
import { clockShort, count, grouped } from '../../ui/format.ts'
import type { Look } from '../../ui/states.ts'

export type Verdict = 'holds' | 'broken' | 'unknown'

export interface Invariant {
  readonly id: BrokenRule | 'prefix' | 'acked'
  readonly name: string
  readonly verdict: Verdict
  /** Who said so, on what, and when. */
  readonly words: string
}

export const VERDICT_LOOK: Readonly<Record<Verdict, Look>> = {
  holds: { glyph: 'ok', colour: 'ok', word: 'holds' },
  broken: { glyph: 'fail', colour: 'danger', word: 'broken' },
  unknown: { glyph: 'unknown', colour: 'none', word: 'not known' },
}

/** The log of one replica as it answered: checksums of the ops that it has committed. */
export interface ReportedLog {
  readonly node: number
  readonly atMs: number
  readonly committed: ReadonlyMap<bigint, string>
}

export interface PrefixVerdict {
  readonly verdict: Verdict
  readonly words: string
}

/** Every op that two replicas have committed is the same request in both. */
export function comparePrefixes(logs: readonly ReportedLog[], group: string): PrefixVerdict {
  const name = groupName(group)
  const nodes = logs.map(log => `node-${log.node}`).join(', ')
  if (logs.length < 2)
    return { verdict: 'unknown', words: `${name}: two nodes must answer before logs can be compared` }
  const first = new Map<bigint, { readonly node: number; readonly checksum: string }>()
  let compared = 0
  let highest = 0n
  for (const { node, committed } of logs)
    for (const [op, checksum] of committed) {
      const known = first.get(op)
      if (!known) first.set(op, { node, checksum })
      else {
        if (known.checksum !== checksum)
          return {
            verdict: 'broken',
            words: `${name}: op ${grouped(op)} is ${known.checksum} at node-${known.node} and ${checksum} at node-${node}`,
          }
        compared++
        if (op > highest) highest = op
      }
    }
  const at = clockShort(Math.min(...logs.map(log => log.atMs)))
  return compared === 0
    ? { verdict: 'unknown', words: `${name}: ${nodes} hold no committed op in common, at ${at}` }
    : {
        verdict: 'holds',
        words: `${name}: ${count(compared, 'comparison')} up to op ${grouped(highest)} by checksum; ${nodes} at ${at}`,
      }
}

const RULES: readonly { readonly id: BrokenRule; readonly name: string }[] = [
  { id: 'commit', name: 'commit only grows' },
  { id: 'view', name: 'view only grows' },
  { id: 'primary', name: 'one primary a view' },
]

export function invariantsOf(view: ClusterView, prefix: PrefixVerdict): readonly Invariant[] {
  const broken = [...view.groups.values()].flatMap(({ group, broken = [] }) => broken.map(one => ({ group, ...one })))
  const heard = [...view.nodes.values()].filter(node => node.snapshot !== undefined).length
  const watched = RULES.map(({ id, name }): Invariant => {
    const [first] = broken.filter(one => one.rule === id).sort((a, b) => a.atMs - b.atMs)
    if (first) return { id, name, verdict: 'broken', words: brokenWords(first) }
    return heard === 0
      ? { id, name, verdict: 'unknown', words: 'no node was heard yet' }
      : {
          id,
          name,
          verdict: 'holds',
          words: `in all that ${count(heard, 'node')} told of ${count(view.groups.size, 'group')}, as far as this page has it`,
        }
  })
  return [
    ...watched,
    { id: 'prefix', name: 'prefixes equal', ...prefix },
    { id: 'acked', name: 'acked is held', ...ackedOf(view.load) },
  ]
}

const brokenWords = ({ group, words, atMs }: Broken & { readonly group: string }): string =>
  `${groupName(group)}: ${words}, ${clockShort(atMs)}`

function ackedOf(load: LoadState | undefined): PrefixVerdict {
  if (!load || load.run === null || load.ledger.acked === 0)
    return { verdict: 'unknown', words: 'no load had anything acknowledged' }
  const { acked, readBack, lost, corrupt, duplicate } = load.ledger
  const by = `load client at ${clockShort(msOf(load.takenWallUs))}`
  const wrong = [
    lost > 0 && `${grouped(lost)} lost`,
    corrupt > 0 && `${grouped(corrupt)} changed`,
    duplicate > 0 && `${grouped(duplicate)} twice`,
  ].filter(Boolean)
  if (wrong.length > 0)
    return { verdict: 'broken', words: `of ${grouped(acked)} acknowledged: ${wrong.join(', ')}; ${by}` }
  return readBack === 0
    ? { verdict: 'unknown', words: `nothing of ${grouped(acked)} acknowledged was read back yet; ${by}` }
    : { verdict: 'holds', words: `${grouped(readBack)} of ${grouped(acked)} acknowledged were read back equal; ${by}` }
}
