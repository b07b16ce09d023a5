/** Drills about writes that knock on the wrong door. */
import { Command } from '../protocol/commands.ts'
import type { Action, Scenario } from '../scenario/language.ts'
import {
  atRest,
  EAGER,
  onEveryDisk,
  PARTITION,
  PARTITION_DIRECTORY,
  partitionIsThere,
  readAll,
  runs,
  waitFor,
} from './building.ts'
import type { Drill } from './contract.ts'

const DOORS = [0, 1, 2] as const
const client = (node: number): Action => ({
  do: 'client',
  client: `door-${node}`,
  nodes: [node],
  followLeader: false,
  budgetMs: 5_000,
})
const write = (node: number, payload = `by door ${node}`): Action => ({
  do: 'request',
  client: `door-${node}`,
  call: { request: 'send', stream: 's', topic: 't', partition: 0, payloads: [payload] },
  as: `door-${node}`,
})

/** The planes part: metadata in view 1, the partition groups that are made later in view 0. */
const diverged: readonly Action[] = [
  { do: 'start', nodes: 'all' },
  waitFor('all nodes serve', { settled: true }),
  { do: 'kill', nodes: [0] },
  waitFor('another node leads the metadata', { event: { kind: 'view_started', group: 'metadata' } }),
  { do: 'start', nodes: [0] },
  waitFor('the killed node is back', runs(0)),
  atRest('all agree'),
  { do: 'request', client: 'c', call: { request: 'createStream', stream: 's' } },
  {
    do: 'request',
    client: 'c',
    call: { request: 'createTopic', stream: 's', topic: 't', partitions: 1, options: EAGER },
  },
  partitionIsThere,
  {
    do: 'check',
    what: 'the two planes have different primaries',
    that: {
      all: [
        { group: { node: 1, group: 'metadata', field: 'primary' }, is: 'eq', value: 1 },
        { group: { node: 1, group: PARTITION, field: 'primary' }, is: 'eq', value: 0 },
      ],
    },
  },
]

const wrongDoor: Scenario = {
  id: 'D22',
  title: 'Knocking on the wrong door',
  cluster: { nodes: 3 },
  steps: [
    ...diverged,
    ...DOORS.map(client),
    { do: 'baseline', name: 'the writes' },
    ...DOORS.map(node => write(node)),
    onEveryDisk,
    readAll('read'),
  ],
  verdict: [
    ...DOORS.map(node => ({
      what: `the write at door ${node} is acknowledged`,
      that: { outcome: `door-${node}`, is: 'ok' } as const,
    })),
    {
      what: 'all three are there, in order',
      that: { outcome: 'read', payloads: DOORS.map(node => `by door ${node}`) },
    },
    {
      what: 'two of them were carried to the primary',
      that: { event: { kind: 'forward_answered', since: 'the writes' }, atLeast: 2 },
    },
  ],
}

export const D22: Drill = {
  id: 'D22',
  title: 'Knocking on the wrong door',
  teaches: 'planes that part, writes that are forwarded',
  lesson: 'forwarding',
  goal: 'The metadata plane and a partition have different primaries. Show that a write sent to any node is acknowledged all the same.',
  predictions: [
    {
      text: 'Only the write at the primary’s door is acknowledged',
      rightIf: { finding: 'the write at door 1 is acknowledged', passes: false },
    },
    { text: 'All three are acknowledged', rightIf: { finding: 'all three are there, in order', passes: true } },
    {
      text: 'Two of them take a second hop',
      rightIf: { finding: 'two of them were carried to the primary', passes: true },
    },
  ],
  look: 'The replay of the three writes: two of them go to another node and come back the way they went.',
  whySafe:
    'A client is told of one leader, that of the metadata. Where a partition has another, the node that was asked carries the write there, once, and brings back what became of it: done, refused, or unknown.',
  worlds: ['sim', 'real'],
  scenario: wrongDoor,
  decisive: 'the write at door 1 is acknowledged',
  broken: {
    rule: 'misroutedIsForwarded',
    noticedBy: 'core-liveness',
    story:
      'The node that was asked turns the write away, and tells the client of the same leader again: it comes back for ever.',
  },
}

