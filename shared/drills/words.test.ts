import { describe, expect, it } from 'vitest'
import type { Action } from '../scenario/language.ts'
import { DRILLS } from './library.ts'
import { predicateText, stepLines } from './words.ts'

describe('a scenario in words', () => {
  it('every step of every drill belongs to exactly one line, in order', () => {
    for (const { id, scenario, realScenario, broken } of DRILLS) {
      for (const { steps } of [scenario, realScenario, broken.scenario].filter(one => one !== undefined)) {
        const lines = stepLines(steps)
        let next = 0
        for (const { first, count, text } of lines) {
          expect([id, first]).toEqual([id, next])
          expect(text).not.toMatch(/undefined|\[object/)
          expect(text.length, id).toBeLessThan(600)
          next = first + count
        }
        expect([id, next]).toEqual([id, steps.length])
      }
    }
  })

  it('sends of one client are one line, and what is only remembered goes with what follows', () => {
    const send: Action = {
      do: 'request',
      client: 'c',
      call: { request: 'send', stream: 's', topic: 't', partition: 0, payloads: ['a'] },
    }
    const steps: Action[] = [send, send, send, { do: 'baseline', name: 'b' }, { do: 'kill', nodes: [2] }]
    expect(stepLines(steps)).toEqual([
      { text: 'Client c sends one message, and 2 more like it', first: 0, count: 3 },
      { text: 'Kill node 2', first: 3, count: 2 },
    ])
  })

  it('a predicate keeps all that it asks for', () => {
    expect(
      predicateText({
        all: [
          { event: { node: 2, kind: 'index_floored', group: '0/0/0', since: 'cut' }, atLeast: 1, atMost: 1 },
          { not: { any: [{ process: 1, state: 'refused', exit: 3 }, { sameLogs: '0/0/0' }] } },
        ],
      }),
    ).toBe(
      'events index_floored of node 2 about partition 0/0/0 since cut: exactly 1 and not (node 1 is refused, exit 3 or log files of partition 0/0/0 are equal on all nodes)',
    )
  })
})
