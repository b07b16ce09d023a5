import { describe, expect, it } from 'vitest'
import type { LinkStatus, LinksAnswer } from '../../../shared/inspection/links.ts'
import { density, faultWords, heldFrames, heldRows, holdsVotes, linkRates, ringWords, staleAhead } from './links.ts'

const zero = { frames: 0, bytes: 0, dropped: 0, doubled: 0, held: 0, released: 0, delayed: 0 }
const way = (from: number, to: number, patch: Partial<LinkStatus> = {}): LinkStatus => ({
  from,
  to,
  port: 1,
  connected: true,
  id: null,
  faults: [],
  heldFrames: [],
  counters: zero,
  ...patch,
})
const answer = (ms: number, frames: number): LinksAnswer => ({
  takenWallUs: String(ms * 1000),
  links: [way(0, 1, { counters: { ...zero, frames } })],
})
const held = (number: number, hold: string, sinceMs: number) => ({
  number,
  hold,
  command: 'StartViewChange',
  sizeBytes: 256,
  view: 1,
  link: { id: '0>1#a', ordinal: number },
  sinceWallUs: String(sinceMs * 1000),
})

describe('what is said of links', () => {
  it('counts frames a second between two answers, and says nothing after a restart of the console', () => {
    expect(linkRates(answer(1000, 10), answer(1500, 40)).get('0>1')).toBe(60)
    expect(linkRates(undefined, answer(1500, 40)).size).toBe(0)
    expect(linkRates(answer(1000, 90), answer(1500, 3)).size).toBe(0)
  })

  it('draws what an eye can follow: single frames, then pulses, then only the number', () => {
    expect([0, 30, 31, 200, 201].map(density)).toEqual(['none', 'frames', 'pulses', 'pulses', 'counter'])
  })

  it('lists held frames by how long they wait; only the oldest of a way and a hold can go next', () => {
    const links = [
      way(0, 1, { heldFrames: [held(1, 'votes', 20), held(2, 'votes', 30), held(3, 'page', 25)] }),
      way(1, 0, { heldFrames: [held(1, 'votes', 10)] }),
    ]
    expect(heldFrames(links).map(frame => [frame.from, frame.number, frame.first])).toEqual([
      [1, 1, true],
      [0, 1, true],
      [0, 3, true],
      [0, 2, false],
    ])
  })

  it('folds repeats into one row, and knows how many speak of a view that was left', () => {
    const old = { ...held(1, 'votes', 1), view: 1 }
    const frames = [old, { ...old, number: 2 }, { ...old, number: 3, view: 2 }, { ...old, number: 4, view: 2 }]
    const gate = way(0, 1, { heldFrames: frames })
    expect(staleAhead(gate, 'votes')).toBe(2)
    expect(heldRows(heldFrames([gate])).map(row => [row.frame.number, row.times])).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
    ])
  })

  it('names the faults of a way, and knows a hold of the votes from another', () => {
    const cut = way(0, 1, { faults: [{ fault: 'delay', ms: 200, jitterMs: 0 }, { fault: 'cut' }] })
    expect(faultWords(cut)).toEqual(['cut', 'delayed 200 ms'])
    expect(holdsVotes([cut])).toBe(false)
    expect(holdsVotes([way(0, 1, { faults: [{ fault: 'hold', name: 'votes', commands: ['DoViewChange'] }] })])).toBe(
      true,
    )
  })
})

it('says a fault on the ring in few letters, and none of a link that is not there', () => {
  const votes = ['StartViewChange', 'DoViewChange', 'StartView']
  const way = { connected: true, heldFrames: [], faults: [{ fault: 'hold', name: 'votes', commands: votes }] }
  const said = (over: object) => ringWords({ ...way, ...over } as unknown as LinkStatus)
  expect(said({})).toBe('holds 3 kinds')
  expect(said({ connected: false })).toBeUndefined()
  expect(said({ faults: [{ fault: 'cut', commands: ['PrepareOk'], left: 4 }] })).toBe('cut PO, the next 4')
  expect(said({ faults: [{ fault: 'delay', ms: 500, jitterMs: 0 }] })).toBe('delayed 500 ms')
  expect(said({ faults: [] })).toBeUndefined()
})
