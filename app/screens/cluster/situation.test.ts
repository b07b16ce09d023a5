import { describe, expect, it } from 'vitest'
import type { ClusterNode } from '../../../shared/inspection/api.ts'
import {
  type ClusterView,
  EMPTY_VIEW,
  type GroupView,
  type NodeView,
  type ReplicaCell,
} from '../../../shared/inspection/view.ts'
import { METADATA } from '../../names.ts'
import { situationOf } from './situation.ts'

const NOW = 1_000_000

interface Given {
  readonly state?: ClusterNode['state']
  readonly cell?: Partial<ReplicaCell>
  readonly heardMs?: number
  readonly exit?: string
}

function view(given: readonly Given[], group = METADATA): ClusterView {
  const nodes = new Map<number, NodeView>()
  const replicas = new Map<number, ReplicaCell>()
  given.forEach((item, id) => {
    const state = item.state ?? 'running'
    nodes.set(id, {
      id,
      process: {
        id,
        name: `node-${id}`,
        state,
        sinceWallUs: String((NOW - 5000) * 1000),
        exit:
          item.exit === undefined
            ? null
            : { status: null, signal: null, atWallUs: '0', requested: null, meaning: item.exit },
      } as never,
      snapshot: undefined,
      boot: 'b',
      oldBoots: [],
      seq: 1,
      heardMs: item.heardMs ?? NOW - 100,
      missing: undefined,
      needsSnapshot: false,
    } as NodeView)
    replicas.set(id, {
      node: id,
      status: 'normal',
      role: id === 0 ? 'primary' : 'backup',
      primary: 0,
      view: 0,
      logView: 0,
      viewDurable: 0,
      logViewDurable: 0,
      op: 10n,
      commitMin: 10n,
      commitMax: 10n,
      offsets: undefined,
      refusal: undefined,
      heardMs: NOW - 100,
      seq: 1,
      boot: 'b',
      source: 'snapshot',
      ...item.cell,
    })
  })
  const groupView: GroupView = {
    group,
    plane: group === METADATA ? 'metadata' : 'partition',
    key: undefined,
    replicas,
    chains: new Map(),
    commitMarks: [{ atMs: NOW - 3000, commit: 10n }],
    lastPrimary: { node: 0, view: 0, atMs: NOW - 4000 },
  }
  return { ...EMPTY_VIEW, replicaCount: given.length, nodes, groups: new Map([[group, groupView]]) }
}

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
    expect(words.next).toContain('start node-0')
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
