/** Kills and the offsets that were given out before them (spec drills.md §1.8). */
import type { Action, Scenario } from '../language.ts'
import {
  again,
  at,
  BY_FOUR,
  batch,
  EAGER,
  EQUAL,
  edit,
  file,
  names,
  none,
  onAll,
  onDisk,
  opened,
  PARTITION,
  persisted,
  persistedAlike,
  poll,
  read,
  record,
  SOLO,
  scenario,
  sends,
  settled,
  soloPersisted,
  THREE,
  there,
  waitFor,
} from './partition-steps.ts'

const memoryOnly = scenario('OR-01', 'what only memory knew is never minted again', SOLO, [
  opened({}),
  sends('m', 5),
  again('kill'),
  batch(['next'], 'next'),
  at('next', 'eq', 65_537),
])

const failedStop = scenario('OR-11', 'a stop whose flush fails keeps the reservation, and the offsets jump', SOLO, [
  opened({}),
  sends('m', 5),
  { do: 'arm', node: 0, point: 'persist.log.beforeWrite', effect: { effect: 'error', error: 'NoSpace' } },
  { do: 'terminate', nodes: [0] },
  waitFor('it ends with 74', { process: 0, state: 'crashed', exit: 74 }),
  {
    do: 'check',
    what: 'the reservation is as it was',
    that: { superblock: { node: 0, directory: PARTITION }, field: 'offsetReserved', is: 'ge', value: 65_537 },
  },
  { do: 'disarm', node: 0, point: 'persist.log.beforeWrite' },
  { do: 'start', nodes: [0] },
  settled,
  batch(['next'], 'next'),
  at('next', 'ge', 65_537),
])

const secondCrash = scenario(
  'OR-02',
  'each life begins above the one before, on a segment of its own',
  SOLO,
  [
    opened(BY_FOUR),
    sends('a', 6),
    soloPersisted(4),
    again('kill'),
    sends('b', 6),
    soloPersisted(65_541),
    again('kill'),
    batch(['next'], 'next'),
    at('next', 'ge', 131_074),
    poll('everything'),
  ],
  [
    { what: 'a segment is named above the first life', that: there(0, file(65_537, 'log')) },
    {
      what: 'what was flushed is there',
      that: { outcome: 'everything', payloads: [...names('a', 4), ...names('b', 4), 'next'] },
    },
  ],
)

const straddle = scenario(
  'OR-03',
  'four on disk and two in memory: the tail is sealed, anchored, and a segment planted at the floor',
  SOLO,
  [opened(BY_FOUR), sends('a', 6), soloPersisted(4), again('kill'), batch(['next'], 'next'), at('next', 'eq', 65_537)],
  [
    { what: 'planted', that: there(0, file(65_537, 'log')) },
    { what: 'anchored', that: there(0, file(65_537, 'anchor')) },
  ],
)

const noJump = scenario(
  'OR-09',
  'a node that restarts beside a live primary does not jump',
  THREE,
  [
    opened(BY_FOUR),
    sends('m', 10),
    { do: 'kill', nodes: [1] },
    { do: 'start', nodes: [1] },
    settled,
    batch(['next'], 'next'),
    at('next', 'eq', 10),
    settled,
  ],
  [
    { what: 'nobody announced a jump', that: none('jump_announced') },
    { what: 'nobody refused a base', that: none('append_refused') },
  ],
)

const cleanStop = scenario('OR-10', 'a clean stop brings the reservation down to what is held', SOLO, [
  opened({}),
  sends('m', 25),
  { do: 'terminate', nodes: [0] },
  ...(['offsetReserved', 'offsetFrontier'] as const).map(
    (field): Action => ({
      do: 'check',
      what: field,
      that: { superblock: { node: 0, directory: PARTITION }, field, is: 'eq', value: 25 },
    }),
  ),
  { do: 'start', nodes: [0] },
  settled,
  batch(['next'], 'next'),
  at('next', 'eq', 25),
])

