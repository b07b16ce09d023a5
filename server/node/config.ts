/**
 * Configuration of one node process: sources (config/sources.ts), single-key checks (config/settings.ts) and here the
 * checks between keys, credentials, topology, and what the parts of the node are given (spec metadata-storage.md §6.1,
 * §8; drills.md §1.14). Reads the file and looks whether a snapshot exists; creates nothing.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { ReplicaId, TICK_MS } from '../../shared/bytes/units.ts'
import { clusterId } from '../../shared/protocol/handshake.ts'
import { HEADER_BYTES } from '../../shared/protocol/headers.ts'
import { RULES_ON } from '../../shared/protocol/rules.ts'
import type { ReplicaConfig, RosterNode } from '../../shared/replica/contract.ts'
import { type HttpConfig, readHttp } from './config/http.ts'
import { Problems } from './config/problems.ts'
import { type RosterEntry, readRoster } from './config/roster.ts'
import { type Key, SEGMENT_BYTES_MAX, type Values } from './config/settings.ts'
import { type ReadConfiguration, readSources } from './config/sources.ts'
import { integer, Problem } from './config/values.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

export interface PeerAddress extends Address {
  readonly replica: ReplicaId
}

export interface NodeConfig {
  readonly replica: ReplicaConfig
  /** Absolute path. */
  readonly dataDirectory: string
  readonly client: Address
  readonly inspection: Address
  /** Present when the cluster is on. */
  readonly links?: {
    readonly listen: Address
    readonly peers: readonly PeerAddress[]
    readonly auth?: { readonly secret: string; readonly previousSecret?: string }
    readonly handshakeGraceMs: number
    readonly queueFramesMax: number
  }
  /** Present when HTTP is on. */
  readonly http?: HttpConfig
  readonly logLevel: Values['system.logging.level']
  /** True when the root password was made up for this boot and must be shown once. */
  readonly rootPasswordGenerated: boolean
  /** Every setting as it is in effect, without secrets; written to runtime/current_config.toml. */
  readonly effective: Readonly<Record<string, unknown>>
  readonly warnings: readonly string[]
}

export interface ConfigInput {
  readonly replicaId?: string
  readonly configFile?: string
  readonly withDefaultRootCredentials: boolean
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workingDirectory: string
}

const USERNAME_BYTES = [3, 50] as const
const PASSWORD_BYTES = [3, 100] as const
const SECRET_BYTES_MIN = 32
const DEFAULT_ROOT = 'iggy'
const HTTP_DEFAULT: Address = { host: '127.0.0.1', port: 3000 }

