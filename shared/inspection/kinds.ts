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
  /** Names in `data`, optional ones with a question mark. */
  readonly fields: readonly string[]
}

const fact = (source: KindSource, tone: Tone, words: string, ...fields: string[]): KindSpec => ({
  source,
  class: 'fact',
  tone,
  words,
  fields,
})
const flow = (source: KindSource, words: string, ...fields: string[]): KindSpec => ({
  source,
  class: 'flow',
  tone: 'plain',
  words,
  fields,
})

export const EVENT_KINDS = {
  // Consensus, both planes (spec consensus.md §9).
  view_change_started: fact(
    'consensus',
    'change',
    'View change to view {view} started[: {reason}]',
    'reason?',
    'oldView?',
    'newView?',
  ),
  start_view_change_received: fact(
    'consensus',
    'change',
    'StartViewChange for view {view} counted from node-{peer}',
    'peer',
  ),
  do_view_change_received: fact('consensus', 'change', 'DoViewChange for view {view} counted from node-{peer}', 'peer'),
  view_started: fact('consensus', 'good', 'Leads view {view}[ from op {op}]'),
  view_adopted: fact('consensus', 'good', 'Follows in view {view}[, head op {op}]'),
  merge_parked: fact('consensus', 'change', 'Logs merged, waits for repair before it may lead[ (op {op})]'),
  merge_undecided: fact('consensus', 'change', 'Logs do not decide op {op} yet, waits for another vote'),
  probe_started: fact('consensus', 'change', 'Recovering: asks the others for the current view'),
  probe_sent: fact('consensus', 'plain', 'Asked node-{peer} for the current view', 'peer?', 'attempt?'),
  heartbeat_missed: fact('consensus', 'change', 'No heartbeat from the primary of view {view}'),
  superblock_due: fact('consensus', 'plain', 'Must write view {view} to its superblock before it may send'),
  superblock_durable: fact('consensus', 'plain', 'Superblock holds view {view}, log_view {logView}'),
  repair_started: fact('consensus', 'change', 'Repair from node-{peer} started[, to op {op}]', 'peer'),
  repair_finished: fact('consensus', 'good', 'Repair finished[ at op {op}]'),
  transfer_needed: fact(
    'consensus',
    'change',
    'Repair cannot help: needs a state transfer[ from node-{peer}]',
    'peer?',
  ),
  truncated: fact('consensus', 'change', 'Dropped uncommitted ops from {op} on'),
  frame_ignored: flow('consensus', 'Ignored a frame[ from node-{peer}][: {reason}]', 'peer?', 'reason?'),
  request_received: flow('consensus', 'Request received'),
  prepare_queued: flow('consensus', 'Prepare {op} queued'),
  prepare_acked: flow('consensus', 'Prepare {op} acknowledged[ by node-{peer}]', 'peer?'),
  prepare_retransmitted: flow('consensus', 'Prepare {op} sent again'),
  op_committed: flow('consensus', 'Op {op} committed'),
  commit_advanced: flow('consensus', 'Commit reached {commit}'),

  // Partition files (spec partition.md §3, §4).
  segment_rolled: fact('partition', 'plain', 'New segment[ from offset {startOffset}]', 'startOffset?'),
  persisted: flow('partition', 'Persisted[ up to offset {lastOffset}]', 'lastOffset?', 'bytes?', 'batches?'),
  index_floored: fact('partition', 'change', 'Index floored[ to {kept} entries]', 'kept?', 'path?'),

  // The console itself; `node` is what the event is about.
  process_started: fact('console', 'good', 'node-{node} started, pid {pid}', 'node', 'pid'),
  process_adopted: fact('console', 'plain', 'node-{node} was running already, pid {pid}: adopted', 'node', 'pid'),
  process_exited: fact(
    'console',
    'bad',
    'node-{node} is down[: {meaning}]',
    'node',
    'status?',
    'signal?',
    'requested?',
    'meaning?',
  ),
  process_paused: fact('console', 'change', 'node-{node} paused', 'node'),
  process_resumed: fact('console', 'good', 'node-{node} resumed', 'node'),
  data_wiped: fact('console', 'bad', 'Data directory of node-{node} wiped', 'node'),
  node_heard: fact('console', 'good', 'node-{node} answers', 'node', 'boot?'),
  node_silent: fact('console', 'bad', 'node-{node} does not answer', 'node', 'error?'),
  load_started: fact(
    'console',
    'plain',
    'Load started: {ratePerSecond} messages a second to {stream}/{topic}',
    'stream',
    'topic',
    'ratePerSecond',
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
