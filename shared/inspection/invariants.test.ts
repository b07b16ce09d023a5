import { describe, expect, it } from 'vitest'
import { fold } from './fold.ts'
import { BROKEN_MAX } from './invariants.ts'
import { foldAll, METADATA, type metadataOf, settled, snapshotOf, T0 } from './testing/made-up.ts'
import { readRecorded } from './testing/recorded.ts'
import { EMPTY_VIEW } from './view.ts'

const brokenAfter = (...more: ReturnType<typeof snapshotOf>[]) =>
  foldAll(fold, [...settled(), ...more])
    .groups.get(METADATA)!
    .broken?.map(({ rule, node, words }) => ({ rule, node, words }))
const said = (node: number, seq: number, metadata: Partial<ReturnType<typeof metadataOf>>, boot?: string) =>
  snapshotOf(node, { seq, atMs: T0 + seq, metadata, ...(boot !== undefined && { boot }) })

describe('what may never be seen', () => {
  it('is a commit that falls, or a view, or what the disk holds of it, within one life', () => {
    expect(brokenAfter(said(1, 1, { commitMax: '12' }), said(1, 2, { commitMax: '11' }))).toEqual([
      { rule: 'commit', node: 1, words: 'node-1 knew commit 12 and then only 11' },
    ])
    const up = said(1, 1, { view: 4, logView: 4, viewDurable: 4 })
    expect(brokenAfter(up, said(1, 2, { view: 3, viewDurable: 4 }))).toMatchObject([{ rule: 'view', node: 1 }])
    expect(brokenAfter(up, said(1, 2, { view: 4, viewDurable: 3 }))).toMatchObject([{ rule: 'view', node: 1 }])
    // A new life knows what its disk knows.
    expect(brokenAfter(said(1, 1, { commitMax: '12' }), said(1, 1, { commitMax: '3' }, 'next'))).toBeUndefined()
  })

  it('is two primaries of one view; those of two views are a deposed one that does not know yet', () => {
    const leads = { role: 'primary', status: 'normal' } as const
    expect(brokenAfter(said(1, 1, { ...leads, view: 0 }))).toMatchObject([
      { rule: 'primary', node: 1, words: 'node-0 and node-1 both led view 0' },
    ])
    expect(brokenAfter(said(1, 1, { ...leads, view: 1 }))).toBeUndefined()
    expect(brokenAfter(said(1, 1, { role: 'primary', status: 'view_change', view: 0 }))).toBeUndefined()
  })

  it('stays seen, and bounded, when all goes on', () => {
    const falls = Array.from({ length: 30 }, (_, at) => said(1, at + 1, { commitMax: String(at % 2 === 0 ? 50 : 40) }))
    const seen = brokenAfter(...falls, said(1, 99, { commitMax: '60' }))
    expect(seen).toHaveLength(BROKEN_MAX)
    expect(seen![0]).toMatchObject({ rule: 'commit' })
  })

  it('was never seen while a real backup and then a real primary died and came back', () => {
    const messages = readRecorded('kill-backup-then-primary').map(entry => entry.message)
    const { groups } = foldAll(fold, messages, EMPTY_VIEW)
    expect([...groups.values()].flatMap(group => group.broken ?? [])).toEqual([])
  })
})
