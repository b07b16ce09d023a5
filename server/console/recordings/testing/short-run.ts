/** A run of a console for tests of its recording: one group, whose console hears a node. */
export const RUN = 'abcdef'
export const HEAD = { run: RUN, startedMs: 1, name: 'c', replicaCount: 3, config: {} }

/** What a reader is told first, when the console has told `seq` events. */
export const hello = (seq: number) => ({
  run: RUN,
  seq,
  firstSeq: 1,
  wallUs: '1',
  readOnly: false,
  replicaCount: 3,
  name: 'c',
})

export const event = (seq: number, words = 'x') => ({
  v: 1,
  node: 255,
  boot: RUN,
  seq,
  monoUs: 1,
  wallUs: '1000',
  plane: 'node',
  group: 'node',
  kind: 'node_heard',
  class: 'fact',
  data: { node: 0, words },
  consoleSeq: seq,
})
