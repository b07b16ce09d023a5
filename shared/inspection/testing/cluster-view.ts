/** Views of a cluster as its nodes report it, for tests of what is said about them. */

import { METADATA_GROUP } from '../../protocol/groups.ts'
import type { ClusterNode } from '../api.ts'
import { type ClusterView, EMPTY_VIEW, type GroupView, type NodeView, type ReplicaCell } from '../view.ts'

export const NOW = 1_000_000
const METADATA = METADATA_GROUP.toString()

export interface Given {
  readonly state?: ClusterNode['state']
  readonly cell?: Partial<ReplicaCell>
  readonly heardMs?: number
  readonly exit?: string
}

/** One group of three nodes or so, led by node-0 in view 0 unless said otherwise. */
export function clusterView(given: readonly Given[], group = METADATA): ClusterView {
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
