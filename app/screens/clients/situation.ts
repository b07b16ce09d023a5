/** The first sentences of the clients screen. Pure. */
import { STALE_MS } from '../../ui/age.tsx'
import { ageText, count, visible } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'
import { differences, leadingTable, type SessionRow, type TableOf } from './sessions.ts'

const listOf = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`

/** `missing`: nodes that have not answered, each with what it does instead. `ageMs`: of the oldest answer. */
export function clientsSituation(
  rows: readonly SessionRow[],
  tables: readonly TableOf[],
  missing: readonly string[],
  ageMs = 0,
): NowWords {
  const nodes = tables.map(({ node }) => node)
  const unheard = missing.length === 0 ? '' : ` ${listOf(missing)}.`
  const base = {
    label: ageMs > STALE_MS ? `Client table, as it was ${ageText(ageMs)} ago` : 'Client table',
    why: 'Each session keeps its highest request number and up to five replies, so that a retried request runs once.',
  } as const
  if (tables.length === 0)
    return {
      ...base,
      tone: 'plain',
      glyph: 'unknown',
      colour: 'none',
      what: 'No node shows its table now.',
      why: missing.length === 0 ? base.why : `A table is in the memory of a process:${unheard}`,
      next: 'A node that starts fills its table from its snapshot and its log.',
    }
  const lead = leadingTable(tables)!
  const free = lead.snapshot.slots - lead.snapshot.table.length
  const next =
    rows.length === 0
      ? 'A client that signs in gets a session: the op of its Register is its number.'
      : free > 0
        ? `${count(free, 'slot')} ${free === 1 ? 'is' : 'are'} free; only a full table lets a session go.`
        : `The next new client pushes out ${visible(rows[0]!.client)}: its newest reply is the oldest.`
  const differing = rows.filter(row => differences(row, nodes).size > 0)
  if (differing.length > 0)
    return {
      ...base,
      tone: 'change',
      glyph: 'change',
      colour: 'change',
      what: `${count(differing.length, 'session')} ${differing.length === 1 ? 'differs' : 'differ'} between nodes now.`,
      why: `Answers are taken one after the other, and a node that is behind has not applied what the others have; once still, all tables are equal.${unheard}`,
      next,
    }
  return {
    ...base,
    tone: missing.length === 0 ? 'good' : 'plain',
    glyph: 'ok',
    colour: 'ok',
    what:
      rows.length === 0
        ? 'No session was registered yet.'
        : `${count(rows.length, 'session')}, ${nodes.length === 1 ? `as node-${nodes[0]} alone has them` : `the same on ${listOf(nodes.map(node => `node-${node}`))}`}.`,
    why: `${base.why}${unheard}`,
    next,
  }
}
