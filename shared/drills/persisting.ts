/** Drills about one persist: two files, two syncs, and what it takes until anybody is told. */
import type { Action, Scenario } from '../scenario/language.ts'
import { atRest, EAGER, PARTITION_DIRECTORY, payloads, readAll, runs, send, started, waitFor } from './building.ts'
import type { Drill } from './contract.ts'

const INDEX = `${PARTITION_DIRECTORY}/*.index`
const INDEX_ENTRY_BYTES = 24

const TO = { stream: 's', topic: 't' } as const
const sendOf = (payload: string, client = 'c'): Pick<Extract<Action, { do: 'request' }>, 'client' | 'call'> => ({
  client,
  call: { request: 'send', ...TO, partition: 0, payloads: [payload] },
})

const SYNC_MS = 100
const SENDS_EACH = 20
/** Two syncs side by side last as long as one, and a little; one behind the other twice as long. */
const PERCENT = 65
const BOTH_FILES = ['log', 'index'] as const
const ARMS = ['serial', 'concurrent'] as const
type Arm = (typeof ARMS)[number]
const names = (arm: Arm): string[] => payloads(arm, SENDS_EACH)
const syncOf = (file: (typeof BOTH_FILES)[number]): string => `persist.${file}.beforeSync`

/** The same sends on a disk of known speed; a life has one way to persist. */
const timed = (arm: Arm): Action[] => [
  ...BOTH_FILES.map(
    (file): Action => ({
      do: 'arm',
      node: 0,
      point: syncOf(file),
      effect: { effect: 'delay', ms: SYNC_MS },
      times: 1_000_000,
    }),
  ),
  ...names(arm).map(payload => send([payload], payload)),
  {
    do: 'check',
    what: `one sync of each file for each send, ${arm}`,
    that: {
      all: BOTH_FILES.map(file => ({
        reached: { node: 0, point: syncOf(file) },
        is: 'eq',
        value: SENDS_EACH,
      })),
    },
  },
  ...BOTH_FILES.map((file): Action => ({ do: 'disarm', node: 0, point: syncOf(file) })),
]
const FASTER = `side by side the median send takes at most ${PERCENT} % of the time`
/** A message whose index is on disk, and whose log waits. */
const halfAcknowledged: Action[] = [
  { do: 'arm', node: 0, point: 'persist.log.beforeSync', effect: { effect: 'hold' } },
  { do: 'request', ...sendOf('half'), as: 'half', background: true },
  waitFor('the index is written, the log is not synced', {
    file: { node: 0, path: INDEX },
    length: 'eq',
    value: 2 * INDEX_ENTRY_BYTES,
  }),
]

export const D01: Drill = {
  id: 'D01',
  title: 'Two disks, one wait',
  teaches: 'log and index are persisted side by side',
  lesson: 'index and log',
  goal: `A message is acknowledged when its log and its index are both on disk. Let each sync last ${SYNC_MS} ms, write the two one behind the other, then side by side, and show that the second way takes half the time with as many syncs, and that both files are waited for.`,
  predictions: [
    { text: 'Side by side takes about half the time', rightIf: { finding: FASTER, passes: true } },
    {
      text: 'It is faster because it syncs less',
      rightIf: { finding: 'one sync of each file for each send, concurrent', passes: false },
    },
    {
      text: 'With the log held back, the index alone is enough',
      rightIf: { finding: 'nothing is acknowledged by one file alone', passes: false },
    },
  ],
  look: 'The times of the moments in the replay: twenty sends of the first life, twenty of the second in half the time, and one that waits for its log; and the count of syncs among the findings, the same in both.',
  whySafe:
    'Log and index may reach the disk in any order, since a boot believes the log alone. So neither has to wait for the other, and the one who is told waits for both.',
  worlds: ['sim', 'real'],
  scenario: {
    id: 'D01',
    title: 'Two disks, one wait',
    cluster: { nodes: 1 },
    needs: ['failpoints'],
    steps: [
      { do: 'measure', node: 0, halves: 'serial' },
      ...started(EAGER),
      send(['first']),
      ...timed('serial'),
      { do: 'terminate', nodes: [0] },
      { do: 'measure', node: 0, halves: 'concurrent' },
      { do: 'start', nodes: [0] },
      waitFor('the node serves again', runs(0)),
      send(['second']),
      ...timed('concurrent'),
      { do: 'arm', node: 0, point: 'persist.log.beforeSync', effect: { effect: 'hold' } },
      { do: 'request', ...sendOf('held'), as: 'held', background: true },
      waitFor('the index of the next one is written', {
        file: { node: 0, path: INDEX },
        length: 'eq',
        value: (2 * SENDS_EACH + 3) * INDEX_ENTRY_BYTES,
      }),
      {
        do: 'always',
        what: 'nothing is acknowledged by one file alone',
        that: { outcome: 'held', is: 'pending' },
        forMs: 400,
      },
      { do: 'release', name: 'persist.log.beforeSync' },
      waitFor('with both it is', { outcome: 'held', is: 'ok' }),
      readAll('read'),
    ],
    verdict: [
      {
        what: FASTER,
        that: {
          medianOf: names('concurrent'),
          tookMs: 'le',
          value: { percent: PERCENT, ofMedian: names('serial') },
        },
      },
      {
        what: 'every acknowledged message is there',
        that: { outcome: 'read', payloads: ['first', ...names('serial'), 'second', ...names('concurrent'), 'held'] },
      },
    ],
  },
  decisive: 'nothing is acknowledged by one file alone',
  broken: {
    rule: 'cursorsMoveTogether',
    noticedBy: 'lost-message',
    story:
      'Whoever is told after the first of the two files is told too early: the index is on disk, the log is not, and a loss of power takes an acknowledged message away.',
    scenario: {
      id: 'D01',
      title: 'Two disks, one wait',
      cluster: { nodes: 1 },
      needs: ['failpoints', 'volatileDisk'],
      steps: [
        ...started(EAGER),
        send(['first']),
        ...halfAcknowledged,
        waitFor('it is acknowledged all the same', { outcome: 'half', is: 'ok' }),
        { do: 'kill', nodes: [0], loss: 'drop' },
        { do: 'start', nodes: [0] },
        waitFor('the node serves again', runs(0)),
        atRest('it is at rest'),
        readAll('read'),
      ],
      verdict: [{ what: 'both are there', that: { outcome: 'read', payloads: ['first', 'half'] } }],
    },
  },
}

