/** One sender: a batch every so often, one in flight, to whichever node takes it; each batch is sent once and never again. */
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { LoadSettings, LoadState } from '../../../shared/inspection/api.ts'
import type { Ledger } from '../../../shared/scenario/ledger.ts'
import { encodePayload } from './payload.ts'
import type { LoadCluster, LoadTopic, SendOutcome } from './ports.ts'
import type { Router } from './router.ts'
import { Sessions } from './sessions.ts'
import { sleep } from './sleep.ts'

export interface LaneContext {
  readonly hash: Hash
  readonly run: bigint
  readonly settings: LoadSettings
  /** As it is asked now. */
  ratePerSecond(): number
  readonly cluster: LoadCluster
  readonly topic: LoadTopic
  readonly ledger: Ledger
  readonly router: Router
  readonly signal: AbortSignal
  sent(messages: number): void
  answered(outcome: SendOutcome, messages: number, latencyMs: number): void
  failed(code: string, message: string): void
}

/** A lane that fell behind by more than this does not try to make up for it with a burst. */
const CATCH_UP_MS = 1_000
/** A rate that was changed counts within this time, however slow the one before was. */
const RATE_LOOK_MS = 250
/** The reader holds the window; look again soon. */
const WINDOW_WAIT_MS = 20
/** No node at all. */
const NO_NODE_WAIT_MS = 100

type ConnectionState = LoadState['connections'][number]

export class Lane {
  readonly #context: LaneContext
  readonly #number: number
  readonly #sessions: Sessions
  #state: ConnectionState['state'] = 'connecting'
  #node: number | undefined
  #error: string | undefined

  constructor(context: LaneContext, number: number) {
    this.#context = context
    this.#number = number
    this.#sessions = new Sessions(context.cluster, context.topic)
  }

  describe(): ConnectionState {
    return {
      id: this.#number,
      state: this.#state,
      node: this.#node ?? null,
      reconnects: this.#sessions.reconnects,
      error: this.#error ?? null,
    }
  }

  async run(): Promise<void> {
    const { settings, signal, router, ledger } = this.#context
    const intervalMs = () => (settings.batchMessages * settings.connections * 1000) / this.#context.ratePerSecond()
    /** When the batch before was due. */
    let beforeMs = performance.now() + intervalMs() * (this.#number / settings.connections - 1)
    let turn = this.#number
    try {
      while (!signal.aborted) {
        const nowMs = performance.now()
        let dueMs = beforeMs + intervalMs()
        if (dueMs > nowMs) {
          await sleep(Math.min(dueMs - nowMs, RATE_LOOK_MS), signal)
          continue
        }
        if (nowMs - dueMs > CATCH_UP_MS) dueMs = nowMs
        if (!ledger.mayStart(this.#number, settings.batchMessages)) {
          this.#state = 'waiting'
          await sleep(WINDOW_WAIT_MS, signal)
          continue
        }
        const next = router.next(turn, performance.now())
        if ('waitMs' in next) {
          this.#state = 'waiting'
          await sleep(next.waitMs, signal)
          continue
        }
        turn = next.partition + 1
        beforeMs = (await this.#send(next.partition)) ? dueMs : dueMs - intervalMs()
      }
    } finally {
      this.#state = 'closed'
      this.#sessions.close()
    }
  }

  /** False when nothing was sent, because there was nobody to send it to. */
  async #send(partition: number): Promise<boolean> {
    const { router, ledger, settings, hash, run, signal } = this.#context
    const node = router.nodeOf(partition)
    if (node === undefined) {
      this.#state = 'waiting'
      await sleep(NO_NODE_WAIT_MS, signal)
      return false
    }
    let session: Awaited<ReturnType<Sessions['to']>>
    try {
      this.#state = 'connecting'
      session = await this.#sessions.to(node)
    } catch (error) {
      this.#note(error)
      router.failed(partition, node, performance.now())
      return false
    }
    if (signal.aborted) return false
    this.#state = 'connected'
    this.#node = node
    const count = settings.batchMessages
    const first = ledger.start(this.#number, partition, count)
    const payloads = Array.from({ length: count }, (_, i) =>
      encodePayload(hash, run, this.#number, first + i, settings.messageBytes),
    )
    this.#context.sent(count)
    const startMs = performance.now()
    const outcome = await session.send(partition, payloads)
    const endMs = performance.now()
    if (outcome.kind === 'acked') {
      ledger.acked(this.#number, first, count, outcome.baseOffset)
      router.succeeded(partition, node)
      this.#error = undefined
    } else {
      if (outcome.kind === 'unknown') ledger.unknown(this.#number, first, count)
      else ledger.refused(this.#number, first, count)
      if (outcome.ended) this.#sessions.drop(session)
      router.failed(partition, node, endMs)
      this.#error = `node-${node}: ${outcome.message}`
      this.#context.failed(outcome.code, outcome.message)
    }
    this.#context.answered(outcome, count, endMs - startMs)
    return true
  }

  #note(error: unknown): void {
    const { code, message } = error as { code?: string; message: string }
    this.#error = message
    this.#context.failed(code ?? 'Error', message)
  }
}
