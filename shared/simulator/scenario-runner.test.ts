/** The scenario language in the simulated world: what it can do, and that each of its verdicts can come about. */
import { describe, expect, test } from 'vitest'
import type { Action, Scenario } from '../scenario/language.ts'
import { runScenario } from '../scenario/run.ts'
import { SimulatedRunner } from './scenario-runner.ts'
import { breathe, hash } from './testing/worlds.ts'

const run = (scenario: Scenario, seed = 1n) =>
  runScenario(scenario, new SimulatedRunner(scenario.cluster, { seed, hash, breathe }), { hash })

const EAGER = { enforceFsync: true, messagesRequiredToSave: 1 }
const started: readonly Action[] = [
  { do: 'start', nodes: 'all' },
  { do: 'waitFor', what: 'all run', until: { settled: true, nodes: [0, 1, 2] }, withinMs: 10_000 },
  { do: 'request', client: 'c', call: { request: 'createStream', stream: 's' } },
  {
    do: 'request',
    client: 'c',
    call: { request: 'createTopic', stream: 's', topic: 't', partitions: 1, options: EAGER },
  },
  { do: 'waitFor', what: 'partitions are there', until: { settled: true }, withinMs: 10_000 },
]
const load = { stream: 's', topic: 't', partitions: 1, lanes: 3, batchMessages: 5, messageBytes: 100, pauseMs: 20 }

const killedPrimary: Scenario = {
  id: 'VC-01',
  title: 'a primary is killed under load',
  cluster: { nodes: 3 },
  steps: [
    ...started,
    { do: 'startLoad', load: 'l', spec: load },
    {
      do: 'waitFor',
      what: 'load is acknowledged',
      until: { load: 'l', counts: { acked: ['ge', 50] } },
      withinMs: 20_000,
    },
    { do: 'remember', name: 'victim', node: { primaryOf: '0/0/0' } },
    { do: 'baseline', name: 'kill' },
    { do: 'kill', nodes: [{ named: 'victim' }] },
    {
      do: 'waitFor',
      what: 'another leads',
      until: { event: { kind: 'view_started', group: '0/0/0', since: 'kill' } },
      withinMs: 30_000,
    },
    { do: 'start', nodes: [{ named: 'victim' }] },
    { do: 'waitFor', what: 'all have caught up', until: { oneLeader: '0/0/0' }, withinMs: 30_000 },
    { do: 'stopLoad', load: 'l', withinMs: 60_000 },
    { do: 'waitFor', what: 'at rest', until: { settled: true, nodes: [0, 1, 2] }, withinMs: 30_000 },
    { do: 'waitFor', what: 'equal logs', until: { sameLogs: '0/0/0' }, withinMs: 5_000 },
  ],
  verdict: [
    {
      what: 'nothing acknowledged is lost',
      that: { load: 'l', counts: { acked: ['ge', 50], lost: ['eq', 0], corrupt: ['eq', 0] } },
    },
    { what: 'one leader', that: { oneLeader: 'metadata' } },
    {
      what: 'the view is on disk',
      that: {
        superblock: { node: 1, directory: 'streams/0/topics/0/partitions/0' },
        field: 'view',
        is: 'ge',
        value: 1,
      },
    },
  ],
}

test('VC-01 a primary is killed under load: another leads, nothing acknowledged is lost', async () => {
  const result = await run(killedPrimary)
  expect(result.findings.filter(finding => finding.verdict !== 'pass')).toEqual([])
  expect(result.verdict).toBe('pass')
})

describe('verdicts', () => {
  test('a wait that ends at its deadline fails, and says what was seen last', async () => {
    const result = await run({
      ...killedPrimary,
      steps: [
        ...started,
        {
          do: 'waitFor',
          what: 'a view that never comes',
          until: { group: { node: 0, group: 'metadata', field: 'view' }, is: 'ge', value: 7 },
          withinMs: 500,
        },
        { do: 'kill', nodes: 'all' },
      ],
    })
    expect(result.verdict).toBe('fail')
    // What follows a failed step is another story: it is not told.
    expect(result.findings.at(-1)).toMatchObject({ step: 'a view that never comes', verdict: 'fail' })
    expect(result.findings.at(-1)!.seen).toContain('metadata view is 0, wanted ge 7')
  })

  test('an action that the state of the world does not allow leaves the verdict open', async () => {
    const result = await run({ ...killedPrimary, steps: [{ do: 'kill', nodes: [0] }] })
    expect(result).toMatchObject({ verdict: 'unknown', findings: [{ step: 'kill', seen: 'node 0 has no process' }] })
  })

  test('a wrong answer fails, an expected refusal passes', async () => {
    const again: Action = { do: 'request', client: 'c', call: { request: 'createStream', stream: 's' } }
    const wrong = await run({ ...killedPrimary, steps: [...started, again] })
    expect(wrong.findings.at(-1)).toMatchObject({ verdict: 'fail', seen: 'answered with StreamNameAlreadyExists' })
    const right = await run({
      ...killedPrimary,
      steps: [...started, { ...again, expect: ['StreamNameAlreadyExists'] }],
      verdict: [{ what: 'one leader', that: { oneLeader: 'metadata' } }],
    })
    expect(right.verdict).toBe('pass')
  })
})