const betweenUnlinkAndPlant = scenario(
  'OR-14',
  'killed between the unlink of an empty tail and the segment at the floor',
  SOLO,
  [
    opened({}),
    sends('m', 3),
    { do: 'kill', nodes: [0] },
    { do: 'arm', node: 0, point: 'reanchor.unlinked', effect: { effect: 'kill' } },
    { do: 'start', nodes: [0] },
    waitFor('it dies there', { process: 0, state: 'crashed' }),
    { do: 'disarm', node: 0, point: 'reanchor.unlinked' },
    { do: 'start', nodes: [0] },
    settled,
    batch(['next'], 'next'),
    at('next', 'eq', 65_537),
  ],
  [{ what: 'planted', that: there(0, file(65_537, 'log')) }],
)

const polledFromMemory = scenario(
  'OR-25',
  'an offset that was read from memory is never given to another payload',
  SOLO,
  [
    opened({}),
    sends('m', 3),
    read('read from memory', names('m', 3)),
    again('kill'),
    batch(['other'], 'other'),
    at('other', 'ge', 3),
  ],
)

const unspentFloor = scenario('OR-26', 'a clean stop before the floor is spent keeps the reservation', SOLO, [
  opened(BY_FOUR),
  sends('a', 6),
  soloPersisted(4),
  again('kill'),
  again('terminate'),
  batch(['next'], 'next'),
  at('next', 'eq', 65_537),
])

const allAtOnce = scenario(
  'OR-27',
  'every replica dies at once: one jump, on an anchored boundary, and what memory lost is said',
  THREE,
  [
    opened(BY_FOUR),
    sends('m', 6),
    // A round takes what is known as committed: three or four of them, by the time of a heartbeat.
    waitFor(
      'the first are on every disk',
      onAll(node => onDisk(node, 3, 'ge')),
    ),
    again('kill'),
    batch(['next'], 'next'),
    at('next', 'ge', 65_537),
    batch(['b', 'c', 'd']),
    settled,
    again('terminate'),
    poll('everything'),
  ],
  [
    {
      what: 'what was flushed is there',
      that: {
        any: [3, 4].map(kept => ({ outcome: 'everything', payloads: [...names('m', kept), 'next', 'b', 'c', 'd'] })),
      },
    },
    { what: 'the loss was said', that: { event: { kind: 'jump_announced' } } },
    { what: 'anchored everywhere', that: onAll(node => there(node, `${PARTITION}/*.anchor`)) },
    EQUAL,
  ],
)

/** A group whose counter is above its tails: nobody holds 6 to 11 any more, and all say that 12 is next. */
const counterAboveTail = scenario(
  'OR-30',
  'the counter of a group is above its tails: the next batch gets a segment of its own, everywhere',
  THREE,
  [
    opened(EAGER),
    sends('m', 6),
    persisted(6),
    { do: 'terminate', nodes: 'all' },
    ...[0, 1, 2].map(node => record(node, 12)),
    { do: 'start', nodes: 'all' },
    settled,
    batch(['next'], 'next'),
    at('next', 'ge', 12),
    batch(['more']),
    persistedAlike(),
    { do: 'baseline', name: 'second boot' },
    again('terminate'),
    again('kill'),
    poll('everything'),
  ],
  [
    { what: 'everything is served', that: { outcome: 'everything', payloads: [...names('m', 6), 'next', 'more'] } },
    {
      what: 'the gap is said',
      that: { event: { kind: 'gap_planted', where: { first: 6, last: 11 } }, atLeast: 3, atMost: 3 },
    },
    { what: 'and never again', that: { event: { kind: 'gap_planted', since: 'second boot' }, atMost: 0 } },
    { what: 'a segment of its own', that: onAll(node => there(node, file(12, 'log'))) },
    { what: 'behind an anchor', that: onAll(node => there(node, file(12, 'anchor'))) },
    EQUAL,
  ],
)

