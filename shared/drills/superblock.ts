/** Drills about the superblock: two slots, written before anything is said that they must remember. */
import { Command } from '../protocol/commands.ts'
import type { Action, Scenario } from '../scenario/language.ts'
import { atRest, runs, started, startedWithoutTopic, unchecked, waitFor } from './building.ts'
import type { Drill } from './contract.ts'

const slotOf = (slot: 'a' | 'b') => `metadata/superblock.${slot}`
const elected: readonly Action[] = [
  { do: 'baseline', name: 'the kill' },
  { do: 'kill', nodes: [0] },
  waitFor('another node leads', { event: { kind: 'view_started', group: 'metadata', since: 'the kill' } }),
]
const back: readonly Action[] = [
  { do: 'start', nodes: [0] },
  waitFor('the killed node is back', runs(0)),
  atRest('all agree'),
]

/** A byte in the middle of one slot rots, the boot refuses, the others serve, and the byte is put right again. */
const rotten = (slot: 'a' | 'b'): Action[] => [
  { do: 'terminate', nodes: [2] },
  { do: 'edit', node: 2, edits: [{ edit: 'flip', path: slotOf(slot), at: { fraction: 0.5 }, mask: 1 }] },
  { do: 'recordFiles', name: `rotten ${slot}`, node: 2, under: '' },
  { do: 'start', nodes: [2] },
  waitFor(`with slot ${slot} rotten the boot refuses`, {
    process: 2,
    state: 'refused',
    exit: 65,
    code: 'SuperblockUnreadable',
  }),
  { do: 'check', what: `nothing on its disk has changed, slot ${slot}`, that: { fileUnchanged: `rotten ${slot}` } },
  { do: 'request', client: 'c', call: { request: 'createStream', stream: `without-${slot}` } },
  { do: 'edit', node: 2, edits: [{ edit: 'flip', path: slotOf(slot), at: { fraction: 0.5 }, mask: 1 }] },
  { do: 'start', nodes: [2] },
  waitFor(`mended, it boots, slot ${slot}`, runs(2)),
  atRest(`all agree again, slot ${slot}`),
]

export const D09: Drill = {
  id: 'D09',
  title: 'Newest slot rots',
  teaches: 'valid beside corrupt is unreadable',
  lesson: 'superblock',
  goal: 'One of the two slots of a superblock is damaged, the other one is whole. Show that a node refuses to boot from the whole one, whichever it is, and that the others serve without it.',
  predictions: [
    {
      text: 'The node boots from the valid slot',
      rightIf: { finding: 'with slot a rotten the boot refuses', passes: false },
    },
    {
      text: 'It refuses, and touches nothing',
      rightIf: { finding: 'nothing on its disk has changed, slot a', passes: true },
    },
    { text: 'The cluster serves without it', rightIf: { finding: 'createStream by c', passes: true } },
  ],
  look: 'The two boots in the replay that are refused, and the surgery below the findings: one byte of one slot, turned and turned back.',
  whySafe:
    'The damaged slot may be the newer one. Booting from the other would take back a vote that this node has cast, and one view could get two leaders.',
  worlds: ['sim', 'real'],
  scenario: {
    id: 'D09',
    title: 'Newest slot rots',
    cluster: { nodes: 3 },
    steps: [...started(), ...elected, ...back, ...rotten('a'), ...rotten('b')],
    verdict: [
      { what: 'one leader', that: { oneLeader: 'metadata' } },
      { what: 'every node serves', that: { all: [runs(0), runs(1), runs(2)] } },
    ],
  },
  decisive: 'with slot a rotten the boot refuses',
  broken: {
    rule: 'corruptSlotRefuses',
    noticedBy: 'damage-refused',
    story: 'The node boots from the older slot, has forgotten the view in which it voted, and votes there again.',
    scenario: {
      id: 'D09',
      title: 'Newest slot rots',
      cluster: { nodes: 3 },
      steps: [
        ...started(),
        ...elected,
        ...back,
        { do: 'terminate', nodes: [2] },
        { do: 'edit', node: 2, edits: [{ edit: 'flip', path: slotOf('b'), at: { fraction: 0.5 }, mask: 1 }] },
        { do: 'start', nodes: [2] },
        waitFor('it boots all the same', runs(2)),
      ],
      verdict: [{ what: 'one leader', that: { oneLeader: 'metadata' } }],
    },
  },
}

