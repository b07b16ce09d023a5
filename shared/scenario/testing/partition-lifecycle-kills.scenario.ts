/** Kills in retention, purge, deletion and state transfer (spec drills.md §1.9, §1.12). */
import type { ClusterSpec, Predicate, Scenario, ScenarioTopicOptions } from '../language.ts'
import {
  again,
  at,
  background,
  batch,
  create,
  diesAt,
  EAGER,
  EQUAL,
  file,
  GROUP,
  KILL,
  names,
  none,
  onAll,
  onDisk,
  opened,
  PARTITION,
  persisted,
  persistedAlike,
  poll,
  read,
  record,
  SHORT_RING,
  SOLO,
  scenario,
  send,
  sends,
  settled,
  soloPersisted,
  THREE,
  there,
  waitFor,
} from './partition-steps.ts'

const purgeKilledAt = (point: string): Scenario =>
  scenario(
    'RP-08',
    `a purge killed at ${point} is whole in the end`,
    SOLO,
    [
      opened(EAGER),
      sends('m', 5),
      soloPersisted(5),
      diesAt(point, 0, [background({ request: 'purgeTopic', stream: 's', topic: 't' })]),
      waitFor('the purge is carried out', onDisk(0, 0)),
      read('nothing is left', []),
      batch(['next'], 'next'),
      at('next', 'eq', 0),
    ],
    [],
  )

const rebuilt = scenario(
  'RP-10',
  'a topic that is deleted and made again begins at 0 in an empty directory, also after a kill',
  THREE,
  [
    opened(EAGER),
    sends('old', 8),
    persisted(8),
    { do: 'request', client: 'c', call: { request: 'deleteTopic', stream: 's', topic: 't' } },
    create(EAGER),
    waitFor('all have built it anew', { all: [{ settled: true }, onDisk(0, 0), onDisk(1, 0), onDisk(2, 0)] }),
    batch(['first'], 'first'),
    at('first', 'eq', 0),
    persisted(1),
    again('kill'),
    poll('everything'),
  ],
  [
    { what: 'only the new one', that: { outcome: 'everything', payloads: ['first'] } },
    { what: 'nothing had to be set aside', that: onAll(node => there(node, `${PARTITION}.fenced.0/*`, false)) },
    EQUAL,
  ],
)

const halfDeleted = scenario(
  'RP-14',
  'a delete that failed half way on one node: the old directory is set aside whole, the new topic begins at 0 everywhere',
  THREE,
  [
    opened(EAGER),
    sends('old', 8),
    persisted(8),
    // The first name goes, the next one does not: purge.gen is still there.
    {
      do: 'arm',
      node: 2,
      point: `before.remove@${PARTITION}/*`,
      effect: { effect: 'error', error: 'Io' },
      after: 1,
      times: 1_000,
    },
    { do: 'request', client: 'c', call: { request: 'deleteTopic', stream: 's', topic: 't' } },
    waitFor('it fails on node 2', { event: { kind: 'partition_build_deferred', node: 2 } }),
    create(EAGER),
    { do: 'client', client: 'c', nodes: [0, 1] },
    sends('new', 10),
    { do: 'terminate', nodes: [2] },
    { do: 'disarm', node: 2, point: `before.remove@${PARTITION}/*` },
    { do: 'start', nodes: [2] },
    persisted(10),
    poll('everything'),
  ],
  [
    { what: 'only the new incarnation', that: { outcome: 'everything', payloads: names('new', 10) } },
    { what: 'the old one stands aside', that: there(2, `${PARTITION}.fenced.0/purge.gen`) },
    { what: 'with its superblock', that: there(2, `${PARTITION}.fenced.0/superblock.*`) },
    EQUAL,
  ],
)

const lastOpThenKill = (recreated: boolean): Scenario =>
  scenario(
    'RP-14',
    `${recreated ? 'delete and create again' : 'create'} as the last metadata ${recreated ? 'ops' : 'op'}, then kill all: nothing acknowledged is lost or set aside`,
    THREE,
    [
      opened(EAGER),
      ...(recreated
        ? [
            sends('old', 3),
            persisted(3),
            { do: 'request', client: 'c', call: { request: 'deleteTopic', stream: 's', topic: 't' } } as const,
            create(EAGER),
          ]
        : []),
      sends('m', 20),
      again('kill'),
      persistedAlike(),
      poll('everything'),
    ],
    [
      { what: 'all of it is there', that: { outcome: 'everything', payloads: names('m', 20) } },
      { what: 'nothing was set aside', that: none('partition_fenced') },
      EQUAL,
    ],
  )

