/** The drill about the end of a partition, where everybody reads. */
import type { Action, Scenario } from '../scenario/language.ts'
import {
  atRest,
  EAGER,
  PARTITION,
  PARTITION_DIRECTORY,
  payloads,
  readAll,
  runs,
  send,
  started,
  waitFor,
} from './building.ts'
import type { Drill } from './contract.ts'

const OLD = payloads('old', 10)
const YOUNG = payloads('young', 10)
/** Three of these are more than a segment of the least size. */
const FILLERS = ['x', 'y', 'z'].map(letter => letter.repeat(400_000))
const SEGMENT_BYTES = 1_048_576
const FIRST_YOUNG = OLD.length + FILLERS.length
const SMALL_SEGMENTS = { ...EAGER, segmentSize: String(SEGMENT_BYTES) }
const ANY_OPEN = `before.open@${PARTITION_DIRECTORY}/**`
/** Of each message: one brings it, the others find the end. */
const POLLS_EACH = 50
const ROLLS = 1
const PURGES = 1
const purged: Action = { do: 'request', client: 'c', call: { request: 'purgeTopic', stream: 's', topic: 't' } }
const pollOf = (as: string, from: 'first' | { readonly offset: string }, count: number, polls?: number): Action => ({
  do: 'request',
  client: 'c',
  call: { request: 'poll', stream: 's', topic: 't', partition: 0, from, count, ...(polls !== undefined && { polls }) },
  as,
})
/** As a consumer does that waits at the end: each message is polled for from its offset on, and then what follows it. */
const followed = (sent: readonly string[], name: string, firstOffset: number): Action[] =>
  sent.flatMap((payload, index) => [
    send([payload]),
    pollOf(`${name}-${index}`, { offset: String(firstOffset + index) }, 10, POLLS_EACH),
  ])
const seen = (sent: readonly string[], name: string, words: string): Scenario['verdict'] =>
  sent.map((payload, index) => ({
    what: `message ${index} ${words} is seen once`,
    that: { outcome: `${name}-${index}`, payloads: [payload] },
  }))
const opened = (what: string, times: number): Action => ({
  do: 'check',
  what,
  that: { reached: { node: 0, point: ANY_OPEN }, is: 'le', value: times },
})
const HEAD_OPENS_NOTHING = `${OLD.length * POLLS_EACH} polls at the head have opened no file`

const following: Scenario = {
  id: 'D25',
  title: 'Read the head without opening',
  cluster: { nodes: 1, settings: { 'partition.evicted_ring_capacity': 1 } },
  needs: ['failpoints'],
  steps: [
    ...started(SMALL_SEGMENTS),
    { do: 'arm', node: 0, point: ANY_OPEN, effect: { effect: 'count' } },
    ...followed(OLD, 'head', 0),
    pollOf('growing', 'first', OLD.length),
    opened(HEAD_OPENS_NOTHING, 0),
    ...FILLERS.map(payload => send([payload])),
    ...followed(YOUNG, 'young', FIRST_YOUNG),
    {
      do: 'check',
      what: 'the segment has rolled',
      that: { file: { node: 0, path: `${PARTITION_DIRECTORY}/*.log` }, length: 'lt', value: SEGMENT_BYTES / 2 },
    },
    pollOf('sealed', 'first', OLD.length),
    pollOf('active', { offset: String(FIRST_YOUNG) }, YOUNG.length),
    purged,
    waitFor('the purge has come about', { event: { node: 0, kind: 'partition_purged', group: PARTITION } }),
    send(['new'], 'new'),
    readAll('after the purge'),
    opened('a roll and a purge have opened one file each at most', ROLLS + PURGES),
  ],
  verdict: [
    ...seen(OLD, 'head', 'at the head'),
    {
      what: 'the growing segment is read from its first message on',
      that: { outcome: 'growing', payloads: OLD },
    },
    ...seen(YOUNG, 'young', 'behind the roll'),
    { what: 'the sealed segment has every message once', that: { outcome: 'sealed', payloads: OLD } },
    { what: 'the active one has every message once', that: { outcome: 'active', payloads: YOUNG } },
    { what: 'after the purge the offsets begin anew', that: { outcome: 'new', baseOffset: 'eq', value: '0' } },
    { what: 'no old byte is served', that: { outcome: 'after the purge', payloads: ['new'] } },
  ],
}

export const D25: Drill = {
  id: 'D25',
  title: 'Read the head without opening',
  teaches: 'the growing segment is read through the descriptor that writes it',
  lesson: 'index and log',
  goal: `A consumer follows the end of a partition with ${(OLD.length + YOUNG.length) * POLLS_EACH} polls. Count how often one of its files is opened: not for a poll, at most once for a roll and once for a purge. Then show that nothing old is served from what was kept open.`,
  predictions: [
    {
      text: 'Each poll opens the log',
      rightIf: { finding: HEAD_OPENS_NOTHING, passes: false },
    },
    {
      text: `After the purge the offsets go on at ${FIRST_YOUNG + YOUNG.length}`,
      rightIf: { finding: 'after the purge the offsets begin anew', passes: false },
    },
    { text: 'After the purge nothing old is served', rightIf: { finding: 'no old byte is served', passes: true } },
  ],
  look: 'The count of opened files among the findings: none for 500 polls at the end of the log, and at most two when everything is over.',
  whySafe:
    'The active segment has a descriptor already, that of its writer, and its size is known from the cursors that move with each persist. A purge replaces the segments as a whole, descriptors and all, after it was recorded.',
  worlds: ['sim', 'real'],
  scenario: following,
  decisive: HEAD_OPENS_NOTHING,
  broken: {
    rule: 'purgeRecordedFirst',
    noticedBy: 'cold-open',
    story:
      'The files go before the purge is recorded. A crash in between leaves an empty directory and a record that knows nothing of it.',
    scenario: {
      ...following,
      steps: [
        ...started(EAGER),
        ...OLD.map(payload => send([payload])),
        purged,
        waitFor('the purge has come about', { event: { node: 0, kind: 'partition_purged', group: PARTITION } }),
        atRest('the node is at rest'),
      ],
      verdict: [{ what: 'the node runs', that: runs(0) }],
    },
  },
}
