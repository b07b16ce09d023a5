/** Drills about the metadata log, its snapshot, and what a client table remembers. */
import type { Action, Scenario } from '../scenario/language.ts'
import { atRest, runs, startedWithoutTopic, streams, waitFor } from './building.ts'
import type { Drill } from './contract.ts'

const LOG = 'metadata/journal.wal'
/** In the header of an entry: with it wrong, the entry reaches beyond the end of the file, as one does that was cut off. */
const SIZE_HIGH_BYTE = 50

export const D17: Drill = {
  id: 'D17',
  title: 'Tear or rot?',
  teaches: 'a torn tail is cut, damage inside refuses, an unsealed entry is passed over',
  lesson: 'metadata log',
  goal: 'Three wounds to one log: the last 100 bytes are missing, a byte in the middle is wrong, the last entry has lost its seal. Show that a boot tells them apart.',
  predictions: [
    { text: 'A torn tail stops the boot', rightIf: { finding: 'with a torn tail it boots', passes: false } },
    {
      text: 'A rotten byte in the middle stops the boot',
      rightIf: { finding: 'with a rotten byte inside it refuses', passes: true },
    },
    {
      text: 'An entry without a seal stops the boot',
      rightIf: { finding: 'with an unsealed entry it boots', passes: false },
    },
  ],
  look: 'The three boots of node 2 in the replay, and what its scan of the log has found in each; of the files only the torn log has become shorter.',
  whySafe:
    'Bytes may be missing at the end, since a crash may come in the middle of a write: nobody was told of them. Behind damage inside there are entries that somebody was told of, and cutting there would take them back.',
  worlds: ['sim', 'real'],
  scenario: {
    id: 'D17',
    title: 'Tear or rot?',
    cluster: { nodes: 3 },
    steps: [
      ...startedWithoutTopic(),
      ...streams('before', 8),
      atRest('all have them'),
      { do: 'terminate', nodes: [2] },
      { do: 'edit', node: 2, edits: [{ edit: 'truncate', path: LOG, to: { byte: -100 } }] },
      { do: 'start', nodes: [2] },
      waitFor('with a torn tail it boots', runs(2)),
      atRest('it has caught up'),
      { do: 'terminate', nodes: [2] },
      { do: 'edit', node: 2, edits: [{ edit: 'flip', path: LOG, at: { fraction: 0.25 }, mask: 1 }] },
      { do: 'recordFiles', name: 'rotten', node: 2, under: '' },
      { do: 'start', nodes: [2] },
      waitFor('with a rotten byte inside it refuses', { process: 2, state: 'refused', exit: 65 }),
      { do: 'check', what: 'nothing on its disk has changed', that: { fileUnchanged: 'rotten' } },
      { do: 'request', client: 'c', call: { request: 'createStream', stream: 'without it' } },
      { do: 'edit', node: 2, edits: [{ edit: 'flip', path: LOG, at: { fraction: 0.25 }, mask: 1 }] },
      {
        do: 'edit',
        node: 2,
        edits: [
          { edit: 'write', path: LOG, at: { walEntry: -1, part: 'header', offset: 16 }, hex: '00'.repeat(16) },
          { edit: 'reseal', path: LOG, kind: 'walEntry', at: { walEntry: -1, part: 'header', offset: 0 } },
        ],
      },
      { do: 'baseline', name: 'unsealed' },
      { do: 'start', nodes: [2] },
      waitFor('with an unsealed entry it boots', runs(2)),
      {
        do: 'check',
        what: 'one entry was passed over',
        that: {
          event: {
            node: 2,
            kind: 'recovery_step',
            where: { step: 'wal_scan', unsealed: 1 },
            since: 'unsealed',
          },
        },
      },
      atRest('all agree'),
    ],
    verdict: [
      { what: 'one leader', that: { oneLeader: 'metadata' } },
      { what: 'all have applied the same', that: { agree: { group: 'metadata', field: 'commitMin' } } },
    ],
  },
  decisive: 'with a rotten byte inside it refuses',
  broken: {
    rule: 'tornTailIsProbed',
    noticedBy: 'damage-accepted',
    story:
      'The boot takes the first bad byte for the end and cuts there: entries that it had acknowledged are gone, and nobody is told.',
    scenario: {
      id: 'D17',
      title: 'Tear or rot?',
      cluster: { nodes: 3 },
      steps: [
        ...startedWithoutTopic(),
        ...streams('before', 8),
        atRest('all have them'),
        { do: 'terminate', nodes: [2] },
        {
          do: 'edit',
          node: 2,
          edits: [{ edit: 'flip', path: LOG, at: { walEntry: -2, part: 'header', offset: SIZE_HIGH_BYTE }, mask: 1 }],
        },
        { do: 'start', nodes: [2] },
        waitFor('it boots all the same', runs(2)),
      ],
      verdict: [{ what: 'one leader', that: { oneLeader: 'metadata' } }],
    },
  },
}

