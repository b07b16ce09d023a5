/**
 * Every switch that breaks a rule of the protocol, in one frozen record that is injected into a replica. A simulator turns
 * one off to show that a checker notices; a lesson turns one off to show what the rule is for. A node process refuses to
 * start with any of them off.
 */
export interface Rules {
  /** A view-scoped frame leaves only after the superblock holds (view, log_view). */
  readonly durableBeforeSend: boolean
}

export const RULES_ON: Rules = Object.freeze({ durableBeforeSend: true })
