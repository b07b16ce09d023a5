/** Results of forwarded logins, as they travel and as the sessions know them (spec consensus.md §2.5, §8.1). */
import { type FrameOf, LogoutOutcome, RegisterOutcome } from '../protocol/frames.ts'
import type { LogoutResult, RegisterResult } from './sessions.ts'

export const REGISTER_OUTCOME: Record<RegisterResult['kind'], number> = {
  bound: RegisterOutcome.Ok,
  not_primary: RegisterOutcome.NotPrimary,
  not_caught_up: RegisterOutcome.NotCaughtUp,
  full: RegisterOutcome.PipelineFull,
  busy: RegisterOutcome.InProgress,
  unknown: RegisterOutcome.Canceled,
  other_user: RegisterOutcome.ClientIdOwnedByAnotherUser,
}
export const LOGOUT_OUTCOME: Record<LogoutResult['kind'], number> = {
  done: LogoutOutcome.Ok,
  not_primary: LogoutOutcome.NotPrimary,
  full: LogoutOutcome.PipelineFull,
  busy: LogoutOutcome.InProgress,
  unknown: LogoutOutcome.Canceled,
}

type RegisterFailure = Exclude<RegisterResult['kind'], 'bound'>
type LogoutFailure = Exclude<LogoutResult['kind'], 'done'>

const keyOf = <K extends string>(outcomes: Record<K, number>, outcome: number): K =>
  (Object.keys(outcomes) as K[]).find(key => outcomes[key] === outcome)!

export function registerResult({ header }: FrameOf<'ForwardRegisterResult'>): RegisterResult {
  if (header.outcome === RegisterOutcome.Ok) {
    return { kind: 'bound', session: header.epoch, watermark: header.watermark }
  }
  return { kind: keyOf(REGISTER_OUTCOME, header.outcome) as RegisterFailure }
}

export function logoutResult({ header }: FrameOf<'ForwardLogoutResult'>): LogoutResult {
  if (header.outcome === LogoutOutcome.Ok) return { kind: 'done', commit: header.commit }
  return { kind: keyOf(LOGOUT_OUTCOME, header.outcome) as LogoutFailure }
}
