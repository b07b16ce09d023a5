import { describe, expect, it } from 'vitest'
import type { StreamMessage } from './api.ts'
import { beliefMatrix, livenessOf, primaryOf, STALE_MS, standingOf } from './belief.ts'
import { fold } from './fold.ts'
import { foldAll, hello, METADATA, processes, settled, snapshotOf, T0 } from './testing/made-up.ts'
import { readRecorded } from './testing/recorded.ts'
import { EMPTY_VIEW } from './view.ts'

const NOW = T0 + 100

describe('a stream recorded from a real cluster, judged at each moment', () => {
  const recorded = readRecorded('kill-backup-then-primary')
  /** The view as it was `t` ms into the recording, and that moment. */
  const at = (t: number) => ({
    view: foldAll(
      fold,
      recorded.filter(entry => entry.t <= t).map(entry => entry.message),
    ),
    nowMs: recorded[0]!.atMs - recorded[0]!.t + t,
  })
  const groups = ['0', METADATA]
  const whenOf = (kind: string, about: number): number =>
    recorded.find(
      ({ message }) =>
        message.event === 'batch' &&
        message.data.some(item => item.kind === kind && 'data' in item && (item.data.node ?? item.node) === about),
    )!.t

  it('has node-0 for primary while all is well', () => {
    const { view, nowMs } = at(2000)
    for (const group of groups) {
      expect(primaryOf(view, group, nowMs)).toMatchObject({ kind: 'primary', node: 0, view: 0 })
      expect([0, 1, 2].map(node => standingOf(view, group, node, nowMs).kind)).toEqual([
        'primary',
        'healthy',
        'healthy',
      ])
    }
  })

  it('draws the killed backup down at once, and the primary stays', () => {
    const { view, nowMs } = at(whenOf('process_exited', 2))
    expect(standingOf(view, '0', 2, nowMs).kind).toBe('down')
    expect(primaryOf(view, '0', nowMs)).toMatchObject({ kind: 'primary', node: 0 })
  })

  it('never draws the restarted backup healthy before it has what the others had', () => {
    const from = whenOf('process_started', 2)
    let sawRecovering = false
    for (const { t } of recorded.filter(entry => entry.t >= from && entry.t < whenOf('process_exited', 0))) {
      const { view, nowMs } = at(t)
      const cell = view.groups.get('0')!.replicas.get(2)
      const { kind, gap } = standingOf(view, '0', 2, nowMs)
      if (kind === 'recovering') {
        sawRecovering = true
        expect(gap).toBeGreaterThan(10n)
      }
      if (cell && cell.commitMin < 19n) expect(kind).not.toBe('healthy')
    }
    expect(sawRecovering).toBe(true)
  })

  it('says "no primary" from the kill of the primary until two nodes agree on node-1', () => {
    const kill = whenOf('process_exited', 0)
    const verdicts = recorded
      .filter(entry => entry.t >= kill)
      .map(({ t }) => {
        const { view, nowMs } = at(t)
        const verdict = primaryOf(view, '0', nowMs)
        return verdict.kind === 'primary' ? `node-${verdict.node} v${verdict.view}` : verdict.reason
      })
    const inOrder = verdicts.filter((verdict, index) => verdict !== verdicts[index - 1])
    expect(inOrder).toEqual(['primary_down', 'view_change', 'node-1 v1'])
    expect(primaryOf(at(kill).view, '0', at(kill).nowMs)).toMatchObject({
      last: { node: 0, view: 0 },
      missing: [0],
      words: expect.stringContaining('node-0'),
    })
  })

  it('ends healthy, all three', () => {
    const { view, nowMs } = at(recorded.at(-1)!.t)
    for (const group of groups)
      expect([0, 1, 2].map(node => standingOf(view, group, node, nowMs).kind)).toEqual([
        'healthy',
        'primary',
        'healthy',
      ])
    expect(beliefMatrix(view, '0', nowMs).disagreements).toEqual([])
  })
})

const judge = (messages: readonly StreamMessage[], nowMs = NOW) => {
  const view = foldAll(fold, messages)
  return {
    primary: primaryOf(view, METADATA, nowMs),
    standing: (node: number) => standingOf(view, METADATA, node, nowMs),
    matrix: beliefMatrix(view, METADATA, nowMs),
  }
}

