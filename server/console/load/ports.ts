/**
 * What the load needs of the cluster, apart from how a client does it: one session with one node at a time. The load
 * itself decides where to go next, because what it measures is what the cluster does to a client that loses its node.
 */
import type { LoadSettings } from '../../../shared/inspection/api.ts'

/**
 * `refused`: surely not stored, may be sent again. `unknown`: the answer says so, or there was none; the session is over
 * when `ended` is set, because a late answer could be taken for the next one's.
 */
export type SendOutcome =
  | { readonly kind: 'acked'; readonly baseOffset: bigint | undefined }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string; readonly ended?: boolean }
  | { readonly kind: 'unknown'; readonly code: string; readonly message: string; readonly ended?: boolean }

export interface ReadMessage {
  readonly offset: bigint
  readonly payload: Uint8Array
}

export interface ReadAnswer {
  /** Highest visible offset of the partition, as far as this node knows. */
  readonly currentOffset: bigint
  readonly messages: readonly ReadMessage[]
}

export interface LoadSession {
  readonly node: number
  /** One at a time for each session. Never rejects. */
  send(partition: number, payloads: readonly Uint8Array[]): Promise<SendOutcome>
  /** Rejects when the node does not answer; the session is over then. */
  read(partition: number, offset: bigint, count: number): Promise<ReadAnswer>
  /** The last message of the partition, or none. */
  readLast(partition: number): Promise<ReadAnswer>
  close(): void
}

export interface LoadTopic {
  readonly stream: number
  readonly topic: number
  readonly partitions: number
}

export interface LoadCluster {
  /** Nodes that may be tried, best first. */
  candidates(): readonly number[]
  /** Makes stream and topic when they are absent; what is there already keeps its settings. */
  ensureTopic(settings: LoadSettings, signal: AbortSignal): Promise<LoadTopic>
  /** Rejects when the node cannot be reached or refuses the login. */
  open(node: number, topic: LoadTopic): Promise<LoadSession>
}
