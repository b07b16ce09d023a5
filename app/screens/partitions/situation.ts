/** The first sentence of the partitions: who is led by whom, and the gravest exception to it. Pure. */
import { primaryOf, replicaIds, standingOf } from '../../../shared/inspection/belief.ts'
import type { ClusterView, GroupView } from '../../../shared/inspection/view.ts'
import { byGroup, groupName } from '../../names.ts'
import { count, grouped } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'

const LABEL = 'Partitions plane'

/** @param groups every partition group, whatever the list is filtered by */
export function partitionsSituation(view: ClusterView, groups: readonly GroupView[], nowMs: number): NowWords {
  if (view.nodes.size === 0)
    return {
      tone: 'plain',
      glyph: 'unknown',
      colour: 'none',
      label: LABEL,
      what: 'Waiting for the first word of a node.',
      why: 'Nobody has said which partitions there are.',
      next: 'They appear as soon as a node names its groups.',
    }
  if (groups.length === 0)
    return {
      tone: 'plain',
      glyph: 'absent',
      colour: 'none',
      label: LABEL,
      what: 'There is no partition yet.',
      why: 'A partition group begins when a topic is created.',
      next: 'Start the load: it creates the topic load/steady with three partitions.',
    }
  const leads = new Map<number, number>()
  const headless: { group: string; words: string }[] = []
  let behind = 0
  let first: { group: string; node: number; words: string } | undefined
  const unwell = new Set<number>()
  for (const { group } of [...groups].sort((a, b) => byGroup(a.group, b.group))) {
    const verdict = primaryOf(view, group, nowMs)
    if (verdict.kind === 'none') headless.push({ group, words: verdict.words })
    else leads.set(verdict.node, (leads.get(verdict.node) ?? 0) + 1)
    for (const node of replicaIds(view)) {
      const standing = standingOf(view, group, node, nowMs)
      if (standing.kind === 'healthy' || standing.kind === 'primary') continue
      behind += 1
      unwell.add(node)
      first ??= { group, node, words: standing.words }
    }
  }
  const leaders = [...leads]
    .sort(([a], [b]) => a - b)
    .map(([node, groupsLed]) => `node-${node} leads ${grouped(groupsLed)}`)
    .join(', ')
  const all = count(groups.length, 'partition')
  const led = groups.length === 1 ? 'The one partition is led' : `All ${all} are led`
  if (headless.length > 0)
    return {
      tone: 'change',
      glyph: 'change',
      colour: 'change',
      label: LABEL,
      what: `${grouped(headless.length)} of ${all} without a primary.`,
      why: `${groupName(headless[0]!.group)}: ${headless[0]!.words}.`,
      next:
        leaders === '' ? 'Nothing is written until somebody leads.' : `The others are served meanwhile: ${leaders}.`,
    }
  if (first) {
    const where =
      unwell.size === 1 && behind > 1
        ? `All of them are on node-${first.node}, the first in`
        : `First of them: node-${first.node} in`
    return {
      tone: 'recover',
      glyph: 'recover',
      colour: 'recover',
      label: LABEL,
      what: `${led}; ${count(behind, 'copy is', 'copies are')} not well.`,
      why: `${leaders}. ${where} ${groupName(first.group)}, ${first.words}.`,
      next: 'A copy that is behind fetches what it lacks by itself; one whose node does not run waits for its start.',
    }
  }
  return {
    tone: 'good',
    glyph: 'ok',
    colour: 'ok',
    label: LABEL,
    what: `${led}, and every copy is well.`,
    why: `Each is a consensus group of its own: ${leaders}.`,
    next: 'Open one: its segments to scale, its index, its batches, and the bytes of each.',
  }
}
