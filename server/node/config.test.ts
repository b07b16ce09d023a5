import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ConfigurationError } from './config/problems.ts'
import { type ConfigInput, loadNodeConfig } from './config.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'config-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const ROOT = { IGGY_ROOT_USERNAME: 'iggy', IGGY_ROOT_PASSWORD: 'iggy' }

type Toml = Record<string, unknown>

function load(toml: Toml | string, environment: Record<string, string> = {}, extra: Partial<ConfigInput> = {}) {
  writeFileSync(join(directory, 'node.toml'), typeof toml === 'string' ? toml : stringify(toml))
  return loadNodeConfig({
    configFile: 'node.toml',
    withDefaultRootCredentials: false,
    environment,
    workingDirectory: directory,
    ...extra,
  })
}

/** What is wrong, by key; fails when nothing is. */
function problemsOf(...args: Parameters<typeof load>): Record<string, string> {
  const before = new Set(readdirSync(directory)).add('node.toml')
  try {
    load(...args)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(readdirSync(directory).filter(name => !before.has(name))).toEqual([])
    return Object.fromEntries((error as ConfigurationError).problems.map(({ key, message }) => [key, message]))
  }
  throw new Error('the configuration was accepted')
}

/** Sets one dotted key, alone, in a solo configuration. */
const solo = (key: string, value: unknown): Toml =>
  key
    .split('.')
    .reverse()
    .reduce<unknown>((inner, part) => ({ [part]: inner }), value) as Toml

const node = (replica: number, over: Toml = {}): Toml => ({
  name: `node-${replica}`,
  ip: '127.0.0.1',
  replica_id: replica,
  ports: { tcp: 8090 + replica, tcp_replica: 9090 + replica },
  ...over,
})

const cluster = (over: Toml = {}, nodes: unknown = [node(0), node(1), node(2)]): Toml => ({
  cluster: { enabled: true, name: 'test', nodes, ...over },
})
const asReplica = (replicaId: string): Partial<ConfigInput> => ({ replicaId })

