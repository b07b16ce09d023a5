/** Drills about a node that has less than the others remember: it fetches the state, and judges what it is offered. */
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
  startedWithoutTopic,
  streams,
  waitFor,
} from './building.ts'
import type { Drill } from './contract.ts'

/** Batches that a partition remembers beside its disk: who lacks more than these cannot be brought on by repair. */
const RING = 4
const RESERVED = '65537'
const EARLY = payloads('early', 3)
const LATE = payloads('late', 40)
const SAVE_AT_EIGHT = { enforceFsync: true, messagesRequiredToSave: 8 }

const emptyHanded: readonly Action[] = [
  ...started(SAVE_AT_EIGHT),
  // Behind another op its log shows the topic as committed, so the next boot opens the partition itself.
  ...streams('behind', 1),
  ...EARLY.map(payload => send([payload])),
  atRest('all have the early ones, in memory'),
  { do: 'kill', nodes: [2] },
  {
    do: 'check',
    what: 'its record reserves offsets, and its log has none of them',
    that: {
      all: [
        {
          superblock: { node: 2, directory: PARTITION_DIRECTORY },
          field: 'offsetReserved',
          is: 'eq',
          value: RESERVED,
        },
        { file: { node: 2, path: `${PARTITION_DIRECTORY}/*.log` }, length: 'eq', value: 0 },
      ],
    },
  },
  ...LATE.map(payload => send([payload])),
  { do: 'baseline', name: 'the return' },
  { do: 'start', nodes: [2] },
  waitFor('it is back', runs(2)),
]

const ceiling: Scenario = {
  id: 'D21',
  title: 'Ceiling is not data',
  cluster: { nodes: 3, settings: { 'partition.evicted_ring_capacity': RING } },
  steps: [
    ...emptyHanded,
    waitFor(
      'it installs what it is offered',
      { event: { node: 2, kind: 'transfer_installed', group: PARTITION, since: 'the return' } },
      60_000,
    ),
    atRest('all agree'),
    send(['after'], 'after'),
    atRest('all have the last one'),
    readAll('read'),
  ],
  verdict: [
    {
      what: 'the offer is below its reservation, and is taken',
      that: { group: { node: 2, group: PARTITION, field: 'offsets.next' }, is: 'lt', value: RESERVED },
    },
    {
      what: 'the offsets go on',
      that: { outcome: 'after', baseOffset: 'eq', value: String(EARLY.length + LATE.length) },
    },
    {
      what: 'every acknowledged message is read back, in order',
      that: { outcome: 'read', payloads: [...EARLY, ...LATE, 'after'] },
    },
  ],
}

export const D21: Drill = {
  id: 'D21',
  title: 'Ceiling is not data',
  teaches: 'an offer is judged by what is held, not by what was promised',
  lesson: 'offsets',
  goal: 'A node was killed with nothing on disk but a reservation up to offset 65,537. The others offer it their state, which ends at 43. Show that it takes the offer: a reservation is a ceiling, and no message lies under it.',
  predictions: [
    {
      text: 'The offer would take the node back from 65,537, so it is refused',
      rightIf: { finding: 'it installs what it is offered', passes: false },
    },
    { text: 'The next message jumps to 65,537', rightIf: { finding: 'the offsets go on', passes: false } },
    {
      text: 'The node ends with what the others have',
      rightIf: { finding: 'every acknowledged message is read back, in order', passes: true },
    },
  ],
  look: 'The finding before the return: on the disk of node 2 offsets up to 65,537 are reserved, and its log is empty. Then, in the replay, its files as the transfer brings them.',
  whySafe:
    'A node refuses an offer that ends below what it holds, since that would take messages back. What it has only promised holds nothing; in a cluster the others know what became of the promise.',
  worlds: ['sim', 'real'],
  scenario: ceiling,
  decisive: 'the offer is below its reservation, and is taken',
  broken: {
    rule: 'reservationIsNoData',
    noticedBy: 'cold-open',
    story:
      'The ceiling counts as data. The node believes that it holds messages up to 65,536, goes on there, and refuses the state of those who really hold them.',
    scenario: { ...ceiling, steps: emptyHanded, verdict: [{ what: 'it is back', that: runs(2) }] },
  },
}