describe('no primary', () => {
  it('when the primary is dead, paused or hung, although its backups still follow it', () => {
    const says = (state: 'stopped' | 'paused') => judge([...settled(), processes(state, 'running', 'running')]).primary
    expect(says('stopped')).toMatchObject({ kind: 'none', reason: 'primary_down' })
    expect(says('paused')).toMatchObject({ kind: 'none', reason: 'primary_paused' })
    const late = T0 + STALE_MS + 10
    const hung = [...settled(), snapshotOf(1, { atMs: late }), snapshotOf(2, { atMs: late })]
    expect(judge(hung, late).primary).toMatchObject({ kind: 'none', reason: 'primary_silent', missing: [0] })
    expect(judge(hung, late).standing(0).kind).toBe('silent')
  })

  it('when only one of two live nodes has found the new one', () => {
    const half = [
      ...settled(),
      processes('stopped', 'running', 'running'),
      snapshotOf(1, { seq: 1, metadata: { view: 1, primary: 1, role: 'primary' } }),
    ]
    expect(judge(half).primary).toMatchObject({ kind: 'none' })
    expect(judge(half).standing(1).kind).toBe('behind')
    const both = [...half, snapshotOf(2, { seq: 1, metadata: { view: 1, primary: 1 } })]
    expect(judge(both).primary).toEqual({ kind: 'primary', node: 1, view: 1, agreeing: [1, 2] })
    expect(judge(both).standing(1).kind).toBe('primary')
  })

  it('when too few nodes live for a quorum, and it says who is missing', () => {
    const { primary } = judge([...settled(), processes('running', 'stopped', 'crashed')])
    expect(primary).toMatchObject({ kind: 'none', reason: 'no_quorum', missing: [1, 2] })
    expect((primary as { words: string }).words).toBe('no quorum: 1 of 3 report, 2 are needed; missing node-1, node-2')
  })

  it('when the named one does not say so itself, or nobody reports', () => {
    expect(
      judge([...settled(), snapshotOf(0, { seq: 1, metadata: { status: 'recovering', role: 'backup' } })]).primary,
    ).toMatchObject({ reason: 'disagree' })
    expect(judge([hello, processes('running', 'running', 'running')]).primary).toMatchObject({ reason: 'no_reports' })
    expect(primaryOf(EMPTY_VIEW, METADATA, NOW)).toMatchObject({ reason: 'no_reports' })
  })

  it('but a solo node leads alone', () => {
    const solo: StreamMessage = { ...hello, data: { ...hello.data, replicaCount: 1 } } as StreamMessage
    expect(judge([solo, processes('running'), snapshotOf(0)]).primary).toMatchObject({ kind: 'primary', node: 0 })
  })
})

describe('a backup', () => {
  const committed = (commit: number, atMs: number, seq: number) =>
    snapshotOf(0, { seq, atMs, metadata: { op: `${commit}`, commitMin: `${commit}`, commitMax: `${commit}` } })

  it('is behind when it lacks what was committed well before it spoke, and the gap is told', () => {
    const { standing } = judge(
      [
        ...settled(),
        committed(50, T0 + 1000, 1),
        committed(60, T0 + 2600, 2),
        snapshotOf(1, { seq: 1, atMs: T0 + 2600, metadata: { commitMin: '12' } }),
      ],
      T0 + 2700,
    )
    expect(standing(1)).toEqual({ kind: 'behind', gap: 48n, words: 'backup v0, 48 behind' })
  })

  it('is healthy while it lacks only what the next heartbeat brings', () => {
    const { standing } = judge(
      [...settled(), committed(50, T0 + 1000, 1), snapshotOf(1, { seq: 1, atMs: T0 + 1100 })],
      T0 + 1200,
    )
    expect(standing(1)).toMatchObject({ kind: 'healthy', gap: 40n })
  })

  it('is never healthy while it recovers, changes view, is refused, or follows an older view', () => {
    const kindOf = (metadata: object) => judge([...settled(), snapshotOf(1, { seq: 1, metadata })]).standing(1).kind
    expect(kindOf({ status: 'recovering' })).toBe('recovering')
    expect(kindOf({ status: 'view_change', view: 1 })).toBe('view_change')
    expect(kindOf({ status: 'tombstoned' })).toBe('tombstoned')
    const newer = [0, 2].map(node => snapshotOf(node, { seq: 1, metadata: { view: 3, primary: 0 } }))
    expect(judge([...settled(), ...newer]).standing(1)).toMatchObject({
      kind: 'behind',
      words: 'backup v0, the group is in v3',
    })
  })
})

