/**
 * How it is shown that the checkers bite: each rule of the protocol, turned off alone, is found by a checker that is named
 * here, and with the rule on the same seed is whole (spec drills.md §2.5). An assertion inside the engine is no checker: a
 * seed that only trips one counts as not found.
 */
import type { Hash } from '../bytes/hash.ts'
import { RULE_CODES, type RuleName, ruleOf } from '../protocol/rules.ts'
import type { CheckerName, Violation } from './checkers/checker.ts'
import type { Fault } from './faults.ts'
import type { ProfileName } from './profile.ts'
import { runSeed, type SeedResult } from './swarm.ts'

/** Where a broken rule shows, and who says so. */
export interface RuleHunt {
  /** The swarm, or the focus profile that makes what the rule is for common. */
  readonly profile: ProfileName
  /** Any of these must be the first to object. */
  readonly checkers: readonly Exclude<CheckerName, 'engine'>[]
  /** A run of this length shows it as well as a whole one: what is rare in it is sought in more seeds. */
  readonly runMs?: number
}

/**
 * How each rule of the consensus (R) and of the partitions (P) is hunted. The rules of lessons (L) are not: without them a
 * node refuses, waits or turns away where it need not, and the drill that teaches such a rule breaks it (shared/drills).
 */
export const RULE_HUNTS: Readonly<Partial<Record<RuleName, RuleHunt>>> = {
  durableBeforeSend: { profile: 'swarm', checkers: ['durable-before-send', 'vote-once'], runMs: 40_000 },
  corruptSlotRefuses: { profile: 'slots', checkers: ['damage-refused'] },
  writtenViewIsDurable: { profile: 'swarm', checkers: ['durable-before-send', 'vote-once'], runMs: 40_000 },
  emptySuffixDeniesNothing: {
    profile: 'views',
    checkers: ['core-liveness', 'truncation-licence', 'agreement'],
    runMs: 30_000,
  },
  canonicalDeniesByBit: {
    profile: 'tears',
    checkers: ['truncation-licence', 'agreement', 'ack-persistence'],
    runMs: 15_000,
  },
  ackComparesChecksum: { profile: 'swarm', checkers: ['agreement', 'ack-before-durable'], runMs: 40_000 },
  popAfterRead: { profile: 'swarm', checkers: ['apply-order'] },
  logViewRisesWhenHeld: { profile: 'views', checkers: ['log-view', 'agreement', 'ack-persistence'], runMs: 40_000 },
  shorterStartViewCuts: { profile: 'views', checkers: ['agreement'] },
  replyAfterSync: { profile: 'swarm', checkers: ['apply-before-durable', 'commit-quorum'] },
  forwardAfterSync: { profile: 'swarm', checkers: ['ack-before-durable'] },
  evictByCommitOrder: { profile: 'clients', checkers: ['client-table', 'applied-twice'], runMs: 12_000 },
  snapshotHoldsClients: { profile: 'folds', checkers: ['client-table', 'applied-twice'], runMs: 10_000 },
  pairAfterSnapshotSync: { profile: 'swarm', checkers: ['pairing'] },
  drainAfterPairing: { profile: 'swarm', checkers: ['log-cover'] },
  drainKeepsCommitPoint: { profile: 'swarm', checkers: ['log-cover'] },
  renameSyncsDirectory: { profile: 'swarm', checkers: ['durable-before-send', 'ack-before-durable', 'reservation'] },
  tornTailIsProbed: { profile: 'rot', checkers: ['damage-accepted'], runMs: 40_000 },
  nonceChecked: { profile: 'late-answers', checkers: ['former-life'], runMs: 15_000 },
  firstVoteStands: { profile: 'views', checkers: ['vote-replaced'], runMs: 30_000 },
  recoveringIsSilent: { profile: 'swarm', checkers: ['recovering-votes', 'vote-once'], runMs: 40_000 },
  commitBoundIsShared: { profile: 'depths', checkers: ['commit-quorum'], runMs: 40_000 },
  unprovenIsWithheld: { profile: 'swarm', checkers: ['agreement'], runMs: 40_000 },
  fullNackQuorum: { profile: 'depths', checkers: ['truncation-licence', 'agreement', 'ack-persistence'] },
  restartedIsNoPrimary: { profile: 'swarm', checkers: ['unelected-primary'], runMs: 40_000 },
  cursorsMoveTogether: { profile: 'segments', checkers: ['index-soundness', 'lost-message'] },
  walkFromStart: { profile: 'segments', checkers: ['cold-open', 'index-soundness'] },
  floorSpentAfterAppend: { profile: 'segments', checkers: ['offset-reuse'] },
  reservationIsNoData: { profile: 'segments', checkers: ['cold-open'] },
  collapseNeedsFlush: { profile: 'segments-stops', checkers: ['offset-reuse'] },
  holeOnBoundary: { profile: 'segments-solo', checkers: ['index-soundness', 'cold-open'] },
  readersHoldDescriptors: { profile: 'segments-polls', checkers: ['poll'], runMs: 20_000 },
  onDiskComparesChecksum: {
    profile: 'segments-late',
    checkers: ['byte-identity', 'cold-open', 'offset-reuse'],
    runMs: 40_000,
  },
  eagerPersistsFirst: { profile: 'segments-power', checkers: ['lost-message'], runMs: 20_000 },
  purgeRecordedFirst: { profile: 'segments', checkers: ['cold-open'] },
}

