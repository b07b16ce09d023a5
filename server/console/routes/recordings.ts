/** What was recorded: the list, one recording from a moment on, what leaves the machine, and removing one. */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { recordedAnswer, recordingInfo, recordingsAnswer } from '../../../shared/inspection/recording.ts'
import { ConsoleError } from '../errors.ts'
import { bundlePieces, linePieces, tracePieces } from '../recordings/export.ts'
import type { Contents, Recordings } from '../recordings/store.ts'
import type { Routes } from '../route.ts'
import { wallUs } from '../wall.ts'

const run = z.object({ run: z.string().regex(/^([0-9a-f]{1,32}|current)$/, 'is the run of a console, or "current"') })
const seq = z
  .string()
  .regex(/^\d{1,16}$/, 'must be a console sequence')
  .transform(Number)
/** A tab that opens in the past wants what led there and what came next, and not hours. */
const HISTORY_BLOCKS_MAX = 600

export function recordingRoutes(routes: Routes, recordings: Recordings): void {
  routes.add(
    { method: 'GET', path: '/api/recordings', summary: 'Every recording, newest first', answer: recordingsAnswer },
    async () => {
      const list = await recordings.list()
      return {
        recordings: list,
        bytes: list.reduce((sum, item) => sum + item.bytes, 0),
        limits: recordings.limits,
        directory: recordings.directory ?? null,
        takenWallUs: wallUs(),
      }
    },
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/recordings/:run',
      summary: 'One recording: its span, size and state',
      params: run,
      answer: recordingInfo,
    },
    async ({ params }) => (await recordings.open(params.run)).info,
  )
  routes.add(
    {
      method: 'DELETE',
      path: '/api/recordings/:run',
      summary: 'Removes a recording that is not being written',
      params: run,
      answer: z.object({ deleted: z.string() }),
    },
    async ({ params }) => {
      await recordings.delete(params.run)
      return { deleted: params.run }
    },
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/recordings/:run/lines',
      summary: 'Its lines from the keyframe before a console sequence, or a moment, on, as it was recorded',
      params: run,
      query: z.object({ from: seq.optional(), ms: z.coerce.number().min(0).optional() }),
      answer: { mediaType: 'application/x-ndjson' },
    },
    async ({ params, query, reply }) => {
      const { parts } = await recordings.open(params.run)
      const from =
        query.ms === undefined ? recordings.blocksFrom(parts, query.from ?? 0) : recordings.blocksAt(parts, query.ms)
      const blocks = from.slice(0, HISTORY_BLOCKS_MAX)
      void reply.type('application/x-ndjson; charset=utf-8')
      return Readable.from(
        (async function* () {
          for await (const { text } of recordings.texts(blocks)) yield text
        })(),
      )
    },
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/recordings/:run/answer',
      summary: 'What the console had last answered at a path by a console sequence, and by a moment',
      params: run,
      query: z.object({ path: z.string().max(500), at: seq, ms: z.coerce.number().min(0).optional() }),
      answer: recordedAnswer.extend({ t: z.number() }),
    },
    async ({ params, query, reply }) => {
      const { parts } = await recordings.open(params.run)
      const { path, at, ms = Number.POSITIVE_INFINITY } = query
      const found = await recordings.lastAnswer(parts, { path, seq: at, ms }, () => reply.raw.destroyed)
      if (found) return { t: found.t, ...found.data }
      throw new ConsoleError('CON_NOT_RECORDED', `By then nothing was kept of ${path}.`)
    },
  )
  const take = (
    name: string,
    summary: string,
    mediaType: string,
    pieces: (store: Recordings, contents: Contents) => AsyncGenerator<string | Uint8Array>,
  ) =>
    routes.add(
      { method: 'GET', path: `/api/recordings/:run/${name}`, summary, params: run, answer: { mediaType } },
      async ({ params, reply }) => {
        const contents = await recordings.open(params.run)
        void reply
          .type(mediaType)
          .header('content-disposition', `attachment; filename="quorumscope-${params.run}-${name}"`)
        return Readable.from(pieces(recordings, contents))
      },
    )
  take('bundle.zip', 'The recording as a bundle for other people', 'application/zip', bundlePieces)
  take('events.ndjson', 'Its lines as JSON', 'application/x-ndjson', linePieces)
  take('trace.json', 'A trace for about:tracing and Perfetto', 'application/json', tracePieces)
}