/** @throws ConfigurationError naming every key that is wrong. */
export function loadNodeConfig(input: ConfigInput): NodeConfig {
  const problems = new Problems()
  const environment = { ...readEnvironmentFile(input, problems), ...defined(input.environment) }
  const read = readSources(readToml(input, environment, problems), environment, problems)
  const { values, sourceOf } = read
  crossChecks(values, (key, message) => problems.add(key, sourceOf(key), message))

  const dataDirectory = resolve(input.workingDirectory, values['system.path'])
  if (values['system.path'].trim() === '') problems.add('system.path', sourceOf('system.path'), 'is blank')
  const tcp = address('tcp.address', read, problems)
  const inspection = address('inspection.address', read, problems)
  // 0 tells clients that there is no such transport (wire.md §6.1).
  const elsewhere = (key: 'quic.address' | 'http.address' | 'websocket.address'): number =>
    values[key] === '' ? 0 : address(key, read, problems).port
  const ports = {
    tcp: tcp.port,
    quic: elsewhere('quic.address'),
    http: values['http.enabled'] && values['http.address'] === '' ? HTTP_DEFAULT.port : elsewhere('http.address'),
    websocket: elsewhere('websocket.address'),
  }
  if (!isLoopback(inspection.host)) {
    problems.add('inspection.address', sourceOf('inspection.address'), `${inspection.host} is not a loopback address`)
  }
  const enabled = values['cluster.enabled']
  const roster = enabled ? readRoster(read.nodes, 'cluster.nodes', values['http.enabled'], problems) : []
  const replica = replicaId(input.replicaId, enabled, roster, problems)
  const credentials = rootCredentials(input, environment, enabled, dataDirectory, problems)
  const own = roster[replica]
  const httpAddress = values['http.address'] === '' ? HTTP_DEFAULT : address('http.address', read, problems)
  const httpListen = own ? { host: httpAddress.host, port: own.ports.http } : httpAddress
  const http = readHttp(values, httpListen, input.workingDirectory, sourceOf, problems)
  problems.throwIfAny()

  const nodes: readonly RosterNode[] = enabled
    ? roster.map(({ replica, name, ip, ports }) => ({ replica, name, ip, ports }))
    : [{ replica, name: 'iggy-node', ip: tcp.host, ports }]
  return {
    replica: replicaConfig(values, replica, nodes, credentials),
    dataDirectory,
    // The roster gives the port, the transport's own address the interface (§8.4).
    client: own ? { host: tcp.host, port: own.ports.tcp } : tcp,
    inspection,
    ...(own && {
      links: {
        listen: { host: own.replicaHost, port: own.replicaPort },
        peers: roster
          .filter(entry => entry.replica !== replica)
          .map(entry => ({ replica: entry.replica, host: entry.replicaHost, port: entry.replicaPort })),
        ...(values['cluster.auth.enabled'] && {
          auth: {
            secret: values['cluster.auth.shared_secret'],
            ...(values['cluster.auth.previous_shared_secret'] !== '' && {
              previousSecret: values['cluster.auth.previous_shared_secret'],
            }),
          },
        }),
        handshakeGraceMs: values['message_bus.handshake_grace'],
        queueFramesMax: values['message_bus.peer_queue_capacity'],
      },
    }),
    ...(http && { http }),
    logLevel: values['system.logging.level'],
    rootPasswordGenerated: credentials.generated,
    effective: { ...withoutSecrets(values), 'cluster.nodes': nodes.map(node => ({ ...node })) },
    warnings: read.warnings,
  }
}

function replicaConfig(
  values: Values,
  replica: ReplicaId,
  nodes: readonly RosterNode[],
  root: ReplicaConfig['root'],
): ReplicaConfig {
  const ticks = (key: keyof Values & `cluster.${string}`): number =>
    Math.max(1, Math.floor((values[key] as number) / TICK_MS))
  return {
    clusterEnabled: values['cluster.enabled'],
    clusterName: values['cluster.name'],
    clusterId: clusterId(values['cluster.name']),
    replica,
    nodes,
    root: { username: root.username, password: root.password },
    timers: {
      prepare: ticks('cluster.prepare_retransmit_interval'),
      commitMessage: ticks('cluster.commit_broadcast_interval'),
      normalHeartbeat: ticks('cluster.heartbeat_timeout'),
      startViewChangeMessage: ticks('cluster.view_change_retransmit_interval'),
      doViewChangeMessage: ticks('cluster.view_change_retransmit_interval'),
      viewChangeStatus: ticks('cluster.view_change_status_timeout'),
      requestStartView: ticks('cluster.request_start_view_retransmit_interval'),
      repairRetry: ticks('cluster.repair_retry_interval'),
    },
    probeAttemptsMax: values['cluster.view_probe_attempts_max'],
    repairChunkMax: values['cluster.repair_chunk_max'],
    metadata: {
      prepareQueueDepth: values['metadata.prepare_queue_depth'],
      journalSlots: values['metadata.journal_slots'],
      clientsTableMax: values['metadata.clients_table_max'],
    },
    partition: {
      prepareQueueDepth: values['partition.prepare_queue_depth'],
      evictedRingCapacity: values['partition.evicted_ring_capacity'],
      evictedRingBytesMax: values['partition.evicted_ring_bytes_max'],
      offsetReservationLease: values['partition.offset_reservation_lease'],
    },
    superblockWedgedFatalMs: values['cluster.superblock_wedged_fatal_timeout'],
    cleanerIntervalMs: values['data_maintenance.messages.cleaner_enabled']
      ? values['data_maintenance.messages.interval']
      : 0,
    tokensPerUserMax: values['personal_access_token.max_tokens_per_user'],
    tokenCleanerIntervalMs: values['personal_access_token.cleaner.enabled']
      ? values['personal_access_token.cleaner.interval']
      : 0,
    validateChecksum: values['system.partition.validate_checksum'],
    messageBytesMax: values['message_bus.max_message_size'],
    rules: RULES_ON,
  }
}

