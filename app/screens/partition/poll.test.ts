import { describe, expect, it } from 'vitest'
import { type PolledAnswer, pollStrategy } from '../../../shared/inspection/polls.ts'
import { parseSearch, readSearch } from '../../search.ts'
import { timestamp } from '../../ui/format.ts'
import { microsOf, polledWords, questionOf } from './poll.ts'

const LARGE = '9007199254740993'
const answer = (offsets: string[], more: Partial<PolledAnswer> = {}): PolledAnswer => ({
  servedBy: 1,
  takenWallUs: '1',
  currentOffset: LARGE,
  storedOffset: null,
  messages: offsets.map(offset => ({
    offset,
    timestampUs: '1',
    originTimestampUs: '1',
    id: '0',
    checksum: '0',
    payloadBytes: 0,
    payloadHex: '',
    headersBytes: 0,
    headersHex: '',
  })),
  ...more,
})

describe('a poll', () => {
  it('is read from its address, with every digit; strategies without a value have none', () => {
    const of = (search: string) => questionOf(parseSearch('partition', readSearch(search)))
    expect(of('')).toEqual({ by: 'last', value: '0', count: 20, consumer: '0' })
    expect(of(`?by=offset&value=${LARGE}&count=100`)).toEqual({ by: 'offset', value: LARGE, count: 100, consumer: '0' })
    expect(of(`?by=next&value=${LARGE}&consumer=a%2Fb`)).toMatchObject({ by: 'next', value: '0', consumer: 'a/b' })
    const notes: string[] = []
    parseSearch('partition', readSearch('?by=newest&count=0&value=-1&pane=x'), ({ key }) => notes.push(key))
    expect(notes.sort()).toEqual(['by', 'count', 'pane', 'value'])
  })

  it('takes a time as the page writes one, to the microsecond, or as a number', () => {
    const us = 1_764_000_000_123_456n
    expect(microsOf(timestamp(us))).toBe(us)
    expect(microsOf(String(us))).toBe(us)
    expect(microsOf('2025-11-24T16:00')! % 60_000_000n).toBe(0n)
    expect(microsOf('2025-11-24 16:00:01.5')! % 1_000_000n).toBe(500_000n)
    for (const text of ['', 'yesterday', '2025-13-40 99:99', '12:00', '-5', '1e3', '0x10'])
      expect(microsOf(text), text).toBeUndefined()
  })

  it('says why it brings nothing, or begins elsewhere', () => {
    const ask = (by: (typeof pollStrategy.options)[number], value = '7') => ({ by, value, count: 1, consumer: '4' })
    const words = pollStrategy.options.map(by => polledWords(ask(by), answer([])))
    for (const said of words) expect(said).toContain('node-1')
    expect(words[0]).toContain('9,007,199,254,740,993')
    expect(polledWords(ask('next'), answer([], { storedOffset: LARGE }))).toContain('nothing comes after it yet')
    expect(polledWords(ask('next'), answer(['0']))).toContain('Nothing is stored for consumer 4')
    expect(polledWords(ask('next'), answer(['8'], { storedOffset: '7' }))).toContain('has read up to 7')
    expect(polledWords(ask('offset'), answer(['9']))).toContain('begins at 9')
    expect(polledWords(ask('offset'), answer(['7']))).toContain('Committed up to')
    expect(polledWords({ ...ask('next'), consumer: 'a\u202eb' }, answer(['0']))).toContain('a\\u202eb')
  })
})
