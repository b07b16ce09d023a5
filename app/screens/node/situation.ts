/** The first sentence of a node: what its process is doing, why, and what brings it on. Pure. */
import { standingOf } from '../../../shared/inspection/belief.ts'
import type { ClusterView, NodeView } from '../../../shared/inspection/view.ts'
import { groupName } from '../../names.ts'
import {
  byGravity,
  type Place,
  processTrouble,
  sentence,
  type Trouble,
  troubleOf,
  troubleWords,
} from '../../standing-words.ts'
import { count, grouped } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'

export function nodeSituation(view: ClusterView, node: NodeView, nowMs: number): NowWords {
  const { id } = node
  const label = `node-${id}`
  const process = processTrouble(node)
  if (process !== undefined) return { label, ...troubleWords(view, id, process, nowMs) }
  const groups = [...view.groups.values()].filter(group => group.replicas.has(id))
  let leads = 0
  const unwell: (Place & { readonly trouble: Trouble })[] = []
  for (const { group } of groups) {
    const standing = standingOf(view, group, id, nowMs)
    const trouble = troubleOf(node, standing)
    if (standing.kind === 'primary') leads += 1
    if (trouble !== undefined) unwell.push({ group, trouble, standing })
  }
  if (groups.length === 0) return { label, ...troubleWords(view, id, 'unheard', nowMs) }
  const [first] = unwell.sort((one, other) => byGravity(one.trouble, other.trouble))
  if (first) {
    const words = troubleWords(view, id, first.trouble, nowMs, first)
    if (first.trouble === 'silent' || first.trouble === 'unheard') return { label, ...words }
    return {
      ...words,
      label,
      what: `node-${id} is not well in ${count(unwell.length, 'group')} of ${grouped(groups.length)}.`,
      why: `${groupName(first.group)}: ${sentence(first.standing.words)} ${words.why}`.trim(),
    }
  }
  return {
    tone: 'good',
    glyph: 'ok',
    colour: 'ok',
    label,
    what: `node-${id} is well in ${groups.length === 1 ? 'its group' : `all its ${grouped(groups.length)} groups`}.`,
    why:
      leads === 0
        ? 'It leads none: it acknowledges what the primaries send, once it is on its log.'
        : leads === groups.length
          ? 'It leads every one of them.'
          : `It leads ${count(leads, 'group')} and is a backup in ${grouped(groups.length - leads)}.`,
    next:
      leads === 0
        ? 'Kill it, and nobody waits: the others are a majority.'
        : 'Kill it, and its groups elect when a heartbeat timer of a backup has run out.',
  }
}
