/** A primary is killed under load: one story, told in every world. */
import type { Action, Scenario } from '../language.ts'

const EAGER = { enforceFsync: true, messagesRequiredToSave: 1 }
export const started: readonly Action[] = [
  { do: 'start', nodes: 'all' },
  { do: 'waitFor', what: 'all run', until: { settled: true, nodes: [0, 1, 2] }, withinMs: 60_000 },
  { do: 'request', client: 'c', call: { request: 'createStream', stream: 's' } },
  {
    do: 'request',
    client: 'c',
    call: { request: 'createTopic', stream: 's', topic: 't', partitions: 1, options: EAGER },
  },
  { do: 'waitFor', what: 'partitions are there', until: { settled: true }, withinMs: 60_000 },
]
const load = {
  stream: 's',
  topic: 't',
  partitions: 1,
  lanes: 3,
  batchMessages: 5,
  messageBytes: 100,
  pauseMs: 20,
}

export const killedPrimary: Scenario = {
  id: 'VC-01',
  title: 'a primary is killed under load',
  cluster: { nodes: 3 },
  steps: [
    ...started,
    { do: 'startLoad', load: 'l', spec: load },
    {
      do: 'waitFor',
      what: 'load is acknowledged',
      until: { load: 'l', counts: { acked: ['ge', 50] } },
      withinMs: 60_000,
    },
    { do: 'remember', name: 'victim', node: { primaryOf: '0/0/0' } },
    { do: 'baseline', name: 'kill' },
    { do: 'kill', nodes: [{ named: 'victim' }] },
    {
      do: 'waitFor',
      what: 'another leads',
      until: { event: { kind: 'view_started', group: '0/0/0', since: 'kill' } },
      withinMs: 30_000,
    },
    { do: 'start', nodes: [{ named: 'victim' }] },
    { do: 'waitFor', what: 'all have caught up', until: { oneLeader: '0/0/0' }, withinMs: 30_000 },
    { do: 'stopLoad', load: 'l', withinMs: 60_000 },
    { do: 'waitFor', what: 'at rest', until: { settled: true, nodes: [0, 1, 2] }, withinMs: 30_000 },
    { do: 'waitFor', what: 'equal logs', until: { sameLogs: '0/0/0' }, withinMs: 30_000 },
  ],
  verdict: [
    {
      what: 'nothing acknowledged is lost',
      that: { load: 'l', counts: { acked: ['ge', 50], lost: ['eq', 0], corrupt: ['eq', 0] } },
    },
    { what: 'one leader', that: { oneLeader: 'metadata' } },
    {
      what: 'the view is on disk',
      that: {
        superblock: { node: 1, directory: 'streams/0/topics/0/partitions/0' },
        field: 'view',
        is: 'ge',
        value: 1,
      },
    },
  ],
}