/** One find, as `testdata/rules.json` keeps it. */
export interface RuleRecord {
  /** Code of the rule, such as `R01`. */
  readonly rule: string
  readonly profile: ProfileName
  readonly seed: string
  readonly checker: CheckerName
  /** Length of the run that is enough to find it. */
  readonly runMs?: number
  /** A part of the faults of the seed that is enough to find it. */
  readonly faults?: readonly Fault[]
}

/** What a run needs of its host. */
export interface HuntPorts {
  readonly hash: Hash
  readonly breathe: () => Promise<void>
}

/** Virtual time behind the violation that a recorded run keeps: the order of what happens until then must not change. */
const RUN_MARGIN_MS = 100

/** Replays a recorded find with its rule off, or with every rule on. */
export function replay(record: RuleRecord, rule: 'off' | 'on', ports: HuntPorts): Promise<SeedResult> {
  const name = ruleOf(record.rule)
  if (name === undefined) throw new RangeError(`no rule is named ${record.rule}`)
  return runSeed({
    ...ports,
    seed: BigInt(record.seed),
    profile: record.profile,
    rules: rule === 'off' ? { [name]: false } : {},
    ...(record.runMs !== undefined && { runMs: record.runMs }),
    ...(record.faults !== undefined && { faults: record.faults }),
  })
}

/** The checker that found the broken rule, when it is one of those that are named for it. */
export function finder(rule: RuleName, violations: readonly Violation[]): CheckerName | undefined {
  const first = violations[0]?.checker
  return RULE_HUNTS[rule]?.checkers.find(checker => checker === first)
}

/** What one seed says of one rule. */
export type Trial =
  /** Nothing, or only what no named checker said. */
  | { readonly kind: 'missed'; readonly said: readonly string[] }
  /** Found; but the seed fails with the rule on too, which is another defect. */
  | { readonly kind: 'red'; readonly said: readonly string[] }
  | { readonly kind: 'found'; readonly record: RuleRecord }

/**
 * Runs one seed with the rule off and, when that is found, the shortest run that still finds it both ways.
 * @param plain by the plain swarm, in a run of whole length, wherever else the rule is sought by a shorter way.
 * @throws RangeError for a rule that has no hunt.
 */
export async function trySeed(rule: RuleName, seed: bigint, ports: HuntPorts, plain = false): Promise<Trial> {
  const focused = RULE_HUNTS[rule]
  const hunt: RuleHunt | undefined = plain && focused ? { profile: 'swarm', checkers: focused.checkers } : focused
  if (!hunt) throw new RangeError(`nobody has said how ${RULE_CODES[rule]} is found`)
  const { profile, runMs } = hunt
  const length = runMs === undefined ? {} : { runMs }
  const off = await runSeed({ ...ports, seed, profile, rules: { [rule]: false }, ...length })
  const checker = finder(rule, off.violations)
  if (checker === undefined) return { kind: 'missed', said: wordsOf(off) }
  const whole: RuleRecord = { rule: RULE_CODES[rule], profile, seed: seed.toString(), checker, ...length }
  const endMs = off.virtualMs + RUN_MARGIN_MS
  const records = endMs < (runMs ?? Number.POSITIVE_INFINITY) ? [{ ...whole, runMs: endMs }, whole] : [whole]
  for (const record of records) {
    if ((await replay(record, 'off', ports)).violations[0]?.checker !== checker) continue
    const on = await replay(record, 'on', ports)
    if (on.verdict === 'pass') return { kind: 'found', record }
    return { kind: 'red', said: wordsOf(on) }
  }
  return { kind: 'missed', said: ['the run does not repeat'] }
}

const wordsOf = ({ violations }: SeedResult): string[] =>
  violations.map(({ checker, message }) => `${checker}: ${message.split('\n')[0]}`)
