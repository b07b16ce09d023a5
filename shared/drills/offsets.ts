/** Drills about offsets: promised before they are given out, never given out twice. */
import type { Action, Scenario } from '../scenario/language.ts'
import { atRest, PARTITION_DIRECTORY, payloads, readAll, runs, send, started, unchecked, waitFor } from './building.ts'
import type { Drill } from './contract.ts'

/** The first life reserves offsets up to here: one, and a whole lease behind it. */
const SECOND_LIFE = '65537'
const THIRD_LIFE = '131074'
/** The superblock of the partition cannot be written. */
const NO_RESERVATION = `reserve.beforeWrite@${PARTITION_DIRECTORY}/**`
const SAVE_AT_FOUR = { enforceFsync: false, messagesRequiredToSave: 4 }
const killedAndStarted = [
  { do: 'kill', nodes: [0] },
  { do: 'start', nodes: [0] },
  waitFor('the node serves again', runs(0)),
] as const

export const D18: Drill = {
  id: 'D18',
  title: 'The same number twice',
  teaches: 'offset reservation',
  lesson: 'offsets',
  goal: 'A node alone acknowledges three messages that only its memory holds, and is killed. Show that the offsets it had confirmed are never given to other messages, and that none is given out while nothing can be reserved.',
  predictions: [
    {
      text: 'The next message gets offset 3',
      rightIf: { finding: 'the first new offset lies above the reservation', passes: false },
    },
    {
      text: 'The next message jumps ahead',
      rightIf: { finding: 'the first new offset lies above the reservation', passes: true },
    },
    { text: 'The three messages come back', rightIf: { finding: 'only the new message is there', passes: false } },
  ],
  look: 'In the replay: offsets below 65,537 are reserved before the first one is told; the first message of the new life gets exactly that number.',
  whySafe:
    'Before an offset is handed out, the superblock says on disk how far offsets are reserved. The next life begins above that: whatever the last one told anybody, no number is told twice.',
  worlds: ['sim', 'real'],
  scenario: {
    id: 'D18',
    title: 'The same number twice',
    cluster: { nodes: 1 },
    steps: [
      ...started(),
      ...payloads('first', 3).map((payload, index) => send([payload], `first-${index}`)),
      {
        do: 'check',
        what: 'the reservation is on disk before the offsets are told',
        that: {
          superblock: { node: 0, directory: PARTITION_DIRECTORY },
          field: 'offsetReserved',
          is: 'eq',
          value: SECOND_LIFE,
        },
      },
      ...killedAndStarted,
      { do: 'arm', node: 0, point: NO_RESERVATION, effect: { effect: 'error', error: 'Io' }, times: 1_000_000 },
      { do: 'client', client: 'd', nodes: [0], retry: false, budgetMs: 3_000 },
      { ...send(['unreserved'], 'unreserved'), client: 'd', expect: 'any' } as Action,
      { do: 'disarm', node: 0, point: NO_RESERVATION },
      send(['second'], 'second'),
      readAll('read'),
    ],
    verdict: [
      {
        what: 'without a reservation on disk no offset is given out',
        that: { outcome: 'unreserved', is: 'error' },
      },
      { what: 'the third offset was 2', that: { outcome: 'first-2', baseOffset: 'eq', value: '2' } },
      {
        what: 'the first new offset lies above the reservation',
        that: { outcome: 'second', baseOffset: 'eq', value: SECOND_LIFE },
      },
      { what: 'only the new message is there', that: { outcome: 'read', payloads: ['second'] } },
    ],
  },
  decisive: 'the first new offset lies above the reservation',
  broken: {
    rule: 'offsetsAreReserved',
    noticedBy: 'offset-reuse',
    story:
      'Without the reservation the new life goes on where its disk ends, and gives offset 0 to another message: a consumer that has read the first one never sees the second.',
  },
}

const FIRST = payloads('first', 6)
const SECOND = payloads('second', 6)

const secondCrash: Scenario = {
  id: 'D19',
  title: 'The second crash',
  cluster: { nodes: 1 },
  steps: [
    ...started(SAVE_AT_FOUR),
    ...FIRST.map(payload => send([payload])),
    waitFor('four messages are flushed', {
      file: { node: 0, path: `${PARTITION_DIRECTORY}/*.log` },
      length: 'gt',
      value: 0,
    }),
    ...killedAndStarted,
    send([SECOND[0]!], 'second'),
    {
      do: 'check',
      what: 'a segment is named after the first offset behind the hole',
      that: { file: { node: 0, path: `${PARTITION_DIRECTORY}/${SECOND_LIFE.padStart(20, '0')}.log` }, exists: true },
    },
    ...SECOND.slice(1).map(payload => send([payload])),
    ...killedAndStarted,
    send(['third'], 'third'),
    {
      do: 'check',
      what: 'the third life has a segment of its own as well',
      that: { file: { node: 0, path: `${PARTITION_DIRECTORY}/${THIRD_LIFE.padStart(20, '0')}.log` }, exists: true },
    },
    atRest('the third life is at rest'),
    readAll('read'),
  ],
  verdict: [
    {
      what: 'the second life begins above the first',
      that: { outcome: 'second', baseOffset: 'eq', value: SECOND_LIFE },
    },
    {
      what: 'the third life begins above the second',
      that: { outcome: 'third', baseOffset: 'eq', value: THIRD_LIFE },
    },
    {
      what: 'what was flushed comes back, and nothing else',
      that: { outcome: 'read', payloads: [...FIRST.slice(0, 4), ...SECOND.slice(0, 4), 'third'] },
    },
  ],
}

