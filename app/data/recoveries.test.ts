import { describe, expect, it } from 'vitest'
import { CONSOLE_NODE, type EventEnvelope } from '../../shared/inspection/envelope.ts'
import { EMPTY_VIEW } from '../../shared/inspection/view.ts'
import { foldRecovery, observeRecovery, type Recovery, recoveriesAt } from './recoveries.ts'

const event = (
  kind: string,
  ms: number,
  node: number,
  data: EventEnvelope['data'] = {},
  group = 'node',
): EventEnvelope => ({
  v: 1,
  node,
  boot: 'b',
  seq: 1,
  monoUs: 0,
  wallUs: String(ms * 1000),
  plane: 'node',
  group,
  kind,
  class: 'fact',
  data,
  receivedWallUs: String(ms * 1000),
})
const kill = (ms: number, node: number) =>
  event('process_exited', ms, CONSOLE_NODE, { node, atWallMs: ms, signal: 'SIGKILL' })
const fold = (events: readonly EventEnvelope[]): readonly Recovery[] =>
  events.reduce(foldRecovery, [] as readonly Recovery[])

describe('a stopwatch per fault', () => {
  it('times silence, election, first acknowledgement and the way back, from the kill on', () => {
    const [run] = fold([
      kill(1000, 0),
      event('load_stalled', 1400, CONSOLE_NODE, { sinceMs: 400 }),
      event('heartbeat_missed', 5900, 1, { peer: 0 }, '7'),
      event('view_change_started', 5901, 1, {}, '7'),
      event('view_started', 7900, 1, {}, '7'),
      event('view_started', 8100, 1, {}, '8'),
      event('view_started', 60_000, 2, {}, '7'),
      event('load_recovered', 8200, CONSOLE_NODE, { outageMs: 7200 }),
      event('process_started', 20_000, CONSOLE_NODE, { node: 0 }),
    ])
    expect(run).toMatchObject({
      id: 'R-1',
      how: 'SIGKILL',
      nodes: [0],
      stalled: 400,
      marks: { noticed: 4900, elected: 7100, acknowledged: 7200, started: 19_000 },
    })
  })

  it('does not take an election for an answer to a fault that nobody had noticed', () => {
    const [run] = fold([kill(1000, 2), event('view_started', 1200, 1, {}, '7')])
    expect(run!.marks).toEqual({})
  })

  it('counts nodes killed together as one fault, and the next one anew', () => {
    const runs = fold([kill(1000, 0), kill(1500, 1), kill(1900, 2), kill(60_000, 1)])
    expect(runs.map(run => [run.id, run.nodes])).toEqual([
      ['R-2', [1]],
      ['R-1', [0, 1, 2]],
    ])
  })

  it('reads the same history twice without a second run', () => {
    const once = fold([kill(1000, 0)])
    expect(foldRecovery(once, kill(1000, 0))).toBe(once)
  })

  it('does not say caught up before anything was heard', () => {
    const runs = fold([kill(1000, 0), event('process_started', 2000, CONSOLE_NODE, { node: 0 })])
    expect(observeRecovery(runs, EMPTY_VIEW, 9000)).toBe(runs)
  })

  it('shows of a past moment nothing that came later', () => {
    const whole = fold([
      kill(1000, 0),
      event('heartbeat_missed', 5900, 1),
      event('view_started', 8100, 1, {}, '7'),
      event('process_started', 20_000, CONSOLE_NODE, { node: 0 }),
      kill(60_000, 1),
    ])
    const at = (ms: number) => recoveriesAt(whole, ms, undefined).map(run => [run.id, run.marks, run.elections])
    expect(at(999)).toEqual([])
    expect(at(1000)).toEqual([['R-1', {}, {}]])
    expect(at(8099)).toEqual([['R-1', { noticed: 4900 }, {}]])
    expect(at(30_000)).toEqual([['R-1', whole[1]!.marks, whole[1]!.elections]])
    expect(at(60_000).map(([id]) => id)).toEqual(['R-2', 'R-1'])
  })

  it('shows of a past moment no fault that was told later, though it had happened', () => {
    const died = (told: number, node: number) => ({ ...kill(1000, node), receivedWallUs: String(told * 1000) })
    const whole = fold([died(1030, 0), died(1900, 1), event('load_stalled', 1400, CONSOLE_NODE)])
    const at = (ms: number) => recoveriesAt(whole, ms, undefined).map(run => [run.faultMs, run.nodes, run.stalled])
    expect(at(1029)).toEqual([])
    expect(at(1030)).toEqual([[1000, [0], undefined]])
    expect(at(1400)).toEqual([[1000, [0], 400]])
    expect(at(1900)).toEqual([[1000, [0, 1], 400]])
  })
})
