/**
 * The steady load of a scenario: lanes that each send one batch after the other, and at the end a reader that walks every
 * partition and settles what became of each message. The payload of a message names its load, lane and sequence and carries
 * a checksum of itself.
 */
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/errors.ts'
import type { LoadSpec } from './language.ts'
import { Ledger } from './ledger.ts'
import type { Runner } from './runner.ts'

/** A lane that lost its cluster tries again after so long. */
const AFTER_ERROR_MS = 100
const READ_MESSAGES = 1_000
/** Looks again so often at an end in front of which acknowledged messages are missing; what is still missing then is. */
const END_WAITS = 50
const CALL_BUDGET_MS = 15_000

export class Load {
  readonly ledger: Ledger
  private readonly runner: Runner
  private readonly name: string
  private readonly spec: LoadSpec
  private readonly lanes: Promise<void>[] = []
  private stopping = false

  constructor(runner: Runner, name: string, spec: LoadSpec) {
    this.runner = runner
    this.name = name
    this.spec = spec
    this.ledger = new Ledger({ lanes: spec.lanes, partitions: spec.partitions })
  }

  start(): void {
    for (let lane = 0; lane < this.spec.lanes; lane++) this.lanes.push(this.send(lane))
  }

  /** Ends the lanes, whatever became of what they sent. */
  abandon(): void {
    this.stopping = true
  }

  /** Ends the lanes and reads everything back. */
  async stop(): Promise<void> {
    this.stopping = true
    await Promise.all(this.lanes)
    const client = this.client(0)
    try {
      for (let partition = 0; partition < this.spec.partitions; partition++) await this.readBack(client, partition)
    } finally {
      client.close()
    }
  }

  private client(lane: number): Client {
    const nodes = Array.from({ length: this.runner.nodes }, (_, node) => (node + lane) % this.runner.nodes)
    return this.runner.client(nodes, { budgetMs: CALL_BUDGET_MS, requestTimeoutMs: CALL_BUDGET_MS / 3 })
  }

  private async send(lane: number): Promise<void> {
    const { spec, ledger } = this
    const client = this.client(lane)
    for (let turn = lane; !this.stopping; turn++) {
      const partition = turn % spec.partitions
      const count = spec.batchMessages
      if (!ledger.mayStart(lane, count)) break
      const first = ledger.start(lane, partition, count)
      const messages = Array.from({ length: count }, (_, index) => ({ payload: this.payload(lane, first + index) }))
      try {
        const to = { kind: 'partition', partition } as const
        const confirmed = await client.sendMessages(spec.stream, spec.topic, to, messages)
        ledger.acked(lane, first, count, confirmed?.baseOffset)
        if (confirmed) this.tell(partition, confirmed.baseOffset, lane, first, count)
      } catch (error) {
        if (!(error instanceof ClientError)) throw error
        if (error.outcome === 'unknown') ledger.unknown(lane, first, count)
        else ledger.refused(lane, first, count)
        await this.runner.sleep(AFTER_ERROR_MS)
      }
      if (spec.pauseMs > 0) await this.runner.sleep(spec.pauseMs)
    }
    client.close()
  }

  private tell(partition: number, base: bigint, lane: number, first: number, count: number): void {
    const { witness } = this.runner
    if (!witness) return
    for (let index = 0; index < count; index++)
      witness.confirmed(this.key(partition), base + BigInt(index), this.payload(lane, first + index), true)
  }

  private key(partition: number): string {
    return `${this.spec.stream}/${this.spec.topic}/${partition}`
  }

  private async readBack(client: Client, partition: number): Promise<void> {
    const { stream, topic } = this.spec
    const progress = this.ledger.partitions[partition]!
    const { witness } = this.runner
    const found = new Map<bigint, string>()
    for (let offset = 0n, waits = 0; ; ) {
      const strategy = { kind: 'offset', offset } as const
      const { messages } = await client.poll({ stream, topic, partition, strategy, count: READ_MESSAGES })
      if (messages.length === 0) {
        // A backup may answer, which knows of the last commits a heartbeat later.
        if (progress.readBack >= progress.acked || ++waits > END_WAITS) break
        await this.runner.sleep(AFTER_ERROR_MS)
        continue
      }
      for (const message of messages) {
        const text = new Array<string>(message.payload.length)
        for (const [index, byte] of message.payload.entries()) text[index] = String.fromCharCode(byte)
        if (witness) found.set(message.offset, text.join(''))
        const [name, lane, seq] = text.join('').split(' ')
        if (name === this.name) {
          const intact = text.join('') === this.payload(Number(lane), Number(seq))
          this.ledger.met(Number(lane), Number(seq), partition, message.offset, intact)
        }
        offset = message.offset + 1n
      }
      this.ledger.passed(partition, offset)
    }
    witness?.readBack(this.key(partition), found)
  }

  private payload(lane: number, seq: number): string {
    return `${this.name} ${lane} ${seq} `.padEnd(this.spec.messageBytes, '.')
  }
}
