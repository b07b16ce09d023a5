/** Drills about damage inside a log: what is behind it was durable once, so nothing is cut and nothing is jumped over. */
import type { Action, FileEdit, Scenario } from '../scenario/language.ts'
import { EAGER, PARTITION, PARTITION_DIRECTORY, payloads, readAll, runs, send, started, waitFor } from './building.ts'
import type { Drill } from './contract.ts'

const LOG = `${PARTITION_DIRECTORY}/*.log`
const INDEX_ENTRY_BYTES = 24
const CHUNKS = payloads('chunk', 8).map(payload => payload.padEnd(1_000, '.'))

/** Eight chunks are on disk, the node has stopped, and its log is wounded. */
const wounded = (edits: readonly FileEdit[]): Action[] => [
  ...started(EAGER),
  ...CHUNKS.map(payload => send([payload])),
  { do: 'kill', nodes: [0] },
  { do: 'edit', node: 0, edits },
]

const refuses = (code: string, what: string, withinMs?: number): Action[] => [
  { do: 'recordFiles', name: 'wounded', node: 0, under: PARTITION_DIRECTORY },
  { do: 'start', nodes: [0] },
  waitFor('the node runs', runs(0), withinMs),
  waitFor(
    what,
    { event: { node: 0, kind: 'recovery_step', where: { step: 'partition', verdict: 'refused', code } } },
    withinMs,
  ),
  { do: 'client', client: 'd', nodes: [0], retry: false, budgetMs: 5_000 },
  {
    do: 'request',
    client: 'd',
    call: { request: 'poll', stream: 's', topic: 't', partition: 0, from: 'first', count: 100 },
    as: 'read',
    expect: 'any',
  },
]
const UNTOUCHED: Scenario['verdict'] = [
  { what: 'no message of it is served', that: { outcome: 'read', is: 'error' } },
  { what: 'nothing of it has changed', that: { fileUnchanged: 'wounded' } },
]
/** The same wound, and a boot that is to open the partition all the same. */
const opened: readonly Action[] = [{ do: 'start', nodes: [0] }, waitFor('the node runs', runs(0)), readAll('read')]
const opens = (edits: readonly FileEdit[]): Action[] => [...wounded(edits), ...opened]

const ROT: readonly FileEdit[] = [
  { edit: 'flip', path: LOG, at: { batch: 3, part: 'body', offset: 100 }, mask: 1 },
  { edit: 'truncate', path: LOG, to: { batch: -1, part: 'body', offset: 10 } },
]
const rotten = {
  id: 'D04',
  title: 'Rot under the anchor',
  cluster: { nodes: 1 },
  steps: [...wounded(ROT), ...refuses('InteriorDamage', 'the partition is refused for damage inside')],
  verdict: UNTOUCHED,
} satisfies Scenario

export const D04: Drill = {
  id: 'D04',
  title: 'Rot under the anchor',
  teaches: 'a walk begins at byte 0 and jumps over nothing',
  lesson: 'index and log',
  goal: 'A byte in the middle of a log is wrong, and its end was cut off as by a crash. The index still points behind the damage. Show that the boot finds it all the same, and refuses to open the partition.',
  predictions: [
    {
      text: 'The torn end is cut, and the rest is served',
      rightIf: { finding: 'the partition is refused for damage inside', passes: false },
    },
    { text: 'The damaged chunk is passed over', rightIf: { finding: 'no message of it is served', passes: false } },
    { text: 'Not a byte of it is changed', rightIf: { finding: 'nothing of it has changed', passes: true } },
  ],
  look: 'The boot in the replay: it names the byte of chunk 3 at which the walk has stopped, and the whole chunk behind it. No file changes its length.',
  whySafe:
    'Whole chunks behind damage show that this was no torn write: they were durable once, and somebody may have been told. Cutting there would destroy them, so nothing is opened and nothing is changed.',
  worlds: ['sim', 'real'],
  scenario: rotten,
  decisive: 'the partition is refused for damage inside',
  broken: {
    rule: 'walkFromStart',
    noticedBy: 'cold-open',
    story:
      'A walk that begins at the last entry of the index never meets the damage below it. The partition is opened with offsets that nobody will ever be able to read.',
    scenario: { ...rotten, steps: opens(ROT) },
  },
}

/** Written and not synced, each chunk by itself: the disk may bring pages to rest in any order. */
const UNSYNCED = { enforceFsync: false, messagesRequiredToSave: 1 }
const LOST_PAGE = 1
/** The power fails when all is written; of the whole disk one page of the log has not come. */
const powerCut: readonly Action[] = [
  ...started(UNSYNCED),
  ...CHUNKS.map(payload => send([payload])),
  waitFor('the index has all chunks', {
    file: { node: 0, path: `${PARTITION_DIRECTORY}/*.index` },
    length: 'eq',
    value: CHUNKS.length * INDEX_ENTRY_BYTES,
  }),
  { do: 'kill', nodes: [0], loss: { logPage: LOST_PAGE } },
]
const vanished = {
  id: 'D05',
  title: 'The vanished page',
  cluster: { nodes: 1 },
  needs: ['volatileDisk'],
  steps: [...powerCut, ...refuses('InteriorDamage', 'the partition is refused for the hole')],
  verdict: UNTOUCHED,
} satisfies Scenario