describe('defaults and sources', () => {
  test('without a file everything has a default, and the cluster is off', () => {
    const config = loadNodeConfig({ withDefaultRootCredentials: true, environment: {}, workingDirectory: directory })
    expect(config.client).toEqual({ host: '127.0.0.1', port: 8090 })
    expect(config.dataDirectory).toBe(join(directory, 'local_data'))
    expect(config.links).toBeUndefined()
    expect(config.replica).toMatchObject({
      clusterEnabled: false,
      replica: 0,
      root: { username: 'iggy', password: 'iggy' },
      timers: { prepare: 25, commitMessage: 50, normalHeartbeat: 500, viewChangeStatus: 500, requestStartView: 100 },
      metadata: { prepareQueueDepth: 32, journalSlots: 1024, clientsTableMax: 8192 },
      partition: { prepareQueueDepth: 32, evictedRingCapacity: 4096, evictedRingBytesMax: 16 * 1024 * 1024 },
      messageBytesMax: 64 * 1024 * 1024,
    })
  })

  test('CF-18 the environment beats the file, sizes and durations are read as text, and a wrong word of a choice is refused', () => {
    const config = load(
      { metadata: { clients_table_max: 100 }, partition: { evicted_ring_bytes_max: '2 MiB' } },
      { IGGY_METADATA_CLIENTS_TABLE_MAX: '200', IGGY_CLUSTER_PREPARE_RETRANSMIT_INTERVAL: '1 m 500ms' },
    )
    expect(config.replica.metadata.clientsTableMax).toBe(200)
    expect(config.replica.partition.evictedRingBytesMax).toBe(2 * 1024 * 1024)
    expect(config.replica.timers.prepare).toBe(6050)
    expect(problemsOf(solo('system.logging.level', 'loud'))).toHaveProperty(['system.logging.level'])
    expect(problemsOf(solo('partition.evicted_ring_bytes_max', '2 parsecs'))).toHaveProperty([
      'partition.evicted_ring_bytes_max',
    ])
  })

  test('an environment file fills in, and the real environment wins over it', () => {
    writeFileSync(
      join(directory, 'env'),
      'IGGY_ROOT_USERNAME=other\nIGGY_ROOT_PASSWORD=secret\nIGGY_TCP_ADDRESS=127.0.0.1:7000\n',
    )
    const config = load({}, { IGGY_ENV_PATH: 'env', IGGY_ROOT_USERNAME: 'root' })
    expect(config.replica.root).toEqual({ username: 'root', password: 'secret' })
    expect(config.client.port).toBe(7000)
    expect(problemsOf({}, { IGGY_ENV_PATH: 'absent' })).toHaveProperty(['IGGY_ENV_PATH'])
  })

  test('entries of the roster can come from the environment', () => {
    const environment: Record<string, string> = { ...ROOT, IGGY_CLUSTER_ENABLED: 'true' }
    for (const replica of [0, 1, 2]) {
      environment[`IGGY_CLUSTER_NODES_${replica}_NAME`] = `n${replica}`
      environment[`IGGY_CLUSTER_NODES_${replica}_IP`] = '127.0.0.1'
      environment[`IGGY_CLUSTER_NODES_${replica}_REPLICA_ID`] = String(replica)
      environment[`IGGY_CLUSTER_NODES_${replica}_PORTS_TCP`] = String(7000 + replica)
      environment[`IGGY_CLUSTER_NODES_${replica}_PORTS_TCP_REPLICA`] = String(7100 + replica)
    }
    const config = load({}, environment, asReplica('1'))
    expect(config.client.port).toBe(7001)
    expect(config.links).toMatchObject({
      listen: { host: '127.0.0.1', port: 7101 },
      peers: [
        { replica: 0, port: 7100 },
        { replica: 2, port: 7102 },
      ],
    })
    expect(config.replica.nodes.map(({ name, ports }) => [name, ports.tcp])).toEqual([
      ['n0', 7000],
      ['n1', 7001],
      ['n2', 7002],
    ])
  })

  test('the cluster id is that of the recorded frames', () => {
    // BLAKE3("golden"), first 16 bytes, as they stand at byte 32 of every recorded replica frame
    expect(load({ cluster: { name: 'golden' } }).replica.clusterId.toString(16)).toBe(
      '8dcfba55440a56b4f77ec617af9bca68',
    )
  })

  test('unknown keys are refused in the cluster sections, named elsewhere; tables of other transports have no effect', () => {
    expect(problemsOf(cluster({ heartbeat_timout: '9s' }), ROOT, asReplica('0'))).toHaveProperty([
      'cluster.heartbeat_timout',
    ])
    const config = load({ metadata: { jornal_slots: 5 }, http: { cors: { enabled: true } } }, { IGGY_METADATA_NO: '1' })
    expect(config.warnings).toHaveLength(2)
    expect(config.warnings[0]).toContain('metadata.jornal_slots')
    expect(config.warnings[1]).toContain('IGGY_METADATA_NO')
  })

  test('what is no TOML is refused with its line, and an absent file with its path', () => {
    expect(problemsOf('[cluster\nname = 3')).toEqual({ 'configuration file': expect.stringContaining('line 1') })
    expect(problemsOf({}, {}, { configFile: 'absent.toml' })).toEqual({
      'configuration file': expect.stringContaining('absent.toml'),
    })
  })

  test('every problem is named in one run, with where it comes from', () => {
    writeFileSync(join(directory, 'node.toml'), stringify({ metadata: { clients_table_max: 1 } }))
    const input = { withDefaultRootCredentials: true, workingDirectory: directory, configFile: 'node.toml' }
    const attempt = () => loadNodeConfig({ ...input, environment: { IGGY_METADATA_PREPARE_QUEUE_DEPTH: '0' } })
    expect(attempt).toThrow(
      /metadata\.prepare_queue_depth \(IGGY_METADATA_PREPARE_QUEUE_DEPTH\)[\s\S]*metadata\.clients_table_max \(node\.toml\)/,
    )
  })
})

