import { describe, expect, it } from 'vitest'
import { clusterView } from '../../../shared/inspection/testing/cluster-view.ts'
import { METADATA } from '../../names.ts'
import { comparePrefixes, invariantsOf, type ReportedLog } from './invariants.ts'

const log = (node: number, ops: Readonly<Record<number, string>>): ReportedLog => ({
  node,
  atMs: 0,
  committed: new Map(Object.entries(ops).map(([op, checksum]) => [BigInt(op), checksum])),
})
const NOTHING = { verdict: 'unknown', words: '' } as const

describe('prefixes of logs', () => {
  it('are equal as far as two nodes have committed the same ops, whatever the one lacks', () => {
    const verdict = comparePrefixes([log(0, { 1: 'a', 2: 'b', 3: 'c' }), log(2, { 2: 'b' })], METADATA)
    expect(verdict).toMatchObject({
      verdict: 'holds',
      words: expect.stringMatching(/1 comparison up to op 2.*node-0, node-2/),
    })
  })

  it('are broken by one op that is two requests, and the two nodes are named', () => {
    const verdict = comparePrefixes([log(0, { 1: 'a', 2: 'b' }), log(1, { 1: 'a' }), log(2, { 2: 'x' })], METADATA)
    expect(verdict).toEqual({ verdict: 'broken', words: 'metadata: op 2 is b at node-0 and x at node-2' })
  })

  it('are not known where there is nothing to compare', () => {
    expect(comparePrefixes([log(0, { 1: 'a' })], METADATA).verdict).toBe('unknown')
    expect(comparePrefixes([log(0, { 1: 'a' }), log(1, { 2: 'b' })], METADATA).verdict).toBe('unknown')
  })
})

describe('invariants', () => {
  const verdicts = (view: ReturnType<typeof clusterView>) =>
    invariantsOf(view, NOTHING).map(({ id, verdict }) => `${id} ${verdict}`)

  it('are not known before anybody was heard, and without a load nobody knows what is held', () => {
    expect(verdicts(clusterView([{}, {}]))).toEqual([
      'commit unknown',
      'view unknown',
      'primary unknown',
      'prefix unknown',
      'acked unknown',
    ])
  })

  it('are broken by what was seen once, with its group and its words', () => {
    const view = clusterView([{}, {}])
    const group = view.groups.get(METADATA)!
    const broken = [{ rule: 'view' as const, node: 1, atMs: 0, words: 'node-1 went back' }]
    const seen = invariantsOf({ ...view, groups: new Map([[METADATA, { ...group, broken }]]) }, NOTHING)
    expect(seen.find(rule => rule.id === 'view')).toMatchObject({
      verdict: 'broken',
      words: expect.stringContaining('metadata: node-1 went back'),
    })
    expect(seen.find(rule => rule.id === 'commit')!.verdict).not.toBe('broken')
  })

  it('are broken by one acknowledged message that is gone', () => {
    const load = (readBack: number, lost: number) =>
      ({ run: 'r', takenWallUs: '0', ledger: { acked: 9, readBack, lost, corrupt: 0, duplicate: 0 } }) as never
    const acked = (readBack: number, lost: number) =>
      invariantsOf({ ...clusterView([{}]), load: load(readBack, lost) }, NOTHING).at(-1)!.verdict
    expect([acked(0, 0), acked(8, 0), acked(8, 1)]).toEqual(['unknown', 'holds', 'broken'])
  })
})
