/** Drills about the two files of a segment: the log that proves, and the index that is derived from it. */
import type { Action } from '../scenario/language.ts'
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
  streams,
  waitFor,
} from './building.ts'
import type { Drill } from './contract.ts'

const LOG = `${PARTITION_DIRECTORY}/*.log`
const INDEX = `${PARTITION_DIRECTORY}/*.index`
const INDEX_ENTRY_BYTES = 24

const SENDS = payloads('m', 30)
const logOf = (node: number) => ({ node, path: LOG })
const INDEX_OF_2 = { node: 2, path: INDEX }
const sendAll = (sent: readonly string[], what: string): Action[] => [
  ...sent.map(payload => send([payload])),
  waitFor(what, { all: [{ sameLogs: PARTITION }, { file: logOf(2), length: 'eq', value: { of: logOf(0) } }] }),
]
/** The others are silenced meanwhile, so that what the boot leaves can be seen before it is filled up again. */
const silence = (act: 'cut' | 'heal'): Action[] => [0, 1].map(from => ({ do: act, from, to: 2 }))

/** @param cutInside byte of the last batch at which the log ends; the boot leaves whole batches only */
const floored = (cutInside: number): Action[] => [
  { do: 'kill', nodes: [2] },
  { do: 'recordFiles', name: 'whole', node: 2, under: PARTITION_DIRECTORY },
  {
    do: 'edit',
    node: 2,
    edits: [{ edit: 'truncate', path: LOG, to: { batch: -1, part: 'header', offset: cutInside } }],
  },
  { do: 'recordFiles', name: `cut-${cutInside}`, node: 2, under: PARTITION_DIRECTORY },
  ...silence('cut'),
  { do: 'baseline', name: `cut-${cutInside}` },
  { do: 'start', nodes: [2] },
  waitFor('the index is cut back to what the log proves', {
    event: { node: 2, kind: 'index_floored', group: PARTITION, since: `cut-${cutInside}` },
    atLeast: 1,
    atMost: 1,
  }),
  waitFor('the node serves again', runs(2)),
  {
    do: 'check',
    what: 'the index is one entry shorter, and the log is as long as its whole batches',
    that: {
      all: [
        { file: INDEX_OF_2, length: 'eq', value: { recorded: 'whole', plus: -INDEX_ENTRY_BYTES } },
        { file: logOf(2), length: 'eq', value: { recorded: `cut-${cutInside}`, plus: 0 - cutInside } },
        { sameLogs: PARTITION },
      ],
    },
  },
  ...silence('heal'),
  atRest('it has caught up'),
  waitFor('its log and index are whole again', {
    all: [
      { sameLogs: PARTITION },
      { file: logOf(2), length: 'eq', value: { of: logOf(0) } },
      { file: INDEX_OF_2, length: 'eq', value: { recorded: 'whole' } },
    ],
  }),
]

export const D03: Drill = {
  id: 'D03',
  title: 'The index is a rumour',
  teaches: 'the log proves, the index does not',
  lesson: 'index and log',
  goal: 'An index entry can outlive the bytes it points at: the two files are written at the same time, and a crash may keep one and lose the other. Show that a node cuts its index back to what the log proves, and serves.',
  predictions: [
    {
      text: 'The index loses one entry',
      rightIf: { finding: 'the index is cut back to what the log proves', passes: true },
    },
    { text: 'The node refuses to boot', rightIf: { finding: 'the node serves again', passes: false } },
    {
      text: 'No acknowledged message is lost',
      rightIf: { finding: 'every acknowledged message is read back, in order', passes: true },
    },
  ],
  look: 'The files of node-2 in the replay: its log is cut, and its index still names what is gone. Behind the boot the index is shorter by one entry of 24 bytes; when node-2 hears the others again, both grow back.',
  whySafe:
    'The index is derived: whatever it says, the log decides. An entry that the log does not prove is dropped, and the messages behind the cut come back from the other nodes.',
  worlds: ['sim', 'real'],
  scenario: {
    id: 'D03',
    title: 'The index is a rumour',
    cluster: { nodes: 3 },
    needs: ['cutLinks'],
    steps: [
      ...started(EAGER),
      // Behind another op its log shows the topic as committed, so a boot opens the partition while nobody speaks to it.
      ...streams('behind', 1),
      // The last one by itself: what is flushed together has one entry of the index.
      ...sendAll(SENDS.slice(0, -1), 'the backup has all of it on disk'),
      ...sendAll(SENDS.slice(-1), 'the backup has the last one on disk'),
      ...floored(0),
      ...floored(40),
      readAll('read'),
    ],
    verdict: [
      { what: 'every acknowledged message is read back, in order', that: { outcome: 'read', payloads: SENDS } },
      { what: 'the logs of all nodes are equal', that: { sameLogs: PARTITION } },
    ],
  },
  decisive: 'the index is cut back to what the log proves',
  broken: {
    rule: 'indexIsDerived',
    noticedBy: 'boot',
    story:
      'Without the rule a healthy log takes its node down: an index that was synced a moment before its log contradicts it after a loss of power, and the boot refuses.',
    scenario: {
      id: 'D03',
      title: 'The index is a rumour',
      cluster: { nodes: 3 },
      needs: ['failpoints', 'volatileDisk'],
      steps: [
        ...started(EAGER),
        ...SENDS.slice(0, 3).map(payload => send([payload])),
        atRest('three batches are everywhere'),
        { do: 'arm', node: 2, point: 'persist.log.beforeSync', effect: { effect: 'hold' } },
        send(['one more']),
        waitFor('the index has it, the log is not synced', {
          file: { node: 2, path: INDEX },
          length: 'eq',
          value: 4 * INDEX_ENTRY_BYTES,
        }),
        { do: 'kill', nodes: [2], loss: 'keep-index' },
        { do: 'start', nodes: [2] },
        waitFor('the node serves again', runs(2)),
        atRest('all agree'),
      ],
      verdict: [{ what: 'the logs of all nodes are equal', that: { sameLogs: PARTITION } }],
    },
  },
}