const counterAboveNothing = scenario(
  'OR-30',
  'the same with nothing but an empty segment 0',
  THREE,
  [
    opened(EAGER),
    sends('m', 3),
    persisted(3),
    { do: 'request', client: 'c', call: { request: 'purgeTopic', stream: 's', topic: 't' } },
    // Not only empty: a purge that is not recorded yet is carried out again by the next boot.
    waitFor(
      'all are empty',
      onAll(node => ({ event: { kind: 'partition_purged', node } })),
    ),
    { do: 'terminate', nodes: 'all' },
    ...[0, 1, 2].map(node => record(node, 12)),
    { do: 'start', nodes: 'all' },
    settled,
    batch(['next'], 'next'),
    at('next', 'ge', 12),
    persistedAlike(),
    again('terminate'),
    poll('everything'),
  ],
  [
    { what: 'it is served', that: { outcome: 'everything', payloads: ['next'] } },
    { what: 'in a segment that has its name', that: onAll(node => there(node, file(12, 'log'))) },
    EQUAL,
  ],
)

const oneStillHolds = scenario(
  'OR-30',
  'one replica still holds what the others lack: they get it, and nothing is planted',
  THREE,
  [
    opened(EAGER),
    sends('m', 12),
    persisted(12),
    { do: 'terminate', nodes: 'all' },
    ...[0, 1].map(node =>
      edit(
        node,
        { edit: 'truncate', path: `${PARTITION}/*.log`, to: { batch: 6, part: 'header', offset: 0 } },
        { edit: 'delete', path: `${PARTITION}/*.index` },
      ),
    ),
    { do: 'start', nodes: 'all' },
    settled,
    batch(['next'], 'next'),
    at('next', 'eq', 12),
    persisted(13),
    poll('everything'),
  ],
  [
    { what: 'everything is served', that: { outcome: 'everything', payloads: [...names('m', 12), 'next'] } },
    { what: 'nothing is planted', that: none('gap_planted') },
    EQUAL,
  ],
)

const acrossTheHole = scenario(
  'OR-23',
  'a consumer that reads on across the offsets that a kill has left out meets what came behind them',
  SOLO,
  [
    opened(EAGER),
    sends('a', 6),
    soloPersisted(6),
    again('kill'),
    batch(['b'], 'b'),
    at('b', 'eq', 65_537),
    poll('on', 'c', { offset: '3' }),
    poll('inside the hole', 'c', { offset: '6' }),
  ],
  [
    { what: 'read on', that: { outcome: 'on', payloads: ['a3', 'a4', 'a5', 'b'] } },
    { what: 'from inside it too', that: { outcome: 'inside the hole', payloads: ['b'] } },
  ],
)

const frontierAboveEnd = scenario(
  'OR-29',
  'the recorded frontier is above what is left: the rest is served, the missing range is said, the third boot accepts',
  SOLO,
  [
    opened(EAGER),
    sends('m', 6),
    soloPersisted(6),
    { do: 'kill', nodes: [0] },
    record(0, 12, 65_537, ['a']),
    { do: 'start', nodes: [0] },
    waitFor('the missing range is said', { event: { kind: 'missing_range', where: { first: 6, last: 11 } } }),
    settled,
    batch(['next'], 'next'),
    at('next', 'eq', 65_537),
    soloPersisted(65_538),
    again('kill'),
    poll('everything'),
  ],
  [
    { what: 'everything is served', that: { outcome: 'everything', payloads: [...names('m', 6), 'next'] } },
    { what: 'a segment of its own', that: there(0, file(65_537, 'log')) },
    { what: 'behind an anchor', that: there(0, file(65_537, 'anchor')) },
    { what: 'said once', that: { event: { kind: 'missing_range', where: { first: 6, last: 11 } }, atMost: 1 } },
  ],
)

export const OFFSET_KILLS: readonly Scenario[] = [
  memoryOnly,
  failedStop,
  secondCrash,
  straddle,
  noJump,
  cleanStop,
  betweenUnlinkAndPlant,
  acrossTheHole,
  polledFromMemory,
  unspentFloor,
  allAtOnce,
  frontierAboveEnd,
  counterAboveTail,
  counterAboveNothing,
  oneStillHolds,
]
