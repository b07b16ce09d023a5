/** The library of drills in the simulated world: each passes, each broken rule is noticed, and no verdict can be fooled. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { BOOK_COMMAND, bookOf } from '../drills/book.ts'
import type { Drill } from '../drills/contract.ts'
import { DRILLS } from '../drills/library.ts'
import { replayOf } from '../drills/recording.ts'
import { type DrillRun, judgedRun, type OpenWorlds, runDrill, scenarioOf } from '../drills/run.ts'
import { CHECKERS_KEY, type EvidenceItem, type Found, requirements } from '../scenario/evidence.ts'
import type { Reading } from '../scenario/reading.ts'
import { SimulatedRunner } from './scenario-runner.ts'
import { breathe, hash } from './testing/worlds.ts'

const open: OpenWorlds = async (_world, { scenario, seed, ruleOff }) => {
  const rules = ruleOff && { [ruleOff]: false }
  const runner = new SimulatedRunner(scenario.cluster, { seed: BigInt(seed), hash, breathe, ...(rules && { rules }) })
  return { runner, close: async () => {} }
}

const SIM = { world: 'sim' } as const
const runs = new Map<string, Promise<DrillRun>>()
/** Each drill is run once; what is said of its evidence is said of that run. */
function ran(drill: Drill): Promise<DrillRun> {
  const run = runs.get(drill.id) ?? runDrill(drill, SIM, open, { hash })
  runs.set(drill.id, run)
  return run
}

/** Which checkers of the world have objected. */
function objectors({ evidence }: DrillRun): string[] {
  const found = evidence.find(({ key }) => key === CHECKERS_KEY)?.found
  return found?.is === 'checkers' ? found.violations.map(({ checker }) => checker) : []
}

const named = DRILLS.map(drill => [`${drill.id} ${drill.title}`, drill] as const)

it('there are 25 drills, in the order of their numbers', () => {
  const ids = Array.from({ length: 25 }, (_, index) => `D${String(index + 1).padStart(2, '0')}`)
  expect(DRILLS.map(({ id }) => id)).toEqual(ids)
})

describe('what a drill says of itself', () => {
  it.each(named)('%s: its scenarios carry its id and title, its words are those of its scenario', (_, drill) => {
    const { id, title, scenario, realScenario, broken } = drill
    for (const one of [scenario, realScenario, broken.scenario].filter(each => each !== undefined))
      expect([one.id, one.title]).toEqual([id, title])
    for (const one of [scenario, realScenario].filter(each => each !== undefined)) {
      const words = requirements(one, true).map(({ what }) => what)
      for (const { rightIf } of drill.predictions) expect(words).toContain(rightIf.finding)
      expect(words).toContain(drill.decisive)
    }
    expect(drill.predictions.length).toBeGreaterThan(1)
    // A choice of which all are right, or none, asks nothing.
    expect(new Set(drill.predictions.map(({ rightIf }) => rightIf.passes)).size).toBe(2)
  })
})

it.each(named)('%s: its scenarios are plain JSON, to be held in a file and shown', (_, drill) => {
  for (const one of [drill.scenario, drill.realScenario, drill.broken.scenario].filter(each => each !== undefined))
    expect(JSON.parse(JSON.stringify(one))).toStrictEqual(one)
})

describe('in the simulated world', () => {
  it.each(named)('%s: passes, and its checkers have looked', async (_, drill) => {
    const { verdict, findings, asExpected } = await ran(drill)
    expect(findings.filter(finding => finding.verdict !== 'pass')).toEqual([])
    expect([verdict, asExpected]).toEqual(['pass', true])
  })

  it.each(named)('%s: with its rule broken the checker that it names objects', async (_, drill) => {
    const run = await runDrill(drill, { ...SIM, broken: true }, open, { hash })
    expect(objectors(run)).toContain(drill.broken.noticedBy)
    expect([run.verdict, run.asExpected]).toEqual(['fail', true])
    // It is the rule that makes the difference, and not the story.
    const { scenario } = drill.broken
    const whole = scenario ? await runDrill({ ...drill, scenario }, SIM, open, { hash }) : await ran(drill)
    expect(objectors(whole)).not.toContain(drill.broken.noticedBy)
  })
})

describe('a verdict cannot be fooled', () => {
  it.each(named)('%s: no item of its evidence can be left out', async (_, drill) => {
    const { evidence } = await ran(drill)
    for (const { key } of evidence) {
      const rest = evidence.filter(item => item.key !== key)
      expect([key, judgedRun(drill, SIM, rest).verdict]).not.toEqual([key, 'pass'])
    }
  })

  it.each(named)('%s: every item of its evidence can turn it red', async (_, drill) => {
    const { evidence } = await ran(drill)
    for (const item of evidence) {
      const verdicts = altered(item).map(
        found =>
          judgedRun(
            drill,
            SIM,
            evidence.map(each => (each === item ? { ...each, found } : each)),
          ).verdict,
      )
      expect([item.key, verdicts]).toEqual([item.key, expect.arrayContaining(['fail'])])
    }
  })
})

