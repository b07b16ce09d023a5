/**
 * Every kind of event the inspection stream knows: its class, who emits it, the fields it carries in `data`, its tone and
 * the words a person reads. A kind that is not listed is still shown, by its own name: nodes of a later build may say more.
 *
 * Words are templates. `{name}` is a field of `data`, or `op`, `view`, `logView`, `commit`, `node` of the envelope; a part
 * in square brackets is left out when one of its fields is absent. Fields in the words are `data` first, then envelope.
 */
import type { EventEnvelope } from './envelope.ts'

export type Tone = 'plain' | 'good' | 'change' | 'bad'
export type KindSource = 'consensus' | 'metadata' | 'partition' | 'node' | 'console'

export interface KindSpec {
  readonly source: KindSource
  readonly class: 'fact' | 'flow'
  readonly tone: Tone
  readonly words: string
  /** A fact of everyday traffic: one for each client or forwarded write. A log of what happened lists it apart. */
  readonly routine: boolean
  /** Names in `data`, optional ones with a question mark. */
  readonly fields: readonly string[]
}

type Fields = readonly string[]
const fact = (source: KindSource, tone: Tone, words: string, ...fields: Fields): KindSpec => ({
  source,
  class: 'fact',
  tone,
  words,
  routine: false,
  fields,
})
const routine = (source: KindSource, words: string, ...fields: Fields): KindSpec => ({
  ...fact(source, 'plain', words, ...fields),
  routine: true,
})
const flow = (source: KindSource, words: string, ...fields: Fields): KindSpec => ({
  ...fact(source, 'plain', words, ...fields),
  class: 'flow',
})

