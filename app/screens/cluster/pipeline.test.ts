import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { metadataOf } from '../../../shared/inspection/testing/made-up.ts'
import { prepared, queued, slotsOf } from './pipeline.ts'
import { PipelineSlots } from './pipeline-slots.tsx'

const entry = (op: string, acks: number[], quorum = false) => ({ op, checksum: 'ab', operation: 160, acks, quorum })
const group = metadataOf({
  pipeline: [entry('7', [0, 2], true), entry('8', [0])],
  requestQueue: 3,
  depths: { prepares: 4, requests: 8 },
})

describe('the pipeline of a group', () => {
  it('says how much of its depth is taken, as the node tells both', () => {
    expect([prepared(group), queued(group)]).toEqual(['2 of 4', '3 of 8'])
    const { depths: _untold, ...older } = group
    expect([prepared(older), queued(older)]).toEqual(['2', '3'])
  })

  it('has a slot for each prepare that may be in flight, with who acknowledged it', () => {
    expect(slotsOf(group, [0, 1, 2])).toEqual([
      { op: '7', acks: [true, false, true], quorum: true },
      { op: '8', acks: [true, false, false], quorum: false },
      undefined,
      undefined,
    ])
    const drawn = renderToStaticMarkup(createElement(PipelineSlots, { group, ids: [0, 1, 2] }))
    expect(drawn).toContain(
      'aria-label="2 of 4 slots taken: op 7 acknowledged by node-0, node-2, a quorum; op 8 acknowledged by node-0"',
    )
    expect(drawn.match(/class="slot/g)).toHaveLength(4 + 1)
    expect(drawn.match(/class="acked"/g)).toHaveLength(3)
  })
})
