import fc from 'fast-check'
import { expect, it } from 'vitest'
import { answerPlaces } from './answer-places.ts'

const path = fc.oneof(
  fc.constantFrom('/api/topics', '/api/nodes/1/wal?from="0"'),
  fc.string().map(text => `/api/${text}`),
)
const line = fc.oneof(
  fc.record({ event: fc.constant('hello'), data: fc.record({ run: fc.string() }) }),
  fc.record({
    event: fc.constant('batch'),
    data: fc.array(fc.record({ words: fc.constantFrom('"consoleSeq":9', '\n', '{"t":1,"event":"answer"') }), {
      maxLength: 3,
    }),
  }),
  fc.record({ event: fc.constant('nodes'), data: fc.constant([{ id: 0 }]) }),
  fc.record({
    event: fc.constant('answer'),
    data: fc.record({
      path,
      status: fc.constant(200),
      json: fc.anything().map(value => JSON.stringify(value) ?? null),
    }),
  }),
)

it('finds every answer of a block, and how far the events had come before it, as reading all of it does', () => {
  fc.assert(
    fc.property(fc.array(line), drawn => {
      let now = 0
      let seq: number | undefined
      const expected: unknown[] = []
      const text = drawn.map(({ event, data }, t) => {
        // Numbers never fall from line to line.
        const told = Array.isArray(data) ? data.map((item, nth) => ({ ...item, consoleSeq: now + nth + 1 })) : data
        if (Array.isArray(told)) now += told.length
        if (event === 'hello') seq = now
        if (event === 'batch' && Array.isArray(told) && told.length > 0) seq = now
        if ('path' in told) expected.push({ path: told.path, t, seq, json: told.json })
        const json = JSON.stringify(event === 'hello' ? { ...told, seq: now } : told)
        return `{"t":${t},"event":"${event}","data":${json}}\n`
      })
      const found = answerPlaces(Buffer.from(text.join(''))).map(({ start, end, ...place }) => ({
        ...place,
        json: JSON.parse(Buffer.from(text.join('')).toString('utf8', start, end)).data.json,
      }))
      expect(found).toEqual(expected)
    }),
  )
})
