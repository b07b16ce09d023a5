/**
 * Offsets that polls commit (spec partition.md §5.5, wire.md §3.8.3). Memory of the polled node is raised before the answer
 * leaves, so that the next poll goes on behind it; an op of the partition's group makes it last, in the background. One op
 * per consumer is under way at a time, with the newest offset: a fast reader costs no more than the group can take.
 */
import { Checksum, Offset } from '../bytes/units.ts'
import type { ConsumerKey } from '../partition/contract.ts'
import { encodeBody } from '../protocol/codec.ts'
import { packGroup } from '../protocol/groups.ts'
import { Ident } from '../protocol/ident.ts'
import { storeOffset } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import type { ReplicatedPartition } from './partition-host.ts'
import { AUTO_COMMIT, write } from './partition-writes.ts'
import type { Parts } from './parts.ts'

/** Ticks until a commit that was refused or lost is tried again, and how often: the next poll brings a newer one anyway. */
const RETRY_TICKS = 100
const ATTEMPTS_MAX = 10

interface Commit {
  readonly partition: ReplicatedPartition
  readonly consumer: ConsumerKey
  readonly userId: number
  newest: bigint
  /** The offset in the op that is under way; undefined between attempts. */
  underway: bigint | undefined
  attempts: number
  retryAt: number
}

export class AutoCommits {
  private readonly parts: () => Parts
  private readonly commits = new Map<string, Commit>()

  constructor(parts: () => Parts) {
    this.parts = parts
  }

  /** Commits that are not replicated yet. */
  get size(): number {
    return this.commits.size
  }

  /** A poll served messages up to `offset`. */
  served(partition: ReplicatedPartition, consumer: ConsumerKey, offset: bigint, userId: number): void {
    const { stream, topic, partition: number } = partition.key
    partition.partition.advanceOffset(consumer, Offset(offset))
    const key = `${stream}/${topic}/${number}/${partition.createdRevision}/${consumer.kind}/${consumer.id}`
    const known = this.commits.get(key)
    if (!known) {
      const commit = { partition, consumer, userId, newest: offset, underway: undefined, attempts: 0, retryAt: 0 }
      this.commits.set(key, commit)
      this.propose(key, commit)
    } else if (offset > known.newest) known.newest = offset
  }

  tick(): void {
    const now = this.parts().core.tick
    for (const [key, commit] of this.commits) {
      if (commit.underway === undefined && commit.retryAt <= now) this.propose(key, commit)
    }
  }

  private propose(key: string, commit: Commit): void {
    const parts = this.parts()
    const { partition, consumer, userId } = commit
    const offset = commit.newest
    commit.underway = offset
    const done = () => {
      commit.underway = undefined
      commit.attempts = 0
      if (commit.newest > offset) this.propose(key, commit)
      else this.commits.delete(key)
    }
    const failed = () => {
      commit.underway = undefined
      commit.retryAt = parts.core.tick + RETRY_TICKS
      if (++commit.attempts >= ATTEMPTS_MAX) this.commits.delete(key)
    }
    const place = {
      stream: Ident.id(partition.key.stream),
      topic: Ident.id(partition.key.topic),
      partition: partition.key.partition,
    }
    write(parts, {
      key: partition.key,
      group: packGroup(partition.key),
      incarnation: partition.createdRevision,
      transport: AUTO_COMMIT,
      session: 1n,
      request: 1n,
      requestChecksum: Checksum(0n),
      userId,
      operation: Operation.StoreConsumerOffset,
      body: encodeBody(storeOffset, {
        consumer: { kind: consumer.kind, id: Ident.id(consumer.id) },
        ...place,
        offset: Offset(offset),
        ack: 1,
      }),
      forwarded: false,
      answer: { committed: done, denied: failed },
    })
  }
}
