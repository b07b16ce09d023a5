/**
 * Requests that wait for their op. Each gets exactly one outcome: what its op did, a refusal, or, when the deadline passes
 * or the group cancels it, "unknown" (57): it may still commit, and the op is kept.
 */
import type { RequestToken } from '../consensus/contract.ts'
import type { PrepareHeader } from '../protocol/headers.ts'

/**
 * Ticks until an unanswered request is told 57 (outcome unknown): 4 s. Below the 5 s within which a write must be answered,
 * above anything a healthy group takes.
 */
export const ANSWER_TICKS = 400

export type Outcome =
  /** `reply` is the whole reply frame. */
  | { readonly kind: 'applied'; readonly header: PrepareHeader; readonly reply: Uint8Array }
  /** Surely not admitted; may be reissued anywhere (58). */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Admitted, outcome unknown (57). */
  | { readonly kind: 'unknown'; readonly reason: string }

interface Waiting {
  readonly settle: (outcome: Outcome) => void
  readonly deadline: number
}

export class PendingRequests {
  private readonly waiting = new Map<RequestToken, Waiting>()
  private nextToken = 1

  get size(): number {
    return this.waiting.size
  }

  open(nowTick: number, settle: (outcome: Outcome) => void): RequestToken {
    const token = this.nextToken++
    this.waiting.set(token, { settle, deadline: nowTick + ANSWER_TICKS })
    return token
  }

  /** False when the request was answered before. */
  settle(token: RequestToken, outcome: Outcome): boolean {
    const waiting = this.waiting.get(token)
    if (!waiting) return false
    this.waiting.delete(token)
    waiting.settle(outcome)
    return true
  }

  /** Deadlines are handed out in order, so the first one that lies ahead ends the walk. */
  expire(nowTick: number): void {
    for (const [token, waiting] of this.waiting) {
      if (waiting.deadline > nowTick) break
      this.settle(token, { kind: 'unknown', reason: 'no quorum answered in time' })
    }
  }
}
