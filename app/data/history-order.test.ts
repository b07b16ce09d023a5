import { describe, expect, it } from 'vitest'
import type { StreamMessage } from '../../shared/inspection/api.ts'
import { fold } from '../../shared/inspection/fold.ts'
import { EMPTY_VIEW } from '../../shared/inspection/view.ts'
import { HistoryOrder } from './history-order.ts'

const hello = (seq: number): StreamMessage => ({
  event: 'hello',
  data: { run: 'r', seq, firstSeq: 1, wallUs: '1000000', readOnly: false, replicaCount: 3, name: 'c' },
})
const batch = (boot: string, ...seqs: number[]): StreamMessage => ({
  event: 'batch',
  data: seqs.map(consoleSeq => ({
    v: 1,
    node: 2,
    boot,
    seq: consoleSeq,
    monoUs: 0,
    wallUs: '1000000',
    plane: 'node',
    group: 'node',
    kind: 'x',
    class: 'fact',
    data: {},
    consoleSeq,
  })),
})
const snapshot = (boot: string, seq: number): StreamMessage => ({
  event: 'snapshot',
  data: {
    seq,
    node: 2,
    receivedWallUs: '2000000',
    snapshot: {
      reporter: { node: 2, boot, takenWallUs: '2000000', takenMonoUs: 0, seq },
      metadata: { group: '1', plane: 'metadata', op: '0', commitMin: '0', commitMax: '0', view: 0 },
      groups: [],
    } as never,
  },
})
const heartbeat: StreamMessage = { event: 'heartbeat', data: { wallUs: '1', seq: 9 } }

describe('HistoryOrder', () => {
  it('folds the snapshot of the present life last, so that a former life in history does not end it', () => {
    const messages = [hello(4), snapshot('now', 4), batch('before', 1, 2), batch('now', 3, 4)]
    const order = new HistoryOrder()
    const ordered = messages.flatMap(message => order.next(message, 0))
    const view = ordered.reduce(fold, EMPTY_VIEW)
    expect(view.nodes.get(2)?.boot).toBe('now')
    expect(view.nodes.get(2)?.snapshot).toBeDefined()
    // Without the order the former life wins, and this test would prove nothing.
    expect(messages.reduce(fold, EMPTY_VIEW).nodes.get(2)?.snapshot).toBeUndefined()
  })

  it('holds the newest snapshot of a node only, until the last event of history came', () => {
    const order = new HistoryOrder()
    order.next(hello(4), 0)
    expect(order.next(snapshot('now', 3), 0)).toEqual([])
    expect(order.next(snapshot('now', 4), 0)).toEqual([])
    expect(order.next(batch('now', 3), 0)).toHaveLength(1)
    expect(order.next(batch('now', 4), 0)).toEqual([batch('now', 4), snapshot('now', 4)])
    expect(order.holds).toBe(false)
    expect(order.next(snapshot('now', 5), 4)).toHaveLength(1)
  })

  it('holds nothing when no history is due, and lets go at a heartbeat or at a gap that covers it', () => {
    const order = new HistoryOrder()
    order.next(hello(4), 4)
    expect(order.next(snapshot('now', 4), 4)).toHaveLength(1)
    order.next(hello(9), 4)
    order.next(snapshot('now', 9), 4)
    expect(order.next(heartbeat, 4)).toEqual([snapshot('now', 9), heartbeat])
    order.next(hello(20), 9)
    order.next(snapshot('now', 20), 9)
    const gap: StreamMessage = {
      event: 'gap',
      data: { v: 1, node: 255, boot: 'r', kind: 'gap', fromSeq: 10, toSeq: 20, reason: 'slow_reader' },
    }
    expect(order.next(gap, 9)).toEqual([gap, snapshot('now', 20)])
  })
})
