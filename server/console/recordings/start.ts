/** Puts recorder, answers and store together for one run of the console. */
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { StreamTap } from '../event-stream.ts'
import type { Hub } from '../hub.ts'
import { wallMs } from '../wall.ts'
import { AnswerRounds } from './answers.ts'
import { Recorder } from './recorder.ts'
import { type Limits, Recordings } from './store.ts'

export interface RecordingOptions {
  readonly app: FastifyInstance
  readonly hub: Hub
  readonly hash: Hash
  readonly where: { readonly directory: string; readonly limits?: Partial<Limits> } | undefined
  readonly onError: ((error: Error) => void) | undefined
}

/** After these the answers of the screens of bytes are likely new. */
const TURNS = /"kind":"(?:view_started|view_adopted|process_\w+|index_floored|segment_rolled|boot_refused)"/

/** Records this run, and lets what is too old or too much go. */
export async function startRecording({ app, hub, hash, where, onError }: RecordingOptions) {
  const recordings = new Recordings(where?.directory, hash, where?.limits)
  if (where === undefined) return { recordings, close: async () => {} }
  await recordings.prune().catch(error => onError?.(error as Error))
  const status = hub.supervisor.status()
  const recorder = new Recorder({
    directory: join(where.directory, hub.run),
    hash,
    head: {
      run: hub.run,
      startedMs: Math.round(wallMs()),
      name: status.name,
      replicaCount: status.nodes.length,
      config: {
        name: status.name,
        nodes: status.nodes.map(node => ({ replica: node.replica, name: node.name, ports: node.ports })),
        readOnly: hub.readOnly,
        node: process.version,
        platform: `${process.platform} ${process.arch}`,
      },
    },
    state: {
      keyframe: () => hub.keyframe(),
    },
    ...(where.limits?.runBytes !== undefined && { limits: { runBytes: where.limits.runBytes } }),
    onProblem: error => onError?.(error),
  })
  recordings.record(hub.run, recorder)
  const answers = new AnswerRounds({
    get: async path => {
      const { statusCode, body } = await app.inject({ method: 'GET', url: path, headers: { host: 'localhost' } })
      return { status: statusCode, text: body }
    },
    nodes: () => hub.nodes(),
    snapshotOf: node => hub.snapshotOf(node),
    keep: json => recorder.state('answer', json),
  })
  const tap: StreamTap = {
    batch: batch => {
      recorder.batch(batch)
      if (TURNS.test(batch.json)) answers.soon()
    },
    state: (event, json) => recorder.state(event, json),
  }
  hub.stream.taps.add(tap)
  return {
    recordings,
    close: async () => {
      answers.close()
      hub.stream.taps.delete(tap)
      await recorder.close()
    },
  }
}
