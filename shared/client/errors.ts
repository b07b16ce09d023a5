/** What went wrong with a call: one number space for the server's errors and for the client's own (spec wire.md §5). */
import { EngineError } from '../bytes/errors.ts'
import { ErrorCode, type ErrorName, errorName, errorText } from '../protocol/error-codes.ts'

/**
 * What is known of the request when a call fails. `not_applied`: it surely had no effect. `unknown`: it may have been, or may
 * yet be, applied.
 */
export type Outcome = 'not_applied' | 'unknown'

export class ClientError extends EngineError {
  /** Number of the error in the protocol's list; `code` is its name. */
  readonly status: number
  readonly outcome: Outcome

  constructor(status: number, outcome: Outcome, detail = errorText(status), options?: { cause?: unknown }) {
    super(errorName(status), detail, {}, options)
    this.name = 'ClientError'
    this.status = status
    this.outcome = outcome
  }
}

/** True for a ClientError of this name. */
export const isClientError = (error: unknown, name: ErrorName): error is ClientError =>
  error instanceof ClientError && error.status === ErrorCode[name]
