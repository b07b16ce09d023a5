/**
 * The keys of a node's configuration (spec metadata-storage.md §8.3), the same as those of Apache Iggy's server for what
 * is implemented here, and what becomes of every other key that server knows:
 *
 *   settings     read, with a default and a check
 *   unsupported  the thing it switches on is not here: any other value than the one given refuses the start
 *   unused       accepted without effect: it tunes something that this process does not have
 *   relocated    became an option of a topic: refuses the start, as it does there
 *
 * Any other key refuses the start inside [cluster] and [inspection], where a slip of the pen costs a cluster, and is
 * warned about elsewhere.
 */
import { boolean, duration, integer, type Kind, oneOf, size, text } from './values.ts'

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

interface Setting<T> {
  readonly kind: Kind<T>
  readonly fallback: T
}
const setting = <T>(kind: Kind<T>, fallback: NoInfer<T>): Setting<T> => ({ kind, fallback })

const SECOND = 1000
const MINUTE = 60 * SECOND

/** The widest view-change message has one bit per prepare in a u128, the first one is taken: 127 (consensus.md §1.1). */
export const PREPARE_DEPTH_MAX = 127
/** Size of the largest legal segment (partition.md §3.1). */
export const SEGMENT_BYTES_MAX = GIB

export const settings = {
  'system.path': setting(text, 'local_data'),
  'system.partition.validate_checksum': setting(boolean, true),
  'system.logging.level': setting(oneOf('trace', 'debug', 'info', 'warn', 'error', 'off'), 'info'),

  'tcp.enabled': setting(boolean, true),
  'tcp.address': setting(text, '127.0.0.1:8090'),
  /**
   * The roster of a solo node names the ports of these, also of a transport that is off: a gateway may serve it, and clients
   * compare the roster with what the peer's defaults say (wire.md §8.1). Blank: port 0, which says that there is none.
   */
  'quic.address': setting(text, '127.0.0.1:8080'),
  'http.address': setting(text, '127.0.0.1:3000'),
  'websocket.address': setting(text, '127.0.0.1:8092'),

  'http.enabled': setting(boolean, false),
  'http.max_request_size': setting(size(1, 64 * MIB), 2_000_000),
  'http.jwt.algorithm': setting(oneOf('HS256'), 'HS256'),
  'http.jwt.encoding_secret': setting(text, ''),
  'http.jwt.decoding_secret': setting(text, ''),
  'http.jwt.access_token_expiry': setting(duration(SECOND), 60 * MINUTE),
  'http.tls.enabled': setting(boolean, false),
  'http.tls.cert_file': setting(text, ''),
  'http.tls.key_file': setting(text, ''),

  'metadata.prepare_queue_depth': setting(integer(1, PREPARE_DEPTH_MAX), 32),
  'metadata.journal_slots': setting(integer(1, 1 << 20), 1024),
  'metadata.clients_table_max': setting(integer(2, 65_536), 8192),

  'partition.prepare_queue_depth': setting(integer(1, PREPARE_DEPTH_MAX), 32),
  'partition.offset_reservation_lease': setting(integer(1, 16_777_216), 65_536),
  'partition.evicted_ring_capacity': setting(integer(1, 65_536), 4096),
  'partition.evicted_ring_bytes_max': setting(size(1, 256 * MIB), 16 * MIB),
  'partition.transfer_served_cache_bytes_max': setting(size(1, 64 * GIB), 2176 * MIB),
  'partition.transfer_artifact_bytes_max': setting(size(1, 64 * GIB), 1088 * MIB),

  'cluster.enabled': setting(boolean, false),
  'cluster.name': setting(text, 'iggy-cluster'),
  'cluster.heartbeat_timeout': setting(duration(0), 5 * SECOND),
  'cluster.commit_broadcast_interval': setting(duration(0), 500),
  'cluster.prepare_retransmit_interval': setting(duration(0), 250),
  'cluster.view_change_retransmit_interval': setting(duration(0), 500),
  'cluster.view_change_status_timeout': setting(duration(0), 5 * SECOND),
  'cluster.request_start_view_retransmit_interval': setting(duration(0), SECOND),
  'cluster.view_probe_attempts_max': setting(integer(1, 100), 5),
  'cluster.repair_retry_interval': setting(duration(0), SECOND),
  'cluster.repair_chunk_max': setting(integer(1, 1024), 128),
  'cluster.superblock_wedged_fatal_timeout': setting(duration(0), 2 * MINUTE),
  'cluster.auth.enabled': setting(boolean, false),
  'cluster.auth.shared_secret': setting(text, ''),
  'cluster.auth.previous_shared_secret': setting(text, ''),

  'message_bus.max_message_size': setting(size(0, 64 * MIB), 64 * MIB),
  'message_bus.peer_queue_capacity': setting(integer(1, 65_536), 256),
  'message_bus.reconnect_period': setting(duration(1), 5 * SECOND),
  'message_bus.close_peer_timeout': setting(duration(1), 2 * SECOND),
  'message_bus.handshake_grace': setting(duration(1), 10 * SECOND),

  'consumer_group.rebalancing_timeout': setting(duration(1), 30 * SECOND),
  'heartbeat.enabled': setting(boolean, true),
  'heartbeat.interval': setting(duration(0), 30 * SECOND),
  'personal_access_token.max_tokens_per_user': setting(integer(1, 0xffff_ffff), 100),
  'personal_access_token.cleaner.enabled': setting(boolean, true),
  'personal_access_token.cleaner.interval': setting(duration(1), MINUTE),
  'data_maintenance.messages.cleaner_enabled': setting(boolean, true),
  'data_maintenance.messages.interval': setting(duration(1), MINUTE),

  /** This project's own: where the console reads this node. Loopback only; port 0 lets the system choose. */
  'inspection.address': setting(text, '127.0.0.1:0'),
} as const