/** Values at and beyond each bound. `refused` ones must name the key; `accepted` ones must load. */
const bounds: { id: string; key: string; refused: unknown[]; accepted: unknown[] }[] = [
  { id: 'CF-01', key: 'partition.offset_reservation_lease', refused: [0, 16_777_217], accepted: [1, 16_777_216] },
  { id: 'CF-02', key: 'partition.prepare_queue_depth', refused: [0, 128, -1, 1.5, 'many'], accepted: [1, 127] },
  { id: 'CF-02', key: 'metadata.prepare_queue_depth', refused: [0, 128], accepted: [1, 127] },
  { id: 'CF-03', key: 'metadata.journal_slots', refused: [255, (1 << 20) + 1], accepted: [256, 1 << 20] },
  { id: 'CF-04', key: 'metadata.clients_table_max', refused: [1, 65_537], accepted: [2, 65_536] },
  { id: 'CF-05', key: 'partition.evicted_ring_capacity', refused: [0, 65_537], accepted: [1, 65_536] },
  { id: 'CF-05', key: 'partition.evicted_ring_bytes_max', refused: [0, '257 MiB'], accepted: ['1 B', '256 MiB'] },
  { id: 'CF-08', key: 'cluster.view_probe_attempts_max', refused: [0, 101], accepted: [1, 100] },
  { id: 'CF-08', key: 'cluster.repair_chunk_max', refused: [0, 1025, 256], accepted: [1, 255] },
  {
    id: 'CF-09',
    key: 'cluster.superblock_wedged_fatal_timeout',
    refused: ['10s', '29s'],
    accepted: ['0', '30s', 'disabled'],
  },
  { id: 'CF-12', key: 'message_bus.max_message_size', refused: [0, 256, '65 MiB'], accepted: [257, '64 MiB'] },
  {
    id: 'CF-13',
    key: 'partition.transfer_artifact_bytes_max',
    refused: [0, '1087 MiB', '65 GiB'],
    accepted: ['1088 MiB'],
  },
  { id: 'CF-13', key: 'partition.transfer_served_cache_bytes_max', refused: [0, '65 GiB'], accepted: ['64 GiB'] },
  { id: 'CF-14', key: 'consumer_group.rebalancing_timeout', refused: ['0'], accepted: ['1ms'] },
  { id: 'CF-14', key: 'heartbeat.interval', refused: ['0 s'], accepted: ['1s'] },
  { id: 'CF-15', key: 'system.segment.archive_expired', refused: [true], accepted: [false] },
  { id: 'CF-15', key: 'system.recovery.recreate_missing_state', refused: [true], accepted: [false] },
]

describe.each(bounds)('$id $key', ({ key, refused, accepted }) => {
  test.each(refused)('%s is refused by its key', value => {
    expect(Object.keys(problemsOf(solo(key, value)))).toEqual([key])
  })
  test.each(accepted)('%s is accepted', value => {
    expect(load(solo(key, value)).replica.replica).toBe(0)
  })
})