const FEW_SLOTS = 64
const REAL_SLOTS = 256
const REAL_COMMITS = 220
const BATCHES = payloads('m', 30)

function lateJoiner(slots: number, commits: number): Scenario {
  return {
    id: 'D24',
    title: 'Late joiner and dying donor',
    cluster: {
      nodes: 3,
      settings: { 'metadata.journal_slots': slots, 'partition.evicted_ring_capacity': RING },
    },
    steps: [
      ...started(EAGER),
      ...streams('more', commits),
      ...BATCHES.map(payload => send([payload])),
      atRest('all have it'),
      { do: 'terminate', nodes: [2] },
      { do: 'wipe', nodes: [2] },
      { do: 'baseline', name: 'the wipe' },
      { do: 'start', nodes: [2] },
      waitFor('it is offered the state', {
        event: { node: 2, kind: 'transfer_requested', group: 'metadata', since: 'the wipe' },
      }),
      { do: 'remember', name: 'donor', node: { primaryOf: 'metadata' } },
      { do: 'kill', nodes: [{ named: 'donor' }] },
      { do: 'start', nodes: [{ named: 'donor' }] },
      waitFor('the donor is back', runs({ named: 'donor' })),
      waitFor(
        'the late joiner installs the metadata',
        { event: { node: 2, kind: 'transfer_installed', group: 'metadata', since: 'the wipe' } },
        60_000,
      ),
      waitFor(
        'the late joiner installs the partition',
        { event: { node: 2, kind: 'transfer_installed', group: PARTITION, since: 'the wipe' } },
        60_000,
      ),
      readAll('read'),
      atRest('all agree'),
    ],
    verdict: [
      { what: 'the logs of all nodes are equal', that: { sameLogs: PARTITION } },
      {
        what: 'its superblock names the snapshot that came',
        that: { superblock: { node: 2, directory: 'metadata' }, field: 'checkpointOp', is: 'gt', value: 0 },
      },
      { what: 'all have applied the same', that: { agree: { group: 'metadata', field: 'commitMin' } } },
      { what: 'every message is there', that: { outcome: 'read', payloads: BATCHES } },
    ],
  }
}

export const D24: Drill = {
  id: 'D24',
  title: 'Late joiner and dying donor',
  teaches: 'below the repair floor the whole state is transferred',
  lesson: 'catching up',
  goal: 'A node comes back with an empty disk. What it lacks has left the logs and the memory of the others, so it asks for the whole state, and whom it asks dies. Show that it ends with the same bytes all the same.',
  predictions: [
    {
      text: 'With its donor the transfer is lost',
      rightIf: { finding: 'the late joiner installs the metadata', passes: false },
    },
    {
      text: 'It ends with the same log files',
      rightIf: { finding: 'the logs of all nodes are equal', passes: true },
    },
  ],
  look: 'The replay behind the wipe: node 2 asks for the state, whom it asked dies, and it asks again; then its files, which appear whole.',
  whySafe:
    'What was fetched lies aside until it is whole and verified, and only then takes the place of what was there. A transfer that breaks off leaves nothing behind, and can be asked of anybody.',
  worlds: ['sim', 'real'],
  scenario: lateJoiner(FEW_SLOTS, 6),
  realScenario: lateJoiner(REAL_SLOTS, REAL_COMMITS),
  decisive: 'the late joiner installs the metadata',
  broken: {
    rule: 'drainKeepsCommitPoint',
    noticedBy: 'log-cover',
    story:
      'The log is drained up to the snapshot and loses the entry at its head. Nobody can show any more where the log joins the snapshot, which is what a late joiner and a view change ask for.',
    scenario: {
      ...lateJoiner(FEW_SLOTS, 6),
      steps: [...startedWithoutTopic(), ...streams('more', 8), atRest('a checkpoint has passed')],
      verdict: [{ what: 'one leader', that: { oneLeader: 'metadata' } }],
    },
  },
}
