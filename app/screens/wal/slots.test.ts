import { describe, expect, it } from 'vitest'
import { brokenParents, countStates, logRows, slotsOf, unsealedHeaders } from './slots.ts'

const entry = (op: number, more: object = {}) => ({
  op: String(op),
  view: 0,
  operation: 128,
  checksum: `c${op}`,
  parent: `c${op - 1}`,
  positionBytes: op * 300,
  lengthBytes: 300,
  timestamp: '0',
  client: '7',
  request: String(op),
  ...more,
})
const wal = (more: object = {}) => ({
  slots: 8,
  snapshotOp: '0',
  lastOp: '5',
  appliedOp: '3',
  commitMax: '4',
  waitingOps: [] as string[],
  checkpoint: undefined,
  entries: [1, 2, 3, 4, 5].map(op => entry(op)),
  ...more,
})
const checkpoint = (more: object) => ({
  phase: 'idle' as const,
  op: '0',
  pairedOp: '0',
  pairedChecksum: '',
  finished: 0,
  failed: 0,
  marginSlots: 2,
  ...more,
})
const states = (of: Parameters<typeof slotsOf>[0], scan?: Parameters<typeof slotsOf>[1]) =>
  slotsOf(of, scan).map(slot => `${slot.state}${slot.op === undefined ? '' : ` ${slot.op}`}`)

describe('the slots of a log', () => {
  it('tell applied, committed, prepared and appends under way apart', () => {
    expect(states(wal({ waitingOps: ['6'] }))).toEqual([
      'free',
      'applied 1',
      'applied 2',
      'applied 3',
      'committed 4',
      'prepared 5',
      'writing 6',
      'free',
    ])
  })

  it('go round: a new op takes the slot of one that a checkpoint covers, and what it freed is shown', () => {
    const round = wal({
      snapshotOp: '6',
      lastOp: '9',
      appliedOp: '9',
      commitMax: '9',
      checkpoint: checkpoint({ pairedOp: '7', freed: { fromOp: '1', toOp: '6', entries: 6, bytes: 1800 } }),
      entries: [7, 8, 9].map(op => entry(op)),
    })
    expect(states(round)).toEqual([
      'applied 8',
      'applied 9',
      'freed 2',
      'freed 3',
      'freed 4',
      'freed 5',
      'freed 6',
      'checkpointed 7',
    ])
    expect(slotsOf(round).map(slot => slot.round)).toEqual([1n, 1n, 0n, 0n, 0n, 0n, 0n, 0n])
  })

  it('show a hole between entries that are held, and no hole below the snapshot', () => {
    const torn = wal({ entries: [2, 3, 5].map(op => entry(op)), snapshotOp: '1' })
    expect(states(torn)).toEqual(['free', 'free', 'applied 2', 'applied 3', 'hole 4', 'prepared 5', 'free', 'free'])
  })

  it('mark the entry at which a scan of the file has stopped, and no other one', () => {
    const scan = {
      reporter: { node: 0, boot: 'b', takenWallUs: '0', takenMonoUs: 0, seq: 0 },
      path: 'metadata/journal.wal',
      fileBytes: 1800,
      entries: 2,
      unsealed: 0,
      highestOp: '2',
      end: 'damage' as const,
      positionBytes: 900,
      problem: { check: 'BadBodyChecksum', positionBytes: 900, message: 'x', op: '3' },
    }
    expect(states(wal(), scan)[3]).toBe('faulty 3')
    expect(countStates(slotsOf(wal(), scan)).get('faulty')).toBe(1)
  })

  it('hold ops above 2^53 in their slots to the digit', () => {
    const op = 18_446_744_073_709_551_615n
    const high = wal({
      lastOp: op.toString(),
      appliedOp: op.toString(),
      commitMax: op.toString(),
      snapshotOp: (op - 1n).toString(),
      entries: [entry(0, { op: op.toString() })],
    })
    expect(states(high)[7]).toBe(`applied ${op}`)
  })

  it('are a table too: held, missing and under way, newest first, and nothing that was freed', () => {
    const torn = wal({
      entries: [entry(2), entry(3, { checksum: '0000000000000000' }), entry(5)],
      snapshotOp: '1',
      waitingOps: ['6'],
      checkpoint: checkpoint({ freed: { fromOp: '1', toOp: '1', entries: 1, bytes: 300 } }),
    })
    const rows = logRows(slotsOf(torn), torn.entries)
    expect(rows.map(row => `${row.op} ${row.state} ${row.entry?.op ?? 'no entry'}`)).toEqual([
      '6 writing no entry',
      '5 prepared 5',
      '4 hole no entry',
      '3 applied 3',
      '2 applied 2',
    ])
    expect(unsealedHeaders(torn.entries)).toBe(1)
  })

  it('find the entry that does not follow the one before', () => {
    expect([...brokenParents([entry(1), entry(2), entry(3, { parent: 'x' }), entry(5, { parent: 'x' })])]).toEqual([
      '3',
    ])
    expect([...brokenParents([entry(1, { checksum: '0000' }), entry(2, { parent: 'x' })])]).toEqual([])
  })
})