export const EVENT_KINDS = {
  // Consensus, both planes (spec consensus.md §9). A view in `data` is the one the event is about.
  view_change_started: fact(
    'consensus',
    'change',
    'View change {oldView} to {newView}[: {reason}]',
    'oldView',
    'newView',
    'reason',
  ),
  start_view_change_sent: routine('consensus', 'StartViewChange {view} sent to node-{peer}', 'peer'),
  do_view_change_sent: routine('consensus', 'DoViewChange {view} sent to node-{peer}', 'peer'),
  start_view_sent: routine('consensus', 'StartView {view} sent to node-{peer}', 'peer'),
  start_view_change_received: fact(
    'consensus',
    'change',
    'StartViewChange {view} counted from node-{peer}',
    'view',
    'peer',
  ),
  do_view_change_received: fact(
    'consensus',
    'change',
    'DoViewChange {view} counted from node-{peer}, log_view {logView}',
    'view',
    'logView',
    'commit',
    'peer',
  ),
  view_started: fact('consensus', 'good', 'Leads view {view}[ from op {op}]', 'view', 'commit'),
  view_adopted: fact(
    'consensus',
    'good',
    'Follows node-{peer} in view {view}[, head op {op}]',
    'oldView',
    'view',
    'commit',
    'peer',
    'unproven?',
  ),
  merge_parked: fact(
    'consensus',
    'change',
    'Logs merged, waits for repair before it may lead[ (op {op})]',
    'votes',
    'commit',
  ),
  merge_undecided: fact('consensus', 'change', 'Logs do not decide op {op} yet, waits for another vote', 'reason?'),
  probe_started: fact('consensus', 'change', 'Recovering: asks the others for the current view', 'view', 'observed?'),
  probe_sent: routine('consensus', 'Asked the others for the current view[, attempt {attempt}]', 'view', 'attempt'),
  heartbeat_missed: fact('consensus', 'change', 'No heartbeat from node-{peer} in view {view}', 'view', 'peer'),
  superblock_due: fact(
    'consensus',
    'plain',
    'Must write view {view} to its superblock before it may send',
    'view',
    'logView',
  ),
  superblock_durable: fact('consensus', 'plain', 'Superblock holds view {view}, log_view {logView}', 'view', 'logView'),
  repair_started: fact('consensus', 'change', 'Repair from node-{peer} started[, to op {to}]', 'peer', 'to'),
  repair_finished: fact('consensus', 'good', 'Repair from node-{peer} finished[ at op {op}]', 'peer'),
  transfer_needed: fact(
    'consensus',
    'change',
    'Repair cannot help: needs a state transfer[ from node-{peer}]',
    'peer?',
  ),
  log_left: fact(
    'consensus',
    'bad',
    'The log of node-{peer} is another one than ops 1 to {applied} here: opens the partition anew from its disk',
    'peer',
    'applied',
  ),
  jump_announced: fact(
    'consensus',
    'change',
    'Journals are gone: first batch of the view at offset {base}[, {first} to {last} may be lost]',
    'held',
    'base',
    'first?',
    'last?',
  ),
  truncated: fact('consensus', 'change', 'Dropped uncommitted ops from {op} on'),
  append_failed: fact('metadata', 'bad', 'Op could not be appended: {message}', 'code', 'message'),
  frame_ignored: flow('consensus', 'Ignored a frame[ from node-{peer}][: {reason}]', 'peer?', 'reason'),
  frame_dropped: flow('consensus', 'A frame to node-{peer} was dropped: not connected, or its queue is full', 'peer'),
  frame_sent: flow('consensus', '{command}[ of op {op}] sent to node-{peer}', 'command', 'peer'),
  frame_received: flow('consensus', '{command}[ of op {op}] taken from node-{peer}', 'command', 'peer'),
  heartbeat_sent: flow('consensus', 'Heartbeat sent to node-{peer}', 'command', 'peer'),
  heartbeat_received: flow('consensus', 'Heartbeat of node-{peer} without news', 'command', 'peer'),
  request_received: flow('consensus', 'Request received', 'client', 'request', 'operation'),
  prepare_queued: flow('consensus', 'Prepare {op} queued', 'client', 'operation', 'pipeline'),
  prepare_acked: flow(
    'consensus',
    'Prepare {op} acknowledged[ by node-{peer}], {acks} of {quorum}',
    'peer',
    'acks',
    'quorum',
    'reached',
  ),
  prepare_retransmitted: flow('consensus', 'Prepare {op} sent again'),
  op_committed: flow('consensus', 'Op {op} committed', 'operation', 'pipeline'),
  commit_advanced: flow('consensus', 'Applied up to op {op}'),

  // Metadata.
  metadata_applied: fact('metadata', 'plain', '{operation} applied', 'operation', 'client'),
  session_changed: routine('metadata', '{operation} of client {client}', 'operation', 'client'),
  superblock_failed: fact('metadata', 'bad', 'Superblock could not be written: {error}', 'error', 'failures'),
  checkpoint_started: fact(
    'metadata',
    'change',
    'Checkpoint of op {op} started, {free} log slots free',
    'bytes',
    'free',
  ),
  checkpoint_snapshot_durable: fact('metadata', 'plain', 'Snapshot of op {op} is durable', 'checksum'),
  checkpoint_paired: fact('metadata', 'plain', 'Superblock names the snapshot of op {op}'),
  checkpoint_finished: fact(
    'metadata',
    'good',
    'Checkpoint of op {op} finished, {drainedBytes} bytes of the log drained',
    'drainedBytes',
    'walBytes',
  ),
  checkpoint_failed: fact(
    'metadata',
    'bad',
    'Checkpoint of op {op} failed ({phase}): {message}',
    'phase',
    'code',
    'message',
  ),
  transfer_requested: fact('metadata', 'change', 'Asked node-{peer} for its state', 'peer'),
  transfer_offered: fact(
    'metadata',
    'change',
    'node-{peer} offers its state of op {commitOp}, {bytes} bytes',
    'peer',
    'commitOp',
    'artifacts',
    'bytes',
  ),
  transfer_artifact: fact('metadata', 'plain', 'Artifact {artifact} fetched, {bytes} bytes', 'artifact', 'bytes'),
  transfer_chunk: flow(
    'metadata',
    '{received} of {bytes} bytes of artifact {artifact}',
    'artifact',
    'received',
    'bytes',
  ),
  transfer_refetched: fact(
    'metadata',
    'bad',
    'Artifact {artifact} was damaged: fetched again',
    'artifact',
    'code',
    'message',
  ),
  transfer_installing: fact('metadata', 'change', 'Installs the snapshot of op {op}', 'peer'),
  transfer_installed: fact('metadata', 'good', 'Snapshot of op {op} installed', 'checkpointOp', 'commitMax', 'peer'),
  transfer_abandoned: fact('metadata', 'bad', 'Transfer from node-{peer} abandoned: {reason}', 'peer', 'reason'),
  transfer_served: fact(
    'metadata',
    'plain',
    'Offers its state of op {commitOp} to node-{peer}',
    'peer',
    'commitOp',
    'bytes',
  ),
  transfer_refused: fact('metadata', 'plain', 'Cannot offer its state to node-{peer}: {reason}', 'peer', 'reason'),
  metadata_log_full: fact('metadata', 'bad', 'The metadata log is full'),

  // Partition files (spec partition.md §3, §4).
  partition_refused: fact('partition', 'bad', 'Partition refused[: {message}]', 'code?', 'message?', 'path?'),
  partition_materialised: fact(
    'partition',
    'plain',
    'Partition {stream}/{topic}/{partition} opened',
    'stream',
    'topic',
    'partition',
    'createdRevision',
  ),
  segment_rolled: fact(
    'partition',
    'plain',
    'Segment {sealed} sealed, a new one starts at offset {segment}',
    'sealed',
    'sealedBytes',
    'segment',
  ),
  persisted: flow('partition', 'On disk up to offset {end}', 'segment', 'end', 'bytes', 'batches', 'messages'),
  // What a boot found in the files of a partition; `path` is relative to the data directory.
  index_floored: fact(
    'partition',
    'change',
    'Index floored: {dropped} of {entries} entries dropped',
    'path',
    'entries',
    'dropped',
    'bytes?',
    'logBytes?',
  ),
  index_truncated: fact('partition', 'change', 'Index cut[ to {bytes} bytes][: {path}]', 'bytes?', 'before?', 'path?'),
  index_dropped: fact('partition', 'change', 'Index dropped[: {path}]', 'path?'),
  index_rebuilt: fact('partition', 'change', 'Index rebuilt from the log[: {path}]', 'path?'),
  log_truncated: fact(
    'partition',
    'bad',
    'Log cut at byte {position}: {bytes} bytes of a torn batch',
    'position',
    'bytes',
    'first?',
    'path?',
  ),
  memory_tail_lost: fact(
    'partition',
    'bad',
    'What was only in memory is gone[: offsets {first} to {last}]',
    'first?',
    'last?',
  ),
  missing_range: fact('partition', 'bad', 'Offsets missing[: {first} to {last}]', 'first?', 'last?'),
  gap_planted: fact(
    'partition',
    'change',
    'Offsets {first} to {last} are skipped, a segment starts at {segment}',
    'first',
    'last',
    'segment',
  ),
  gap_admitted: fact(
    'partition',
    'plain',
    'A known gap between segments[: offsets {first} to {last}]',
    'first?',
    'last?',
  ),
  tail_set_aside: fact('partition', 'bad', 'Tail set aside: offsets {first} to {last}', 'first', 'last', 'to'),
  append_refused: fact(
    'partition',
    'bad',
    'Op[ {op}] was not taken into the log: {message}',
    'code',
    'message',
    'role',
  ),
  unreconcilable: fact('partition', 'bad', 'Its log cannot be brought together with the others: {message}', 'message'),
  // What no longer is there, because somebody or a rule wanted it so (spec partition.md §4).
  partition_purged: fact(
    'partition',
    'change',
    'Purged: every message and stored offset is gone, purge {generation} applied',
    'generation',
  ),
  segment_removed: fact(
    'partition',
    'change',
    'Segment {segment} removed: offsets up to {last} are gone, {bytes} bytes',
    'segment',
    'last',
    'bytes',
  ),
  segment_kept: fact(
    'partition',
    'bad',
    'Files of segment {segment} could not be removed: {message}',
    'segment',
    'message',
  ),
  retention_removed: fact(
    'partition',
    'change',
    'Retention took all segments up to offset {upTo}, {segments} of them',
    'segments',
    'upTo',
  ),
  retention_held: fact(
    'partition',
    'plain',
    'Segments up to offset {upTo} may go, but {consumer} has not read them yet',
    'consumer',
    'upTo',
  ),
  retention_failed: fact('partition', 'bad', 'Segments could not be removed: {message}', 'message'),
  partition_removed: fact(
    'partition',
    'change',
    'Partition {stream}/{topic}/{partition} deleted with its files',
    'stream',
    'topic',
    'partition',
  ),
  partition_fenced: fact('partition', 'change', 'Files of an earlier partition set aside: {to}', 'path', 'to'),
  partition_build_deferred: fact(
    'partition',
    'bad',
    'Partition cannot be opened or removed yet, attempt {attempts}: {message}',
    'message',
    'attempts',
  ),
  poll_failed: fact('partition', 'bad', 'A poll failed: {error}', 'error'),
  segment_fenced: fact('partition', 'bad', 'Segment set aside[: {path}]', 'path?'),
  orphan_set_aside: fact('partition', 'change', 'A file without its pair was set aside[: {path}]', 'path?'),
  stale_segment_removed: fact('partition', 'change', 'Stale segment from offset {start} removed', 'start', 'frontier'),
  incarnation_set_aside: fact('partition', 'change', 'Files of an earlier partition of this name were set aside', 'to'),
  chain_refused: fact('partition', 'bad', 'Segment chain refused[: {message}]', 'message?', 'path?'),
  chain_quarantined: fact('partition', 'bad', 'Segment chain set aside: {message}', 'to', 'frontier', 'message'),
  quarantine_failed: fact('partition', 'bad', 'Segment chain could not be set aside: {message}', 'message'),
  reanchored: fact('partition', 'change', 'Continues[ from offset {last}] behind a gap', 'first?', 'last?'),
  reservation_extended: fact(
    'partition',
    'plain',
    'Offsets below {reserved} reserved; held up to {held}',
    'frontier',
    'reserved',
    'held',
  ),
  reservation_kept: fact('partition', 'change', 'Reservation kept at the stop: {reason}', 'reason'),
  reservation_failed: fact('partition', 'bad', 'Offsets could not be reserved: {error}', 'error'),
  preallocate_failed: fact('partition', 'change', 'Space could not be reserved[: {path}]', 'path?', 'bytes?'),
  offset_clamped: fact('partition', 'change', 'Consumer offset clamped[: {path}]', 'path?'),
  offset_torn: fact('partition', 'change', 'Torn consumer offset ignored[: {path}]', 'path?'),
  offset_corrupt: fact('partition', 'bad', 'Corrupt consumer offset ignored[: {path}]', 'path?'),
  offset_dropped: fact('partition', 'change', 'Consumer offset dropped[: {path}]', 'path?'),
  offset_ignored: fact('partition', 'change', 'Consumer offset op ignored[: {message}]', 'message?'),
  odd_name: fact('partition', 'plain', 'Unknown file left alone[: {path}]', 'path?'),
  read_fault: fact('partition', 'bad', 'Read failed: {message}', 'code', 'message'),
  close_failed: fact('partition', 'bad', 'A file could not be closed: {message}', 'message'),
  sweep_failed: fact('partition', 'change', 'A leftover file could not be removed: {message}', 'message'),
  polled: flow('partition', '{messages} messages polled', 'messages'),

  // Forwarded writes (spec consensus.md §8.3): a chain by nonce.
  forward_received: routine('node', 'Write for group {group} goes to node-{to}', 'nonce', 'group', 'to', 'operation'),
  forward_parked: routine('node', 'Write parked, {waiting} wait for their result', 'nonce', 'waiting'),
  forward_sent: routine('node', 'Write forwarded to node-{to}', 'nonce', 'to'),
  forward_unsent: routine('node', 'Write could not be forwarded to node-{to}: {reason}', 'nonce', 'to', 'reason'),
  forward_taken: routine('node', 'Forwarded write taken from node-{from}', 'nonce', 'from', 'group', 'operation'),
  forward_accepted: routine('node', 'Forwarded write answered', 'nonce', 'outcome', 'status'),
  forward_answered: routine(
    'node',
    'Client answered for a forwarded write, status {status}',
    'nonce',
    'outcome',
    'status',
  ),
  forward_refused: fact(
    'node',
    'change',
    'Forwarded write refused, status {status}[: {reason}]',
    'nonce',
    'outcome',
    'status',
    'reason',
  ),
  forward_lost: fact('node', 'bad', 'Forwarded write lost: {reason}', 'nonce', 'reason', 'status'),

  // The node.
  node_started: fact(
    'node',
    'good',
    'Started, pid {pid}, booted in {bootMs} ms',
    'replica',
    'pid',
    'client',
    'inspection',
    'bootMs',
  ),
  booted: fact('node', 'good', 'Booted with {partitions} partitions[, {refused} refused]', 'partitions', 'refused'),
  boot_refused: fact('node', 'bad', 'Boot refused[: {message}]', 'code?', 'message?', 'path?'),
  recovery_step: fact('node', 'plain', 'Boot: {step} {path}: {verdict}', 'step', 'path', 'verdict'),
  peer_connected: fact('node', 'good', 'Link to node-{peer} is up', 'peer'),
  peer_disconnected: fact('node', 'change', 'Link to node-{peer} is down', 'peer'),
  client_connected: routine('node', 'Client {connection} connected from {address}', 'connection', 'address'),
  client_registered: routine('node', 'Client {client} registered: {result}', 'client', 'result', 'user'),
  client_disconnected: routine('node', 'Client {connection} disconnected', 'connection'),
  client_closed: routine('node', 'Client {connection} closed: {reason}', 'connection', 'reason'),
  request_refused: fact('node', 'change', 'Request of client {client} refused: {reason}', 'client', 'reason'),
  frame_refused: fact('node', 'bad', 'A frame of node-{from} was refused: {message}', 'from', 'code', 'message'),
  client_evicted: fact('node', 'change', 'Client evicted[: {reason}]', 'connection?', 'reason?'),
  loop_stalled: fact('node', 'change', 'Did not run for {lateMs} ms', 'lateMs', 'skippedTicks'),
  stopping: fact('node', 'change', 'Stops cleanly'),
  stopped: fact('node', 'plain', 'Stopped cleanly'),

  // The console itself; `node` is what the event is about.
  process_started: fact('console', 'good', 'node-{node} started, pid {pid}', 'node', 'pid'),
  process_adopted: fact('console', 'plain', 'node-{node} was running already, pid {pid}: adopted', 'node', 'pid'),
  process_exited: fact(
    'console',
    'bad',
    'node-{node} is down[: {meaning}]',
    'node',
    'state',
    'atWallMs',
    'status?',
    'signal?',
    'requested?',
    'meaning?',
    'was?',
  ),
  process_paused: fact('console', 'change', 'node-{node} paused', 'node'),
  process_resumed: fact('console', 'good', 'node-{node} resumed', 'node'),
  data_wiped: fact('console', 'bad', 'Data directory of node-{node} wiped', 'node'),
  node_heard: fact('console', 'good', 'node-{node} answers', 'node'),
  node_silent: fact('console', 'bad', 'node-{node} does not answer', 'node', 'error?'),
  link_cut: fact(
    'console',
    'change',
    'Link from node-{from} to node-{to} cut[, only {commands}][, the next {count} frames]',
    'from',
    'to',
    'commands?',
    'count?',
  ),
  link_healed: fact(
    'console',
    'good',
    'Link from node-{from} to node-{to} healed[: {commands}]',
    'from',
    'to',
    'commands?',
  ),
  link_delayed: fact(
    'console',
    'change',
    'Link from node-{from} to node-{to} delayed by {ms} ms and up to {jitterMs} ms more',
    'from',
    'to',
    'ms',
    'jitterMs',
  ),
  link_holding: fact(
    'console',
    'change',
    'Holds frames from node-{from} to node-{to}[: {commands}][, the next {count}]',
    'from',
    'to',
    'name',
    'commands?',
    'count?',
  ),
  link_doubling: fact(
    'console',
    'change',
    'Doubles frames from node-{from} to node-{to}[: {commands}][, the next {count}]',
    'from',
    'to',
    'commands?',
    'count?',
  ),
  link_frame_dropped: flow(
    'console',
    '{command} from node-{from} to node-{to} lost on the link[, {omitted} more before it]',
    'from',
    'to',
    'command',
    'bytes',
    'reason',
    'omitted?',
  ),
  link_frame_held: fact(
    'console',
    'change',
    '{command} from node-{from} to node-{to} held',
    'from',
    'to',
    'command',
    'bytes',
    'hold',
  ),
  link_frame_released: fact(
    'console',
    'good',
    '{command} from node-{from} to node-{to} let go',
    'from',
    'to',
    'command',
    'bytes',
    'hold',
  ),
  link_frame_doubled: flow(
    'console',
    '{command} from node-{from} to node-{to} sent twice[, {omitted} more before it]',
    'from',
    'to',
    'command',
    'bytes',
    'omitted?',
  ),
  load_started: fact(
    'console',
    'plain',
    'Load started: {ratePerSecond} messages a second to {stream}/{topic}',
    'stream',
    'topic',
    'ratePerSecond',
    'batchMessages',
    'messageBytes',
  ),
  load_stopped: fact('console', 'plain', 'Load stopped after {sent} messages, {acked} acknowledged', 'sent', 'acked'),
  load_verified: fact('console', 'plain', 'Load read back: {words}', 'words', 'kind'),
  load_stalled: fact('console', 'change', 'Load is stalled: no acknowledgement for {sinceMs} ms', 'sinceMs'),
  load_recovered: fact('console', 'good', 'Load is acknowledged again after {outageMs} ms', 'outageMs'),
  load_failed: fact('console', 'bad', 'Load failed: {message}', 'code', 'message'),
} as const satisfies Record<string, KindSpec>
export type KnownKind = keyof typeof EVENT_KINDS

