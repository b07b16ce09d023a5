/**
 * What is said of a node that is not well: what it is, why, and what brings it back, by its process and its standing in a
 * group. The first sentences of the cluster and of the node are made from it; each adds its own words. Pure.
 */
import { majorityOf, primaryOf, replicaIds, type Standing } from '../shared/inspection/belief.ts'
import { type ClusterView, msOf, type NodeView } from '../shared/inspection/view.ts'
import { duration, grouped, visible } from './ui/format.ts'
import type { NowWords } from './ui/now.tsx'

export type Trouble =
  | 'refused'
  | 'down'
  | 'paused'
  | 'starting'
  | 'tombstoned'
  | 'silent'
  | 'view_change'
  | 'recovering'
  | 'behind'
  | 'unheard'

/** The gravest first. */
const ORDER: readonly Trouble[] = [
  'tombstoned',
  'refused',
  'down',
  'silent',
  'paused',
  'starting',
  'view_change',
  'recovering',
  'behind',
  'unheard',
]
export const byGravity = (a: Trouble, b: Trouble): number => ORDER.indexOf(a) - ORDER.indexOf(b)

/** What keeps a node from serving, whatever the group; undefined while its process runs. */
export function processTrouble(node: NodeView | undefined): Trouble | undefined {
  switch (node?.process?.state) {
    case 'refused':
    case 'paused':
    case 'starting':
      return node.process.state
    case 'stopped':
    case 'crashed':
      return 'down'
    default:
      return undefined
  }
}

/** What is wrong with a node in one group; undefined where nothing is. */
export function troubleOf(node: NodeView | undefined, standing: Standing): Trouble | undefined {
  if (standing.kind === 'tombstoned') return 'tombstoned'
  const process = processTrouble(node)
  if (process !== undefined) return process
  switch (standing.kind) {
    case 'primary':
    case 'healthy':
      return undefined
    case 'unknown':
      return 'unheard'
    default:
      return standing.kind
  }
}

const LOOKS: Readonly<Record<Trouble, Pick<NowWords, 'tone' | 'glyph' | 'colour'>>> = {
  refused: { tone: 'bad', glyph: 'refused', colour: 'danger' },
  tombstoned: { tone: 'bad', glyph: 'refused', colour: 'danger' },
  down: { tone: 'bad', glyph: 'down', colour: 'danger' },
  silent: { tone: 'bad', glyph: 'unknown', colour: 'none' },
  paused: { tone: 'change', glyph: 'stopped', colour: 'change' },
  view_change: { tone: 'change', glyph: 'change', colour: 'change' },
  starting: { tone: 'recover', glyph: 'recover', colour: 'recover' },
  recovering: { tone: 'recover', glyph: 'recover', colour: 'recover' },
  behind: { tone: 'recover', glyph: 'recover', colour: 'recover' },
  unheard: { tone: 'plain', glyph: 'unknown', colour: 'none' },
}

/** How a node stands in the group that is spoken of. */
export interface Place {
  readonly group: string
  readonly standing: Standing
}

export function troubleWords(
  view: ClusterView,
  id: number,
  trouble: Trouble,
  nowMs: number,
  place?: Place,
): Omit<NowWords, 'label'> {
  const node = view.nodes.get(id)
  const process = node?.process
  const since = process ? ` for ${duration(Math.max(0, nowMs - msOf(process.sinceWallUs)))}` : ''
  const missing = place?.standing.gap ?? 0n
  const gap = missing > 0n ? `${grouped(missing)} ${missing === 1n ? 'op' : 'ops'}` : ''
  const look = LOOKS[trouble]
  const say = (what: string, why: string, next: string) => ({ ...look, what: `node-${id} ${what}.`, why, next })
  switch (trouble) {
    case 'refused':
      return say(
        'refused to boot',
        sentence(visible(process?.refusal?.message ?? process?.exit?.meaning ?? 'it did not say why')),
        `Nothing was written. Mend what it names, or wipe node-${id} and let its peers refill it.`,
      )
    case 'down':
      return say(
        `is down${since}`,
        sentence(visible(process?.exit?.meaning ?? 'its process was never started')),
        `Start node-${id}: it reads its disk back, asks for the view and fetches what it missed.`,
      )
    case 'paused':
      return say(
        `is paused${since}`,
        'SIGSTOP holds it; its memory is intact.',
        `Resume node-${id}: it learns of any newer view with the next frame, and catches up.`,
      )
    case 'starting':
      return say(
        `is starting${since}`,
        'It reads its data directory back before it speaks.',
        `Then it asks its peers for the view; a majority of ${majorityOf(replicaIds(view).length)} settles it.`,
      )
    case 'silent':
      return say(
        'does not answer',
        node && node.heardMs > 0
          ? `Its process runs, and it was not heard for ${duration(Math.max(0, nowMs - node.heardMs))}.`
          : 'Its process runs, and its inspection port says nothing.',
        'What is shown of it is what it last said; it is asked again all the time.',
      )
    case 'tombstoned':
      return say(
        'refuses this group',
        sentence(visible(view.groups.get(place?.group ?? '')?.replicas.get(id)?.refusal?.message ?? '')),
        'See its boot steps for what it found on disk.',
      )
    case 'view_change':
      if (place && primaryOf(view, place.group, nowMs).kind === 'none')
        return say(
          'takes part in a view change',
          `No node leads the group: a new primary needs the votes of ${majorityOf(replicaIds(view).length)}.`,
          'It votes, each vote once its disk has it, and tries the next view when its timer runs out.',
        )
      return say('is in a view change of its own', '', 'It joins the served view when it hears of it.')
    case 'recovering':
    case 'behind':
      return say(
        trouble === 'recovering' ? `recovers${gap && `, ${gap} behind`}` : `is behind${gap && ` by ${gap}`}`,
        'It must not vote or lead on what it has not.',
        'It asks its peers for the missing ops until the gap is closed.',
      )
    case 'unheard':
      return say('has not been heard yet', '', 'It appears with its first report.')
  }
}

/** As a sentence; a node's name is written as it is. */
export const sentence = (words: string): string => {
  const text = words.startsWith('node-') ? words : words.charAt(0).toUpperCase() + words.slice(1)
  return text === '' || /[.!?]$/.test(text) ? text : `${text}.`
}
