import { describe, expect, it } from 'vitest'
import type { ConsumerFile, ConsumersAnswer } from '../../../shared/inspection/polls.ts'
import { consumerRows, standingOf } from './consumers.ts'

const LARGE = 2n ** 53n + 1n
const answer = (...files: Partial<ConsumerFile>[]): ConsumersAnswer => ({
  reporter: { node: 0, boot: 'directory', takenWallUs: '1', takenMonoUs: 0, seq: 0 },
  total: files.length,
  files: files.map(file => ({ kind: 'consumer', name: '1', path: 'p', verdict: 'valid', offset: '5', ...file })),
})

describe('stored offsets', () => {
  it('of three nodes stand beside each other, by number, and what is not alike is marked', () => {
    const rows = consumerRows([
      { node: 0, data: answer({ name: '10' }, { name: '9', offset: String(LARGE) }, { kind: 'group', name: '0' }) },
      {
        node: 1,
        data: answer({ name: '9', offset: String(LARGE - 1n) }, { name: '10' }, { kind: 'group', name: '0' }),
      },
      { node: 2, data: undefined },
    ])
    expect(
      rows.map(({ kind, name, differs, files }) => [kind, name, differs, files.map(file => file?.offset)]),
    ).toEqual([
      ['consumer', '9', true, [String(LARGE), String(LARGE - 1n), undefined]],
      ['consumer', '10', false, ['5', '5', undefined]],
      ['group', '0', false, ['5', '5', undefined]],
    ])
  })
  it('that one node lacks, or has damaged, is no agreement; a node that was not read says nothing', () => {
    const differs = (second: ConsumersAnswer | undefined) =>
      consumerRows([
        { node: 0, data: answer({}) },
        { node: 1, data: second },
      ]).map(row => row.differs)
    expect(differs(answer())).toEqual([true])
    expect(differs(answer({ verdict: 'corrupt' }))).toEqual([true])
    expect(differs(undefined)).toEqual([false])
    expect(differs(answer({}))).toEqual([false])
  })
  it('say where their reader stands: behind, at the end, below the earliest, beyond the end', () => {
    expect(standingOf(LARGE, 0n, LARGE + 2n)).toEqual({ kind: 'behind', by: 1n })
    expect(standingOf(LARGE, 0n, LARGE + 1n)).toEqual({ kind: 'at_end' })
    expect(standingOf(5n, 100n, 200n)).toEqual({ kind: 'below_earliest', skips: 94n })
    expect(standingOf(99n, 100n, 200n)).toEqual({ kind: 'behind', by: 100n })
    expect(standingOf(300n, 100n, 200n)).toEqual({ kind: 'beyond', by: 101n })
    expect(standingOf(7n, 0n, 0n)).toEqual({ kind: 'beyond', by: 8n })
  })
})