export const kindSpec = (kind: string): KindSpec | undefined =>
  Object.hasOwn(EVENT_KINDS, kind) ? EVENT_KINDS[kind as KnownKind] : undefined

/** What a person reads. Never empty: an unknown kind reads as its own name with its fields. */
export function wordsOf(
  event: Pick<EventEnvelope, 'kind' | 'data' | 'node' | 'op' | 'view' | 'logView' | 'commit'>,
): string {
  const spec = kindSpec(event.kind)
  if (!spec) {
    const fields = Object.entries(event.data).slice(0, FIELDS_SHOWN_MAX)
    const shown = fields.map(([name, value]) => `${name} ${value}`).join(', ')
    return event.kind.replaceAll('_', ' ') + (shown ? `: ${shown}` : '')
  }
  const field = (name: string): string | undefined => {
    const own = event.data[name]
    if (own !== undefined && own !== null) return String(own)
    const common = { op: event.op, view: event.view, logView: event.logView, commit: event.commit, node: event.node }[
      name
    ]
    return common === undefined ? undefined : String(common)
  }
  return spec.words
    .replace(/\[([^\]]*)\]/g, (_, part: string) => {
      const names = [...part.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
      return names.every(name => field(name) !== undefined) ? part : ''
    })
    .replace(/\{(\w+)\}/g, (_, name: string) => field(name) ?? '?')
}

/** Of an unknown kind; enough to recognise it, not enough to flood a line. */
const FIELDS_SHOWN_MAX = 6