const wiped = scenario(
  'ST-05',
  'a wiped node gets everything back, and its acknowledgement counts',
  SHORT_RING,
  [
    opened(EAGER),
    sends('m', 16),
    persisted(16),
    { do: 'kill', nodes: [2] },
    { do: 'wipe', nodes: [2] },
    { do: 'start', nodes: [2] },
    waitFor('it is installed', { event: { kind: 'transfer_installed', node: 2, group: GROUP } }),
    persisted(16),
    { do: 'kill', nodes: [1] },
    batch(['next'], 'next'),
    at('next', 'eq', 16),
  ],
  [{ what: 'logs are equal', that: { sameLogs: GROUP, nodes: [0, 2] } }],
)

const lagging = scenario(
  'ST-06',
  'a node with a prefix lags beyond the rings, and has all of it in the end',
  SHORT_RING,
  [
    opened(EAGER),
    sends('m', 6),
    persisted(6),
    { do: 'kill', nodes: [2] },
    sends('n', 12),
    { do: 'start', nodes: [2] },
    waitFor('it is installed', { event: { kind: 'transfer_installed', node: 2, group: GROUP } }),
    persisted(18),
    poll('everything'),
  ],
  [{ what: 'in order', that: { outcome: 'everything', payloads: [...names('m', 6), ...names('n', 12)] } }, EQUAL],
)

const installKilledAt = (point: string): Scenario =>
  scenario(
    'ST-10',
    `an install killed at ${point} is whole in the end`,
    SHORT_RING,
    [
      opened(EAGER),
      sends('m', 6),
      persisted(6),
      { do: 'kill', nodes: [2] },
      sends('n', 12),
      diesAt(point, 2, [{ do: 'start', nodes: [2] }]),
      persisted(18),
      batch(['next'], 'next'),
      at('next', 'eq', 18),
      persisted(19),
    ],
    [EQUAL],
  )

const purgedThenKilled = scenario(
  'RP-06',
  'what was sent behind a purge survives the kill of all, and the purge is not repeated',
  THREE,
  [
    opened(EAGER),
    sends('old', 4),
    persisted(4),
    { do: 'request', client: 'c', call: { request: 'purgeTopic', stream: 's', topic: 't' } },
    batch(['new'], 'new'),
    at('new', 'eq', 0),
    persisted(1),
    again('kill'),
    persistedAlike(),
    poll('everything'),
  ],
  [{ what: 'only the new one', that: { outcome: 'everything', payloads: ['new'] } }, EQUAL],
)

/** Fills a segment of the smallest size by itself, so that the active one is empty. */
const WHOLE_SEGMENT = 'x'.repeat(1_100_000)
const RETAINED: ScenarioTopicOptions = { ...EAGER, segmentSize: '1048576', messageExpiry: '15000000' }
const CLEANED = { 'data_maintenance.messages.interval': '1 s' }
const gone = (node: number): Predicate => there(node, file(0, 'log'), false)

/** The last segment with bytes expires while its node dies in the middle of the removal. */
const retentionKilledAt = (what: string, point: string, cluster: ClusterSpec): Scenario => {
  const node = cluster.nodes - 1
  const nodes = Array.from({ length: cluster.nodes }, (_, each) => each)
  return scenario(
    'RP-13',
    `the last sized segment expires on ${cluster.nodes === 1 ? 'a solo node' : 'three nodes'}, one killed ${what}: the offsets behind it are not given out again`,
    { ...cluster, settings: CLEANED },
    [
      opened(RETAINED),
      batch([WHOLE_SEGMENT], 'expiring'),
      at('expiring', 'eq', 0),
      { do: 'arm', node, point, effect: KILL },
      waitFor(`node ${node} dies`, { process: node, state: 'crashed' }),
      { do: 'disarm', node, point },
      { do: 'start', nodes: [node] },
      settled,
      waitFor('it is removed everywhere', { all: nodes.map(gone) }),
      batch(['next'], 'next'),
      at('next', cluster.nodes === 1 ? 'ge' : 'eq', 1),
      poll('everything'),
    ],
    [
      { what: 'the new one is read', that: { outcome: 'everything', payloads: ['next'] } },
      ...nodes.map(each => ({
        what: `node ${each} had recorded the frontier`,
        that: {
          superblock: { node: each, directory: PARTITION },
          field: 'offsetFrontier',
          is: 'ge',
          value: 1,
        } as const,
      })),
    ],
  )
}
const retentionKills: readonly Scenario[] = [
  retentionKilledAt('before the frontier is recorded', `reserve.beforeWrite@${PARTITION}/*`, SOLO),
  retentionKilledAt('with the frontier recorded and nothing removed', `before.unlink@${PARTITION}/*.log`, SOLO),
  retentionKilledAt('between the two files', `after.unlink@${PARTITION}/*.log`, SOLO),
  retentionKilledAt('with both files removed', `after.unlink@${PARTITION}/*.index`, SOLO),
  retentionKilledAt('with the frontier recorded and nothing removed', `before.unlink@${PARTITION}/*.log`, THREE),
  retentionKilledAt('between the two files', `after.unlink@${PARTITION}/*.log`, THREE),
]

