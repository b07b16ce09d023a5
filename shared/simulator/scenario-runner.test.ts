/** The scenario language in the simulated world: what it can do, and that each of its verdicts can come about. */
import { describe, expect, test } from 'vitest'
import { CHECKERS_KEY } from '../scenario/evidence.ts'
import type { Action, Scenario, ScenarioResult } from '../scenario/language.ts'
import { runScenario } from '../scenario/run.ts'
import { killedPrimary, started } from '../scenario/testing/killed-primary.ts'
import { SimulatedRunner } from './scenario-runner.ts'
import { breathe, hash } from './testing/worlds.ts'

const run = (scenario: Scenario, seed = 1n) =>
  runScenario(scenario, new SimulatedRunner(scenario.cluster, { seed, hash, breathe }), { hash })

/** What the world's checkers say comes after all steps. */
const lastStep = ({ findings }: ScenarioResult) => findings.filter(({ key }) => key !== CHECKERS_KEY).at(-1)!

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
    expect(lastStep(result)).toMatchObject({ step: 'a view that never comes', verdict: 'fail' })
    expect(lastStep(result).seen).toContain('metadata view is 0, wanted ≥ 7')
  })

  test('an action that the state of the world does not allow leaves the verdict open', async () => {
    const result = await run({ ...killedPrimary, steps: [{ do: 'kill', nodes: [0] }] })
    expect(result.verdict).toBe('unknown')
    expect(lastStep(result)).toMatchObject({ step: 'kill', seen: 'node 0 has no process' })
  })

  test('a wrong answer fails, an expected refusal passes', async () => {
    const again: Action = { do: 'request', client: 'c', call: { request: 'createStream', stream: 's' } }
    const wrong = await run({ ...killedPrimary, steps: [...started, again] })
    expect(lastStep(wrong)).toMatchObject({ verdict: 'fail', seen: 'answered with StreamNameAlreadyExists' })
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
        { do: 'waitFor', what: 'it dies in its write', until: { process: 2, state: 'crashed' }, withinMs: 30_000 },
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
