/**
 * A source is what the screens watch: a live cluster today, a simulator, a recording or a directory later. It gives a
 * stream of messages and answers questions; screens know nothing else of where facts come from.
 */
import type { z } from 'zod'
import type { LoadCommand, NodeAction, StreamMessage } from '../../shared/inspection/api.ts'

export type SourceKind = 'LIVE' | 'SIM' | 'FILE' | 'BUNDLE'

export type Connection =
  | RecordedConnection
  | { readonly state: 'connecting' }
  | { readonly state: 'live'; readonly sinceMs: number }
  /** Lost; the next attempt is due at `retryAtMs`. */
  | {
      readonly state: 'lost'
      readonly sinceMs: number
      readonly retryAtMs: number
      readonly attempt: number
      readonly why: string
    }

/** Nothing comes any more: what was recorded is all there is. */
export interface RecordedConnection {
  readonly state: 'recorded'
  readonly name: string
  readonly fromMs: number
  readonly toMs: number
  /** In words: what it does not hold. */
  readonly notes: readonly string[]
  /** Console sequence of the last event that this tab holds of it: whoever reads from there reads on; absent at its end. */
  readonly more?: number
  readonly loading: boolean
  /** Why it is not shown. */
  readonly problem?: { readonly code: string; readonly message: string; readonly advice: string }
}

export interface StreamListener {
  /** In order of arrival. Called outside frames, as often as the source likes. */
  message(message: StreamMessage): void
  connection(connection: Connection): void
}

export interface Stream {
  /** Tries at once instead of waiting for the back-off. */
  retryNow(): void
  close(): void
}

/** What went wrong with a question, with a stable code, and what a person may do about it. */
export class SourceError extends Error {
  readonly code: string
  readonly advice: string
  readonly status: number
  constructor(code: string, message: string, advice: string, status: number) {
    super(message)
    this.name = 'SourceError'
    this.code = code
    this.advice = advice
    this.status = status
  }
}

/** Whatever had been told by both: no event of a higher console sequence, and nothing later by the console's clock. */
export interface AnswerMoment {
  readonly seq: number
  readonly atMs: number
}

export interface Source {
  readonly kind: SourceKind
  /** Opens the stream; `lastSeq` is asked at every reconnect for the last console sequence that was folded. */
  open(listener: StreamListener, lastSeq: () => number | undefined): Stream
  /** One answer, checked against its schema; a recording has that of a moment. Throws SourceError. */
  read<T>(path: string, schema: z.ZodType<T>, signal?: AbortSignal, at?: AnswerMoment): Promise<T>
  act<T>(path: string, body: unknown, schema: z.ZodType<T>, key: string, method?: 'POST' | 'DELETE'): Promise<T>
}

export type Act =
  | { readonly kind: 'node'; readonly node: number; readonly action: NodeAction }
  | { readonly kind: 'load'; readonly command: LoadCommand }