test('WA-03 a body that rotted inside the metadata log refuses the boot, changes nothing, and the others serve', async () => {
  const result = await run({
    id: 'WA-03',
    title: 'interior rot',
    cluster: { nodes: 3 },
    steps: [
      ...started,
      ...['a', 'b', 'c', 'd'].map(
        stream => ({ do: 'request', client: 'c', call: { request: 'createStream', stream } }) as const,
      ),
      { do: 'waitFor', what: 'all have it', until: { settled: true }, withinMs: 5_000 },
      { do: 'terminate', nodes: [2] },
      {
        do: 'edit',
        node: 2,
        edits: [{ edit: 'flip', path: 'metadata/journal.wal', at: { walEntry: 1, part: 'body', offset: 3 }, mask: 1 }],
      },
      { do: 'recordFiles', name: 'before', node: 2, under: '' },
      { do: 'start', nodes: [2] },
      {
        do: 'waitFor',
        what: 'it refuses',
        until: { process: 2, state: 'refused', exit: 65, code: 'WAL_DAMAGED' },
        withinMs: 5_000,
      },
      { do: 'request', client: 'c', call: { request: 'createStream', stream: 'while-it-is-away' } },
    ],
    verdict: [{ what: 'its files are as before', that: { fileUnchanged: 'before' } }],
  })
  expect(result.findings.filter(finding => finding.verdict !== 'pass')).toEqual([])
  expect(result.verdict).toBe('pass')
})

describe('failpoints', () => {
  test('SB-06 a kill with half of the temporary superblock written leaves the old record', async () => {
    const result = await run({
      id: 'SB-06',
      title: 'kill inside the temp write',
      cluster: { nodes: 3 },
      steps: [
        ...started,
        { do: 'arm', node: 2, point: 'sb.tempHalf@metadata/**', effect: { effect: 'kill' } },
        { do: 'kill', nodes: [0] },
        { do: 'waitFor', what: 'it dies in its write', until: { process: 2, state: 'stopped' }, withinMs: 30_000 },
        {
          do: 'check',
          what: 'a half-written file is there',
          that: { file: { node: 2, path: 'metadata/superblock.*.tmp' }, exists: true },
        },
        { do: 'start', nodes: [2] },
        {
          do: 'waitFor',
          what: 'an election',
          until: { event: { kind: 'view_started', group: 'metadata' } },
          withinMs: 60_000,
        },
      ],
      verdict: [{ what: 'it boots', that: { process: 2, state: 'running' } }],
    })
    expect(result.findings.filter(finding => finding.verdict !== 'pass')).toEqual([])
    expect(result.verdict).toBe('pass')
  })

  test('a held call waits until it is released', async () => {
    const write: Action = {
      do: 'request',
      client: 'c',
      call: { request: 'send', stream: 's', topic: 't', partition: 0, payloads: ['held'] },
      as: 'write',
      background: true,
    }
    const result = await run({
      id: 'CN-10',
      title: 'a held sync',
      cluster: { nodes: 3 },
      steps: [
        ...started,
        { do: 'remember', name: 'p', node: { primaryOf: '0/0/0' } },
        { do: 'arm', node: { named: 'p' }, point: 'persist.log.beforeSync', effect: { effect: 'hold' } },
        write,
        { do: 'always', what: 'no answer', that: { outcome: 'write', is: 'pending' }, forMs: 2_000 },
        { do: 'release', name: 'persist.log.beforeSync' },
        { do: 'waitFor', what: 'the answer', until: { outcome: 'write', is: 'ok' }, withinMs: 5_000 },
      ],
      verdict: [{ what: 'at offset 0', that: { outcome: 'write', baseOffset: 'eq', value: 0 } }],
    })
    expect(result.findings.filter(finding => finding.verdict !== 'pass')).toEqual([])
    expect(result.verdict).toBe('pass')
  })
})
