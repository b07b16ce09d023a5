/**
 * The evidence of a run, and the verdict that follows from it. A run only gathers; what it means is computed here, from the
 * scenario and the gathered items alone. So nobody has to believe a verdict: take the evidence, and judge it again.
 * - An item that is missing leaves the verdict open, unless another one failed: it never passes.
 * - An item that was altered is judged as it stands.
 */
import { judge, NotOfThisPredicate } from './judge.ts'
import type { Action, Finding, Predicate, Scenario, Verdict } from './language.ts'
import type { Reading } from './reading.ts'

/** What was found, by the place in the scenario that asked for it. */
export interface EvidenceItem {
  /** `3` is the fourth step, `5.1.0` in a repeat the first step of its second turn, `v0` the first check of the verdict. */
  readonly key: string
  readonly atMs: number
  readonly found: Found
}

export type Found =
  | { readonly is: 'reading'; readonly reading: Reading; readonly tookMs: number }
  /** Of a request: `ok`, the name of the error, or `none`. */
  | { readonly is: 'answer'; readonly answer: string }
  /** Of a load that was to be read back: `done`, `late`, or the code of what stopped it. */
  | { readonly is: 'ended'; readonly how: string }
  /** It could not be asked or done. */
  | { readonly is: 'cannot'; readonly why: string }
  /** What the world's own checkers objected to, and on how much they looked. */
  | { readonly is: 'checkers'; readonly looked: number; readonly violations: readonly Objection[] }

export interface Objection {
  readonly checker: string
  readonly message: string
  readonly node?: number
}

/** Key of the item that the world's checkers leave. */
export const CHECKERS_KEY = 'checkers'

export type Asked =
  | { readonly ask: 'predicate'; readonly predicate: Predicate; readonly withinMs?: number; readonly forMs?: number }
  | { readonly ask: 'answer'; readonly expect: 'ok' | 'any' | readonly string[] }
  | { readonly ask: 'ended'; readonly withinMs: number }
  | { readonly ask: 'checkers' }

export interface Requirement {
  readonly key: string
  readonly what: string
  readonly asked: Asked
}

/**
 * Everything that must have been found for the scenario to pass, in order.
 * @param checked whether the world has checkers of its own, which must have looked
 */
export function requirements(scenario: Scenario, checked: boolean): Requirement[] {
  const found = ofSteps(scenario.steps, '')
  for (const [index, { what, that }] of scenario.verdict.entries())
    found.push({ key: `v${index}`, what, asked: { ask: 'predicate', predicate: that } })
  if (checked) found.push({ key: CHECKERS_KEY, what: 'no checker of the world objects', asked: { ask: 'checkers' } })
  return found
}

function ofSteps(steps: readonly Action[], prefix: string): Requirement[] {
  return steps.flatMap((step, index): Requirement[] => {
    const key = `${prefix}${index}`
    switch (step.do) {
      case 'waitFor':
        return [{ key, what: step.what, asked: { ask: 'predicate', predicate: step.until, withinMs: step.withinMs } }]
      case 'check':
        return [{ key, what: step.what, asked: { ask: 'predicate', predicate: step.that } }]
      case 'always':
        return [{ key, what: step.what, asked: { ask: 'predicate', predicate: step.that, forMs: step.forMs } }]
      case 'request':
        if (step.background) return []
        return [
          {
            key,
            what: `${step.call.request} by ${step.client}`,
            asked: { ask: 'answer', expect: step.expect ?? 'ok' },
          },
        ]
      case 'stopLoad':
        return [{ key, what: `load ${step.load} ends`, asked: { ask: 'ended', withinMs: step.withinMs } }]
      case 'repeat':
        return Array.from({ length: step.times }, (_, turn) => ofSteps(step.steps, `${key}.${turn}.`)).flat()
      default:
        return []
    }
  })
}

/**
 * @returns the verdict and what each item says. A missing item is a finding of its own, `unknown`, as long as nothing has
 *   failed in front of it: what follows a failed step is not told.
 */
