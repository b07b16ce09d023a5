/** Errors of the HTTP API (spec wire.md §7): `{ id, code, reason, field }` under the status that belongs to the code. */
import { ErrorCode, errorName, errorText } from '../../../shared/protocol/error-codes.ts'

export interface ErrorBody {
  readonly id: number
  readonly code: string
  readonly reason: string
  readonly field: string | null
}

const NOT_FOUND: ReadonlySet<number> = new Set([20, 100, 1009, 2010, 3007, 3021, 4000, 5000, 5003, 5006])
const UNAUTHENTICATED: ReadonlySet<number> = new Set([
  ErrorCode.Unauthenticated,
  ErrorCode.AccessTokenMissing,
  ErrorCode.InvalidAccessToken,
  ErrorCode.InvalidPersonalAccessToken,
])
const RETRY: ReadonlySet<number> = new Set([ErrorCode.TransientNotCommitted, ErrorCode.TransientNotAccepted])

/** An answer that is no success. */
export class HttpError extends Error {
  readonly status: number
  readonly body: ErrorBody

  constructor(status: number, body: ErrorBody) {
    super(body.reason)
    this.name = 'HttpError'
    this.status = status
    this.body = body
  }

  /** May be sent again in a second. */
  get retryable(): boolean {
    return this.status === 503
  }
}

const snake = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()

/** The answer for a code of the protocol. */
export function protocolError(code: number, reason = errorText(code), field: string | null = null): HttpError {
  return new HttpError(statusOf(code), { id: code, code: snake(errorName(code)), reason, field })
}

function statusOf(code: number): number {
  if (NOT_FOUND.has(code)) return 404
  if (UNAUTHENTICATED.has(code)) return 401
  if (code === ErrorCode.Unauthorized) return 403
  if (RETRY.has(code)) return 503
  return code === ErrorCode.TaskTimeout ? 504 : 400
}

/** An answer that has no code of the protocol: its id is the status. */
export const plainError = (status: number, code: string, reason: string): HttpError =>
  new HttpError(status, { id: status, code, reason, field: null })

/** What this server knows and does not do over HTTP. */
export const notServed = (): HttpError =>
  new HttpError(501, {
    id: ErrorCode.FeatureUnavailable,
    code: 'feature_unavailable',
    reason: 'this is not served over HTTP; use the TCP protocol',
    field: null,
  })