export const D05: Drill = {
  id: 'D05',
  title: 'The vanished page',
  teaches: 'a durable index entry proves nothing below it',
  lesson: 'index and log',
  goal: 'A disk writes the pages of a file in any order. After a loss of power one page in the middle of a log is zero, the pages behind it and the whole index are there. Show that no message around the hole is served as if nothing were missing.',
  predictions: [
    {
      text: 'The index proves what it points at, so the partition opens',
      rightIf: { finding: 'the partition is refused for the hole', passes: false },
    },
    { text: 'The log is cut at the hole', rightIf: { finding: 'nothing of it has changed', passes: false } },
    {
      text: 'The partition is refused, and left as it is',
      rightIf: { finding: 'the partition is refused for the hole', passes: true },
    },
  ],
  look: 'The boot in the replay: it names the byte at which the hole begins, though log and index are as long as they were, and the whole batch behind it.',
  whySafe:
    'An entry of the index proves neither the bytes that it names nor those before them. Only the walk from the first byte does, and it stops at the hole and finds whole chunks behind it.',
  worlds: ['sim'],
  scenario: vanished,
  decisive: 'the partition is refused for the hole',
  broken: {
    rule: 'walkFromStart',
    noticedBy: 'cold-open',
    story: 'The walk begins where the index points, behind the hole, and the hole becomes part of an open partition.',
    scenario: { ...vanished, steps: [...powerCut, ...opened] },
  },
}

const FORGED_BYTES = 256 * 1_024
/** Headers laid into each other: each claims all that follows, so that checking every claim would take for ever. */
const FORGED = forgedHeaders()
const forgery = (times: number): readonly FileEdit[] => [
  { edit: 'flip', path: LOG, at: { batch: -1, part: 'body', offset: 100 }, mask: 1 },
  { edit: 'append', path: LOG, hex: FORGED, times },
]
/** Enough to empty the purse; real disks are given 64 MiB. */
const FORGERY = forgery(1)
const REAL_TIMES = 256
const BOOT_MS = 10_000
const PAUSE_MAX_MS = 100
const forgedBy = (edits: readonly FileEdit[], checks: Scenario['verdict'] = []) =>
  ({
    id: 'D07',
    title: 'The forged tail',
    cluster: { nodes: 1 },
    steps: [...wounded(edits), ...refuses('UnverifiedResidue', 'the partition is refused as not searched', BOOT_MS)],
    verdict: [
      ...UNTOUCHED,
      {
        what: 'the refusal names the segment',
        that: { event: { node: 0, kind: 'chain_refused', group: PARTITION }, atLeast: 1, atMost: 1 },
      },
      ...checks,
    ],
  }) satisfies Scenario
const forged = forgedBy(FORGERY)
/** Simulated nodes take no time of a processor. */
const forgedOnDisk = forgedBy(forgery(REAL_TIMES), [
  {
    what: 'the node has answered all the while',
    that: { pauseOf: 0, is: 'lt', valueMs: PAUSE_MAX_MS },
  },
])

export const D07: Drill = {
  id: 'D07',
  title: 'The forged tail',
  teaches: 'a search has a budget, and an empty purse decides nothing',
  lesson: 'index and log',
  goal: 'The last chunk of a log is damaged, and behind it lie 256 KiB, on a real disk 64 MiB, that look like one chunk at every step. Show that the search for a survivor ends within its budget, and that a search that was given up is no licence to cut.',
  predictions: [
    { text: 'The boot hangs', rightIf: { finding: 'the node runs', passes: false } },
    {
      text: 'The tail is cut, since nothing whole was found in it',
      rightIf: { finding: 'nothing of it has changed', passes: false },
    },
    {
      text: 'The partition is refused',
      rightIf: { finding: 'the partition is refused as not searched', passes: true },
    },
  ],
  look: 'The boot in the replay: the partition is refused as not searched, and no file has changed its length. On real processes the findings say for how long the node has answered nobody.',
  whySafe:
    'A cut is right only when nothing durable lies behind the damage. Who could not look everywhere does not know that, so the answer is neither yes nor no: the bytes stay, and a person decides.',
  worlds: ['sim', 'real'],
  scenario: forged,
  realScenario: forgedOnDisk,
  decisive: 'the partition is refused as not searched',
  broken: {
    rule: 'unsearchedRefuses',
    noticedBy: 'lost-message',
    story:
      'What was not found within the budget counts as not there. The log is cut in front of a chunk that was acknowledged, and its offsets are free for others.',
    scenario: { ...forged, steps: opens(FORGERY) },
  },
}

/** A batch header at every 256 bytes, of one message and a great offset, that reaches to the end of them all. */
function forgedHeaders(): string {
  const headers: string[] = []
  for (let at = 0; at < FORGED_BYTES; at += 256) {
    const view = new DataView(new ArrayBuffer(256))
    view.setBigUint64(8, 1_000n, true)
    view.setBigUint64(32, BigInt(FORGED_BYTES - at), true)
    view.setUint32(48, 1, true)
    headers.push(Array.from(new Uint8Array(view.buffer), byte => byte.toString(16).padStart(2, '0')).join(''))
  }
  return headers.join('')
}
