/**
 * Steps that the scenarios of partitions with a kill have in common: opening a cluster with one partition, writing to it,
 * waiting for disks, killing and starting.
 */
import type {
  Action,
  ClientRequest,
  ClusterSpec,
  FailpointEffect,
  FileEdit,
  Predicate,
  Scenario,
  ScenarioTopicOptions,
} from '../language.ts'

export const PARTITION = 'streams/0/topics/0/partitions/0'
export const GROUP = '0/0/0'
export const EAGER: ScenarioTopicOptions = { enforceFsync: true, messagesRequiredToSave: 1 }
/** What is flushed is synced, and it is flushed four messages at a time. */
export const BY_FOUR: ScenarioTopicOptions = { enforceFsync: true, messagesRequiredToSave: 4 }

export const SOLO: ClusterSpec = { nodes: 1 }
export const THREE: ClusterSpec = { nodes: 3 }
/** Two ops are kept for repair: whoever missed more needs a transfer. */
export const SHORT_RING: ClusterSpec = { nodes: 3, settings: { 'partition.evicted_ring_capacity': 2 } }

export const file = (start: number, kind: 'log' | 'index' | 'anchor'): string =>
  `${PARTITION}/${String(start).padStart(20, '0')}.${kind}`

export const waitFor = (what: string, until: Predicate, withinMs = 60_000): Action => ({
  do: 'waitFor',
  what,
  until,
  withinMs,
})
export const settled = waitFor('all have caught up', { settled: true })

export const create = (options: ScenarioTopicOptions): Action => ({
  do: 'request',
  client: 'c',
  call: { request: 'createTopic', stream: 's', topic: 't', partitions: 1, options },
})
export const opened = (options: ScenarioTopicOptions): readonly Action[] => [
  { do: 'start', nodes: 'all' },
  settled,
  { do: 'request', client: 'c', call: { request: 'createStream', stream: 's' } },
  create(options),
  waitFor('the partition is there', { all: [{ settled: true }, built] }),
]
export const built: Predicate = { agree: { group: GROUP, field: 'view' } }

export const batch = (payloads: readonly string[], as?: string): Action => ({
  do: 'request',
  client: 'c',
  call: { request: 'send', stream: 's', topic: 't', partition: 0, payloads },
  ...(as !== undefined && { as }),
})
export const sends = (life: string, count: number): readonly Action[] =>
  Array.from({ length: count }, (_, number) => batch([`${life}${number}`]))
export const names = (life: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${life}${number}`)

type PollFrom = Extract<ClientRequest, { request: 'poll' }>['from']
export const poll = (as: string, client = 'c', from: PollFrom = 'first'): Action => ({
  do: 'request',
  client,
  call: { request: 'poll', stream: 's', topic: 't', partition: 0, from, count: 1_000 },
  as,
})
export const read = (what: string, payloads: readonly string[]): readonly Action[] => [
  poll(what),
  { do: 'check', what, that: { outcome: what, payloads } },
]
export const at = (as: string, is: 'eq' | 'ge', value: number): Action => ({
  do: 'check',
  what: `${as} is ${is} ${value}`,
  that: { outcome: as, baseOffset: is, value },
})
export const persisted = (value: number): Action =>
  waitFor(`${value} are on every disk`, {
    all: [{ settled: true }, onDisk(0, value), onDisk(1, value), onDisk(2, value)],
  })
export const onDisk = (node: number, value: number, is: 'eq' | 'ge' = 'eq'): Predicate => ({
  group: { node, group: GROUP, field: 'offsets.persisted' },
  is,
  value,
})
export const soloPersisted = (value: number): Action => waitFor(`${value} are on disk`, onDisk(0, value))

export const again = (how: 'kill' | 'terminate'): readonly Action[] => [
  { do: how, nodes: 'all' },
  { do: 'start', nodes: 'all' },
  // A node whose metadata has yet to catch up has not opened the partition, and nothing to say of it.
  waitFor('all have caught up', { all: [{ settled: true }, built] }),
]
export const edit = (node: number, ...edits: FileEdit[]): Action => ({ do: 'edit', node, edits })
export const there = (node: number, path: string, exists = true): Predicate => ({ file: { node, path }, exists })
export const onAll = (of: (node: number) => Predicate): Predicate => ({ all: [0, 1, 2].map(of) })

export const none = (kind: string): Predicate => ({ event: { kind }, atMost: 0 })
export const ACCEPTED = {
  what: 'no boot refused anything',
  that: { all: [none('chain_refused'), none('partition_refused')] },
}
export const EQUAL = { what: 'logs are equal', that: { sameLogs: GROUP } } as const

const u64 = (value: number): string => {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true)
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

/** The record (frontier, reserved) of a partition, in all slots that were written. */
export const record = (
  node: number,
  frontier: number,
  reserved = frontier,
  slots: readonly string[] = ['a', 'b'],
): Action => {
  const hex = u64(frontier) + u64(reserved)
  const edits = slots.flatMap((slot): FileEdit[] => {
    const path = `${PARTITION}/superblock.${slot}`
    return [
      { edit: 'write', path, at: { byte: 28 + 58 }, hex },
      { edit: 'reseal', path, kind: 'superblock' },
    ]
  })
  return edit(node, ...edits)
}

/** A node dies at this point, whenever it comes to it, and is started again. */
export const diesAt = (point: string, node: number, during: readonly Action[]): readonly Action[] => [
  { do: 'arm', node, point, effect: { effect: 'kill' } },
  ...during,
  waitFor(`node ${node} dies at ${point}`, { process: node, state: 'crashed' }),
  { do: 'disarm', node, point },
  { do: 'start', nodes: [node] },
  settled,
]

export const KILL: FailpointEffect = { effect: 'kill' }

export const background = (call: ClientRequest, as?: string): Action => ({
  do: 'request',
  client: 'b',
  call,
  expect: 'any',
  background: true,
  ...(as !== undefined && { as }),
})

export const scenario = (
  id: string,
  title: string,
  cluster: ClusterSpec,
  steps: readonly (Action | readonly Action[])[],
  verdict: Scenario['verdict'] = [],
): Scenario => ({ id, title, cluster, steps: steps.flat() as readonly Action[], verdict: [ACCEPTED, ...verdict] })

/** By a client that the scenario has made. */
export const send = (payload: string, expect: 'ok' | readonly string[] = 'ok'): Action => ({
  do: 'request',
  client: 'p',
  call: { request: 'send', stream: 's', topic: 't', partition: 0, payloads: [payload] },
  expect,
})

/** The same offsets are on all disks, and `node`, a running one, owes its disk none. */
export function persistedAlike(node = 0): Action {
  return waitFor('all have flushed it', {
    all: [
      { settled: true },
      { agree: { group: GROUP, field: 'offsets.persisted' } },
      {
        group: { node, group: GROUP, field: 'offsets.persisted' },
        is: 'eq',
        value: { node, group: GROUP, field: 'offsets.next' },
      },
    ],
  })
}
