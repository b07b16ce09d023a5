import { expect, it } from 'vitest'
import type { ProcessState } from '../../../shared/inspection/api.ts'
import type { NodeView } from '../../../shared/inspection/view.ts'
import { METADATA } from '../../names.ts'
import type { BlockGroup, Row } from './looks.ts'
import { newestRecord } from './records.ts'
import { superblocksSituation, whyWords } from './situation.ts'
import { ruleOf, type SlotState } from './verdicts.ts'

function pair(node: number, a: SlotState, b: SlotState, view = 0, process: ProcessState = 'running'): Row {
  const slot = (name: 'a' | 'b', state: SlotState) => ({
    slot: name,
    path: `metadata/superblock.${name}`,
    state,
    hex: '',
    ...(state === 'valid' && { sequence: '4', fields: { view, logView: view, commitMax: '9' } }),
  })
  const { verdict } = ruleOf(a, b)
  const block = {
    group: METADATA,
    plane: 'metadata',
    slots: [slot('a', a), slot('b', b)],
    verdict,
    ...(verdict === 'present' && { winner: a === 'valid' ? 'a' : 'b' }),
    why: verdict === 'present' ? 'slot b is absent' : 'slot b is corrupt; the other is valid but may be the older one',
  } as BlockGroup
  return { node, block, takenMs: 0, stale: false, process }
}
const away = (id: number, state: ProcessState): NodeView =>
  ({ id, process: { state, exit: { requested: 'kill' } } }) as unknown as NodeView
const of = (rows: Row[], ...gone: NodeView[]) => superblocksSituation(rows, { loading: false, away: gone })

it('a pair that is refused says what the whole slot would have brought back', () => {
  const bad = pair(2, 'valid', 'corrupt', 6)
  const words = of([pair(0, 'valid', 'valid', 7), bad])
  expect(words).toMatchObject({ tone: 'bad', what: 'Slot B of metadata on node-2 is unreadable.' })
  expect(words.why).toContain('Slot B is corrupt')
  expect(words.why).toContain('booting from slot A could bring back view 6')
  expect(of([pair(2, 'corrupt', 'corrupt')]).what).toBe('Both slots of metadata on node-2 are unreadable.')
  expect(whyWords(pair(0, 'valid', 'absent').block)).toBe('Slot A wins: slot B is absent.')
})

it('who is killed and who is held are told apart, and what is not read yet is not judged', () => {
  const rows = [pair(0, 'valid', 'absent', 0, 'stopped'), pair(1, 'valid', 'valid')]
  expect(of(rows, away(0, 'stopped')).next).toContain('node-0 was killed: read from the directory')
  expect(of(rows, away(0, 'paused')).next).toContain('node-0 is paused: its last answer is hatched')
  expect(of(rows).next).toContain('The next view change or checkpoint')
  expect(superblocksSituation([], { loading: true, away: [] }).what).toBe('Slots are being read.')
  const fresh = [pair(0, 'absent', 'absent'), pair(1, 'absent', 'absent')]
  expect(of(fresh).next).toContain('A kill of the primary')
  expect(of(fresh.slice(0, 1)).next).toContain('never votes')
  expect(of([], away(0, 'paused')).why).toBe('node-0 is paused.')
})

it('a record is compared with the newest that a peer has', () => {
  const rows = [pair(0, 'absent', 'absent'), pair(1, 'valid', 'absent', 3), pair(2, 'valid', 'absent', 12)]
  expect(newestRecord(rows)!.node).toBe(2)
  expect(newestRecord(rows.slice(0, 1))!.node).toBe(0)
  expect(newestRecord([])).toBeUndefined()
})