describe('the belief matrix', () => {
  it('has a row for each reporter, with its age, and no disagreement while all agree', () => {
    const { matrix } = judge(settled())
    expect(matrix.rows.map(row => [row.reporter, row.liveness, row.ageMs])).toEqual(
      [0, 1, 2].map(node => [node, 'live', 100]),
    )
    for (const row of matrix.rows)
      expect(row.beliefs.map(belief => belief.word)).toEqual(['primary', 'backup', 'backup'])
    expect(matrix.disagreements).toEqual([])
  })

  it('marks who is contradicted, in both directions', () => {
    const { matrix } = judge([
      ...settled(),
      snapshotOf(1, { seq: 1, metadata: { view: 1, primary: 1, role: 'primary' } }),
    ])
    expect(matrix.disagreements).toContain('node-0 takes node-1 for backup v0; node-1 says primary v1')
    expect(matrix.disagreements).toContain('node-1 says it leads view 1; node-0 follows node-0 in view 0')
    expect(matrix.rows[0]!.beliefs[1]).toMatchObject({ word: 'backup', disagrees: true })
  })

  it('keeps the last words of the dead, which contradict nobody', () => {
    const { matrix } = judge([
      ...settled(),
      processes('stopped', 'running', 'running'),
      ...[1, 2].map(node =>
        snapshotOf(node, {
          seq: 1,
          metadata: { view: 1, primary: 1, role: node === 1 ? 'primary' : 'backup' },
          peers: [{ replica: 0, connected: false }],
        }),
      ),
    ])
    expect(matrix.rows[0]).toMatchObject({ liveness: 'down' })
    expect(matrix.rows[0]!.beliefs.map(belief => belief.word)).toEqual(['primary', 'backup', 'backup'])
    expect(matrix.rows[1]!.beliefs.map(belief => belief.word)).toEqual(['silent', 'primary', 'backup'])
    expect(matrix.disagreements).toEqual([])
  })

  it('shows votes while a view changes', () => {
    const votes = { startViewChange: [0 + 1, 2], doViewChange: [], parked: false }
    const { matrix } = judge([
      ...settled(),
      processes('stopped', 'running', 'running'),
      snapshotOf(1, { seq: 1, metadata: { status: 'view_change', view: 1, primary: 1, votes } }),
    ])
    expect(matrix.rows[1]!.beliefs.map(belief => belief.word)).toEqual(['no_vote', 'candidate', 'voted'])
  })
})

it('a restarted node is unknown until it has spoken itself, however fresh the words of its former life are', () => {
  const restarted = [
    ...settled(),
    processes('running', 'stopped', 'running'),
    processes('running', 'running', 'running'),
  ]
  expect(judge(restarted).standing(1)).toMatchObject({ kind: 'unknown' })
  expect(judge([...restarted, snapshotOf(1, { seq: 9, metadata: { status: 'normal' } })]).standing(1)).toMatchObject({
    kind: 'unknown',
  })
  const spoke = [...restarted, snapshotOf(1, { boot: 'second', metadata: { status: 'recovering', commitMin: '0' } })]
  expect(judge(spoke).standing(1)).toMatchObject({ kind: 'recovering', gap: 10n })
  // The same when the reader missed the exit and only sees another process.
  const missed = [...settled(), processes('running', 'running', 'running')].map(message =>
    message.event === 'nodes'
      ? { ...message, data: message.data.map(node => ({ ...node, pid: 100 + node.id })) }
      : message,
  )
  const other = {
    event: 'nodes',
    data: (missed.at(-1) as { data: { pid: number }[] }).data.map(node => ({ ...node, pid: node.pid + 50 })),
  } as unknown as StreamMessage
  expect(judge(missed).standing(1).kind).toBe('healthy')
  expect(judge([...missed, other]).standing(1).kind).toBe('unknown')
})

it('a node that was never heard is unknown, not dead', () => {
  expect(livenessOf(undefined, NOW)).toBe('unknown')
  const view = foldAll(fold, [hello, processes('running', 'running', 'running')])
  expect(livenessOf(view.nodes.get(0), NOW)).toBe('unknown')
  expect(standingOf(view, METADATA, 0, NOW)).toMatchObject({ kind: 'unknown', words: 'not heard' })
})
