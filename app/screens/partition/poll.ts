/** What a poll was asked and what it says, in words (spec wire.md §3.8.3). Pure. */
import type { PolledAnswer, PollStrategyName } from '../../../shared/inspection/polls.ts'
import type { PollQuestion } from '../../data/queries.ts'
import type { Search } from '../../search.ts'
import { grouped, timestamp, visible } from '../../ui/format.ts'

export const COUNT_DEFAULT = 20

/** The question of an address. */
export const questionOf = (search: Search<'partition'>): PollQuestion => ({
  by: search.by ?? 'last',
  value: search.by === 'offset' || search.by === 'timestamp' ? (search.value ?? '0') : '0',
  count: Number(search.count ?? COUNT_DEFAULT),
  consumer: search.consumer ?? '0',
})

/**
 * Microseconds since 1970 of what a person typed: their number, or a date with a time as the page writes it, by the clock
 * of the browser. Undefined when it is neither. A date has room for six digits of a second, and keeps all of them.
 */
export function microsOf(text: string): bigint | undefined {
  const trimmed = text.trim()
  if (/^\d{1,20}$/.test(trimmed)) return BigInt(trimmed)
  const match = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?$/.exec(trimmed)
  if (!match) return undefined
  const [, day, minute, second = '00', fraction = ''] = match
  const ms = new Date(`${day}T${minute}:${second}`).getTime()
  return Number.isNaN(ms) || ms < 0 ? undefined : BigInt(ms) * 1000n + BigInt(fraction.padEnd(6, '0'))
}

/** Why the list is as it is: a poll that brings nothing, or begins elsewhere than it was asked, says so. */
export function polledWords({ by, value, consumer }: PollQuestion, answer: PolledAnswer): string {
  const who = `node-${answer.servedBy}`
  const first = answer.messages[0]
  const name = visible(consumer)
  if (first === undefined) return NOTHING[by]({ value, name, who, answer })
  const begins = BigInt(first.offset)
  if (by === 'offset' && begins !== BigInt(value))
    return `Nothing of ${who} has offset ${grouped(value)}: it lies in a gap or was removed. What follows begins at ${grouped(first.offset)}.`
  if (by === 'next' && answer.storedOffset !== null)
    return `Consumer ${name} has read up to ${grouped(answer.storedOffset)}; this is what comes next.`
  if (by === 'next') return `Nothing is stored for consumer ${name}: it begins at the first message.`
  return `Committed up to ${grouped(answer.currentOffset)}, as ${who} knows.`
}

interface Nothing {
  readonly value: string
  readonly name: string
  readonly who: string
  readonly answer: PolledAnswer
}
const EMPTY = ({ who }: Nothing): string => `${who} knows of no committed message in this partition.`
const NOTHING: Readonly<Record<PollStrategyName, (nothing: Nothing) => string>> = {
  offset: ({ value, who, answer }) =>
    `${grouped(value)} is beyond what ${who} knows to be committed; its last committed offset is ${grouped(answer.currentOffset)}, or there is none yet.`,
  timestamp: ({ value, who }) => `${who} has no message of ${timestamp(value)} or later.`,
  first: EMPTY,
  last: EMPTY,
  next: nothing =>
    nothing.answer.storedOffset === null
      ? EMPTY(nothing)
      : `Consumer ${nothing.name} has read up to ${grouped(nothing.answer.storedOffset)}: nothing comes after it yet.`,
}
