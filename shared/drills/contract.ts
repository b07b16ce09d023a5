/**
 * What a crash drill is: a scenario with something to learn around it. Everything here is data, so that a page, a book and a
 * command line tell the same story. The verdict is that of the scenario (shared/scenario/evidence.ts); nothing here decides it.
 */
import type { RuleName } from '../protocol/rules.ts'
import type { Scenario } from '../scenario/language.ts'

/** What a drill teaches; the library is sorted by it. */
export type Lesson =
  | 'index and log'
  | 'superblock'
  | 'elections'
  | 'metadata log'
  | 'offsets'
  | 'forwarding'
  | 'catching up'

export type World = 'sim' | 'real'

/** Something a person may expect before the run. Whether it was right is read from the evidence. */
export interface Prediction {
  readonly text: string
  /** Right when what the scenario says in these words passes, or does not. */
  readonly rightIf: { readonly finding: string; readonly passes: boolean }
}

/** The same story with one rule of the protocol switched off. It runs in the simulator only, and must end badly. */
export interface BrokenRule {
  readonly rule: RuleName
  /** The checker of the simulated world that notices. */
  readonly noticedBy: string
  /** What happens without the rule, in one or two sentences. */
  readonly story: string
  /** Where the plain story does not show it: another one, of the same cluster. */
  readonly scenario?: Scenario
  readonly seed?: string
}

export interface Drill {
  /** `D01` to `D25`; also the scenario's. */
  readonly id: string
  readonly title: string
  readonly teaches: string
  readonly lesson: Lesson
  /** What is to be shown, in two or three sentences. */
  readonly goal: string
  readonly predictions: readonly Prediction[]
  /** Where to look while it runs. */
  readonly look: string
  /** Why it is safe: the rule behind it. */
  readonly whySafe: string
  readonly worlds: readonly World[]
  readonly scenario: Scenario
  /** Of the scenario for real processes, where times or disks make it another one. */
  readonly realScenario?: Scenario
  /** On real processes: SIGKILL loses what was not synced. */
  readonly volatileDisk?: boolean
  readonly broken: BrokenRule
  /** The words of the scenario at whose moment the lesson is visible. */
  readonly decisive: string
}
