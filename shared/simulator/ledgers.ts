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

  /** Those of these names that nobody has ever asked for. */
  invented(found: ReadonlySet<string>): string[] {
    return [...found].filter(name => !this.names.has(name))
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
  /** The node that answered the writer, where that is known. */
  by: number | undefined
  /** The disk of that node is gone: what keeps it is the memory of the others, until they have written it. */
  orphaned?: true
  /** No loss of this one is a fault any more. */
  excused: boolean
  /** Payloads that this offset had before, each in front of a purge. */
  readonly before: number
}

/**
 * One offset, one payload, for ever: of a partition that is purged, one more for each purge that was asked for, since nobody
 * outside can tell on which side of a purge a message was written.
 */
export class OffsetLedger {
  private readonly partitions = new Map<string, Map<bigint, Confirmed>>()
  private readonly refused = new Set<string>()
  private readonly purges = new Map<string, number>()
  /** By partition: all that clients have ever sent there. */
  private readonly sentTo = new Map<string, Set<string>>()
  private readonly checker: Checker
  acked = 0
  compared = 0
  /** Hears of every offset that a writer was told. */
  acknowledged: (partition: string, offset: bigint) => void = () => {}
  /** Which node answers writers of a partition now, if that is certain. */
  answeredBy: (partition: string) => number | undefined = () => undefined
  /** Every purge that was asked for has come about, or never will. */
  calm = false

  constructor(checker: Checker) {
    this.checker = checker
  }

  /** A client sends this to that partition. */
  sending(partition: string, payloads: readonly string[]): void {
    const sent = this.sentTo.get(partition) ?? new Set()
    this.sentTo.set(partition, sent)
    for (const payload of payloads) sent.add(payload)
  }

  /**
   * An answer to a poll: of each message every byte is what a client sent to this partition, and they stand behind each other
   * from where they were asked for.
   */
  polled(
    partition: string,
    messages: readonly { readonly offset: bigint; readonly payload: string }[],
    from = 0n,
  ): void {
    let least = from
    for (const { offset, payload } of messages) {
      if (offset < least)
        this.checker.fail('invented', `a poll of ${partition} answers offset ${offset} where ${least} or later belongs`)
      least = offset + 1n
      if (this.sentTo.get(partition)?.has(payload) !== true)
        this.checker.fail(
          'invented',
          `${shown(payload)} stands at offset ${offset} of ${partition}, and no client has sent it there`,
        )
      this.compared++
      this.confirmed(partition, offset, payload, false)
    }
  }

  /** A batch was acknowledged: messages one behind the other. */
  confirmedAll(partition: string, base: bigint, payloads: readonly string[], acked: boolean): void {
    const by = acked ? this.answeredBy(partition) : undefined
    for (const [index, payload] of payloads.entries()) this.note(partition, base + BigInt(index), payload, acked, by)
  }

  confirmed(partition: string, offset: bigint, payload: string, acked: boolean): void {
    this.note(partition, offset, payload, acked, acked ? this.answeredBy(partition) : undefined)
  }

  private note(partition: string, offset: bigint, payload: string, acked: boolean, by: number | undefined): void {
    const ledger = this.of(partition)
    const known = ledger.get(offset)
    if (acked) {
      this.acked++
      this.acknowledged(partition, offset)
    }
    const purges = this.purges.get(partition) ?? 0
    const excused = purges > 0 && !this.calm
    if (!known) ledger.set(offset, { payload, acked, by, excused, before: 0 })
    else if (known.payload !== payload && known.before < purges)
      ledger.set(offset, { payload, acked, by, excused, before: known.before + 1 })
    else {
      this.compared++
      if (known.payload !== payload)
        this.checker.fail(
          'offset-reuse',
          `offset ${offset} of ${partition} was confirmed for ${short(known.payload)} and is confirmed for ${short(payload)}`,
        )
      else if (acked && !known.acked) {
        known.acked = true
        known.by = by
      }
    }
    if (this.refused.size > 0 && this.refused.has(short(payload)))
      this.checker.fail(
        'wrong-message',
        `${short(payload)} was surely not accepted, and stands at offset ${offset} of ${partition}`,
      )
  }

  /** A purge of this partition is asked for: it may come about at any time from now on. */
  purge(partition: string): void {
    this.purges.set(partition, (this.purges.get(partition) ?? 0) + 1)
    this.excuse(partition)
  }

  /** The client was told that this was surely not stored. */
  notStored(payload: string): void {
    this.refused.add(short(payload))
  }

  /**
   * More failed at once than this partition promises to survive: what was confirmed so far may be gone. With `node`: what
   * that node answered, or nobody knows who.
   */
  excuse(partition: string, node?: number): void {
    for (const entry of this.of(partition).values())
      entry.excused ||= node === undefined || entry.by === undefined || entry.by === node
  }

  /** The disk of a node is gone, with what it answered. */
  diskLost(partition: string, node: number): void {
    for (const entry of this.of(partition).values())
      if (entry.by === undefined || entry.by === node) entry.orphaned = true
  }

  /** Too many have lost their memory: of what a lost disk alone may have held, nobody need know any more. */
  excuseOrphans(partition: string): void {
    for (const entry of this.of(partition).values()) entry.excused ||= entry.orphaned === true
  }

  /** All that a settled node has of this partition. */
  readBack(partition: string, node: number | undefined, found: ReadonlyMap<bigint, string>): void {
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

/** As much of it as a line has room for, and its length. */
const shown = (payload: string): string => `${JSON.stringify(payload.slice(0, 40))} (${payload.length} characters)`

/** Without the padding: still one of a kind. */
const short = (payload: string): string => {
  const padding = payload.indexOf('x')
  return padding < 0 ? payload : payload.slice(0, padding)
}
