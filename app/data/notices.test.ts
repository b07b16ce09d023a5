import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { dismissToast, holdToasts, toast, toasts } from './notices.ts'

const words = () => toasts.get().map(item => item.words)

describe('notices', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    toasts.set([])
    holdToasts(false)
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('leave by themselves, but for errors: those stay until somebody dismisses them, however many come behind', () => {
    toast({ tone: 'bad', words: 'Kill node-0 failed.', detail: 'CON_NODE_DOWN' })
    for (let number = 1; number <= 9; number++) toast({ tone: 'plain', words: `plain ${number}` })
    expect(words()).toEqual(['Kill node-0 failed.', 'plain 7', 'plain 8', 'plain 9'])
    vi.advanceTimersByTime(60_000)
    expect(words()).toEqual(['Kill node-0 failed.'])
    toast({ tone: 'bad', words: 'Kill node-0 failed.', detail: 'CON_NODE_DOWN' })
    expect(words()).toEqual(['Kill node-0 failed.'])
    for (let number = 1; number <= 6; number++) toast({ tone: 'bad', words: `bad ${number}` })
    expect(words()).toHaveLength(7)
    dismissToast(toasts.get()[0]!.id)
    expect(words()).not.toContain('Kill node-0 failed.')
  })

  it('stay while somebody is at them, and have their time again afterwards', () => {
    toast({ tone: 'good', words: 'Started node-0.' })
    holdToasts(true)
    vi.advanceTimersByTime(60_000)
    expect(words()).toEqual(['Started node-0.'])
    holdToasts(false)
    vi.advanceTimersByTime(5_000)
    expect(words()).toEqual(['Started node-0.'])
    vi.advanceTimersByTime(5_000)
    expect(words()).toEqual([])
  })
})