const FIRST_LOG = `${PARTITION_DIRECTORY}/${'0'.repeat(20)}.log`
const halfAPersist: Scenario = {
  id: 'D02',
  title: 'Half a persist',
  cluster: { nodes: 1 },
  needs: ['failpoints'],
  steps: [
    ...started(EAGER),
    ...payloads('before', 3).map(payload => send([payload])),
    { do: 'arm', node: 0, point: 'persist.index.beforeSync', effect: { effect: 'error', error: 'Io' } },
    { do: 'client', client: 'd', nodes: [0], retry: false, budgetMs: 5_000 },
    { do: 'request', ...sendOf('half', 'd'), as: 'half', expect: 'any' },
    waitFor('the node ends as after any failed persist', { process: 0, state: 'crashed', exit: 74 }),
    {
      do: 'check',
      what: 'the index has an entry that nobody was told of',
      that: { file: { node: 0, path: INDEX }, length: 'eq', value: 4 * INDEX_ENTRY_BYTES },
    },
    { do: 'recordFiles', name: 'half', node: 0, under: FIRST_LOG },
    // The disk is well again.
    { do: 'disarm', node: 0, point: 'persist.index.beforeSync' },
    { do: 'start', nodes: [0] },
    waitFor('the node serves again', runs(0)),
    {
      do: 'check',
      what: 'the log is as long as what the boot has walked: all of it',
      that: { file: { node: 0, path: FIRST_LOG }, length: 'eq', value: { recorded: 'half' } },
    },
    send(['after'], 'after'),
    readAll('read'),
  ],
  verdict: [
    { what: 'the half persist is not acknowledged', that: { outcome: 'half', is: 'error' } },
    { what: 'the next one is', that: { outcome: 'after', is: 'ok' } },
    {
      what: 'nothing is there twice',
      that: { outcome: 'read', payloads: [...payloads('before', 3), 'half', 'after'] },
    },
    {
      what: 'the index of the first life has one entry for each batch',
      that: {
        file: { node: 0, path: `${PARTITION_DIRECTORY}/${'0'.repeat(20)}.index` },
        length: 'eq',
        value: 4 * INDEX_ENTRY_BYTES,
      },
    },
  ],
}

export const D02: Drill = {
  id: 'D02',
  title: 'Half a persist',
  teaches: 'cursors move only when both files are on disk',
  lesson: 'index and log',
  goal: 'The log of a message is synced, the sync of its index fails. Show that nobody is told of it, and that the boot finds each batch once.',
  predictions: [
    {
      text: 'The message is acknowledged: its bytes are safe',
      rightIf: { finding: 'the half persist is not acknowledged', passes: false },
    },
    { text: 'After the boot it is there twice', rightIf: { finding: 'nothing is there twice', passes: false } },
    {
      text: 'The node ends itself',
      rightIf: { finding: 'the node ends as after any failed persist', passes: true },
    },
  ],
  look: 'The files in the replay: when the node ends, log and index have grown by a batch that nobody was told of, and behind the boot they are as long as that. What comes next has a segment of its own.',
  whySafe:
    'The cursors say where the next batch goes. They move together, after both files are on disk; so a failure leaves bytes behind a cursor, which the boot walks and counts once, and never a cursor behind bytes.',
  worlds: ['sim', 'real'],
  scenario: halfAPersist,
  decisive: 'the node ends as after any failed persist',
  broken: {
    rule: 'cursorsMoveTogether',
    noticedBy: 'index-soundness',
    story:
      'The cursors move after the first file. The index is said to have an entry that was never written, and what is looked up in it is looked up in nothing.',
    scenario: {
      ...halfAPersist,
      steps: [
        ...started(EAGER),
        send(['first']),
        { do: 'arm', node: 0, point: 'persist.index.beforeWrite', effect: { effect: 'hold' } },
        send(['half']),
      ],
      verdict: [{ what: 'the node serves', that: runs(0) }],
    },
  },
}

