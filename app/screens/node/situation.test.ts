import { describe, expect, it } from 'vitest'
import { clusterView, type Given, NOW } from '../../../shared/inspection/testing/cluster-view.ts'
import { nodeSituation } from './situation.ts'

const said = (id: number, given: readonly Given[]) => {
  const view = clusterView(given)
  const { tone, what, why, next } = nodeSituation(view, view.nodes.get(id)!, NOW)
  return { tone, words: `${what} ${why} ${next}` }
}

describe('the first sentence of a node', () => {
  it('says whether it leads, and what its death would mean', () => {
    expect(said(0, [{}, {}, {}])).toEqual({
      tone: 'good',
      words: expect.stringMatching(/node-0 is well in its group\. It leads every one.*groups elect/),
    })
    expect(said(1, [{}, {}, {}]).words).toMatch(/It leads none.*nobody waits/)
  })

  it('says why its process does not serve, and what brings it back', () => {
    expect(said(1, [{}, { state: 'stopped', exit: 'killed by SIGKILL' }, {}])).toEqual({
      tone: 'bad',
      words: expect.stringMatching(/node-1 is down for 5\.0 s\. Killed by SIGKILL\. Start node-1/),
    })
    expect(said(1, [{}, { state: 'paused' }, {}])).toMatchObject({ tone: 'change' })
    expect(said(1, [{}, { state: 'starting' }, {}]).words).toMatch(/is starting.*majority of 2/)
    expect(said(1, [{}, { state: 'refused', exit: 'slot A is corrupt' }, {}]).words).toMatch(
      /refused to boot\. Slot A is corrupt\. Nothing was written/,
    )
  })

  it('says of an election that nobody leads, and promises no view that is served', () => {
    const voting = { cell: { status: 'view_change', view: 1 } } as const
    expect(said(2, [{ state: 'stopped' }, voting, voting]).words).toMatch(
      /No node leads the group: a new primary needs the votes of 2\. It votes/,
    )
  })

  it('never calls a node well that is behind, or that does not answer', () => {
    expect(said(2, [{}, {}, { cell: { commitMin: 4n } }])).toEqual({
      tone: 'recover',
      words: expect.stringMatching(/node-2 is not well in 1 group of 1.*must not vote or lead/),
    })
    expect(said(2, [{}, {}, { heardMs: NOW - 60_000 }])).toMatchObject({
      tone: 'bad',
      words: expect.stringContaining('does not answer'),
    })
  })
})
