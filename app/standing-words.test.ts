import { describe, expect, it } from 'vitest'
import { standingOf } from '../shared/inspection/belief.ts'
import { clusterView, type Given, NOW } from '../shared/inspection/testing/cluster-view.ts'
import { METADATA } from './names.ts'
import { situationOf } from './screens/cluster/situation.ts'
import { nodeSituation } from './screens/node/situation.ts'
import { troubleOf } from './standing-words.ts'

/** Every way in which node-2 may be not well, by what it is called. */
const TROUBLES: Readonly<Record<string, Given>> = {
  refused: { state: 'refused', exit: 'slot A is corrupt' },
  down: { state: 'crashed', exit: 'killed by SIGKILL' },
  paused: { state: 'paused' },
  starting: { state: 'starting', heardMs: NOW - 9000 },
  silent: { heardMs: NOW - 9000 },
  recovering: { cell: { status: 'recovering', commitMin: 4n } },
  behind: { cell: { op: 7n, commitMin: 7n, commitMax: 7n } },
  view_change: { cell: { status: 'view_change', view: 4 } },
  tombstoned: { cell: { status: 'tombstoned', refusal: { code: 'LogDamaged', message: 'the segment 0 is damaged' } } },
}

describe('a node that is not well', () => {
  it.each(Object.entries(TROUBLES))(
    '%s is said alike by the cluster and by the node, each with words of its own',
    (trouble, given) => {
      const view = clusterView([{}, {}, given])
      expect(troubleOf(view.nodes.get(2), standingOf(view, METADATA, 2, NOW))).toBe(trouble)
      const cluster = situationOf(view, METADATA, NOW)
      const node = nodeSituation(view, view.nodes.get(2)!, NOW)
      const look = ({ tone, glyph, colour, next }: typeof node) => ({ tone, glyph, colour, next })
      expect(look(cluster)).toEqual(look(node))
      expect(cluster.why).toContain('node-0 leads view 0 with')
      expect(node.why).not.toContain('leads view 0 with')
      for (const { what, why, next } of [cluster, node])
        for (const words of [what, why, next]) expect(words).toMatch(/^(node-|[A-Z]).*\.$|^metadata: /)
    },
  )

  it('says the gravest of several first, and why a group is refused', () => {
    const view = clusterView([{}, { state: 'paused' }, TROUBLES.down!, TROUBLES.behind!, {}])
    expect(situationOf(view, METADATA, NOW)).toMatchObject({
      what: 'node-2 is down for 5.0 s.',
      why: expect.stringMatching(/2 other nodes not well either\.$/),
    })
    expect(situationOf(clusterView([{}, {}, TROUBLES.tombstoned!]), METADATA, NOW).why).toMatch(
      /^The segment 0 is damaged\. /,
    )
  })
})
