import { expect, it } from 'vitest'
import type { ProcessState } from '../../../shared/inspection/api.ts'
import type { WalSnapshot } from '../../../shared/inspection/snapshots.ts'
import type { NodeView } from '../../../shared/inspection/view.ts'
import { walSituation } from './situation.ts'
import { slotsOf } from './slots.ts'

const exited = (requested: 'kill' | null) => ({ status: null, signal: 'SIGKILL', requested, meaning: '' })
const node = (state: ProcessState, exit: object | null = null): NodeView =>
  ({ id: 2, process: { state, exit } }) as unknown as NodeView
const wal = (boot: string): WalSnapshot => ({
  reporter: { node: 2, boot, takenWallUs: '0', takenMonoUs: 0, seq: 0 },
  slots: 8,
  snapshotOp: '0',
  lastOp: '2',
  sizeBytes: 600,
  appliedOp: boot === 'directory' ? '0' : '2',
  commitMax: boot === 'directory' ? '1' : '2',
  waitingOps: [],
  entries: [1, 2].map(op => ({
    op: String(op),
    view: 0,
    operation: 128,
    checksum: `c${op}`,
    parent: `c${op - 1}`,
    positionBytes: (op - 1) * 300,
    lengthBytes: 300,
    timestamp: '0',
    client: '7',
    request: '1',
  })),
})
const scan = (end: 'clean' | 'torn') => ({
  reporter: wal('directory').reporter,
  path: 'metadata/journal.wal',
  fileBytes: 600,
  entries: 1,
  unsealed: 0,
  highestOp: '1',
  end,
  positionBytes: 300,
  ...(end === 'torn' && { problem: { check: 'TooShort', positionBytes: 300, message: '200 bytes are left' } }),
})
const words = (of: NodeView, said: WalSnapshot, ageMs = 0, found?: ReturnType<typeof scan>) =>
  walSituation(of, said, slotsOf(said, found), found, new Set(), ageMs)

it('a log that its node shows is judged; a held node is shown by its last words and their age', () => {
  expect(words(node('running'), wal('b'))).toMatchObject({ tone: 'good', what: 'Everything up to op 2 is committed.' })
  expect(words(node('running'), wal('b'), 19_000)).toMatchObject({
    tone: 'plain',
    label: 'Write-ahead log of node-2, as it was 19 s ago',
  })
  const held = words(node('paused'), wal('b'), 19_000)
  expect(held).toMatchObject({ tone: 'plain', glyph: 'stopped', what: 'node-2 is paused.' })
  expect(held.why).toContain('19 s ago')
})

it('the last words of a process that has ended are never told as what is', () => {
  const dead = words(node('stopped', exited('kill')), wal('b'), 3_000)
  expect(dead).toMatchObject({ tone: 'plain', glyph: 'down', what: 'node-2 was killed.' })
  expect(dead.next).toContain('directory')
})

it('a log read from a directory says what its files prove, and what the next boot would do', () => {
  const killed = node('stopped', exited('kill'))
  const whole = words(killed, wal('directory'), 0, scan('clean'))
  expect(whole.what).toBe('node-2 was killed.')
  expect(whole.why).toContain('2 entries lie: 1 known to be committed')
  expect(whole.next).toContain('nothing to cut')
  expect(words(killed, wal('directory'), 0, scan('torn'))).toMatchObject({
    tone: 'bad',
    what: 'The file is torn at byte 300.',
  })
  expect(words(node('refused', exited(null)), wal('directory')).what).toBe('node-2 refuses to boot.')
})
