/** Drills about what a client table and a snapshot remember over a crash. */
import type { Action, FileEdit, Scenario } from '../scenario/language.ts'
import { atRest, payloads, runs, startedWithoutTopic, streams, waitFor } from './building.ts'
import type { Drill } from './contract.ts'

/** With so few slots a checkpoint follows each of the first commits; a real node takes no fewer than 256. */
const FEW_SLOTS = 64
const REAL_SLOTS = 256
const REAL_COMMITS = 200
const IDENTITY = 4_711

const again = (as: string, client = 'owner'): Action => ({
  do: 'request',
  client,
  call: { request: 'createStream', stream: 'once' },
  as,
})
/** At the leader from the start: a client that moves there says goodbye first, and the table forgets who does. */
const owner = (client = 'owner'): Action => ({
  do: 'client',
  client,
  nodes: [{ primaryOf: 'metadata' }],
  followLeader: false,
  retry: false,
  identity: IDENTITY,
  budgetMs: 10_000,
})

/** Places of the client table. Whoever has asked for something within a minute may ask again, and keeps his place. */
const TABLE = 8
const STRANGERS = payloads('stranger', TABLE)
const asks = (stranger: string): Action[] => [
  {
    do: 'client',
    client: stranger,
    nodes: [{ primaryOf: 'metadata' }],
    followLeader: false,
    retry: false,
    budgetMs: 10_000,
  },
  { ...again(stranger, stranger), expect: ['StreamNameAlreadyExists', 'TransientNotAccepted'] } as Action,
]

/** `later`: streams that others make in between, so that a checkpoint passes. */
function retried(slots: number, later: number, strangers: readonly string[]): Scenario {
  return {
    id: 'D16',
    title: 'Retry after the crash',
    cluster: { nodes: 3, settings: { 'metadata.journal_slots': slots, 'metadata.clients_table_max': TABLE } },
    needs: ['failpoints'],
    steps: [
      ...startedWithoutTopic(),
      owner(),
      { do: 'request', client: 'owner', call: { request: 'listStreams' } },
      { do: 'remember', name: 'primary', node: { primaryOf: 'metadata' } },
      { do: 'arm', node: { named: 'primary' }, point: 'ack.before', effect: { effect: 'kill' } },
      { ...again('first'), expect: 'any' } as Action,
      waitFor('the primary dies before it answers', { not: runs({ named: 'primary' }) }),
      { do: 'start', nodes: [{ named: 'primary' }] },
      waitFor('it is back', runs({ named: 'primary' })),
      atRest('all agree'),
      ...streams('later', later),
      atRest('all have those of the others'),
      { do: 'kill', nodes: 'all' },
      { do: 'start', nodes: 'all' },
      waitFor('all nodes serve again', { all: [runs(0), runs(1), runs(2)] }),
      atRest('all agree again'),
      { ...again('other', 'c'), expect: 'any' } as Action,
      ...strangers.flatMap(asks),
      owner(),
      { ...again('again'), expect: 'any' } as Action,
      owner('owner, once more'),
      { ...again('once more', 'owner, once more'), expect: 'any' } as Action,
      { do: 'request', client: 'c', call: { request: 'listStreams' }, as: 'streams' },
    ],
    verdict: [
      { what: 'the first try ends without an answer', that: { outcome: 'first', is: 'error' } },
      { what: 'the retry is answered with success', that: { outcome: 'again', is: 'ok' } },
      {
        what: 'every retry is answered with the same bytes',
        that: { outcome: 'once more', sameReplyAs: 'again' },
      },
      {
        what: 'to anybody else the name is taken',
        that: { outcome: 'other', is: 'error', error: 'StreamNameAlreadyExists' },
      },
      ...strangers.slice(-1).map(last => ({
        what: 'a full table turns newcomers away, and forgets nobody who may ask again',
        that: { outcome: last, is: 'error', error: 'TransientNotAccepted' } as const,
      })),
      {
        what: 'the stream is there once',
        that: {
          outcome: 'streams',
          payloads: ['s', 'once', ...Array.from({ length: later }, (_, index) => `later-${index}`)],
        },
      },
    ],
  }
}

export const D16: Drill = {
  id: 'D16',
  title: 'Retry after the crash',
  teaches: 'the client table survives, so a request is done at most once',
  lesson: 'metadata log',
  goal: 'A client creates a stream, and the primary dies behind the commit, before it answers. Then all nodes are killed. Show that the same request, sent again after the restart, gets the answer that was lost, and is not done a second time, also when so many strangers have come meanwhile that the client table is full.',
  predictions: [
    {
      text: 'The retry is told that the stream exists',
      rightIf: { finding: 'the retry is answered with success', passes: false },
    },
    {
      text: 'The retry gets the success that was lost',
      rightIf: { finding: 'the retry is answered with success', passes: true },
    },
    { text: 'There are two streams of this name', rightIf: { finding: 'the stream is there once', passes: false } },
  ],
  look: 'The findings behind the restart: strangers who are let in until the table is full, then turned away; and the retries of the owner, answered with the same bytes.',
  whySafe:
    'Every node keeps, for each client, the number of its last request and the answer. The table is made by the log like all other state, and it is part of the snapshot, so neither a crash nor a checkpoint forgets it. When it is full, it turns away who comes new rather than forget who may ask again.',
  worlds: ['sim', 'real'],
  scenario: retried(FEW_SLOTS, 4, STRANGERS),
  realScenario: retried(REAL_SLOTS, 4, STRANGERS),
  decisive: 'the retry is answered with success',
  broken: {
    rule: 'snapshotHoldsClients',
    noticedBy: 'applied-twice',
    story:
      'A snapshot without the client table forgets, once the log in front of it is drained, who has asked for what. The retry is taken for a new request and done again.',
    scenario: retried(FEW_SLOTS, 4, []),
  },
}

