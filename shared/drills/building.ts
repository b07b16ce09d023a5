/** Steps that most drills begin and end with. */
import type { Action, NodeRef, Predicate, Scenario, ScenarioTopicOptions } from '../scenario/language.ts'

/** Acknowledged only when it is on disk, each batch at once. */
export const EAGER: ScenarioTopicOptions = { enforceFsync: true, messagesRequiredToSave: 1 }
/** The partition that every drill works on. */
export const PARTITION = '0/0/0'
export const PARTITION_DIRECTORY = 'streams/0/topics/0/partitions/0'

const BOOT_MS = 30_000
const REST_MS = 60_000

/** All nodes run, and stream `s` is there; nothing but the metadata plane speaks. */
export function startedWithoutTopic(): Action[] {
  return [...started().slice(0, 3), atRest('the stream is there')]
}

/** All nodes run, and topic `t` of stream `s` has one partition on each. */
export function started(options?: ScenarioTopicOptions): Action[] {
  return [
    { do: 'start', nodes: 'all' },
    { do: 'waitFor', what: 'all nodes serve', until: { settled: true }, withinMs: BOOT_MS },
    { do: 'request', client: 'c', call: { request: 'createStream', stream: 's' } },
    {
      do: 'request',
      client: 'c',
      call: { request: 'createTopic', stream: 's', topic: 't', partitions: 1, ...(options && { options }) },
    },
    partitionIsThere,
  ]
}

/** Every running node has applied what is committed, and all say the same. */
export const atRest = (what: string): Action => ({ do: 'waitFor', what, until: { settled: true }, withinMs: REST_MS })

/** A backup shows a message of an eager topic once its own disk has it, and that may be a while behind the acknowledgement. */
export const onEveryDisk: Action = {
  do: 'waitFor',
  what: 'every node has it on disk',
  until: { all: [{ settled: true }, { agree: { group: PARTITION, field: 'offsets.persisted' } }] },
  withinMs: REST_MS,
}

/** On every node: a topic is committed before its groups are made. */
export const partitionIsThere: Action = {
  do: 'waitFor',
  what: 'the partition is there',
  until: { all: [{ agree: { group: PARTITION, field: 'view' } }, { settled: true }] },
  withinMs: REST_MS,
}

/** One batch of these payloads; `as` names the answer. */
export const send = (payloads: readonly string[], as?: string): Action => ({
  do: 'request',
  client: 'c',
  call: { request: 'send', stream: 's', topic: 't', partition: 0, payloads },
  ...(as !== undefined && { as }),
})

/** Streams of one name and a number each. */
export const streams = (prefix: string, count: number): Action[] =>
  Array.from({ length: count }, (_, index) => ({
    do: 'request',
    client: 'c',
    call: { request: 'createStream', stream: `${prefix}-${index}` },
  }))

/** Everything that the partition has, from its first message on. */
export const readAll = (as: string, client = 'c'): Action => ({
  do: 'request',
  client,
  call: { request: 'poll', stream: 's', topic: 't', partition: 0, from: 'first', count: 10_000 },
  as,
})

export const waitFor = (what: string, until: Predicate, withinMs = BOOT_MS): Action => ({
  do: 'waitFor',
  what,
  until,
  withinMs,
})

export const runs = (node: NodeRef): Predicate => ({ process: node, state: 'running' })

/** `count` payloads, each of its own name. */
export const payloads = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

/** The story without what its own checks would stop it at: a broken rule is to be noticed by others. */
export function unchecked(scenario: Scenario): Scenario {
  const steps = scenario.steps.filter(step => step.do !== 'check')
  return { ...scenario, steps }
}