const EIGHT = payloads('m', 8)
const swapped: Action[] = [
  ...started(EAGER),
  ...EIGHT.map(payload => send([payload])),
  { do: 'terminate', nodes: [0] },
  {
    do: 'edit',
    node: 0,
    edits: [
      {
        edit: 'swap',
        path: INDEX,
        a: { indexEntry: 2, offset: 0 },
        b: { indexEntry: 5, offset: 0 },
        length: INDEX_ENTRY_BYTES,
      },
    ],
  },
  { do: 'start', nodes: [0] },
  waitFor('the node serves again', runs(0)),
]

export const D06: Drill = {
  id: 'D06',
  title: 'Contradicting index',
  teaches: 'an index is built anew from its log',
  lesson: 'index and log',
  goal: 'Two entries of an index are swapped, so that it contradicts itself and its log. Show that the node drops it, builds it anew from the log, and serves every message.',
  predictions: [
    {
      text: 'The partition is refused',
      rightIf: { finding: 'the index is built anew, once, and the next boot accepts it', passes: false },
    },
    {
      text: 'Every message can be read',
      rightIf: { finding: 'every acknowledged message is read back, in order', passes: true },
    },
  ],
  look: 'The boot in the replay: the index is built anew from the log, once, and is as long as it was; the boot after that has nothing to do.',
  whySafe:
    'All that an index says can be found out from its log, which the boot has walked and verified from the first byte on. Where the two contradict each other, nothing is lost with the index.',
  worlds: ['sim', 'real'],
  scenario: {
    id: 'D06',
    title: 'Contradicting index',
    cluster: { nodes: 1 },
    steps: [
      ...swapped,
      waitFor('the boot tells of it', { event: { node: 0, kind: 'index_rebuilt', group: PARTITION } }),
      send(['one more'], 'more'),
      { do: 'terminate', nodes: [0] },
      { do: 'start', nodes: [0] },
      waitFor('it serves after another boot', runs(0)),
      readAll('read'),
    ],
    verdict: [
      {
        what: 'the index is built anew, once, and the next boot accepts it',
        that: { event: { node: 0, kind: 'index_rebuilt', group: PARTITION }, atLeast: 1, atMost: 1 },
      },
      { what: 'the offsets go on', that: { outcome: 'more', baseOffset: 'eq', value: String(EIGHT.length) } },
      {
        what: 'every acknowledged message is read back, in order',
        that: { outcome: 'read', payloads: [...EIGHT, 'one more'] },
      },
    ],
  },
  decisive: 'the index is built anew, once, and the next boot accepts it',
  broken: {
    rule: 'indexIsDerived',
    noticedBy: 'core-liveness',
    story:
      'An index that is taken for proof takes a healthy log down with it: the partition is refused, and nobody is served though every message is there.',
    scenario: {
      id: 'D06',
      title: 'Contradicting index',
      cluster: { nodes: 1 },
      steps: [...swapped, send(['one more'])],
      verdict: [{ what: 'the node runs', that: runs(0) }],
    },
  },
}