const LOG_SNAPSHOT = 'metadata/snapshot.bin'
const KEPT = 'snapshot.kept'
const editOf = (...edits: FileEdit[]): Action => ({ do: 'edit', node: 2, edits })

function swappedSnapshot(slots: number, commits: number): Scenario {
  return {
    id: 'D15',
    title: 'Snapshot swapped from backup',
    cluster: { nodes: 3, settings: { 'metadata.journal_slots': slots } },
    steps: [
      ...startedWithoutTopic(),
      ...streams('early', commits),
      atRest('all have the early ones'),
      { do: 'terminate', nodes: [2] },
      editOf({ edit: 'copy', path: LOG_SNAPSHOT, to: KEPT }),
      { do: 'start', nodes: [2] },
      waitFor('the node is back', runs(2)),
      ...streams('late', commits),
      atRest('all have the late ones'),
      { do: 'terminate', nodes: [2] },
      editOf({ edit: 'copy', path: LOG_SNAPSHOT, to: `${KEPT}.new` }, { edit: 'copy', path: KEPT, to: LOG_SNAPSHOT }),
      { do: 'recordFiles', name: 'older', node: 2, under: 'metadata' },
      { do: 'start', nodes: [2] },
      waitFor('with the older snapshot it refuses', {
        process: 2,
        state: 'refused',
        exit: 65,
        code: 'CheckpointAheadOfSnapshot',
      }),
      { do: 'check', what: 'nothing in its metadata has changed', that: { fileUnchanged: 'older' } },
      editOf(
        { edit: 'copy', path: `${KEPT}.new`, to: LOG_SNAPSHOT },
        { edit: 'flip', path: LOG_SNAPSHOT, at: { fraction: 0.5 }, mask: 1 },
      ),
      { do: 'start', nodes: [2] },
      waitFor('with a wrong byte in it, it refuses', {
        process: 2,
        state: 'refused',
        exit: 65,
        code: 'SnapshotChecksum',
      }),
      { do: 'request', client: 'c', call: { request: 'createStream', stream: 'without it' } },
      editOf({ edit: 'copy', path: `${KEPT}.new`, to: LOG_SNAPSHOT }),
      { do: 'start', nodes: [2] },
      waitFor('with its own snapshot it boots', runs(2)),
      atRest('all agree'),
    ],
    verdict: [
      { what: 'one leader', that: { oneLeader: 'metadata' } },
      { what: 'all have applied the same', that: { agree: { group: 'metadata', field: 'commitMin' } } },
    ],
  }
}

export const D15: Drill = {
  id: 'D15',
  title: 'Snapshot swapped from backup',
  teaches: 'verified before it is decoded, and paired with the superblock',
  lesson: 'metadata log',
  goal: 'Somebody puts an older snapshot in place of the one that a node has written, and later one with a wrong byte. Show that the node takes neither, though the first one is a perfectly good snapshot.',
  predictions: [
    {
      text: 'The older snapshot is valid, so the node boots and catches up',
      rightIf: { finding: 'with the older snapshot it refuses', passes: false },
    },
    {
      text: 'With its own snapshot back it boots',
      rightIf: { finding: 'with its own snapshot it boots', passes: true },
    },
  ],
  look: 'The two boots in the replay that are refused, each with a code of its own: the snapshot is older than the superblock says, and it is not what its checksum says.',
  whySafe:
    'The log in front of a snapshot is gone, so an older snapshot leaves a hole that nothing fills. The superblock names the one snapshot that fits, by op and checksum, and is asked before a byte of the file is believed.',
  worlds: ['sim', 'real'],
  scenario: swappedSnapshot(FEW_SLOTS, 5),
  realScenario: swappedSnapshot(REAL_SLOTS, REAL_COMMITS),
  decisive: 'with the older snapshot it refuses',
  broken: {
    rule: 'pairAfterSnapshotSync',
    noticedBy: 'pairing',
    story:
      'The superblock names a snapshot that is not yet durable. A loss of power leaves the older one beside a superblock that names another, just as if somebody had swapped them.',
    scenario: {
      ...swappedSnapshot(FEW_SLOTS, 5),
      steps: [...startedWithoutTopic(), ...streams('early', 5), atRest('a checkpoint has passed')],
    },
  },
}