export const D19: Drill = {
  id: 'D19',
  title: 'The second crash',
  teaches: 'holes sit on a file boundary',
  lesson: 'offsets',
  goal: 'After a crash the offsets jump, and the hole must be one that the next boot accepts. Crash a second time, and show that every boot does.',
  predictions: [
    {
      text: 'The hole lies inside a segment',
      rightIf: { finding: 'a segment is named after the first offset behind the hole', passes: false },
    },
    { text: 'The third life boots', rightIf: { finding: 'the third life begins above the second', passes: true } },
    {
      text: 'What was flushed in the first two lives can be read',
      rightIf: { finding: 'what was flushed comes back, and nothing else', passes: true },
    },
  ],
  look: 'The files in the replay: each life begins a segment that is named after its first offset, and leaves the one before as it is.',
  whySafe:
    'A walk of a log accepts a gap only between two files: inside a file a missing offset is damage. So the hole is planted on a boundary, with an anchor that says why it is there.',
  worlds: ['sim', 'real'],
  scenario: secondCrash,
  decisive: 'a segment is named after the first offset behind the hole',
  broken: {
    rule: 'holeOnBoundary',
    noticedBy: 'boot',
    scenario: unchecked(secondCrash),
    story:
      'With the hole inside a file the third boot finds a missing offset in the middle of a log, cannot tell it from damage, and refuses.',
  },
}

const SENT = payloads('m', 25)

const cleanStop: Scenario = {
  id: 'D20',
  title: 'Clean stop, dense numbers',
  cluster: { nodes: 1 },
  steps: [
    ...started(),
    ...SENT.map(payload => send([payload])),
    { do: 'terminate', nodes: [0] },
    {
      do: 'check',
      what: 'the reservation has fallen to the end of the log',
      that: {
        superblock: { node: 0, directory: PARTITION_DIRECTORY },
        field: 'offsetReserved',
        is: 'eq',
        value: '25',
      },
    },
    { do: 'start', nodes: [0] },
    waitFor('the node serves again', runs(0)),
    send(['clean'], 'clean'),
    {
      do: 'arm',
      node: 0,
      point: 'persist.log.beforeWrite',
      effect: { effect: 'error', error: 'NoSpace' },
    },
    { do: 'terminate', nodes: [0] },
    {
      do: 'check',
      what: 'the stop ends as a failed persist',
      that: { process: 0, state: 'crashed', exit: 74 },
    },
    {
      do: 'check',
      what: 'the reservation stays above the end of the log',
      that: {
        superblock: { node: 0, directory: PARTITION_DIRECTORY },
        field: 'offsetReserved',
        is: 'gt',
        value: '26',
      },
    },
    { do: 'disarm', node: 0, point: 'persist.log.beforeWrite' },
    { do: 'start', nodes: [0] },
    waitFor('the node serves once more', runs(0)),
    send(['dirty'], 'dirty'),
  ],
  verdict: [
    { what: 'after a clean stop the numbers go on', that: { outcome: 'clean', baseOffset: 'eq', value: '25' } },
    { what: 'after a failed flush they jump', that: { outcome: 'dirty', baseOffset: 'gt', value: '26' } },
  ],
}

export const D20: Drill = {
  id: 'D20',
  title: 'Clean stop, dense numbers',
  teaches: 'collapse after the flush only',
  lesson: 'offsets',
  goal: 'A node that stops in order leaves no hole: it flushes, and then takes its reservation back. Show that it does so only when the flush has succeeded.',
  predictions: [
    {
      text: 'After a clean stop the next offset is 25',
      rightIf: { finding: 'after a clean stop the numbers go on', passes: true },
    },
    {
      text: 'After a flush that failed they go on as well',
      rightIf: { finding: 'after a failed flush they jump', passes: false },
    },
  ],
  look: 'The findings behind the two stops: the reservation on disk has fallen to 25 with the first one, and stays high with the second.',
  whySafe:
    'The reservation speaks for messages that may exist in somebody’s memory. It may fall only when all of them are on disk, or when nothing was given out.',
  worlds: ['sim', 'real'],
  scenario: cleanStop,
  decisive: 'the reservation has fallen to the end of the log',
  broken: {
    rule: 'collapseNeedsFlush',
    noticedBy: 'offset-reuse',
    scenario: unchecked(cleanStop),
    story:
      'A stop whose flush failed takes the reservation back all the same. The messages are gone, their offsets are free, and the next life gives them to others.',
  },
}