const toPartition = (partition: number, payload: string): Extract<Action, { do: 'request' }> => ({
  do: 'request',
  client: 'c',
  call: { request: 'send', ...TO, partition, payloads: [payload] },
})
const twoPartitions: readonly Action[] = [
  ...started().slice(0, 3),
  {
    do: 'request',
    client: 'c',
    call: { request: 'createTopic', ...TO, partitions: 2, options: EAGER },
  },
  waitFor('two partitions are there', {
    all: [
      { agree: { group: '0/0/0', field: 'view' } },
      { agree: { group: '0/0/1', field: 'view' } },
      { settled: true },
    ],
  }),
  toPartition(0, 'zero'),
  toPartition(1, 'one'),
]
const FULL: Action = {
  do: 'arm',
  node: 0,
  point: 'persist.log.beforeWrite',
  effect: { effect: 'error', error: 'NoSpace' },
  times: 1_000_000,
}
const reads = (partition: number): Action => ({
  do: 'request',
  client: 'c',
  call: { request: 'poll', ...TO, partition, from: 'first', count: 100 },
  as: `read-${partition}`,
})

export const D08: Drill = {
  id: 'D08',
  title: 'Disk full, honestly',
  teaches: 'a failed persist is loud',
  lesson: 'index and log',
  goal: 'The disk of a node is full while two partitions are written. Show that the node ends with status 74 at once, that no producer waits for ever, and that nothing acknowledged is lost once there is room again.',
  predictions: [
    { text: 'The producers wait until there is room', rightIf: { finding: 'both producers are told', passes: false } },
    { text: 'The node goes on with its other partition', rightIf: { finding: 'the node ends with 74', passes: false } },
    {
      text: 'Nothing acknowledged is lost',
      rightIf: { finding: 'partition 0 has what was acknowledged', passes: true },
    },
  ],
  look: 'The moment in the replay at which the process ends by itself, and the two producers that are told right behind it.',
  whySafe:
    'After a failed write nobody knows what the disk holds, and trying again may hide the loss. The process ends, and the boot is the retry: it reads what is there, and trusts nothing else.',
  worlds: ['sim', 'real'],
  scenario: {
    id: 'D08',
    title: 'Disk full, honestly',
    cluster: { nodes: 1 },
    needs: ['failpoints'],
    steps: [
      ...twoPartitions,
      ...([0, 1] as const).flatMap(partition => [
        { do: 'client', client: `p${partition}`, nodes: [0], retry: false, budgetMs: 5_000 } as const,
        { do: 'request', client: `p${partition}`, call: { request: 'listStreams' } } as const,
      ]),
      FULL,
      ...([0, 1] as const).map(partition => ({
        ...toPartition(partition, 'too much'),
        client: `p${partition}`,
        as: `full-${partition}`,
        expect: 'any' as const,
        background: true,
      })),
      waitFor('the node ends with 74', { process: 0, state: 'crashed', exit: 74 }, 1_000),
      waitFor(
        'both producers are told',
        {
          all: [
            { outcome: 'full-0', is: 'error' },
            { outcome: 'full-1', is: 'error' },
          ],
        },
        5_000,
      ),
      { do: 'disarm', node: 0, point: 'persist.log.beforeWrite' },
      { do: 'start', nodes: [0] },
      waitFor('with room again the node serves', runs(0)),
      toPartition(0, 'zero again'),
      toPartition(1, 'one again'),
      reads(0),
      reads(1),
    ],
    verdict: [
      {
        what: 'partition 0 has what was acknowledged',
        that: { outcome: 'read-0', payloads: ['zero', 'zero again'] },
      },
      { what: 'partition 1 has what was acknowledged', that: { outcome: 'read-1', payloads: ['one', 'one again'] } },
    ],
  },
  decisive: 'the node ends with 74',
  broken: {
    rule: 'failedPersistExits',
    noticedBy: 'core-liveness',
    story:
      'The failure is passed over, the node looks well, and whoever writes to it waits for an answer that never comes.',
    scenario: {
      id: 'D08',
      title: 'Disk full, honestly',
      cluster: { nodes: 1 },
      needs: ['failpoints'],
      steps: [...twoPartitions, FULL, toPartition(0, 'too much')],
      verdict: [{ what: 'the node serves', that: runs(0) }],
    },
  },
}