describe('a run is shown again', () => {
  it.each(named)('%s: from its recording, at the moment that decided', async (_, drill) => {
    const { recording, findings } = await ran(drill)
    const { moments, decisive } = replayOf(scenarioOf(drill, SIM), recording, findings, drill.decisive)
    const { key, text, states } = moments[decisive]!
    expect(findings.find(finding => finding.key === key)?.step).toBe(drill.decisive)
    expect(text).toContain(drill.decisive)
    expect(states).toHaveLength(recording.nodes)
    expect(moments.map(({ atMs }) => atMs)).toEqual(moments.map(({ atMs }) => atMs).sort((a, b) => a - b))
    // Something was done before, and somebody told something.
    const before = moments.slice(0, decisive).map(({ is }) => is)
    expect(before).toEqual(expect.arrayContaining(['step', 'event']))
  })

  it('D03: with the files as they were: at the moment that decides, the index is one entry shorter and the log still cut', async () => {
    const drill = DRILLS.find(({ id }) => id === 'D03')!
    const { recording, findings } = await ran(drill)
    const { files, decisive } = replayOf(scenarioOf(drill, SIM), recording, findings, drill.decisive)
    const lengths = (ending: string, until: number) =>
      files.filter(({ node, path, at }) => node === 2 && path.endsWith(ending) && at <= until).map(({ bytes }) => bytes)
    const [whole, cut] = [lengths('.index', decisive).slice(-2), lengths('.log', decisive).slice(-2)]
    expect(whole[0]! - whole[1]!).toBe(24)
    expect(cut[1]).toBeLessThan(cut[0]!)
    // Whom it hears again fills both up.
    expect(lengths('.index', Number.POSITIVE_INFINITY).at(-1)).toBe(whole[0])
    expect(lengths('.log', Number.POSITIVE_INFINITY).at(-1)).toBe(cut[0])
  })

  it('D11: with the nodes by their own word: the live view is ahead of the durable one when node 1 may not speak', async () => {
    const drill = DRILLS.find(({ id }) => id === 'D11')!
    const { recording, findings } = await ran(drill)
    const { standings, decisive } = replayOf(scenarioOf(drill, SIM), recording, findings, drill.decisive)
    const saidBy = (node: number, at: number) => standings.findLast(each => each.node === node && each.at <= at)?.groups
    expect(saidBy(1, decisive)?.[0]).toMatchObject({ group: 'metadata', view: 1, viewDurable: 0 })
    expect(saidBy(0, decisive)).toBeNull()
    const last = saidBy(1, Number.POSITIVE_INFINITY)![0]!
    expect([last.status, last.viewDurable]).toEqual(['normal', last.view])
  })

  it('with its rule broken it stands where the verdict turned red', async () => {
    const drill = DRILLS.find(({ id }) => id === 'D18')!
    const { recording, findings } = await runDrill(drill, { ...SIM, broken: true }, open, { hash })
    const scenario = scenarioOf(drill, { ...SIM, broken: true })
    const { moments, decisive } = replayOf(scenario, recording, findings, drill.decisive)
    const first = findings.find(({ verdict }) => verdict !== 'pass')!
    expect(moments[decisive]).toMatchObject({ tone: 'bad', text: `${first.step}: ${first.seen}` })
  })
})

it(`the drill book is what the drills are: ${BOOK_COMMAND} writes it anew`, async () => {
  const told = await Promise.all(DRILLS.map(async drill => ({ drill, run: await ran(drill) })))
  const files = bookOf(told)
  const folder = new URL('../../docs/drills/', import.meta.url)
  expect(readdirSync(folder).sort()).toEqual([...files.keys()].sort())
  for (const [name, text] of files) expect([name, readFileSync(new URL(name, folder), 'utf8')]).toEqual([name, text])
})

/** The same item as a world would have left it in which the thing went wrong. */
function altered({ found }: EvidenceItem): Found[] {
  switch (found.is) {
    case 'reading':
      return readings(found.reading).map(reading => ({ ...found, reading }))
    case 'answer':
      return [{ ...found, answer: 'none' }]
    case 'ended':
      return [{ ...found, how: 'late' }]
    case 'checkers':
      return [{ ...found, violations: [{ checker: 'agreement', message: 'two histories' }] }]
    case 'cannot':
      return []
  }
}

function readings(reading: Reading): Reading[] {
  switch (reading.of) {
    case 'parts': {
      return reading.parts.flatMap((part, index) =>
        readings(part).map(wrong => ({ ...reading, parts: reading.parts.with(index, wrong) })),
      )
    }
    case 'events':
      return [0, reading.count + 1_000].map(count => ({ ...reading, count }))
    case 'field':
      return [null, '-1', '99999999999999'].map(value => ({ ...reading, value }))
    case 'fields':
      return [
        { ...reading, values: reading.values.map((each, index) => (index === 0 ? { ...each, value: 'x' } : each)) },
      ]
    case 'standings':
      return [{ ...reading, nodes: reading.nodes.map(each => ({ ...each, groups: null })) }]
    case 'process':
      return (['running', 'stopped'] as const).map(state => ({ ...reading, state }))
    case 'file':
      return [null, 1_000_000_007].map(bytes => ({ ...reading, bytes }))
    case 'files':
      return [{ ...reading, now: Object.fromEntries(Object.keys(reading.now).map(path => [path, 'another'])) }]
    case 'logs':
      return [{ ...reading, files: reading.files.map(file => ({ ...file, hash: 'another' })) }]
    case 'outcome':
      return [
        { state: 'pending' } as const,
        { state: 'error', error: 'Another' } as const,
        { state: 'ok' } as const,
      ].map(outcome => ({ ...reading, outcome }))
    case 'outcomes':
      return [0, 60_000].map(tookMs => ({
        ...reading,
        outcomes: reading.outcomes.map(() => ({ state: 'ok', tookMs, reply: 'another' })),
      }))
    case 'counts':
      return Object.keys(reading.counts).map(name => ({ ...reading, counts: { ...reading.counts, [name]: -1 } }))
  }
}
