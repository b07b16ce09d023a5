/** Kills around append, persist and the boot behind them (spec drills.md §1.7): what the files of a segment go through. */
import type { Action, FailpointEffect, FileEdit, Scenario } from '../language.ts'
import {
  again,
  at,
  background,
  batch,
  EAGER,
  EQUAL,
  edit,
  file,
  GROUP,
  KILL,
  names,
  opened,
  PARTITION,
  persisted,
  persistedAlike,
  poll,
  SOLO,
  scenario,
  send,
  sends,
  settled,
  soloPersisted,
  THREE,
  waitFor,
} from './partition-steps.ts'

const clientContinuity = scenario(
  'VC-02',
  'a producer outlives the primary it talks to, within ten seconds, and is never told that it is nobody',
  THREE,
  [
    opened(EAGER),
    { do: 'client', client: 'p', nodes: [0, 1, 2], budgetMs: 10_000 },
    send('before'),
    { do: 'remember', name: 'primary', node: { primaryOf: GROUP } },
    { do: 'kill', nodes: [{ named: 'primary' }] },
    // What is under way when the connection ends has no known outcome, and a producer asks again.
    send('under way', ['ok', 'Disconnected']),
    send('after'),
    poll('everything', 'p'),
  ],
  [
    {
      what: 'both are there',
      that: {
        any: [
          { outcome: 'everything', payloads: ['before', 'after'] },
          { outcome: 'everything', payloads: ['before', 'under way', 'after'] },
        ],
      },
    },
  ],
)

const floored = scenario(
  'PL-01',
  'a log cut behind the last index entry is floored, and the node catches up',
  THREE,
  [
    opened(EAGER),
    // The last one by itself: what a slow disk takes together has one entry of the index.
    sends('m', 11),
    persisted(11),
    batch(['m11']),
    persisted(12),
    { do: 'kill', nodes: [2] },
    edit(2, { edit: 'truncate', path: `${PARTITION}/*.log`, to: { batch: -1, part: 'header', offset: 0 } }),
    { do: 'start', nodes: [2] },
    waitFor('the index is floored', { event: { kind: 'index_floored', node: 2 } }),
    persisted(12),
  ],
  [EQUAL],
)

const chunk = (name: string) => Array.from({ length: 1_024 }, (_, number) => `${name}${number}`)
const soloFloored = scenario(
  'PL-03',
  'a solo log cut behind its last index entry boots, serves the prefix, and goes on above its reservation',
  SOLO,
  [
    opened({ enforceFsync: true }),
    // One after the other: what a slow disk takes together has one entry of the index.
    ['a', 'b', 'c'].flatMap((name, index) => [batch(chunk(name)), soloPersisted((index + 1) * 1_024)]),
    sends('in memory ', 2),
    { do: 'kill', nodes: [0] },
    edit(0, { edit: 'truncate', path: `${PARTITION}/*.log`, to: { batch: -1, part: 'header', offset: 0 } }),
    { do: 'start', nodes: [0] },
    waitFor('the index is floored', { event: { kind: 'index_floored' } }),
    settled,
    {
      do: 'check',
      what: 'two entries are left',
      that: { file: { node: 0, path: file(0, 'index') }, length: 'eq', value: 48 },
    },
    poll('prefix'),
    batch(['next'], 'next'),
    at('next', 'ge', 65_537),
  ],
  [{ what: 'the prefix is served', that: { outcome: 'prefix', payloads: chunk('a').slice(0, 1_000) } }],
)

/** A node dies inside the persist of one batch; the others never notice. */
const persistKilledAt = (what: string, ...points: readonly (readonly [point: string, effect: FailpointEffect])[]) =>
  scenario(
    'PL-32',
    `killed ${what}: what was acknowledged is there, no boot refuses, and logs are equal in the end`,
    THREE,
    [
      opened(EAGER),
      sends('m', 3),
      persisted(3),
      ...points.map(([point, effect]): Action => ({ do: 'arm', node: 2, point: `${point}@${PARTITION}/*`, effect })),
      batch(['during'], 'during'),
      at('during', 'eq', 3),
      waitFor('it dies', { process: 2, state: 'crashed' }),
      { do: 'start', nodes: [2] },
      persisted(4),
      batch(['after'], 'after'),
      at('after', 'eq', 4),
      persisted(5),
      poll('everything'),
    ],
    [
      { what: 'all of it is there', that: { outcome: 'everything', payloads: [...names('m', 3), 'during', 'after'] } },
      EQUAL,
    ],
  )
