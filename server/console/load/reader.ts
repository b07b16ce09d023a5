/**
 * Reads back what the load wrote, each partition by ascending offset from where it ended when the load began. It reads
 * from any node that answers and moves on when one has nothing although more was acknowledged: a backup may not know yet.
 */
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { Ledger } from '../../../shared/scenario/ledger.ts'
import { decodePayload } from './payload.ts'
import type { LoadCluster, LoadSession, LoadTopic, ReadAnswer } from './ports.ts'
import { Router } from './router.ts'
import { Sessions } from './sessions.ts'
import { sleep } from './sleep.ts'

/** One answer stays well below the 64 MiB of a frame. */
const READ_BYTES = 4 * 1024 * 1024
const READ_MESSAGES_MAX = 1_000
const IDLE_MS = 50
/** A node that shows nothing for so long although acknowledged messages are due is left for another. */
const MOVE_ON_MS = 1_000

export class Reader {
  readonly #hash: Hash
  readonly #run: bigint
  readonly #ledger: Ledger
  readonly #partitions: number
  readonly #sessions: Sessions
  readonly #router: Router
  readonly #count: number
  readonly #offsets: bigint[]
  readonly #progressMs: number[]
  /** When any partition last moved. */
  progressMs = performance.now()

  constructor(options: {
    readonly hash: Hash
    readonly run: bigint
    readonly ledger: Ledger
    readonly cluster: LoadCluster
    readonly topic: LoadTopic
    readonly messageBytes: number
    readonly random: () => number
  }) {
    this.#hash = options.hash
    this.#run = options.run
    this.#ledger = options.ledger
    this.#partitions = options.topic.partitions
    this.#sessions = new Sessions(options.cluster, options.topic)
    this.#router = new Router(this.#partitions, () => options.cluster.candidates(), options.random)
    this.#count = Math.max(1, Math.min(READ_MESSAGES_MAX, Math.floor(READ_BYTES / (options.messageBytes + 64))))
    this.#offsets = new Array(this.#partitions).fill(0n)
    this.#progressMs = new Array(this.#partitions).fill(performance.now())
  }

  offsetOf(partition: number): bigint {
    return this.#offsets[partition]!
  }

  /** Finds the end of every partition. Everything the load will write comes after. */
  async prepare(signal: AbortSignal): Promise<void> {
    for (let partition = 0; partition < this.#partitions && !signal.aborted; partition++) {
      let answer: ReadAnswer | undefined
      while (answer === undefined && !signal.aborted) {
        answer = await this.#ask(partition, session => session.readLast(partition))
        if (answer === undefined) await sleep(IDLE_MS, signal)
      }
      const last = answer?.messages.at(-1)
      this.#offsets[partition] = last === undefined ? 0n : last.offset + 1n
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        let moved = false
        for (let partition = 0; partition < this.#partitions && !signal.aborted; partition++) {
          moved = (await this.#readOn(partition)) || moved
        }
        if (!moved) await sleep(IDLE_MS, signal)
      }
    } finally {
      this.#sessions.close()
    }
  }

  async #readOn(partition: number): Promise<boolean> {
    const from = this.#offsets[partition]!
    const answer = await this.#ask(partition, session => session.read(partition, from, this.#count))
    if (!answer || answer.messages.length === 0) {
      const progress = this.#ledger.partitions[partition]!
      const due = progress.acked > progress.readBack
      const nowMs = performance.now()
      if (answer && due && nowMs - this.#progressMs[partition]! > MOVE_ON_MS) {
        this.#progressMs[partition] = nowMs
        this.#router.failed(partition, this.#router.nodeOf(partition), nowMs)
      }
      return false
    }
    let next = from
    for (const { offset, payload } of answer.messages) {
      if (offset < next) continue
      next = offset + 1n
      const message = decodePayload(this.#hash, payload)
      if (message?.run === this.#run) this.#ledger.met(message.lane, message.seq, partition, offset, message.intact)
    }
    this.#offsets[partition] = next
    this.#ledger.passed(partition, next)
    this.#progressMs[partition] = performance.now()
    this.progressMs = performance.now()
    return true
  }

  async #ask(partition: number, work: (session: LoadSession) => Promise<ReadAnswer>): Promise<ReadAnswer | undefined> {
    const nowMs = performance.now()
    if (this.#router.restsUntilMs(partition) > nowMs) return undefined
    const node = this.#router.nodeOf(partition)
    if (node === undefined) return undefined
    let session: LoadSession | undefined
    try {
      session = await this.#sessions.to(node)
      const answer = await work(session)
      this.#router.succeeded(partition, node)
      return answer
    } catch {
      // Any failure of a read means the same: ask another node. Nothing is concluded from it.
      if (session) this.#sessions.drop(session)
      this.#router.failed(partition, node, performance.now())
      return undefined
    }
  }
}