const withoutSecrets = (values: Values): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([key]) => !key.endsWith('_secret')))

/** Checks between keys, and those that depend on the cluster being on (§8.3, last column). */
function crossChecks(values: Values, fail: (key: string, message: string) => void): void {
  const slotsMin = 4 * Math.max(64, values['metadata.prepare_queue_depth'])
  if (values['metadata.journal_slots'] < slotsMin) {
    fail('metadata.journal_slots', `is below ${slotsMin}, four times the larger of 64 and metadata.prepare_queue_depth`)
  }
  if (values['message_bus.max_message_size'] <= HEADER_BYTES) {
    fail('message_bus.max_message_size', `must exceed the ${HEADER_BYTES} bytes of a header`)
  }
  const artifactMin = SEGMENT_BYTES_MAX + values['message_bus.max_message_size']
  if (values['partition.transfer_artifact_bytes_max'] < artifactMin) {
    fail(
      'partition.transfer_artifact_bytes_max',
      `is below ${artifactMin}, the largest segment and one frame beyond its end`,
    )
  }
  if (values['cluster.repair_chunk_max'] >= values['message_bus.peer_queue_capacity']) {
    fail('cluster.repair_chunk_max', 'must be below message_bus.peer_queue_capacity, or a repair overruns the queue')
  }
  const wedged = values['cluster.superblock_wedged_fatal_timeout']
  if (wedged !== 0 && wedged < 30_000) {
    fail('cluster.superblock_wedged_fatal_timeout', 'is neither 0 (disabled) nor at least 30s')
  }
  if (values['heartbeat.enabled'] && values['heartbeat.interval'] === 0) {
    fail('heartbeat.interval', 'is 0 while heartbeat.enabled is true')
  }
  if (!values['tcp.enabled']) fail('tcp.enabled', 'is false, but TCP is the only client transport there is')
  if (values['cluster.enabled']) clusterChecks(values, fail)
}

function clusterChecks(values: Values, fail: (key: string, message: string) => void): void {
  if (values['cluster.name'].trim() === '') fail('cluster.name', 'is blank')
  const positive = [
    'cluster.commit_broadcast_interval',
    'cluster.prepare_retransmit_interval',
    'cluster.view_change_retransmit_interval',
    'cluster.view_change_status_timeout',
    'cluster.request_start_view_retransmit_interval',
    'cluster.repair_retry_interval',
  ] as const
  for (const key of positive) if (values[key] === 0) fail(key, 'must be above 0')
  const heartbeat = values['cluster.heartbeat_timeout']
  if (heartbeat < 2000) fail('cluster.heartbeat_timeout', 'is below 2s')
  if (heartbeat < 4 * values['cluster.commit_broadcast_interval']) {
    fail('cluster.heartbeat_timeout', 'is below four times cluster.commit_broadcast_interval')
  }
  if (values['cluster.view_change_status_timeout'] < 4 * values['cluster.view_change_retransmit_interval']) {
    fail('cluster.view_change_status_timeout', 'is below four times cluster.view_change_retransmit_interval')
  }
  const secret = values['cluster.auth.shared_secret']
  const previous = values['cluster.auth.previous_shared_secret']
  if (secret === '' && values['cluster.auth.enabled']) {
    fail('cluster.auth.shared_secret', 'is missing while cluster.auth.enabled is true')
  }
  for (const key of ['cluster.auth.shared_secret', 'cluster.auth.previous_shared_secret'] as const) {
    const bytes = Buffer.byteLength(values[key])
    // Never says the secret itself.
    if (bytes > 0 && bytes < SECRET_BYTES_MIN) fail(key, `has ${bytes} bytes, at least ${SECRET_BYTES_MIN} are needed`)
  }
  if (previous !== '' && previous === secret) {
    fail('cluster.auth.previous_shared_secret', 'equals cluster.auth.shared_secret; leave it out')
  }
}