export type Key = keyof typeof settings
export type Values = { readonly [K in Key]: (typeof settings)[K] extends Setting<infer T> ? T : never }

export interface Unsupported {
  readonly key: string
  readonly kind: Kind<boolean> | Kind<string>
  /** The one value that is accepted. */
  readonly only: boolean | string
  readonly why: string
}

const off = (key: string, why: string): Unsupported => ({ key, kind: boolean, only: false, why })
const fixed = (key: string, only: string, why: string): Unsupported => ({ key, kind: text, only, why })
const LAYOUT = 'the layout of the data directory is fixed'

export const unsupported: readonly Unsupported[] = [
  off('quic.enabled', 'there is no QUIC transport; clients connect by TCP'),
  off('websocket.enabled', 'there is no WebSocket transport; clients connect by TCP'),
  off('tcp.tls.enabled', 'there is no TLS; put a TLS proxy before the port'),
  off('cluster.tls.enabled', 'there is no TLS between replicas; authenticate them with cluster.auth'),
  off('http.web_ui', 'there is no embedded web UI; start the console'),
  off('telemetry.enabled', 'there is no OpenTelemetry export; read the inspection port'),
  off('system.encryption.enabled', 'payload encryption at rest is not implemented'),
  off('system.segment.archive_expired', 'expired segments are deleted, not archived'),
  off('system.recovery.recreate_missing_state', 'missing state is refused at boot, never made up'),
  fixed('system.stream.path', 'streams', LAYOUT),
  fixed('system.topic.path', 'topics', LAYOUT),
  fixed('system.partition.path', 'partitions', LAYOUT),
  fixed('system.runtime.path', 'runtime', LAYOUT),
]

/** Whole tables or single keys that are accepted and change nothing here. */
export const unused: readonly string[] = [
  'http',
  'quic',
  'websocket',
  'telemetry',
  'tcp.tls',
  'tcp.socket',
  'system.logging',
  'system.memory_pool',
  'system.sharding',
  'system.encryption.key',
  'cluster.tls',
  'cluster.coordinator',
  'message_bus.max_batch',
  'message_bus.close_grace',
]

export const relocated: readonly { readonly key: string; readonly option?: string }[] = [
  { key: 'system.topic.max_size', option: 'max_topic_size' },
  { key: 'system.topic.message_expiry', option: 'message_expiry' },
  { key: 'system.partition.enforce_fsync', option: 'enforce_fsync' },
  { key: 'system.partition.messages_required_to_save', option: 'messages_required_to_save' },
  { key: 'system.partition.size_of_messages_required_to_save', option: 'size_of_messages_required_to_save' },
  { key: 'system.segment.size', option: 'segment_size' },
  { key: 'system.segment.preallocate', option: 'preallocate_segments' },
  { key: 'system.message_deduplication' },
  { key: 'extra' },
]

/** Environment names with the prefix that are not configuration (§8.1). */
export const notConfiguration: ReadonlySet<string> = new Set([
  'IGGY_CONFIG_PATH',
  'IGGY_ENV_PATH',
  'IGGY_ROOT_USERNAME',
  'IGGY_ROOT_PASSWORD',
  'IGGY_SHARD_RUNTIME_CAPACITY',
])

export const environmentName = (key: string): string => `IGGY_${key.toUpperCase().replaceAll('.', '_')}`
