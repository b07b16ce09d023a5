/** Stepping back shows what was, to the last value: the fold at any place equals the fold as it went. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { StreamMessage } from '../../shared/inspection/api.ts'
import { readRecorded } from '../../shared/inspection/testing/recorded.ts'
import { type ClusterView, EMPTY_VIEW } from '../../shared/inspection/view.ts'
import { foldMessage, History } from './history.ts'
import { EventRing } from './ring.ts'

const recorded: readonly StreamMessage[] = readRecorded('kill-backup-then-primary').map(item => item.message)

/** Feeds a tab as the store does, one message a millisecond, and keeps every picture as it went. */
function feed(
  messages: readonly StreamMessage[],
  options: { capacity?: number; costMax?: number; data?: number } = {},
) {
  const ring = new EventRing(options.capacity ?? 100_000, options.data ?? 2 ** 20)
  const history = new History(ring, options.costMax)
  const went: { until: number; atMs: number; view: ClusterView }[] = []
  let view = EMPTY_VIEW
  history.picture(view, { until: 0, atMs: 0 })
  messages.forEach((message, index) => {
    const atMs = index + 1
    if (message.event === 'batch') for (const item of message.data) ring.push(item, atMs)
    else if (message.event === 'gap') ring.push(message.data, atMs)
    else history.state(message, { until: ring.next, atMs })
    view = foldMessage(view, message)
    history.picture(view, { until: ring.next, atMs })
    went.push({ until: ring.next, atMs, view })
  })
  return { ring, history, went }
}
/** Text, because pictures hold 64-bit values and maps. */
const textOf = (view: ClusterView | undefined): string =>
  JSON.stringify(view, (_key, value) =>
    typeof value === 'bigint' ? `${value}n` : value instanceof Map ? [...value].sort() : value,
  )

it('every place of a real run is folded again as it was', () => {
  const { history, went } = feed(recorded)
  expect(went.length).toBeGreaterThan(100)
  for (const { view, ...place } of went) expect(textOf(history.at(place))).toBe(textOf(view))
})

it('a place between two messages holds what came before it and nothing that came after', () => {
  const { history, ring, went } = feed(recorded)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: ring.next }), until => {
      const view = history.at({ until, atMs: Number.MAX_SAFE_INTEGER })!
      const later = went.find(step => step.until > until)
      expect(view.seq).toBeLessThanOrEqual(ring.consoleSeqAt(until - 1))
      if (later) expect(view.eventCount).toBeLessThanOrEqual(later.view.eventCount)
    }),
  )
})

it('a gap that the console told without a number is there again, and what was missing since', () => {
  const middle = recorded.findIndex((message, index) => index > recorded.length / 2 && message.event === 'batch')
  const seq = feed(recorded.slice(0, middle)).went.at(-1)!.view.seq
  const gap = {
    v: 1,
    node: 255,
    boot: 'run',
    kind: 'gap',
    fromSeq: seq + 1,
    toSeq: seq + 10,
    reason: 'slow_reader',
  } as const
  const later = recorded
    .slice(middle)
    .map(message => (message.event === 'batch' ? renumbered(message, 0, 10) : message))
    .filter(message => message.event !== 'hello')
  const { history, went } = feed([...recorded.slice(0, middle), { event: 'gap', data: gap }, ...later])
  expect(went[middle]!.view.gapCount).toBe(1)
  expect([...went[middle]!.view.nodes.values()].every(node => node.missing !== undefined)).toBe(true)
  for (const { view, ...place } of went.slice(middle - 3)) expect(textOf(history.at(place))).toBe(textOf(view))
})

it('what is not held any more is not shown, whichever bound was met', () => {
  for (const options of [{ capacity: 40 }, { costMax: 100 }, { data: 6_000 }]) {
    const { history, ring, went } = feed(recorded, options)
    let held = 0
    for (const { view, ...place } of went) {
      const again = history.at(place)
      if (again === undefined) continue
      held += 1
      expect(textOf(again)).toBe(textOf(view))
      expect(place.until).toBeGreaterThanOrEqual(ring.first)
    }
    expect(history.at(went[3]!)).toBeUndefined()
    expect([held > 0, held < went.length]).toEqual([true, true])
    expect(history.first!.until).toBeGreaterThan(0)
  }
})

it('pictures thin out and every place is still right', () => {
  const many = Array.from({ length: 40 }, (_, round) =>
    recorded.map(message => (message.event === 'batch' ? renumbered(message, round) : message)),
  ).flat()
  const { history, went } = feed(many)
  for (let index = 0; index < went.length; index += 97) {
    const { view, ...place } = went[index]!
    expect(textOf(history.at(place))).toBe(textOf(view))
  }
}, 60_000)

/** The same events once more, as later ones of the same lives; or only later in the stream. */
function renumbered(
  message: Extract<StreamMessage, { event: 'batch' }>,
  round: number,
  byConsole = round * 1_000_000,
): StreamMessage {
  const by = round * 1_000_000
  return {
    ...message,
    data: message.data.map(item =>
      'fromSeq' in item
        ? item
        : { ...item, seq: item.seq + by, ...(item.consoleSeq && { consoleSeq: item.consoleSeq + byConsole }) },
    ),
  }
}

it('says that it is full before it gives up its earliest moment', () => {
  const { history, ring } = feed([], { costMax: 4_000 })
  const load = recorded.find(message => message.event === 'snapshot')!
  let states = 0
  while (!history.full && states < 10_000) {
    history.state(load, { until: ring.next, atMs: ++states })
    history.picture(EMPTY_VIEW, { until: ring.next, atMs: states })
  }
  expect(states).toBeGreaterThan(10)
  expect(history.first).toMatchObject({ atMs: 0 })
  for (let more = 0; more < states; more++) {
    history.state(load, { until: ring.next, atMs: states + more })
    history.picture(EMPTY_VIEW, { until: ring.next, atMs: states + more })
  }
  expect(history.first!.atMs).toBeGreaterThan(0)
})