/** The moments of one write of a superblock, and whether the new record may be there afterwards. */
const WRITE_POINTS = ['sb.tempCreate', 'sb.tempHalf', 'sb.tempSync', 'sb.rename', 'sb.dirSync'] as const
const SLOTS = ['a', 'b'] as const
/** The election in front of the five rounds, and one view for each of them. */
const VIEWS_AT_LEAST = 1 + WRITE_POINTS.length

/** What is on the disk of a node that died here: up to the rename the old pair, after the sync of the directory the new view. */
function foundAt(point: (typeof WRITE_POINTS)[number]): Action[] {
  if (point === 'sb.rename') return []
  if (point !== 'sb.dirSync')
    return [
      {
        do: 'check',
        what: `the old pair is untouched at ${point}`,
        that: { all: SLOTS.map(slot => ({ fileUnchanged: `${slot} before ${point}` })) },
      },
    ]
  return [
    {
      do: 'check',
      what: `the new record is there at ${point}`,
      that: {
        superblock: { node: { named: 'writer' }, directory: 'metadata' },
        field: 'view',
        is: 'ge',
        value: VIEWS_AT_LEAST,
      },
    },
  ]
}

const killedAt = (point: (typeof WRITE_POINTS)[number]): Action[] => [
  { do: 'remember', name: 'leader', node: { primaryOf: 'metadata' } },
  { do: 'remember', name: 'writer', node: { backupOf: 'metadata' } },
  ...SLOTS.map(
    (slot): Action => ({
      do: 'recordFiles',
      name: `${slot} before ${point}`,
      node: { named: 'writer' },
      under: slotOf(slot),
    }),
  ),
  { do: 'arm', node: { named: 'writer' }, point: `${point}@metadata**`, effect: { effect: 'kill' } },
  { do: 'kill', nodes: [{ named: 'leader' }] },
  waitFor(`it dies at ${point}`, { not: runs({ named: 'writer' }) }),
  ...foundAt(point),
  { do: 'start', nodes: [{ named: 'writer' }, { named: 'leader' }] },
  waitFor(`it boots after ${point}`, runs({ named: 'writer' })),
  atRest(`all agree after ${point}`),
]

export const D10: Drill = {
  id: 'D10',
  title: 'Killed in the middle of a superblock',
  teaches: 'temporary file, sync, rename, directory sync',
  lesson: 'superblock',
  goal: 'Kill a node at each of the five moments of a superblock write. Show that it finds the old record or the new one afterwards, and never an unreadable pair.',
  predictions: [
    {
      text: 'A half-written record is found at the next boot',
      rightIf: { finding: 'it boots after sb.tempHalf', passes: false },
    },
    { text: 'Every boot succeeds', rightIf: { finding: 'every node serves', passes: true } },
  ],
  look: 'The files of the node that dies, in the replay: a temporary superblock where it died before the rename, none where it died behind it.',
  whySafe:
    'The record is written beside the staler slot, synced, and only then renamed over it. The other slot is never touched, so at each moment at least one whole record is there and no damaged one has its name.',
  worlds: ['sim', 'real'],
  scenario: {
    id: 'D10',
    title: 'Killed in the middle of a superblock',
    cluster: { nodes: 3 },
    needs: ['failpoints'],
    steps: [...started(), ...elected, ...back, ...[...WRITE_POINTS].flatMap(killedAt)],
    verdict: [
      { what: 'one leader', that: { oneLeader: 'metadata' } },
      { what: 'every node serves', that: { all: [runs(0), runs(1), runs(2)] } },
    ],
  },
  decisive: 'it dies at sb.tempHalf',
  broken: {
    rule: 'renameSyncsDirectory',
    noticedBy: 'durable-before-send',
    story:
      'Without the sync of the directory the rename itself may be lost: the node has said what its disk will not remember.',
    scenario: {
      id: 'D10',
      title: 'Killed in the middle of a superblock',
      cluster: { nodes: 3 },
      steps: [...started(), ...elected],
      verdict: [{ what: 'another leads', that: { event: { kind: 'view_started', group: 'metadata' } } }],
    },
  },
}

