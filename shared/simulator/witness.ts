/** What the clients of a scenario were told, for the checker of offsets: a purged topic begins its offsets anew. */
import type { Witness } from '../scenario/runner.ts'
import type { Checker } from './checkers/checker.ts'
import { OffsetLedger } from './ledgers.ts'

export class ScenarioWitness implements Witness {
  private readonly checker: Checker
  private readonly atRest: () => boolean
  private readonly ledger: OffsetLedger
  private readonly eager = new Set<string>()
  private readonly purges = new Map<string, number>()
  private readonly known = new Set<string>()

  /** @param atRest whether every node runs and all of them agree: who asks then must be answered */
  constructor(checker: Checker, atRest: () => boolean) {
    this.checker = checker
    this.atRest = atRest
    this.ledger = new OffsetLedger(checker)
  }

  get looked(): number {
    return this.ledger.compared + this.ledger.acked
  }

  topicMade(topic: string, eager: boolean): void {
    if (eager) this.eager.add(topic)
  }

  topicPurged(topic: string): void {
    this.purges.set(topic, (this.purges.get(topic) ?? 0) + 1)
  }

  confirmed(partition: string, offset: bigint, payload: string, acked: boolean): void {
    this.ledger.confirmed(this.key(partition), offset, payload, acked)
  }

  unanswered(request: string, error: string): void {
    if (this.atRest()) this.checker.fail('core-liveness', `${request} ends with ${error}, and every node is well`)
  }

  readBack(partition: string, found: ReadonlyMap<bigint, string>): void {
    // A backup that was asked hears of the last commits a heartbeat later.
    if (this.atRest()) this.ledger.readBack(this.key(partition), undefined, found)
    else for (const [offset, payload] of found) this.confirmed(partition, offset, payload, false)
  }

  /** More failed at once than topics in memory promise to survive. */
  memoryLost(): void {
    for (const key of this.known) if (!this.eager.has(topicOf(key))) this.ledger.excuse(key)
  }

  private key(partition: string): string {
    const key = `${partition}#${this.purges.get(topicOf(partition)) ?? 0}`
    this.known.add(key)
    return key
  }
}

const topicOf = (partition: string): string => partition.slice(0, partition.lastIndexOf('/'))
