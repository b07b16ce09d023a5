/** The load's cluster, through the client protocol: one client without retries for each session, so that every answer counts. */
import type { Hash } from '../../../shared/bytes/hash.ts'
import { Client, type Credentials } from '../../../shared/client/client.ts'
import { ClientError } from '../../../shared/client/errors.ts'
import { randomU128 } from '../../../shared/client/identity.ts'
import { produceBatch } from '../../../shared/protocol/batch.ts'
import { ClientCommands } from '../../../shared/protocol/command-codes.ts'
import { Ident } from '../../../shared/protocol/ident.ts'
import { PollKind, polledMessages } from '../../../shared/protocol/messages.ts'
import { nodeClientPorts } from '../client-ports.ts'
import type { Hub } from '../hub.ts'
import type { Topics } from '../topics.ts'
import type { LoadCluster, LoadSession, LoadTopic, ReadAnswer, SendOutcome } from './ports.ts'

/** A write gets a typed answer within 5 s or its outcome is unknown. */
const CALL_BUDGET_MS = 5_000

export function loadCluster(hub: Hub, topics: Topics, hash: Hash, credentials: Credentials): LoadCluster {
  return {
    // Where a client that has read the roster would go first: to the primary of the metadata group.
    candidates: () => {
      const ids = hub.answering().sort((a, b) => a - b)
      const leads = (id: number) => {
        const metadata = hub.snapshotOf(id)?.metadata
        return metadata?.role === 'primary' && metadata.status === 'normal'
      }
      return [...ids.filter(leads), ...ids.filter(id => !leads(id))]
    },
    ensureTopic: settings =>
      topics.ensure({
        stream: settings.stream,
        topic: settings.topic,
        partitions: settings.partitions,
        policy: settings.policy,
        segmentSizeBytes: settings.segmentSizeBytes,
      }),
    async open(node, topic) {
      const { host, ports } = hub.status(node)
      const client = new Client(nodeClientPorts, {
        endpoints: [{ host, port: ports.client }],
        hash,
        credentials,
        retry: false,
        followLeader: false,
        budgetMs: CALL_BUDGET_MS,
      })
      try {
        await client.connect()
      } catch (error) {
        client.close()
        throw error
      }
      return new Session(node, client, hash, topic)
    },
  }
}

class Session implements LoadSession {
  readonly node: number
  readonly #client: Client
  readonly #hash: Hash
  readonly #topic: LoadTopic

  constructor(node: number, client: Client, hash: Hash, topic: LoadTopic) {
    this.node = node
    this.#client = client
    this.#hash = hash
    this.#topic = topic
  }

  async send(partition: number, payloads: readonly Uint8Array[]): Promise<SendOutcome> {
    const { clock, entropy } = nodeClientPorts
    const originTimestamp = clock.nowMicros()
    const batch = produceBatch(
      this.#hash,
      payloads.map(payload => ({ id: randomU128(entropy), payload, originTimestamp })),
    )
    const metadata = {
      stream: Ident.id(this.#topic.stream),
      topic: Ident.id(this.#topic.topic),
      partitioning: { kind: 'partition', partition } as const,
      messagesCount: payloads.length,
    }
    try {
      const [confirmation] = await this.#client.call(ClientCommands.send, { metadata, batch })
      return { kind: 'acked', baseOffset: confirmation?.baseOffset }
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      const kind = error.outcome === 'unknown' ? 'unknown' : 'refused'
      return { kind, code: error.code, message: error.message, ended: this.#client.endpoint === undefined }
    }
  }

  read(partition: number, offset: bigint, count: number): Promise<ReadAnswer> {
    return this.#poll(partition, PollKind.offset, offset, count)
  }

  readLast(partition: number): Promise<ReadAnswer> {
    return this.#poll(partition, PollKind.last, 0n, 1)
  }

  async #poll(partition: number, strategy: number, value: bigint, count: number): Promise<ReadAnswer> {
    const reply = await this.#client.call(ClientCommands.poll, {
      consumer: { kind: 'consumer', id: Ident.id(1) },
      stream: Ident.id(this.#topic.stream),
      topic: Ident.id(this.#topic.topic),
      partition,
      strategy,
      value,
      count,
      autoCommit: false,
    })
    return { currentOffset: reply.currentOffset, messages: polledMessages(reply) }
  }

  close(): void {
    this.#client.close()
  }
}