/** Long enough for the other half to be done. */
const LATE: FailpointEffect = { effect: 'delay', ms: 200 }
export const PERSIST_KILLS: readonly Scenario[] = [
  persistKilledAt('with the log written', ['persist.log.afterWrite', KILL]),
  persistKilledAt('with the index written', ['persist.index.afterWrite', KILL]),
  persistKilledAt('with the log synced', ['persist.log.afterSync', KILL]),
  persistKilledAt('with the index synced', ['persist.index.afterSync', KILL]),
  persistKilledAt(
    'with both synced and the cursors where they were',
    ['persist.index.beforeSync', LATE],
    ['persist.index.afterSync', KILL],
  ),
]

const beforeAcknowledgement = scenario(
  'PL-32',
  'the primary dies behind the cursor and in front of the acknowledgement: the batch is there, once or twice',
  THREE,
  [
    opened(EAGER),
    { do: 'client', client: 'p', nodes: [0, 1, 2], budgetMs: 20_000 },
    send('before'),
    { do: 'remember', name: 'primary', node: { primaryOf: GROUP } },
    { do: 'arm', node: { named: 'primary' }, point: 'ack.before', effect: KILL },
    send('during', ['ok', 'Disconnected']),
    waitFor('it dies', { process: { named: 'primary' }, state: 'crashed' }),
    send('after'),
    { do: 'start', nodes: [{ named: 'primary' }] },
    persistedAlike(),
    poll('everything'),
  ],
  [
    {
      what: 'all of it is there',
      that: {
        any: [1, 2].map(times => ({
          outcome: 'everything',
          payloads: ['before', ...Array.from({ length: times }, () => 'during'), 'after'],
        })),
      },
    },
    EQUAL,
  ],
)

/** A log cut, or an index and a log with noise behind them, on the disk of a node that was killed. */
const surgeryAfterKill = (id: string, title: string, edits: readonly FileEdit[], event: string): Scenario =>
  scenario(
    id,
    title,
    THREE,
    [
      opened(EAGER),
      sends('m', 12),
      persisted(12),
      { do: 'kill', nodes: [2] },
      edit(2, ...edits),
      { do: 'start', nodes: [2] },
      waitFor('the boot has mended it', { event: { kind: event, node: 2 } }),
      persisted(12),
      sends('n', 30),
      persisted(42),
      again('kill'),
      persistedAlike(),
      poll('everything'),
    ],
    [
      { what: 'all of it is there', that: { outcome: 'everything', payloads: [...names('m', 12), ...names('n', 30)] } },
      EQUAL,
    ],
  )
const log = `${PARTITION}/*.log`
const index = `${PARTITION}/*.index`
const FLOORED = 'index_floored'
const tailSurgeries: readonly Scenario[] = [
  surgeryAfterKill(
    'PL-02',
    'a log cut five batches before its end is floored to what is left, and the node catches up',
    [{ edit: 'truncate', path: log, to: { batch: -5, part: 'header', offset: 0 } }],
    FLOORED,
  ),
  surgeryAfterKill(
    'PL-07',
    'ten bytes of noise behind an index are gone before the first append, and the next boot is clean',
    [{ edit: 'append', path: index, hex: 'a5', times: 10 }],
    'index_truncated',
  ),
  surgeryAfterKill(
    'PL-08',
    'forty bytes of noise behind a log are gone before the first append, and the next boot is clean',
    [{ edit: 'append', path: log, hex: 'a5', times: 40 }],
    'log_truncated',
  ),
  surgeryAfterKill(
    'PL-40',
    'a log cut inside the header of its last chunk loses that chunk, on disk, and the node catches up',
    [{ edit: 'truncate', path: log, to: { batch: -1, part: 'header', offset: 10 } }],
    FLOORED,
  ),
  surgeryAfterKill(
    'PL-40',
    'a log cut inside the body of its last chunk loses that chunk, on disk, and the node catches up',
    [{ edit: 'truncate', path: log, to: { batch: -1, part: 'body', offset: 10 } }],
    FLOORED,
  ),
]

