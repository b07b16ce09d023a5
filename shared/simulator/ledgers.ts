/**
 * What clients were told, and what follows from it (spec drills.md §2.5, checkers 4–6). Names and payloads are unique, so
 * that each is its own evidence: an answer that no history of exactly one execution explains is a violation.
 */
import type { Checker } from './checkers/checker.ts'

/** What the clients know of one name. `maybe`: its creation has an unknown outcome; `gone?`: so has its deletion, or an
 * older creation of what was deleted. */
export type Knowledge = 'absent' | 'present' | 'maybe' | 'gone?'

/** Existence of streams and topics, each touched by one client only. */
export class NameLedger {
  private readonly names = new Map<string, Knowledge>()
  /** A request about it may still be on its way: it can be made or deleted long after. */
  private readonly doubtful = new Set<string>()
  private readonly checker: Checker
  compared = 0

  constructor(checker: Checker) {
    this.checker = checker
  }

  of(name: string): Knowledge {
    return this.names.get(name) ?? 'absent'
  }

  /** Answer to a creation: done, or the name was taken. */
  created(name: string, how: 'ok' | 'exists' | 'refused' | 'unknown'): void {
    const before = this.of(name)
    if (how === 'unknown') this.doubt(name)
    else if (how === 'refused') this.names.set(name, before)
    else if (how === 'ok' && before === 'present')
      this.checker.fail('metadata-answer', `${name} is created though it exists`)
    else if (how === 'exists' && before === 'absent')
      this.checker.fail('applied-twice', `the creation of ${name}, asked for once, is answered with: it exists`)
    else this.names.set(name, 'present')
  }

  deleted(name: string, how: 'ok' | 'missing' | 'refused' | 'unknown'): void {
    const before = this.of(name)
    if (how === 'unknown') this.doubt(name)
    else if (how === 'refused') return
    else if (this.doubtful.has(name)) this.names.set(name, 'gone?')
    else if (how === 'ok' && before === 'absent')
      this.checker.fail('metadata-answer', `${name} is deleted though it does not exist`)
    else if (how === 'missing' && before === 'present')
      this.checker.fail('lost-metadata', `${name} was acknowledged, and its deletion is answered with: not found`)
    else this.names.set(name, 'absent')
  }

  /** A request in this stream was answered with: no such stream. */
  missing(stream: string): void {
    if (this.of(stream) === 'present')
      this.checker.fail(
        'lost-metadata',
        `${stream} was acknowledged, and a request in it is answered with: no such stream`,
      )
  }

  private doubt(name: string): void {
    this.names.set(name, this.of(name) === 'present' ? 'gone?' : 'maybe')
    this.doubtful.add(name)
  }

  /** With its stream go its topics. */
  drop(prefix: string, knowledge: Knowledge): void {
    for (const [name, known] of this.names)
      if (name.startsWith(prefix) && known !== 'absent') this.names.set(name, knowledge)
  }

  withPrefix(prefix: string): string[] {
    return [...this.names.keys()].filter(name => name.startsWith(prefix))
  }

  /** A settled node lists these names. */
  listed(node: number, found: ReadonlySet<string>): void {
    for (const [name, known] of this.names) {
      this.compared++
      if (known === 'present' && !found.has(name))
        this.checker.fail('lost-metadata', `${name} was acknowledged and does not exist`, node)
      if (known === 'absent' && found.has(name))
        this.checker.fail('metadata-answer', `${name} exists, though it was deleted, or its creation refused`, node)
    }
    for (const name of found)
      if (!this.names.has(name)) this.checker.fail('metadata-answer', `${name} exists and nobody asked for it`, node)
  }
}

interface Confirmed {
  readonly payload: string
  /** Acknowledged to the one who wrote it; else only seen by a reader. */
  acked: boolean
  /** No loss of this one is a fault any more. */
  excused: boolean
}

/** Messages of partitions that are never purged: one offset, one payload, for ever. */
export class OffsetLedger {
  private readonly partitions = new Map<string, Map<bigint, Confirmed>>()
  private readonly refused = new Set<string>()
  private readonly checker: Checker
  acked = 0
  compared = 0

  constructor(checker: Checker) {
    this.checker = checker
  }

  confirmed(partition: string, offset: bigint, payload: string, acked: boolean): void {
    const ledger = this.of(partition)
    const known = ledger.get(offset)
    if (acked) this.acked++
    if (!known) ledger.set(offset, { payload, acked, excused: false })
    else {
      this.compared++
      if (known.payload !== payload)
        this.checker.fail(
          'offset-reuse',
          `offset ${offset} of ${partition} was confirmed for ${short(known.payload)} and is confirmed for ${short(payload)}`,
        )
      else if (acked) known.acked = true
    }
    if (this.refused.has(payload))
      this.checker.fail(
        'wrong-message',
        `${short(payload)} was surely not accepted, and stands at offset ${offset} of ${partition}`,
      )
  }

  /** The client was told that this was surely not stored. */
  notStored(payload: string): void {
    this.refused.add(payload)
  }

  /** More failed at once than this partition promises to survive: what was confirmed so far may be gone. */
  excuse(partition: string): void {
    for (const entry of this.of(partition).values()) entry.excused = true
  }

  /** All that a settled node has of this partition. */
  readBack(partition: string, node: number, found: ReadonlyMap<bigint, string>): void {
    for (const [offset, payload] of found) this.confirmed(partition, offset, payload, false)
    for (const [offset, entry] of this.of(partition)) {
      this.compared++
      if (entry.acked && !entry.excused && !found.has(offset))
        this.checker.fail(
          'lost-message',
          `${short(entry.payload)} was acknowledged at offset ${offset} of ${partition} and is not there`,
          node,
        )
    }
  }

  private of(partition: string): Map<bigint, Confirmed> {
    let ledger = this.partitions.get(partition)
    if (!ledger) {
      ledger = new Map()
      this.partitions.set(partition, ledger)
    }
    return ledger
  }
}

/** Without the padding. */
const short = (payload: string): string => payload.replace(/x+$/, '')
