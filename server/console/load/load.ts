/**
 * The steady load: N senders and a reader on one topic, and the ledger between them. It knows the cluster only as a client
 * does. A run ends with a verdict that was read from the log, not concluded from acknowledgements.
 */
import { randomBytes } from 'node:crypto'
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { LoadSettings, LoadState } from '../../../shared/inspection/api.ts'
import { Ledger, verdictOf } from '../../../shared/scenario/ledger.ts'
import { ConsoleError } from '../errors.ts'
import type { Hub } from '../hub.ts'
import { wallMs, wallUs } from '../wall.ts'
import { Lane } from './lane.ts'
import { Latencies } from './latency.ts'
import type { LoadCluster, SendOutcome } from './ports.ts'
import { Reader } from './reader.ts'
import { Router } from './router.ts'
import { Seconds } from './seconds.ts'
import { sleep } from './sleep.ts'

/** The topic must be there and readable by then: an election takes up to seven seconds. */
const START_MS = 15_000
/** After the last write the reader may need an election and a repair to see everything; without progress for so long it gives up. */
const VERIFY_IDLE_MS = 30_000
const STALL_MS = 2_000
const TELL_MS = 250

export type LoadEvents = Pick<Hub, 'emit'> & { tell(state: LoadState): void }

interface Run {
  readonly id: bigint
  settings: LoadSettings
  readonly startedWallUs: string
  stoppedWallUs: string | null
  readonly latencies: Latencies
  readonly seconds: Seconds
  /** Ends the senders. */
  readonly sending: AbortController
  /** Ends everything. */
  readonly all: AbortController
  ledger: Ledger | undefined
  lanes: readonly Lane[]
  reader: Reader | undefined
  group: ((partition: number) => string) | undefined
  lastAckMs: number
  stalled: boolean
  lastError: LoadState['lastError']
}

const NO_COUNTS: LoadState['ledger'] = {
  sent: 0,
  acked: 0,
  unknown: 0,
  refused: 0,
  inFlight: 0,
  readBack: 0,
  lost: 0,
  duplicate: 0,
  unknownFound: 0,
  refusedFound: 0,
  corrupt: 0,
}

export class Load {
  readonly #hash: Hash
  readonly #cluster: LoadCluster
  readonly #events: LoadEvents
  readonly #random: () => number
  #state: LoadState['state'] = 'idle'
  #run: Run | undefined
  #over: Promise<void> = Promise.resolve()
  #teller: NodeJS.Timeout | undefined

  constructor(hash: Hash, cluster: LoadCluster, events: LoadEvents, random: () => number = Math.random) {
    this.#hash = hash
    this.#cluster = cluster
    this.#events = events
    this.#random = random
  }

