import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RunWatchers } from './run-watchers.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const run = { name: 'run' }
function watched() {
  const ended: unknown[] = []
  return { ended, watchers: new RunWatchers<object>(each => ended.push(each), 1_000) }
}

test('a run that is to be watched ends when nobody has come, and not one that need not be', () => {
  const { ended, watchers } = watched()
  watchers.add({})()
  watchers.expect(run)
  vi.advanceTimersByTime(999)
  expect(ended).toEqual([])
  vi.advanceTimersByTime(1)
  expect(ended).toEqual([run])
})

test('it goes on while one of two watches, and while a page is loaded again', () => {
  const { ended, watchers } = watched()
  watchers.expect(run)
  const [first, second] = [watchers.add(run), watchers.add(run)]
  first()
  first()
  vi.advanceTimersByTime(10_000)
  second()
  vi.advanceTimersByTime(900)
  const back = watchers.add(run)
  vi.advanceTimersByTime(10_000)
  expect(ended).toEqual([])
  back()
  vi.advanceTimersByTime(1_000)
  expect(ended).toEqual([run])
})