function replicaId(
  given: string | undefined,
  enabled: boolean,
  roster: readonly RosterEntry[],
  problems: Problems,
): ReplicaId {
  const fail = (message: string): ReplicaId => {
    problems.add('--replica-id', 'command line', message)
    return ReplicaId(0)
  }
  if (given === undefined) return enabled ? fail('is missing; the cluster is enabled') : ReplicaId(0)
  const id = integer(0, 255).parse(given)
  if (id instanceof Problem) return fail(id.message)
  if (!enabled) return id === 0 ? ReplicaId(0) : fail(`is ${id}, but the cluster is off and the only replica is 0`)
  return roster.some(entry => entry.replica === id) ? ReplicaId(id) : fail(`${id} is not in cluster.nodes`)
}

interface RootCredentials {
  readonly username: string
  readonly password: string
  readonly generated: boolean
}

/**
 * Root is not journalled before the first snapshot, so every restart before that makes it anew from here: a cluster needs
 * explicit credentials until a snapshot exists, or its nodes would disagree (metadata-storage.md §8.2).
 */
function rootCredentials(
  input: ConfigInput,
  environment: Readonly<Record<string, string | undefined>>,
  enabled: boolean,
  dataDirectory: string,
  problems: Problems,
): RootCredentials {
  const fallback = input.withDefaultRootCredentials ? DEFAULT_ROOT : undefined
  const username = environment.IGGY_ROOT_USERNAME ?? fallback
  const password = environment.IGGY_ROOT_PASSWORD ?? fallback
  const check = (name: string, value: string | undefined, [min, max]: readonly [number, number]): void => {
    const bytes = Buffer.byteLength(value ?? '')
    if (value !== undefined && (bytes < min || bytes > max)) {
      problems.add(name, 'environment', `has ${bytes} bytes, ${min} to ${max} are allowed`)
    }
  }
  check('IGGY_ROOT_USERNAME', username, USERNAME_BYTES)
  check('IGGY_ROOT_PASSWORD', password, PASSWORD_BYTES)
  if ((username === undefined) !== (password === undefined)) {
    const missing = username === undefined ? 'IGGY_ROOT_USERNAME' : 'IGGY_ROOT_PASSWORD'
    problems.add(missing, 'environment', 'is missing; set both root credentials or neither')
  }
  if (username !== undefined && password !== undefined) return { username, password, generated: false }
  if (enabled && !existsSync(join(dataDirectory, 'metadata', 'snapshot.bin'))) {
    const message = 'is missing; a cluster needs the same explicit root credentials on all nodes'
    problems.add('IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD', 'environment', message)
  }
  return { username: DEFAULT_ROOT, password: randomBytes(18).toString('base64url'), generated: true }
}

function address(key: Key & `${string}.address`, read: ReadConfiguration, problems: Problems): Address {
  const given = read.values[key]
  const match = /^\[([0-9a-fA-F:.]+)\]:(\d{1,5})$/.exec(given) ?? /^([^:[\]\s]+):(\d{1,5})$/.exec(given)
  const port = Number(match?.[2])
  if (match && port <= 65_535) return { host: match[1]!, port }
  problems.add(key, read.sourceOf(key), `${JSON.stringify(given)} is not HOST:PORT`)
  return { host: '127.0.0.1', port: 0 }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

function readToml(
  input: ConfigInput,
  environment: Readonly<Record<string, string | undefined>>,
  problems: Problems,
): { path: string; text: string } | undefined {
  const given = input.configFile ?? environment.IGGY_CONFIG_PATH
  if (given === undefined) return undefined
  const path = resolve(input.workingDirectory, given)
  try {
    return { path: given, text: readFileSync(path, 'utf8') }
  } catch (error) {
    const source = input.configFile === undefined ? 'IGGY_CONFIG_PATH' : '--config'
    problems.add('configuration file', source, `${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
    problems.throwIfAny()
    return undefined
  }
}

/** `IGGY_ENV_PATH`, or `.env` in the working directory when it is there. The real environment wins over it. */
function readEnvironmentFile(input: ConfigInput, problems: Problems): Record<string, string | undefined> {
  const given = input.environment.IGGY_ENV_PATH
  const path = resolve(input.workingDirectory, given ?? '.env')
  try {
    return parseEnv(readFileSync(path, 'utf8')) as Record<string, string>
  } catch (error) {
    if (given !== undefined) {
      problems.add('IGGY_ENV_PATH', 'environment', `${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
    }
    return {}
  }
}

const defined = (environment: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined))