/** A persist that fails ends the process with 74; the boot is the retry, and nothing was acknowledged that is not there. */
const failedPersist = (id: string, title: string, ...points: readonly string[]): Scenario =>
  scenario(
    id,
    title,
    SOLO,
    [
      opened(EAGER),
      sends('m', 3),
      soloPersisted(3),
      ...points.map(
        (point): Action => ({
          do: 'arm',
          node: 0,
          point: `${point}@${PARTITION}/*`,
          effect: { effect: 'error', error: point.includes('Write') ? 'NoSpace' : 'Io' },
        }),
      ),
      background({ request: 'send', stream: 's', topic: 't', partition: 0, payloads: ['during'] }, 'during'),
      waitFor('it ends with 74', { process: 0, state: 'crashed', exit: 74 }),
      ...points.map((point): Action => ({ do: 'disarm', node: 0, point: `${point}@${PARTITION}/*` })),
      { do: 'check', what: 'it was not acknowledged', that: { not: { outcome: 'during', is: 'ok' } } },
      { do: 'start', nodes: [0] },
      settled,
      batch(['after'], 'after'),
      at('after', 'ge', 4),
      again('kill'),
      poll('everything'),
    ],
    [
      {
        what: 'what was acknowledged is there, and nothing twice',
        that: {
          any: [[], ['during']].map(more => ({
            outcome: 'everything',
            payloads: [...names('m', 3), ...more, 'after'],
          })),
        },
      },
    ],
  )
const failedPersists: readonly Scenario[] = [
  failedPersist(
    'PL-26',
    'the index cannot be synced: the process ends, nothing is acknowledged, and the boot is the retry',
    'persist.index.beforeSync',
  ),
  failedPersist(
    'PL-27',
    'the log cannot be written: the process ends, nothing is acknowledged, and the boot is the retry',
    'persist.log.beforeWrite',
  ),
  failedPersist(
    'PL-30',
    'neither half can be synced: the process ends, nothing is acknowledged, and the boot is the retry',
    'persist.log.beforeSync',
    'persist.index.beforeSync',
  ),
]

const noSilentWedge = scenario(
  'PL-29',
  'the disk of the primary is full: it ends with 74 at once, and the others elect around it and serve',
  THREE,
  [
    opened(EAGER),
    { do: 'client', client: 'p', nodes: [0, 1, 2], budgetMs: 20_000 },
    send('before'),
    { do: 'remember', name: 'primary', node: { primaryOf: GROUP } },
    {
      do: 'arm',
      node: { named: 'primary' },
      point: `persist.log.beforeWrite@${PARTITION}/*`,
      effect: { effect: 'error', error: 'NoSpace' },
    },
    send('during', ['ok', 'Disconnected']),
    waitFor('it ends with 74', { process: { named: 'primary' }, state: 'crashed', exit: 74 }, 5_000),
    send('after'),
    { do: 'disarm', node: { named: 'primary' }, point: `persist.log.beforeWrite@${PARTITION}/*` },
    { do: 'start', nodes: [{ named: 'primary' }] },
    persistedAlike(),
    poll('everything', 'p'),
  ],
  [
    {
      what: 'all of it is there',
      that: {
        any: [1, 2].map(times => ({
          outcome: 'everything',
          payloads: ['before', ...Array.from({ length: times }, () => 'during'), 'after'],
        })),
      },
    },
    EQUAL,
  ],
)

export const APPEND_KILLS: readonly Scenario[] = [
  clientContinuity,
  floored,
  ...tailSurgeries.filter(({ id }) => id !== 'PL-40'),
  soloFloored,
  ...failedPersists,
  noSilentWedge,
  ...PERSIST_KILLS,
  beforeAcknowledgement,
  ...tailSurgeries.filter(({ id }) => id === 'PL-40'),
]

/** Of every order in which a kernel may write back what nobody synced. */
export const unsynced = scenario('PL-33', 'a topic that never syncs', SOLO, [
  opened({ messagesRequiredToSave: 1 }),
  sends('m', 5),
  soloPersisted(5),
  again('kill'),
  batch(['next'], 'next'),
  at('next', 'ge', 5),
  again('kill'),
  batch(['last'], 'last'),
  at('last', 'ge', 6),
])
