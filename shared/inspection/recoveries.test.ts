import { describe, expect, it } from 'vitest'
import { loadSettings, loadState } from './api.ts'
import { CONSOLE_NODE, type EventEnvelope } from './envelope.ts'
import { foldRecovery, observeRecovery, type Recovery, recoveriesAt, writesAround } from './recoveries.ts'
import { clusterView, NOW } from './testing/cluster-view.ts'
import { EMPTY_VIEW } from './view.ts'

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

  it('takes no start-up that failed for a fault: nobody lost what had never served', () => {
    const ended = (data: EventEnvelope['data']) => event('process_exited', 1000, CONSOLE_NODE, { node: 0, ...data })
    expect(fold([ended({ status: 69, state: 'refused', was: 'starting' })])).toEqual([])
    // A recording of an earlier console does not say what the process was before.
    expect(fold([ended({ status: 69, state: 'refused' })])).toEqual([])
    expect(fold([ended({ status: 74, state: 'crashed' })])).toHaveLength(1)
    expect(fold([ended({ status: 3, state: 'refused', was: 'running' })])).toHaveLength(1)
    expect(fold([ended({ signal: 'SIGKILL', was: 'paused' })])).toHaveLength(1)
  })

  it('goes on with a fault that another one followed, until a node of its own dies again', () => {
    const first = [kill(1000, 0), event('load_stalled', 3000, CONSOLE_NODE), event('heartbeat_missed', 5900, 1)]
    const both = [...first, kill(6000, 1), event('view_started', 30_000, 2, {}, '7')]
    const end = [
      event('load_recovered', 31_000, CONSOLE_NODE),
      event('process_started', 40_000, CONSOLE_NODE, { node: 0 }),
    ]
    const [second, old] = fold([...both, ...end])
    expect(old).toMatchObject({ marks: { noticed: 4900, elected: 29_000, acknowledged: 30_000, started: 39_000 } })
    expect(second!.marks).toEqual({ acknowledged: 25_000 })
    // What a later fault makes is not taken for the end of one that was over, or that nobody had noticed.
    const [, quiet] = fold([
      kill(1000, 2),
      kill(60_000, 0),
      event('heartbeat_missed', 65_000, 1),
      event('view_started', 65_100, 1, {}, '7'),
    ])
    expect(quiet!.marks).toEqual({})
    const [, again] = fold([kill(1000, 2), kill(9000, 2), event('process_started', 20_000, CONSOLE_NODE, { node: 2 })])
    expect(again!.marks).toEqual({})
  })

  it('says rejoined when the node follows the view that is served, and caught up only when it lacks nothing', () => {
    const at = NOW
    const killed = at - 20_000
    const started = fold([kill(killed, 2), event('process_started', killed + 1000, CONSOLE_NODE, { node: 2 })])
    const [first, rejoining] = [
      clusterView([{}, {}, { cell: { status: 'recovering', commitMin: 2n } }]),
      clusterView([{}, {}, { cell: { commitMin: 2n } }]),
    ]
    const one = observeRecovery(started, first, at)
    expect(one[0]!.marks).toEqual({ started: 1000 })
    const joined = foldRecovery(one, event('view_adopted', at + 100, 2, {}, '7'))
    const two = observeRecovery(joined, rejoining, at + 200)
    expect(two[0]!.marks).toEqual({ started: 1000, rejoined: 20_100 })
    const three = observeRecovery(two, clusterView([{}, {}, {}]), at + 900)
    expect(three[0]!.marks).toEqual({ ...two[0]!.marks, caughtUp: 20_900 })
  })

  it('never takes a deposed primary that still claims to lead for one that rejoined', () => {
    const resumed = fold([
      event('process_paused', NOW - 2000, CONSOLE_NODE, { node: 0 }),
      event('process_resumed', NOW - 1000, CONSOLE_NODE, { node: 0 }),
    ])
    const moved = { view: 1, primary: 1 }
    const view = clusterView([{}, { cell: { ...moved, role: 'primary' } }, { cell: moved }])
    expect(observeRecovery(resumed, view, NOW)[0]!.marks).toEqual({ started: 1000 })
    const follows = clusterView([
      { cell: { ...moved, role: 'backup' } },
      { cell: { ...moved, role: 'primary' } },
      { cell: moved },
    ])
    expect(observeRecovery(resumed, follows, NOW)[0]!.marks).toMatchObject({ rejoined: 2000, caughtUp: 2000 })
  })

  it('keeps of the load only what it wrote around the fault, and nothing of a load of another time', () => {
    const seconds = [0, 1000, 2000, 3000].map(atMs => ({
      atMs,
      acked: 50,
      sent: 50,
      unknown: 0,
      refused: 0,
      p50Ms: 1,
      p99Ms: 1,
    }))
    const load = (startedMs: number, stoppedMs: number | null) =>
      loadState.parse({
        state: 'running',
        run: 'r',
        settings: loadSettings.parse({}),
        startedWallUs: String(startedMs * 1000),
        stoppedWallUs: stoppedMs === null ? null : String(stoppedMs * 1000),
        takenWallUs: '0',
        ledger: {
          sent: 9,
          acked: 9,
          unknown: 0,
          refused: 0,
          inFlight: 0,
          readBack: 9,
          lost: 0,
          duplicate: 0,
          unknownFound: 0,
          refusedFound: 0,
          corrupt: 0,
        },
        latency: null,
        seconds: [...seconds, { ...seconds[0]!, atMs: 9000, acked: 1 }],
        connections: [],
        partitions: [],
        verdict: { kind: 'none', words: '' },
        lastError: null,
      })
    const seen = (one: ReturnType<typeof load>) =>
      observeRecovery(fold([kill(1500, 2)]), { ...EMPTY_VIEW, load: one }, 4000)[0]!
    expect(seen(load(0, null))).toMatchObject({ ledger: { acked: 9, lost: 0 } })
    expect(writesAround(seen(load(0, null)))).toEqual({ acked: 100, forMs: 2000 })
    // While nothing is acknowledged the ledger stands still, and the seconds of it go on.
    const before = seen(load(0, null))
    const stalled = { ...load(0, null), seconds: [4000, 5000].map(atMs => ({ ...seconds[0]!, atMs, acked: 0 })) }
    const [after] = observeRecovery([before], { ...EMPTY_VIEW, load: stalled }, 5000)
    expect(after!.seconds.at(-1)).toEqual({ atMs: 4000, acked: 0 })
    expect(observeRecovery([after!], { ...EMPTY_VIEW, load: stalled }, 6000)[0]).toBe(after)
    for (const other of [load(0, 1000), load(2000, null)]) {
      expect(seen(other).ledger).toBeUndefined()
      expect(writesAround(seen(other))).toBeUndefined()
    }
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