describe('checks between keys', () => {
  const inCluster = (section: Toml) => Object.keys(problemsOf(cluster(section), ROOT, asReplica('0')))

  test('CF-03 a deep metadata queue needs four times as many journal slots', () => {
    const toml = (slots: number) => ({ metadata: { prepare_queue_depth: 100, journal_slots: slots } })
    expect(problemsOf(toml(399))).toHaveProperty(['metadata.journal_slots'])
    expect(load(toml(400)).replica.metadata.journalSlots).toBe(400)
  })

  test('CF-06 the heartbeat timeout is at least 2 s and four broadcasts', () => {
    expect(inCluster({ heartbeat_timeout: '1999ms' })).toEqual(['cluster.heartbeat_timeout'])
    expect(inCluster({ heartbeat_timeout: '3s', commit_broadcast_interval: '751ms' })).toEqual([
      'cluster.heartbeat_timeout',
    ])
    const config = load(cluster({ heartbeat_timeout: '2s', commit_broadcast_interval: '500ms' }), ROOT, asReplica('0'))
    expect(config.replica.timers.normalHeartbeat).toBe(200)
  })

  test('CF-07 the view-change backstop is four retransmits, and no interval is zero', () => {
    expect(inCluster({ view_change_status_timeout: '1999ms' })).toEqual(['cluster.view_change_status_timeout'])
    for (const key of [
      'commit_broadcast_interval',
      'prepare_retransmit_interval',
      'view_change_retransmit_interval',
      'request_start_view_retransmit_interval',
      'repair_retry_interval',
    ]) {
      expect(inCluster({ [key]: '0' })).toContain(`cluster.${key}`)
    }
  })

  test('CF-11 secrets are long enough, different, and never repeated in the message', () => {
    const short = 'a-secret-of-31-bytes-is-too-short'.slice(0, 31)
    const long = 'x'.repeat(32)
    expect(inCluster({ auth: { enabled: true } })).toEqual(['cluster.auth.shared_secret'])
    const problems = problemsOf(cluster({ auth: { enabled: true, shared_secret: short } }), ROOT, asReplica('0'))
    expect(problems['cluster.auth.shared_secret']).toContain('31 bytes')
    expect(JSON.stringify(problems)).not.toContain(short)
    expect(inCluster({ auth: { enabled: true, shared_secret: long, previous_shared_secret: long } })).toEqual([
      'cluster.auth.previous_shared_secret',
    ])
    const config = load(cluster({ auth: { enabled: true, shared_secret: long } }), ROOT, asReplica('0'))
    expect(config.links?.auth).toEqual({ secret: long })
    expect(JSON.stringify(config.effective)).not.toContain(long)
  })
})

describe('CF-16 HTTP', () => {
  test('is off by default; a solo node that serves it names its port', () => {
    expect(load({}, ROOT).http).toBeUndefined()
    const config = load(solo('http.enabled', true), ROOT)
    expect(config.http).toMatchObject({ listen: { host: '127.0.0.1', port: 3000 }, bodyBytesMax: 2_000_000 })
    expect(config.replica.nodes[0]!.ports.http).toBe(3000)
  })

  test('TLS needs both files, HS256 one secret; another algorithm is refused; nothing of a secret is shown', () => {
    const http = (over: Toml) => ({ http: { enabled: true, ...over } })
    const tls = problemsOf(http({ tls: { enabled: true } }), ROOT)
    expect(Object.keys(tls)).toEqual(['http.tls.cert_file', 'http.tls.key_file'])
    const files = { enabled: true, cert_file: 'node.toml', key_file: 'absent.pem' }
    expect(Object.keys(problemsOf(http({ tls: files }), ROOT))).toEqual(['http.tls.key_file'])
    expect(problemsOf(http({ jwt: { algorithm: 'RS256' } }), ROOT)).toHaveProperty(['http.jwt.algorithm'])
    const secret = 'not-to-be-shown'
    const different = problemsOf(http({ jwt: { encoding_secret: secret, decoding_secret: 'x' } }), ROOT)
    expect(different).toHaveProperty(['http.jwt.decoding_secret'])
    const shown = JSON.stringify(load(http({ jwt: { encoding_secret: secret } }), ROOT).effective)
    expect([shown, JSON.stringify(different)].filter(text => text.includes(secret))).toEqual([])
  })

  test('in a cluster each node needs a port for it, and the secret of the cluster signs when no other is given', () => {
    const missing = problemsOf({ ...cluster(), http: { enabled: true } }, ROOT, asReplica('0'))
    expect(Object.keys(missing)).toEqual([0, 1, 2].map(index => `cluster.nodes[${index}].ports.http`))
    const nodes = [0, 1, 2].map(id => node(id, { ports: { tcp: 8090 + id, tcp_replica: 9090 + id, http: 3000 + id } }))
    const keyOf = (replica: string, auth: Toml) =>
      load({ ...cluster({ auth }, nodes), http: { enabled: true } }, ROOT, asReplica(replica)).http!
    const auth = { enabled: true, shared_secret: 's'.repeat(40) }
    expect(keyOf('1', auth).listen).toEqual({ host: '127.0.0.1', port: 3001 })
    expect(keyOf('1', auth).jwt.key).toEqual(keyOf('0', auth).jwt.key)
    expect(keyOf('1', {}).jwt.key).not.toEqual(keyOf('0', {}).jwt.key)
  })
})