  /** @throws ConsoleError CON_LOAD_RUNNING */
  start(settings: LoadSettings): void {
    if (this.#isActive()) throw new ConsoleError('CON_LOAD_RUNNING', `A load is ${this.#state}.`)
    const run: Run = {
      id: randomBytes(8).readBigUInt64LE(),
      settings,
      startedWallUs: wallUs(),
      stoppedWallUs: null,
      latencies: new Latencies(),
      seconds: new Seconds(),
      sending: new AbortController(),
      all: new AbortController(),
      ledger: undefined,
      lanes: [],
      reader: undefined,
      group: undefined,
      lastAckMs: performance.now(),
      stalled: false,
      lastError: null,
    }
    this.#run = run
    this.#setState('starting')
    this.#teller = setInterval(() => this.#tick(run), TELL_MS)
    this.#over = this.#perform(run).catch((error: unknown) => this.#fail(run, error))
  }

  /** Ends the senders; the reader goes on until everything acknowledged was read. @throws ConsoleError CON_LOAD_NOT_RUNNING */
  stop(): void {
    const run = this.#run
    if (!run || (this.#state !== 'starting' && this.#state !== 'running')) {
      throw new ConsoleError('CON_LOAD_NOT_RUNNING', `The load is ${this.#state}.`)
    }
    this.#setState('stopping')
    run.sending.abort()
  }

  /** Senders go on at another pace. @throws ConsoleError CON_LOAD_NOT_RUNNING */
  changeRate(ratePerSecond: number): void {
    const run = this.#run
    if (!run || (this.#state !== 'starting' && this.#state !== 'running')) {
      throw new ConsoleError('CON_LOAD_NOT_RUNNING', `The load is ${this.#state}.`)
    }
    run.settings = { ...run.settings, ratePerSecond }
    this.#events.tell(this.state())
  }

  /** Ends whatever runs, without a verdict; for a console that stops. */
  async close(): Promise<void> {
    this.#run?.sending.abort()
    this.#run?.all.abort()
    await this.#over
    clearInterval(this.#teller)
  }

  #isActive(): boolean {
    return this.#state !== 'idle' && this.#state !== 'done' && this.#state !== 'failed'
  }

  async #perform(run: Run): Promise<void> {
    const { settings, sending, all } = run
    const { hash, cluster, random } = { hash: this.#hash, cluster: this.#cluster, random: this.#random }
    const tooLate = AbortSignal.any([sending.signal, AbortSignal.timeout(START_MS)])
    const topic = await cluster.ensureTopic(settings, tooLate)
    const ledger = new Ledger({ lanes: settings.connections, partitions: topic.partitions })
    const reader = new Reader({
      hash,
      run: run.id,
      ledger,
      cluster,
      topic,
      messageBytes: settings.messageBytes,
      random,
    })
    await reader.prepare(tooLate)
    if (tooLate.aborted && !sending.signal.aborted) {
      throw new ConsoleError(
        'CON_NO_NODE_SERVES',
        `No node let ${settings.stream}/${settings.topic} be read within ${START_MS} ms.`,
      )
    }
    run.ledger = ledger
    run.reader = reader
    run.group = partition =>
      ((BigInt(topic.stream) << 32n) | (BigInt(topic.topic) << 20n) | BigInt(partition)).toString()
    const router = new Router(topic.partitions, () => cluster.candidates(), random)
    run.lanes = Array.from(
      { length: settings.connections },
      (_, number) =>
        new Lane(
          {
            hash,
            run: run.id,
            settings,
            ratePerSecond: () => run.settings.ratePerSecond,
            cluster,
            topic,
            ledger,
            router,
            signal: sending.signal,
            sent: messages => run.seconds.add(wallMs(), 'sent', messages),
            answered: (outcome, messages, latencyMs) => this.#answered(run, outcome, messages, latencyMs),
            failed: (code, message) => {
              run.lastError = { code, message, atWallUs: wallUs() }
            },
          },
          number,
        ),
    )
    if (this.#state === 'starting') {
      this.#setState('running')
      const { stream, topic: name, ratePerSecond, batchMessages, messageBytes } = settings
      this.#events.emit('load_started', { stream, topic: name, ratePerSecond, batchMessages, messageBytes })
    }
    run.lastAckMs = performance.now()
    const reading = reader.run(all.signal)
    await Promise.all(run.lanes.map(lane => lane.run()))
    run.stoppedWallUs = wallUs()
    this.#events.emit('load_stopped', { sent: ledger.counts.sent, acked: ledger.counts.acked })
    this.#setState('verifying')
    reader.progressMs = performance.now()
    while (!all.signal.aborted && ledger.unverified > 0 && performance.now() - reader.progressMs < VERIFY_IDLE_MS) {
      await sleep(TELL_MS / 5, all.signal)
    }
    all.abort()
    await reading
    const { kind, words } = verdictOf(ledger)
    this.#events.emit('load_verified', { kind, words })
    this.#end('done')
  }

  #answered(run: Run, outcome: SendOutcome, messages: number, latencyMs: number): void {
    if (outcome.kind !== 'acked') {
      run.seconds.add(wallMs(), outcome.kind, messages)
      return
    }
    run.seconds.add(wallMs(), 'acked', messages, latencyMs)
    run.latencies.add(latencyMs)
    const nowMs = performance.now()
    if (run.stalled) {
      run.stalled = false
      this.#events.emit('load_recovered', { outageMs: Math.round(nowMs - run.lastAckMs) })
    }
    run.lastAckMs = nowMs
  }

  #fail(run: Run, error: unknown): void {
    const { code = 'CON_INTERNAL', message } = error as { code?: string; message: string }
    run.lastError = { code, message, atWallUs: wallUs() }
    run.stoppedWallUs ??= wallUs()
    run.sending.abort()
    run.all.abort()
    this.#events.emit('load_failed', { code, message })
    this.#end('failed')
  }

  #end(state: 'done' | 'failed'): void {
    clearInterval(this.#teller)
    this.#setState(state)
  }

  #setState(state: LoadState['state']): void {
    this.#state = state
    this.#events.tell(this.state())
  }

  #tick(run: Run): void {
    const sinceMs = Math.round(performance.now() - run.lastAckMs)
    if (this.#state === 'running' && !run.stalled && sinceMs >= STALL_MS) {
      run.stalled = true
      this.#events.emit('load_stalled', { sinceMs })
    }
    this.#events.tell(this.state())
  }

  state(): LoadState {
    const run = this.#run
    const ledger = run?.ledger
    return {
      state: this.#state,
      run: run ? run.id.toString(16).padStart(16, '0') : null,
      settings: run?.settings ?? null,
      startedWallUs: run?.startedWallUs ?? null,
      stoppedWallUs: run?.stoppedWallUs ?? null,
      takenWallUs: wallUs(),
      ledger: ledger ? countsOf(ledger) : NO_COUNTS,
      latency: run ? latencyOf(run.latencies) : null,
      seconds: run?.seconds.list(run.stoppedWallUs === null ? wallMs() : Number(run.stoppedWallUs) / 1000) ?? [],
      connections: run?.lanes.map(lane => lane.describe()) ?? [],
      partitions:
        ledger?.partitions.map(({ acked, readBack }, partition) => ({
          partition,
          group: run?.group?.(partition) ?? null,
          acked,
          readBack,
          readOffset: (run?.reader?.offsetOf(partition) ?? 0n).toString(),
        })) ?? [],
      verdict: ledger ? verdictOf(ledger) : { kind: 'none', words: 'nothing acknowledged yet' },
      lastError: run?.lastError ?? null,
    }
  }
}

function countsOf(ledger: Ledger): LoadState['ledger'] {
  const { untracked: _, ...counts } = ledger.counts
  return { ...counts, inFlight: ledger.inFlight }
}

const latencyOf = (latencies: Latencies): LoadState['latency'] =>
  latencies.count === 0
    ? null
    : {
        count: latencies.count,
        p50: latencies.percentileMs(0.5)!,
        p95: latencies.percentileMs(0.95)!,
        p99: latencies.percentileMs(0.99)!,
        max: latencies.maxMs,
      }