const silent: Scenario = {
  id: 'D11',
  title: 'Vote before you write',
  cluster: { nodes: 3 },
  needs: ['failpoints'],
  steps: [
    ...started(),
    {
      do: 'arm',
      node: 1,
      point: 'sb.tempCreate@metadata**',
      effect: { effect: 'error', error: 'Io' },
      times: 1_000_000,
    },
    { do: 'baseline', name: 'the kill' },
    { do: 'kill', nodes: [0] },
    waitFor('node 1 wants a new view', {
      all: [
        { group: { node: 1, group: 'metadata', field: 'view' }, is: 'ge', value: 1 },
        { group: { node: 1, group: 'metadata', field: 'viewDurable' }, is: 'eq', value: 0 },
      ],
    }),
    {
      do: 'always',
      what: 'nobody leads while its superblock cannot be written',
      that: { event: { kind: 'view_started', group: 'metadata', since: 'the kill' }, atMost: 0 },
      forMs: 10_000,
    },
    { do: 'disarm', node: 1, point: 'sb.tempCreate@metadata**' },
    waitFor('with the disk back the election completes', {
      event: { kind: 'view_started', group: 'metadata', since: 'the kill' },
    }),
  ],
  verdict: [
    {
      what: 'the view that it leads in is on its disk',
      that: { superblock: { node: 1, directory: 'metadata' }, field: 'view', is: 'ge', value: 1 },
    },
  ],
}

export const D11: Drill = {
  id: 'D11',
  title: 'Vote before you write',
  teaches: 'durable before send',
  lesson: 'superblock',
  goal: 'A node that wants a new view cannot write its superblock. Show that it says nothing until it can: no vote leaves before the disk remembers it.',
  predictions: [
    {
      text: 'The two nodes that are left elect at once',
      rightIf: { finding: 'nobody leads while its superblock cannot be written', passes: false },
    },
    {
      text: 'The election waits for the disk',
      rightIf: { finding: 'with the disk back the election completes', passes: true },
    },
  ],
  look: 'The finding that node 1 wants a new view: its live view is 1, its durable one 0; and behind it in the replay nobody leads until its disk is back.',
  whySafe:
    'A vote that the disk does not hold could be cast again after a crash, for somebody else. So every frame that speaks for a view waits until the superblock has it.',
  worlds: ['sim'],
  scenario: silent,
  decisive: 'node 1 wants a new view',
  broken: {
    rule: 'durableBeforeSend',
    noticedBy: 'durable-before-send',
    story: 'The votes leave at once, and after a loss of power the node would cast them again: one view, two leaders.',
    scenario: unchecked(silent),
  },
}

const slow: Scenario = {
  id: 'D12',
  title: 'Amnesia',
  cluster: { nodes: 3 },
  needs: ['failpoints'],
  steps: [
    ...started(),
    {
      do: 'arm',
      node: 1,
      point: 'sb.tempSync@metadata**',
      effect: { effect: 'delay', ms: 20_000 },
      times: 2,
    },
    { do: 'kill', nodes: [0] },
    waitFor('another leads', { event: { kind: 'view_started', group: 'metadata' } }, 120_000),
  ],
  verdict: [{ what: 'one leader', that: { oneLeader: 'metadata' } }],
}

