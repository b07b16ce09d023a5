import { describe, expect, it } from 'vitest'
import { type Given, NOW, clusterView as view } from '../../../shared/inspection/testing/cluster-view.ts'
import { EMPTY_VIEW } from '../../../shared/inspection/view.ts'
import { METADATA } from '../../names.ts'
import { situationOf } from './situation.ts'

describe('situationOf', () => {
  it('says that all is well only when every node is', () => {
    const well = situationOf(view([{}, {}, {}]), METADATA, NOW)
    expect(well).toMatchObject({ tone: 'good', what: 'node-0 leads view 0; all 3 nodes agree.' })
  })

  it('calls a killed primary no primary, and says what comes next', () => {
    const words = situationOf(view([{ state: 'stopped', exit: 'killed' }, {}, {}]), METADATA, NOW, (_node, timer) =>
      timer === 'normalHeartbeat' ? 3200 : undefined,
    )
    expect(words.what).toBe('No primary for 4.0 s.')
    expect(words.tone).toBe('bad')
    expect(words.next).toContain('3.2 s')
  })

  it('names who is missing for a quorum', () => {
    const words = situationOf(view([{ state: 'stopped' }, {}, { state: 'stopped' }]), METADATA, NOW)
    expect(words.what).toContain('No primary')
    expect(words.next).toContain('Start node-0 for a quorum')
  })

  it('never calls a backup that lacks committed ops well: it is behind, by how much', () => {
    const words = situationOf(view([{}, {}, { cell: { op: 7n, commitMin: 7n, commitMax: 7n } }]), METADATA, NOW)
    expect(words).toMatchObject({ tone: 'recover', what: 'node-2 is behind by 3 ops.' })
  })

  it('tells a dead backup from a paused, a silent and a starting one', () => {
    const what = (given: Given) => situationOf(view([{}, {}, given]), METADATA, NOW).what
    expect(what({ state: 'stopped', exit: 'killed' })).toBe('node-2 is down for 5.0 s.')
    expect(what({ state: 'paused' })).toBe('node-2 is paused for 5.0 s.')
    expect(what({ heardMs: NOW - 9000 })).toBe('node-2 does not answer.')
    expect(what({ state: 'starting', heardMs: NOW - 9000 })).toBe('node-2 is starting for 5.0 s.')
    expect(what({ state: 'refused', exit: 'superblock' })).toBe('node-2 refused to boot.')
  })

  it('says that nothing runs before it says anything else', () => {
    const stopped: Given = { state: 'stopped' }
    expect(situationOf(view([stopped, stopped, stopped]), METADATA, NOW)).toMatchObject({
      what: 'No node runs.',
      tone: 'bad',
    })
    expect(situationOf(EMPTY_VIEW, METADATA, NOW).what).toContain('Waiting')
  })
})
