/** The first sentences of the superblocks screen, and why a pair has its verdict (spec metadata-storage.md §1.4). Pure. */
import type { NodeView } from '../../../shared/inspection/view.ts'
import { processWords } from '../../data/slots.ts'
import { groupName } from '../../names.ts'
import { count, visible } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'
import type { BlockGroup, Row } from './looks.ts'

const slotName = (slot: string): string => `slot ${slot.toUpperCase()}`
const capital = (words: string): string => words.slice(0, 1).toUpperCase() + words.slice(1)

/** The node's own words, and, of a pair that it refuses, what choosing the whole slot would risk. */
export function whyWords(block: BlockGroup): string {
  const said = capital(visible(block.why).replace(/\bslot ([ab])\b/g, (_, slot: string) => slotName(slot)))
  const whole = block.slots.find(slot => slot.state === 'valid')
  if (block.verdict === 'present' && block.winner !== undefined)
    return `Slot ${block.winner.toUpperCase()} wins: ${said.slice(0, 1).toLowerCase()}${said.slice(1)}.`
  if (block.verdict !== 'unreadable') return `${said}.`
  const once =
    'A slot is replaced by an atomic rename, which no crash leaves half done: what is damaged was whole once.'
  return whole
    ? `${said}. ${once} It may have been the newer one: booting from ${slotName(whole.slot)} could bring back view ${whole.fields?.view ?? '?'} and let the node vote again in a view that it has voted in.`
    : `${said}. ${once} Nothing says any more how this node has voted.`
}

/** `away`: nodes whose process does not answer now. */
export function superblocksSituation(
  rows: readonly Row[],
  { loading, away }: { readonly loading: boolean; readonly away: readonly NodeView[] },
): NowWords {
  const first = rows.find(row => row.block.verdict === 'unreadable')
  const absent = rows.filter(row => row.block.verdict === 'empty').length
  const label = 'Both slots of every group'
  if (first) {
    const corrupt = first.block.slots.filter(slot => slot.state === 'corrupt')
    const more = rows.filter(row => row.block.verdict === 'unreadable').length - 1
    return {
      label,
      tone: 'bad',
      glyph: 'refused',
      colour: 'danger',
      what: `${corrupt.length > 1 ? 'Both slots' : capital(slotName(corrupt[0]?.slot ?? '?'))} of ${groupName(first.block.group)} on node-${first.node} ${corrupt.length > 1 ? 'are' : 'is'} unreadable${more > 0 ? `; ${count(more, 'more pair')} elsewhere` : ''}.`,
      why: whyWords(first.block),
      next: 'Nothing writes to a damaged pair: both slots are as found. Restore the slot from a copy, or wipe the node and let it refill.',
    }
  }
  if (rows.length === 0)
    return {
      label,
      tone: 'plain',
      glyph: 'absent',
      colour: 'none',
      what: loading ? 'Slots are being read.' : 'No node shows its slots.',
      why: loading
        ? 'Each node reads its own two files of every group; of one without a process the console reads them.'
        : away.length > 0
          ? `${away.map(node => `node-${node.id} ${processWords(node)}`).join(', ')}.`
          : 'No node is known yet.',
      next: loading
        ? 'Two slots make one verdict: which of them a boot would take.'
        : 'A node that runs, or has ended, shows them.',
    }
  const held = away.filter(node => node.process?.state === 'paused')
  const gone = away.filter(node => !held.includes(node))
  return {
    label,
    tone: 'plain',
    glyph: absent === rows.length ? 'absent' : 'ok',
    colour: absent === rows.length ? 'none' : 'ok',
    what:
      absent === rows.length
        ? 'No group has written its superblock yet.'
        : absent === 0
          ? `All ${count(rows.length, 'pair')} of slots are whole.`
          : `Every slot that exists is whole; ${absent} of ${count(rows.length, 'pair')} ${absent === 1 ? 'was' : 'were'} never written.`,
    why:
      absent === rows.length
        ? 'A superblock is written when a view changes or a checkpoint is taken; a fresh group boots in view 0 without one.'
        : 'Two slots are written in turn, each replaced by an atomic rename: the one with the higher sequence wins.',
    next:
      gone.length > 0
        ? `${gone.map(node => `node-${node.id} ${processWords(node)}`).join(', ')}: read from the directory. Its next boot takes the winner of each pair for its last word.`
        : held.length > 0
          ? `${held.map(node => `node-${node.id} ${processWords(node)}`).join(', ')}: its last answer is hatched until it goes on.`
          : absent === rows.length
            ? new Set(rows.map(row => row.node)).size > 1
              ? 'A kill of the primary shows them come: the election writes view 1 into a slot before anybody votes.'
              : 'A node that is alone never votes: a checkpoint, or offsets that are reserved for a write, bring the first one.'
            : 'The next view change or checkpoint replaces the slot that does not win; the winner stays whole meanwhile.',
  }
}