const SEGMENTS = { ...EAGER, segmentSize: '1048576' }
const large = (name: string) => name.padEnd(700_000, '.')
const serverDies = scenario(
  'ST-07',
  'several segments, and the node that serves them dies: the other one serves all of them',
  SHORT_RING,
  [
    opened(SEGMENTS),
    { do: 'client', client: 'p', nodes: [0, 1, 2], budgetMs: 30_000 },
    send('m'),
    { do: 'kill', nodes: [2] },
    ...Array.from({ length: 6 }, (_, number) => send(large(`n${number}`))),
    { do: 'start', nodes: [2] },
    waitFor('it needs a transfer', { event: { kind: 'transfer_needed', node: 2, group: GROUP } }),
    { do: 'kill', nodes: [0] },
    waitFor('it is installed', { event: { kind: 'transfer_installed', node: 2, group: GROUP } }),
    send('last'),
    persistedAlike(1),
    poll('everything', 'p'),
  ],
  [
    {
      what: 'all of it',
      that: {
        outcome: 'everything',
        payloads: ['m', ...Array.from({ length: 6 }, (_, number) => large(`n${number}`)), 'last'],
      },
    },
    { what: 'more than one segment', that: there(2, file(3, 'log')) },
    { what: 'logs are equal', that: { sameLogs: GROUP, nodes: [1, 2] } },
  ],
)

const rejoins = scenario(
  'ST-16',
  'more ops than the rings hold while a node is down: it rejoins, and what comes behind is flushed on it',
  SHORT_RING,
  [
    opened(EAGER),
    sends('m', 2),
    persisted(2),
    { do: 'kill', nodes: [2] },
    sends('n', 20),
    { do: 'start', nodes: [2] },
    persisted(22),
    sends('o', 5),
    persisted(27),
    { do: 'kill', nodes: [0] },
    { do: 'client', client: 'p', nodes: [1, 2], budgetMs: 30_000 },
    send('next'),
    poll('everything', 'p'),
  ],
  [
    {
      what: 'all of it',
      that: { outcome: 'everything', payloads: [...names('m', 2), ...names('n', 20), ...names('o', 5), 'next'] },
    },
    { what: 'logs are equal', that: { sameLogs: GROUP, nodes: [1, 2] } },
  ],
)

const gapIsFetched = scenario(
  'ST-21',
  'a chain with an anchored gap is fetched by a wiped node that dies between two renames: its own anchor, and equal logs',
  SHORT_RING,
  [
    opened(EAGER),
    sends('m', 6),
    persisted(6),
    { do: 'terminate', nodes: 'all' },
    ...[0, 1, 2].map(node => record(node, 12)),
    { do: 'start', nodes: 'all' },
    settled,
    batch(['next'], 'next'),
    at('next', 'ge', 12),
    sends('n', 6),
    persistedAlike(),
    { do: 'kill', nodes: [2] },
    { do: 'wipe', nodes: [2] },
    ...diesAt(`after.rename@${PARTITION}/*.log.staging`, 2, [{ do: 'start', nodes: [2] }]),
    persistedAlike(),
    again('kill'),
    persistedAlike(),
    poll('everything'),
  ],
  [
    { what: 'all of it', that: { outcome: 'everything', payloads: [...names('m', 6), 'next', ...names('n', 6)] } },
    { what: 'with an anchor of its own', that: there(2, file(12, 'anchor')) },
    EQUAL,
  ],
)

export const LIFECYCLE_KILLS: readonly Scenario[] = [
  purgedThenKilled,
  purgeKilledAt('reserve.beforeWrite'),
  purgeKilledAt('reserve.afterWrite'),
  purgeKilledAt('reanchor.unlinked'),
  purgeKilledAt('purge.gen'),
  rebuilt,
  ...retentionKills,
  halfDeleted,
  lastOpThenKill(false),
  lastOpThenKill(true),
  wiped,
  lagging,
  serverDies,
  installKilledAt(`reserve.afterWrite@${PARTITION}`),
  installKilledAt(`after.rename@${PARTITION}/*.index.staging`),
  installKilledAt(`after.rename@${PARTITION}/*.log.staging`),
  rejoins,
  gapIsFetched,
]
