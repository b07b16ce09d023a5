/** Ways that hold frames back, and ways that hold few of them (spec drills.md §2.2). */
import { expect, test } from 'vitest'
import { ReplicaId } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import type { Replica } from '../replica/contract.ts'
import { Dice } from './dice.ts'
import { Life } from './life.ts'
import { CALM, type LinkFaults, Links } from './links.ts'
import { Timeline } from './timeline.ts'

const [A, B] = [ReplicaId(0), ReplicaId(1)]

/** Two connected ends; what has reached B, by the number in the frame. */
function pair(faults: Partial<LinkFaults> = {}) {
  const timeline = new Timeline()
  const links = new Links(timeline, new Dice(1n, 'network'))
  const got: number[] = []
  const end = (id: ReplicaId) => ({
    id,
    life: new Life(timeline),
    replica: {
      peerConnected: () => {},
      peerDisconnected: () => {},
      peerFrame: (_from: ReplicaId, frame: Uint8Array) => got.push(frame[0]!),
    } as unknown as Replica,
  })
  links.up(end(A))
  links.up(end(B))
  while (timeline.step()) {}
  links.faults = { ...CALM, ...faults }
  const send = (from: number, to: number) => {
    for (let number = from; number <= to; number++) {
      const frame = new Uint8Array(256)
      frame[0] = number
      frame[60] = Command.Prepare
      links.send(A, B, frame)
    }
  }
  const settle = () => {
    while (timeline.step()) {}
  }
  return { links, got, send, settle }
}

test('on a way that is clogged frames wait, and arrive in their order when it is free, later ones behind them', () => {
  const { links, got, send, settle } = pair()
  links.clog(A, B)
  send(1, 3)
  settle()
  expect(got).toEqual([])
  links.unclog(A, B)
  send(4, 5)
  settle()
  expect(got).toEqual([1, 2, 3, 4, 5])
  send(6, 6)
  settle()
  expect(got).toEqual([1, 2, 3, 4, 5, 6])
})

test('what waits on a way that is cut meanwhile is lost', () => {
  const { links, got, send, settle } = pair()
  links.clog(A, B)
  send(1, 3)
  settle()
  links.cut(A, B)
  links.unclog(A, B)
  settle()
  expect(got).toEqual([])
})

test('a way that holds three frames loses one for each that is more, whichever', () => {
  const { got, send, settle } = pair({ capacity: 3 })
  send(1, 10)
  settle()
  expect(got).toHaveLength(3)
  // Those that have arrived leave room.
  send(11, 13)
  settle()
  expect(got.slice(3)).toEqual([11, 12, 13])
})

test('a frame that came twice may come again', () => {
  const { got, send, settle } = pair({ duplicate: 0.9, replayed: true })
  send(1, 5)
  settle()
  const times = [1, 2, 3, 4, 5].map(number => got.filter(each => each === number).length)
  expect(Math.max(...times)).toBeGreaterThan(2)
})
