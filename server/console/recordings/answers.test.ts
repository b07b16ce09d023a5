import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { ClusterNode } from '../../../shared/inspection/api.ts'
import { AnswerRounds } from './answers.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

it('keeps the log of a node once it runs, rarely while it does, and again when its process has gone and come', async () => {
  const states: [ClusterNode['state'], ClusterNode['state']] = ['starting', 'running']
  const asked: string[] = []
  let changes = 0
  const rounds = new AnswerRounds({
    get: async path => {
      asked.push(path)
      return { status: 200, text: `{"n":${changes++}}` }
    },
    nodes: () => states.map((state, id) => ({ id, state }) as ClusterNode),
    snapshotOf: () => undefined,
    keep: () => {},
  })
  const logsWithin = async (ms: number): Promise<string[]> => {
    asked.length = 0
    await vi.advanceTimersByTimeAsync(ms)
    return asked.flatMap(path => /^\/api\/nodes\/(\d)\/wal$/.exec(path)?.[1] ?? [])
  }
  expect(await logsWithin(1_000)).toEqual(['1'])
  states[0] = 'running'
  expect(await logsWithin(10_000)).toEqual(['0'])
  expect(await logsWithin(30_000)).toEqual([])
  states[0] = 'stopped'
  expect(await logsWithin(10_000)).toEqual(['0'])
  states[0] = 'paused'
  states[1] = 'paused'
  expect(await logsWithin(100_000)).toEqual([])
  states[0] = 'running'
  expect(await logsWithin(10_000)).toEqual(['0'])
  expect(await logsWithin(60_000)).toEqual(['0'])
  rounds.close()
})
