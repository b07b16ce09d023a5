/** The first sentence of a node: what its process is doing, why, and what brings it on. Pure. */
import { majorityOf, replicaIds, standingOf } from '../../../shared/inspection/belief.ts'
import { type ClusterView, msOf, type NodeView } from '../../../shared/inspection/view.ts'
import { groupName } from '../../names.ts'
import { count, duration, grouped, visible } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'

export function nodeSituation(view: ClusterView, node: NodeView, nowMs: number): NowWords {
  const { id, process } = node
  const label = `node-${id}`
  const since = process ? ` for ${duration(Math.max(0, nowMs - msOf(process.sinceWallUs)))}` : ''
  switch (process?.state) {
    case 'refused':
      return {
        tone: 'bad',
        glyph: 'refused',
        colour: 'danger',
        label,
        what: `node-${id} refused to boot.`,
        why: visible(process.refusal?.message ?? process.exit?.meaning ?? 'It did not say why.'),
        next: 'Nothing was written. Mend what it names, or wipe the node and let its peers refill it.',
      }
    case 'stopped':
    case 'crashed':
      return {
        tone: 'bad',
        glyph: 'down',
        colour: 'danger',
        label,
        what: `node-${id} is down${since}.`,
        why: visible(process.exit?.meaning ?? 'Its process was never started.'),
        next: 'Start it: it reads its disk back, asks for the view and fetches what it missed.',
      }
    case 'paused':
      return {
        tone: 'change',
        glyph: 'stopped',
        colour: 'change',
        label,
        what: `node-${id} is paused${since}.`,
        why: 'SIGSTOP holds its process; its memory is intact, and its peers take it for silent.',
        next: 'Resume it: it learns of any newer view with the next frame, and catches up.',
      }
    case 'starting':
      return {
        tone: 'recover',
        glyph: 'recover',
        colour: 'recover',
        label,
        what: `node-${id} is starting${since}.`,
        why: 'It reads its data directory back before it speaks.',
        next: `Then it asks its peers for the view; a majority of ${majorityOf(replicaIds(view).length)} settles it.`,
      }
  }
  const groups = [...view.groups.values()].filter(group => group.replicas.has(id))
  let leads = 0
  const unwell: { group: string; words: string; kind: string }[] = []
  for (const { group } of groups) {
    const standing = standingOf(view, group, id, nowMs)
    if (standing.kind === 'primary') leads += 1
    else if (standing.kind !== 'healthy') unwell.push({ group, words: standing.words, kind: standing.kind })
  }
  const first = unwell[0]
  if (first?.kind === 'silent' || groups.length === 0)
    return {
      tone: groups.length === 0 ? 'plain' : 'bad',
      glyph: 'unknown',
      colour: 'none',
      label,
      what: groups.length === 0 ? `node-${id} has not been heard yet.` : `node-${id} does not answer.`,
      why: 'Its process runs, and its inspection port says nothing.',
      next: 'What is shown is what it last said; it is asked again all the time.',
    }
  if (first)
    return {
      tone: 'recover',
      glyph: 'recover',
      colour: 'recover',
      label,
      what: `node-${id} is not well in ${count(unwell.length, 'group')} of ${grouped(groups.length)}.`,
      why: `${groupName(first.group)}: ${first.words}.`,
      next: 'It fetches what it lacks by itself, and neither votes nor leads on what it has not.',
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