describe('unsupported and relocated keys', () => {
  test.each([
    'quic.enabled',
    'websocket.enabled',
    'tcp.tls.enabled',
    'cluster.tls.enabled',
    'system.encryption.enabled',
    'telemetry.enabled',
    'http.web_ui',
  ])('%s = true is refused with the reason, false is accepted', key => {
    expect(problemsOf(solo(key, true))[key]).toContain('not supported')
    expect(load(solo(key, false)).warnings).toEqual([])
    const name = `IGGY_${key.toUpperCase().replaceAll('.', '_')}`
    expect(problemsOf({}, { [name]: 'true' })[key]).toContain('not supported')
  })

  test.each([
    ['system.segment.size', 'IGGY_SYSTEM_SEGMENT_SIZE', 'segment_size'],
    ['system.partition.enforce_fsync', 'IGGY_SYSTEM_PARTITION_ENFORCE_FSYNC', 'enforce_fsync'],
    ['extra.anything', 'IGGY_EXTRA_ANYTHING', 'does not exist any more'],
  ])('%s is refused in the file and as %s', (key, name, words) => {
    expect(problemsOf(solo(key, '1'))[key]).toContain(words)
    expect(Object.values(problemsOf({}, { [name]: '1' })).join()).toContain(words)
  })

  test('the inspection port is for this machine only', () => {
    expect(problemsOf(solo('inspection.address', '0.0.0.0:0'))).toHaveProperty(['inspection.address'])
    expect(problemsOf(solo('inspection.address', 'localhost'))).toHaveProperty(['inspection.address'])
    expect(load(solo('inspection.address', '[::1]:4601')).inspection).toEqual({ host: '::1', port: 4601 })
  })
})

describe('CF-10 the roster', () => {
  const roster = (nodes: unknown, replicaId = '0') =>
    Object.entries(problemsOf(cluster({}, nodes), ROOT, asReplica(replicaId)))
      .map(([key, message]) => `${key}: ${message}`)
      .join('\n')

  test.each([
    ['no entry', [], 'is empty'],
    ['a name twice', [node(0), node(1, { name: 'node-0' })], 'name node-0 is already taken'],
    ['an id twice', [node(0), node(0)], 'replica_id 0 is already taken'],
    [
      'an address twice',
      [node(0), node(1, { ports: { tcp: 8090, tcp_replica: 9 } })],
      '127.0.0.1:8090 is already taken',
    ],
    [
      'a client port that is a replica port',
      [node(0), node(1, { ports: { tcp: 9090, tcp_replica: 9 } })],
      '127.0.0.1:9090 is already taken',
    ],
    ['an id above the count', [node(0), node(7)], 'nodes[1].replica_id'],
    ['port 0', [node(0, { ports: { tcp: 0, tcp_replica: 1 } })], 'nodes[0].ports.tcp: is 0'],
    ['no replica port', [node(0, { ports: { tcp: 1 } })], 'nodes[0].ports.tcp_replica: is missing'],
    ['a blank ip', [node(0, { ip: ' ' })], 'nodes[0].ip'],
    ['a key that is not one', [node(0, { prots: {} })], 'nodes[0].prots'],
    ['addresses per network', [node(0, { advertised_addresses: [] })], 'advertised_addresses'],
  ])('%s is refused', (_what, nodes, words) => {
    expect(roster(nodes)).toContain(words)
  })

  test('the replica id must be given and stand in the roster; without a cluster only 0 does', () => {
    expect(problemsOf(cluster(), ROOT)).toHaveProperty(['--replica-id'])
    expect(problemsOf(cluster(), ROOT, asReplica('3'))).toHaveProperty(['--replica-id'])
    expect(problemsOf(cluster(), ROOT, asReplica('one'))).toHaveProperty(['--replica-id'])
    expect(problemsOf({}, {}, asReplica('1'))).toHaveProperty(['--replica-id'])
    expect(load({}, {}, asReplica('0')).replica.replica).toBe(0)
  })

  test('clients are told the advertised address, peers dial the roster address', () => {
    const config = load(
      cluster({}, [node(0), node(1, { advertised_address: 'public.example' }), node(2)]),
      ROOT,
      asReplica('0'),
    )
    expect(config.replica.nodes[1]!.ip).toBe('public.example')
    expect(config.links!.peers[0]).toEqual({ replica: 1, host: '127.0.0.1', port: 9091 })
  })

  test('a solo node names itself, with the ports that every transport has by default, another one, or none', () => {
    const rosterOf = (environment: Record<string, string>) => load({}, { ...ROOT, ...environment }).replica.nodes
    const named = { replica: 0, name: 'iggy-node', ip: '127.0.0.1' }
    expect(rosterOf({})).toEqual([{ ...named, ports: { tcp: 8090, quic: 8080, http: 3000, websocket: 8092 } }])
    const gateways = { IGGY_QUIC_ADDRESS: '127.0.0.1:18080', IGGY_HTTP_ADDRESS: '', IGGY_WEBSOCKET_ADDRESS: '' }
    expect(rosterOf(gateways)).toEqual([{ ...named, ports: { tcp: 8090, quic: 18080, http: 0, websocket: 0 } }])
    expect(problemsOf(solo('quic.address', 'nowhere'))).toHaveProperty(['quic.address'])
  })
})

