import { describe, expect, it } from 'vitest'
import { clusterView, type Given, NOW } from '../../../shared/inspection/testing/cluster-view.ts'
import { EMPTY_VIEW } from '../../../shared/inspection/view.ts'
import { heardNodes, leftOverOf } from './left-over.ts'
import { partitionsSituation } from './situation.ts'

const said = (given: readonly Given[]) => {
  const view = clusterView(given, '4294967296')
  const { tone, what, why, next } = partitionsSituation(view, [...view.groups.values()], NOW)
  return { tone, words: `${what} ${why} ${next}` }
}

describe('the first sentence of the partitions', () => {
  it('claims nothing before anybody was heard', () => {
    expect(partitionsSituation(EMPTY_VIEW, [], NOW).what).toBe('Waiting for the first word of a node.')
  })

  it('teaches where there is none', () => {
    expect(partitionsSituation(clusterView([{}]), [], NOW).what).toBe('There is no partition yet.')
  })

  it('names who leads, and the gravest exception first: nobody, then a copy that is not well', () => {
    expect(said([{}, {}, {}])).toEqual({
      tone: 'good',
      words: expect.stringMatching(/The one partition is led, and every copy is well\. .*node-0 leads 1/),
    })
    expect(said([{}, {}, { cell: { commitMin: 4n } }])).toEqual({
      tone: 'recover',
      words: expect.stringMatching(/1 copy is not well\. node-0 leads 1\. First of them: node-2/),
    })
    expect(said([{ state: 'stopped' }, {}, { cell: { commitMin: 4n } }])).toEqual({
      tone: 'change',
      words: expect.stringMatching(/1 of 1 partition without a primary.*node-0.*Nothing is written/),
    })
  })
})

it('names the first copy that is not well by number, whatever came first, and says when one node has all of them', () => {
  const view = clusterView([{}, {}, { state: 'stopped' }], '4294967296')
  const [group] = [...view.groups.values()]
  const [nine, ten] = [9n << 32n, 10n << 32n].map(id => ({ ...group!, group: id.toString() }))
  const both = { ...view, groups: new Map([ten!, nine!].map(of => [of.group, of])) }
  const { why } = partitionsSituation(both, [ten!, nine!], NOW)
  expect(why).toMatch(/All of them are on node-2, the first in 9\.0\.0, down\.$/)
})

describe('a partition that only the dead speak of', () => {
  const left = (states: readonly NonNullable<Given['state']>[], without: readonly number[]) => {
    const given = states.map(state => ({ state }))
    const view = clusterView(given, '4294967296')
    const group = view.groups.get('4294967296')!
    const replicas = new Map([...group.replicas].filter(([id]) => !without.includes(id)))
    return leftOverOf(heardNodes(view, NOW), { ...group, replicas })
  }
  it('is left over once somebody is heard who knows nothing of it, and not before', () => {
    expect(left(['running', 'running', 'stopped'], [0, 1])).toEqual([2])
    expect(left(['running', 'running', 'paused'], [0])).toBeUndefined()
    expect(left(['running', 'stopped', 'stopped'], [0])).toEqual([1, 2])
    expect(left(['stopped', 'stopped', 'stopped'], [0])).toBeUndefined()
  })
})
