/**
 * What was read of the world to judge one predicate, as plain JSON: it can be kept, shown, sent and judged again by whoever
 * doubts the verdict (judge.ts). 64-bit values are decimal strings.
 */
import type { ProcessState, Scalar } from './language.ts'

/** A value that could not be read now, e.g. of a node that does not answer, is null. */
export type Value = Scalar | null

export type OutcomeReading =
  | { readonly state: 'pending' }
  | {
      readonly state: 'ok'
      readonly baseOffset?: string
      readonly payloads?: readonly string[]
      /** Of these messages: what was confirmed, or what a poll has brought. */
      readonly offsets?: readonly string[]
      readonly tookMs?: number
      /** Hash of what the server answered, where it is the same whenever it is asked. */
      readonly reply?: string
    }
  | { readonly state: 'error'; readonly error: string }

export interface GroupStanding {
  readonly group: string
  readonly status: string
  readonly role: string
  readonly view: number
  readonly commitMin: string
  readonly commitMax: string
  readonly primary?: number
}

export interface LogReading {
  readonly node: number
  readonly path: string
  readonly bytes: number
  readonly hash: string
  /** Of as many bytes of the longest file with this name, and how long that one is. */
  readonly longest: { readonly node: number; readonly bytes: number; readonly hash: string }
  readonly sealed: boolean
}

export type Reading =
  /** Of `all`, `any` and `not`. */
  | { readonly of: 'parts'; readonly parts: readonly Reading[] }
  | { readonly of: 'events'; readonly count: number; readonly last?: Readonly<Record<string, unknown>> }
  | { readonly of: 'field'; readonly node: number; readonly value: Value; readonly other?: Value }
  | { readonly of: 'fields'; readonly values: readonly { readonly node: number; readonly value: Value }[] }
  /** Standings of nodes; null: the node does not answer. */
  | {
      readonly of: 'standings'
      readonly nodes: readonly { readonly node: number; readonly groups: readonly GroupStanding[] | null }[]
    }
  | {
      readonly of: 'process'
      readonly node: number
      readonly state: ProcessState
      readonly exit?: number
      readonly code?: string
    }
  /** `other`: the length that it is compared with, where that is not a number of the scenario. */
  | {
      readonly of: 'file'
      readonly node: number
      readonly path: string | null
      readonly bytes: number | null
      readonly other?: number | null
    }
  | {
      readonly of: 'files'
      readonly node: number
      readonly before: Readonly<Record<string, string>>
      readonly now: Readonly<Record<string, string>>
    }
  | { readonly of: 'logs'; readonly files: readonly LogReading[] }
  | { readonly of: 'outcome'; readonly outcome: OutcomeReading }
  | {
      readonly of: 'outcomes'
      readonly outcomes: readonly OutcomeReading[]
      readonly others?: readonly OutcomeReading[]
    }
  | { readonly of: 'counts'; readonly counts: Readonly<Record<string, number>> }
