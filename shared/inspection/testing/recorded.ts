/** A stream recorded from a real cluster of three processes: `t` is milliseconds since the reader connected. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { clusterNode, type StreamMessage, streamHello, streamSnapshot } from '../api.ts'
import { eventBatch } from '../envelope.ts'

const line = z.object({ t: z.number(), event: z.string(), data: z.unknown() })
const schemas = {
  hello: streamHello,
  nodes: z.array(clusterNode),
  snapshot: streamSnapshot,
  batch: eventBatch,
} as const

export interface Recorded {
  readonly t: number
  /** When it was received, by the clock of the console. */
  readonly atMs: number
  readonly message: StreamMessage
}

export function readRecorded(name: string): Recorded[] {
  const text = readFileSync(new URL(`../testdata/${name}.jsonl`, import.meta.url), 'utf8')
  const lines = text
    .trimEnd()
    .split('\n')
    .map(row => line.parse(JSON.parse(row)))
  const hello = streamHello.parse(lines[0]!.data)
  const startMs = Number(hello.wallUs) / 1000 - lines[0]!.t
  return lines.map(({ t, event, data }) => {
    const schema = schemas[event as keyof typeof schemas]
    return { t, atMs: startMs + t, message: { event, data: schema.parse(data) } as StreamMessage }
  })
}