describe('CF-17 root credentials', () => {
  test('a cluster needs both, until a snapshot exists', () => {
    expect(Object.keys(problemsOf(cluster(), {}, asReplica('0')))[0]).toContain('IGGY_ROOT_USERNAME')
    mkdirSync(join(directory, 'local_data', 'metadata'), { recursive: true })
    expect(Object.keys(problemsOf(cluster(), {}, asReplica('0')))[0]).toContain('IGGY_ROOT_USERNAME')
    writeFileSync(join(directory, 'local_data', 'metadata', 'snapshot.bin'), '')
    expect(load(cluster(), {}, asReplica('0')).rootPasswordGenerated).toBe(true)
  })

  test('one without the other is refused, and so are lengths out of range', () => {
    expect(problemsOf({}, { IGGY_ROOT_USERNAME: 'iggy' })).toHaveProperty(['IGGY_ROOT_PASSWORD'])
    expect(problemsOf({}, { IGGY_ROOT_PASSWORD: 'iggy' })).toHaveProperty(['IGGY_ROOT_USERNAME'])
    expect(problemsOf({}, { ...ROOT, IGGY_ROOT_USERNAME: 'ab' })).toHaveProperty(['IGGY_ROOT_USERNAME'])
    expect(problemsOf({}, { ...ROOT, IGGY_ROOT_USERNAME: 'u'.repeat(51) })).toHaveProperty(['IGGY_ROOT_USERNAME'])
    expect(problemsOf({}, { ...ROOT, IGGY_ROOT_PASSWORD: 'p'.repeat(101) })).toHaveProperty(['IGGY_ROOT_PASSWORD'])
  })

  test('a solo node makes a password up, a new one each time; the flag fills only what is unset', () => {
    const [first, second] = [load({}), load({})]
    expect(first.rootPasswordGenerated).toBe(true)
    expect(first.replica.root.password.length).toBeGreaterThanOrEqual(20)
    expect(first.replica.root.password).not.toBe(second.replica.root.password)
    const half = load({}, { IGGY_ROOT_PASSWORD: 'chosen' }, { withDefaultRootCredentials: true })
    expect(half.replica.root).toEqual({ username: 'iggy', password: 'chosen' })
  })
})