/** What the primary refuses is answered long before the origin gives a write up. */
const AT_ONCE_MS = 1_000
/** With a lease of one offset the superblock of the partition is written for every message. */
const NO_RESERVATION = `reserve.beforeWrite@${PARTITION_DIRECTORY}/**`
const through1 = (payload: string, as: string): Extract<Action, { do: 'request' }> => ({
  do: 'request',
  client: 'door-1',
  call: { request: 'send', stream: 's', topic: 't', partition: 0, payloads: [payload] },
  as,
})

const DROPPED: Scenario = {
  id: 'D23',
  title: 'Forward, then silence',
  cluster: { nodes: 3, settings: { 'partition.offset_reservation_lease': 1 } },
  needs: ['cutLinks', 'failpoints'],
  steps: [
    ...diverged,
    { do: 'client', client: 'door-1', nodes: [1], followLeader: false, retry: false, budgetMs: 20_000 },
    { do: 'cut', from: 0, to: 1, command: Command.ForwardRequestResult },
    { ...through1('once more', 'first'), expect: 'any' },
    { do: 'heal', from: 0, to: 1, command: Command.ForwardRequestResult },
    through1('once more', 'again'),
    { do: 'arm', node: 0, point: NO_RESERVATION, effect: { effect: 'error', error: 'Io' }, times: 1_000_000 },
    { ...through1('refused', 'refused'), background: true },
    waitFor(
      'what the primary refuses is answered at once',
      { outcome: 'refused', is: 'error', error: 'TransientNotAccepted' },
      AT_ONCE_MS,
    ),
    { do: 'disarm', node: 0, point: NO_RESERVATION },
    onEveryDisk,
    readAll('read'),
  ],
  verdict: [
    { what: 'the first answer is: unknown', that: { outcome: 'first', is: 'error', error: 'TransientNotCommitted' } },
    { what: 'the second try is acknowledged', that: { outcome: 'again', is: 'ok' } },
    { what: 'the two have two offsets', that: { outcome: 'again', baseOffset: 'eq', value: '1' } },
    { what: 'the message is there twice', that: { outcome: 'read', payloads: ['once more', 'once more'] } },
    {
      what: 'the origin has given up one write, and waits for none',
      that: {
        all: [
          { event: { node: 1, kind: 'forward_lost' }, atLeast: 1, atMost: 1 },
          { event: { node: 1, kind: 'forward_answered' }, atLeast: 2, atMost: 2 },
        ],
      },
    },
  ],
}

export const D23: Drill = {
  id: 'D23',
  title: 'Forward, then silence',
  teaches: 'the window of at least once',
  lesson: 'forwarding',
  goal: 'The answer to a forwarded write is lost. Show what the client is told, and what a second try then does; and that a write which the primary refuses is answered at once, so that only silence means: unknown.',
  predictions: [
    {
      text: 'The client is told that the write has failed',
      rightIf: { finding: 'the first answer is: unknown', passes: false },
    },
    {
      text: 'After a second try the message is there twice',
      rightIf: { finding: 'the message is there twice', passes: true },
    },
  ],
  look: 'The replay of the first write: it is stored, its answer is lost, and the node that was asked gives it up; and the two offsets that hold one payload in the end.',
  whySafe:
    'Nobody knows what became of the write, and that is what the client is told: unknown, which is neither done nor refused. A retry may store it twice, and never under one offset.',
  worlds: ['sim', 'real'],
  scenario: DROPPED,
  decisive: 'the first answer is: unknown',
  broken: {
    rule: 'misroutedIsForwarded',
    noticedBy: 'core-liveness',
    story: 'Without the forward the write is turned away at this door for as long as anybody asks.',
  },
}