export function verdictOf(
  scenario: Scenario,
  evidence: readonly EvidenceItem[],
  checked: boolean,
): { readonly verdict: Verdict; readonly findings: readonly Finding[] } {
  const items = new Map(evidence.map(item => [item.key, item]))
  const findings: Finding[] = []
  let ended = false
  for (const { key, what, asked } of requirements(scenario, checked)) {
    const item = items.get(key)
    items.delete(key)
    if (item) {
      const finding = { key, step: what, atMs: item.atMs, ...judged(asked, item.found) }
      findings.push(finding)
      // What was not to be done ends a story as a failed step does; the checks at its end stand each for itself.
      if (finding.verdict === 'fail' || (item.found.is === 'cannot' && !key.startsWith('v'))) ended = true
    } else if (!ended) {
      if ([...items.values()].some(({ found }) => found.is === 'cannot')) continue
      findings.push({ key, step: what, verdict: 'unknown', seen: 'there is no evidence of it', atMs: 0 })
    }
  }
  // What could not be done belongs to no requirement: an action that the world refused.
  for (const { key, atMs, found } of items.values()) {
    if (found.is === 'cannot')
      findings.push({ key, step: actionAt(scenario, key), verdict: 'unknown', seen: found.why, atMs })
  }
  const verdicts = findings.map(finding => finding.verdict)
  const verdict = verdicts.includes('fail') ? 'fail' : verdicts.includes('unknown') ? 'unknown' : 'pass'
  return { verdict, findings }
}

/** What one item says about what was asked. */
export function judged(asked: Asked, found: Found): { readonly verdict: Verdict; readonly seen: string } {
  if (found.is === 'cannot') {
    // What was waited for may be about something that never came to be.
    const waited = asked.ask === 'predicate' ? asked.withinMs : undefined
    if (waited !== undefined) return { verdict: 'fail', seen: `not within ${waited} ms; last seen: ${found.why}` }
    return { verdict: 'unknown', seen: found.why }
  }
  switch (asked.ask) {
    case 'predicate': {
      if (found.is !== 'reading') return foreign(found)
      try {
        const { holds, seen } = judge(asked.predicate, found.reading)
        if (!holds && asked.withinMs !== undefined)
          return { verdict: 'fail', seen: `not within ${asked.withinMs} ms; last seen: ${seen}` }
        if (asked.withinMs !== undefined && found.tookMs > asked.withinMs)
          return { verdict: 'fail', seen: `after ${found.tookMs} ms, allowed are ${asked.withinMs}: ${seen}` }
        if (holds && asked.forMs !== undefined && found.tookMs < asked.forMs)
          return { verdict: 'unknown', seen: `looked at for ${found.tookMs} of ${asked.forMs} ms: ${seen}` }
        return { verdict: holds ? 'pass' : 'fail', seen }
      } catch (error) {
        if (!(error instanceof NotOfThisPredicate)) throw error
        return { verdict: 'unknown', seen: error.message }
      }
    }
    case 'answer': {
      if (found.is !== 'answer') return foreign(found)
      const { answer } = found
      const right = asked.expect === 'any' ? answer !== 'none' : [asked.expect].flat().includes(answer)
      if (answer === 'none') return { verdict: 'fail', seen: 'no answer, and no error either' }
      return { verdict: right ? 'pass' : 'fail', seen: `answered with ${answer}` }
    }
    case 'ended':
      if (found.is !== 'ended') return foreign(found)
      if (found.how === 'done') return { verdict: 'pass', seen: 'read back' }
      return {
        verdict: 'fail',
        seen: found.how === 'late' ? `not read back within ${asked.withinMs} ms` : `reading back failed: ${found.how}`,
      }
    case 'checkers':
      if (found.is !== 'checkers') return foreign(found)
      if (found.violations.length > 0)
        return {
          verdict: 'fail',
          seen: found.violations.map(({ checker, message }) => `${checker}: ${message}`).join('; '),
        }
      // Checkers that had nothing to look at have proven nothing.
      return found.looked > 0
        ? { verdict: 'pass', seen: `${found.looked} comparisons` }
        : { verdict: 'unknown', seen: 'the checkers had nothing to compare' }
  }
}

const foreign = ({ is }: Found): { verdict: Verdict; seen: string } => ({
  verdict: 'unknown',
  seen: `evidence of another kind: ${is}`,
})

function actionAt(scenario: Scenario, key: string): string {
  let steps = scenario.steps
  let name = key
  for (const [depth, part] of key.split('.').entries()) {
    // Every second part is the turn of a repeat.
    if (depth % 2 === 1) continue
    const step = steps[Number(part)]
    if (!step) return name
    name = step.do
    if (step.do === 'repeat') steps = step.steps
  }
  return name
}