export const D12: Drill = {
  id: 'D12',
  title: 'Amnesia',
  teaches: 'why a view must be durable',
  lesson: 'superblock',
  goal: 'A node takes part in an election and is killed. Show that its next life remembers the view, from its own disk and before anybody tells it.',
  predictions: [
    { text: 'It comes back in view 0', rightIf: { finding: 'its disk remembers the view', passes: false } },
    {
      text: 'It casts no vote in an older view',
      rightIf: { finding: 'no checker of the world objects', passes: true },
    },
  ],
  look: 'The evidence of the check before the boot: view and log view from the bytes of the slot, beside those of another node.',
  whySafe:
    'What a node has said in a view binds its next life too. The slot is that memory, and it is written before the node speaks.',
  worlds: ['sim', 'real'],
  scenario: {
    id: 'D12',
    title: 'Amnesia',
    cluster: { nodes: 3 },
    steps: [
      ...started(),
      ...elected,
      ...back,
      { do: 'kill', nodes: [2] },
      {
        do: 'check',
        what: 'its disk remembers the view',
        that: {
          all: [
            { superblock: { node: 2, directory: 'metadata' }, field: 'view', is: 'ge', value: 1 },
            ...(['view', 'logView'] as const).map(field => ({
              superblock: { node: 2, directory: 'metadata' },
              field,
              is: 'ge' as const,
              value: { on: 1 },
            })),
          ],
        },
      },
      { do: 'start', nodes: [2] },
      waitFor('it is back', runs(2)),
      waitFor('it is in no older view than the others', { agree: { group: 'metadata', field: 'view' } }),
      atRest('all agree again'),
    ],
    verdict: [
      { what: 'one leader', that: { oneLeader: 'metadata' } },
      {
        what: 'the view is above 0',
        that: { group: { node: 2, group: 'metadata', field: 'view' }, is: 'ge', value: 1 },
      },
    ],
  },
  decisive: 'its disk remembers the view',
  broken: {
    rule: 'writtenViewIsDurable',
    noticedBy: 'durable-before-send',
    story:
      'While a slow write of one view is under way the node moves on to the next; when the write ends, it takes the newer view for written, and speaks in it.',
    scenario: slow,
  },
}

export const D13: Drill = {
  id: 'D13',
  title: 'Letter to a former self',
  teaches: 'the nonce of a life',
  lesson: 'elections',
  goal: 'The answer to a question that a node asked in its former life arrives in the next one. Show that it is not taken for an answer.',
  predictions: [
    {
      text: 'The node adopts what the old answer says',
      rightIf: { finding: 'the old answer is ignored', passes: false },
    },
    {
      text: 'It adopts the answer to its own question',
      rightIf: { finding: 'it adopts a view by its own question', passes: true },
    },
  ],
  look: 'The replay between the two releases: the letter arrives and changes nothing; with the second answer node 2 follows.',
  whySafe:
    'Every life draws a number of its own, sends it with each question, and takes only answers that bring it back. What the former life asked may be long out of date.',
  worlds: ['sim'],
  scenario: {
    id: 'D13',
    title: 'Letter to a former self',
    cluster: { nodes: 3 },
    needs: ['holdFrames'],
    steps: [
      ...startedWithoutTopic(),
      { do: 'hold', name: 'letter', from: 0, to: 2, command: Command.StartView, count: 1 },
      { do: 'kill', nodes: [2] },
      { do: 'start', nodes: [2] },
      waitFor('it asks twice: the first answer is held', {
        event: { node: 2, kind: 'view_adopted', group: 'metadata' },
      }),
      { do: 'request', client: 'c', call: { request: 'createStream', stream: 'news' } },
      atRest('it has heard of what came since'),
      { do: 'kill', nodes: [2] },
      { do: 'baseline', name: 'next life' },
      { do: 'hold', name: 'answer', from: 0, to: 2, command: Command.StartView },
      { do: 'start', nodes: [2] },
      waitFor('it asks again', {
        all: [
          { event: { node: 2, kind: 'peer_connected', where: { peer: 0 }, since: 'next life' } },
          { event: { node: 2, kind: 'probe_sent', group: 'metadata', since: 'next life' } },
        ],
      }),
      { do: 'release', name: 'letter' },
      {
        do: 'always',
        what: 'the old answer is ignored',
        that: { event: { node: 2, kind: 'view_adopted', group: 'metadata', since: 'next life' }, atMost: 0 },
        forMs: 200,
      },
      { do: 'release', name: 'answer' },
      waitFor('it adopts a view by its own question', {
        event: { node: 2, kind: 'view_adopted', group: 'metadata', since: 'next life' },
      }),
      atRest('all agree'),
    ],
    verdict: [{ what: 'one leader', that: { oneLeader: 'metadata' } }],
  },
  decisive: 'the old answer is ignored',
  broken: {
    rule: 'nonceChecked',
    noticedBy: 'former-life',
    story: 'The node takes the old letter for an answer, and joins a view as it was before it died.',
  },
}