/** With so few slots a checkpoint follows each of the first commits; a real node takes no fewer than 256. */
const FEW_SLOTS = 64
const COMMITS = 4
const REAL_SLOTS = 256
const REAL_COMMITS = 200
const CHECKPOINT_POINTS = [
  'ckpt.snapSync',
  'ckpt.snapRename',
  'ckpt.snapDirSync',
  'ckpt.pairing',
  'wal.drain.tempSync',
  'wal.drain.rename',
] as const
const atPoint = (point: (typeof CHECKPOINT_POINTS)[number], turn: number, commits: number): Action[] => [
  // Each is answered from the state of its own node.
  ...[0, 2].map((node): Action => ({ do: 'client', client: `of node ${node}`, nodes: [node], followLeader: false })),
  { do: 'arm', node: 2, point: `${point}@metadata**`, effect: { effect: 'kill' } },
  ...streams(`turn-${turn}`, commits),
  waitFor(`it dies at ${point}`, { not: runs(2) }, 60_000),
  { do: 'start', nodes: [2] },
  waitFor(`it boots after ${point}`, runs(2)),
  atRest(`all agree after ${point}`),
  ...[0, 2].map(
    (node): Action => ({
      do: 'request',
      client: `of node ${node}`,
      call: { request: 'listStreams' },
      as: `node ${node} after ${point}`,
    }),
  ),
  {
    do: 'check',
    what: `its state is that of the others after ${point}`,
    that: { outcome: `node 2 after ${point}`, sameReplyAs: `node 0 after ${point}` },
  },
]

const checkpointing = (slots: number, commits: number): Scenario => ({
  id: 'D14',
  title: 'Three-phase checkpoint',
  cluster: { nodes: 3, settings: { 'metadata.journal_slots': slots } },
  needs: ['failpoints'],
  steps: [
    ...startedWithoutTopic(),
    ...CHECKPOINT_POINTS.flatMap((point, turn) => atPoint(point, turn, commits)),
    atRest('all agree at the end'),
  ],
  verdict: [
    { what: 'one leader', that: { oneLeader: 'metadata' } },
    { what: 'all have applied the same', that: { agree: { group: 'metadata', field: 'commitMin' } } },
    {
      what: 'a snapshot is named by the superblock',
      that: { superblock: { node: 2, directory: 'metadata' }, field: 'checkpointOp', is: 'gt', value: 0 },
    },
  ],
})

export const D14: Drill = {
  id: 'D14',
  title: 'Three-phase checkpoint',
  teaches: 'snapshot, pairing, drain',
  lesson: 'metadata log',
  goal: 'A checkpoint writes a snapshot, names it in the superblock, and only then shortens the log. Kill the node in each phase, and show that every boot finds the same state.',
  predictions: [
    {
      text: 'Killed between snapshot and pairing, the node refuses',
      rightIf: { finding: 'it boots after ckpt.snapRename', passes: false },
    },
    { text: 'Every boot ends in the same state', rightIf: { finding: 'all have applied the same', passes: true } },
  ],
  look: 'The files of node-2 in the replay, death by death: the snapshot under its temporary name, under its own, and the log that is shortened last.',
  whySafe:
    'At each moment the superblock names a snapshot that is durable, and the log holds all that lies above it. The order of the phases is what makes that true.',
  worlds: ['sim', 'real'],
  scenario: checkpointing(FEW_SLOTS, COMMITS),
  realScenario: checkpointing(REAL_SLOTS, REAL_COMMITS),
  decisive: 'it boots after ckpt.snapRename',
  broken: {
    rule: 'drainAfterPairing',
    noticedBy: 'log-cover',
    story:
      'The log is shortened before the superblock names the snapshot. A crash in between leaves a log that begins above what the superblock points at: entries are missing in the middle.',
    scenario: {
      ...checkpointing(FEW_SLOTS, COMMITS),
      steps: [...startedWithoutTopic(), ...streams('turn', 2 * COMMITS), atRest('a checkpoint has passed')],
    },
  },
}
