import { QueryObserver } from '@tanstack/react-query'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import type { StreamMessage } from '../../shared/inspection/api.ts'
import { queryClient, refreshFrom } from './queries.ts'

// One clock for all: what was asked last is remembered from test to test.
beforeAll(() => {
  vi.useFakeTimers()
})
afterEach(() => queryClient.clear())
afterAll(() => {
  vi.useRealTimers()
})

const batch = (...kinds: string[]): StreamMessage =>
  ({
    event: 'batch',
    data: kinds.map(kind => ({ kind, node: 1, group: '7', class: 'fact', data: {} })),
  }) as never

/** A question on a screen, and how often it was put. */
function watched(key: readonly (string | number)[], answer: unknown, tookMs = 0) {
  let asked = 0
  let answered = 0
  const observer = new QueryObserver(queryClient, {
    queryKey: key,
    queryFn: async () => {
      asked++
      if (tookMs > 0) await new Promise(resolve => setTimeout(resolve, tookMs))
      answered++
      return answer
    },
  })
  observer.subscribe(() => {})
  return { asked: () => asked, answered: () => answered }
}
const storm = async (seconds: number, message: StreamMessage) => {
  for (let at = 0; at < seconds * 30; at++) {
    refreshFrom(message)
    await vi.advanceTimersByTimeAsync(33)
  }
}

it('a fact asks again at once; a storm of facts asks twice a second, and no answer is given up for it', async () => {
  const group = watched(['node', 1, 'group', '7'], {})
  await vi.advanceTimersByTimeAsync(1_000)
  refreshFrom(batch('view_started'))
  await vi.advanceTimersByTimeAsync(10)
  expect(group.asked()).toBe(2)
  await vi.advanceTimersByTimeAsync(1_000)
  const slow = watched(['node', 1, 'group', '8'], {}, 1_500)
  await storm(10, batch('view_started', 'view_adopted', 'do_view_change_received'))
  expect(group.asked()).toBeGreaterThan(10)
  expect(group.asked()).toBeLessThan(26)
  expect(slow.answered()).toBeGreaterThanOrEqual(5)
})

it('a list of thousands of groups keeps its own pace while they elect', async () => {
  const short = watched(['node', 1, 'superblocks'], { groups: [] })
  const long = watched(['node', 1, 'superblocks', 'of many'], { groups: new Array(2_001).fill({}) })
  await vi.advanceTimersByTimeAsync(1_000)
  await storm(5, batch('superblock_durable'))
  expect(short.asked()).toBeGreaterThan(5)
  expect(long.asked()).toBe(1)
})
