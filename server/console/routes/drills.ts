/** Crash drills: the library, a run at a time, and what it came to. */
import { z } from 'zod'
import {
  type DrillRunAnswer,
  drillDetail,
  drillPlace,
  drillReplay,
  drillRun,
  drillRunsAnswer,
  drillsAnswer,
  freeAct,
  lastKill,
  nearestSeed,
  searchNearest,
  startDrill,
} from '../../../shared/inspection/drills.ts'
import type { DrillRuns } from '../drill-runs.ts'
import { IdempotentActions } from '../idempotency.ts'
import type { LastKill } from '../last-kill.ts'
import type { NearestSeeds } from '../nearest-seed.ts'
import { type Routes, smallInt } from '../route.ts'

const WATCH_BEAT_MS = 5_000
const RUN_MAX = 999_999_999
const headers = { 'Idempotency-Key': 'A fresh random value; the same one when this very request is repeated.' }

export function drillRoutes(routes: Routes, drills: DrillRuns, kills: LastKill, nearest: NearestSeeds): void {
  const drill = z.object({ drill: z.string().max(20) })
  const params = z.object({ run: smallInt(RUN_MAX) })
  routes.add(
    { method: 'GET', path: '/api/drills', summary: 'Every drill, and how its last run ended', answer: drillsAnswer },
    () => drills.list(),
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/drills/:drill',
      summary: 'One drill, with its steps',
      params: drill,
      answer: drillDetail,
    },
    ({ params }) => drills.detail(params.drill),
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/drills/runs',
      summary: 'The runs in the life of this console, newest first',
      query: drill.partial(),
      answer: drillRunsAnswer,
    },
    ({ query }) => ({ runs: drills.history(query.drill) }),
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/drills/runs/:run',
      summary: 'One run: steps, findings with what was asked and found, verdict',
      params,
      answer: drillRun,
    },
    ({ params }) => drills.run(params.run),
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/drills/runs/:run/replay',
      summary: 'A run that has ended, moment by moment, and the moment that decided',
      params,
      answer: drillReplay,
    },
    ({ params }) => drills.replay(params.run),
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/drills/runs/:run/watch',
      summary:
        'Held open while the run goes on, as server-sent events: `over` when it has ended. Whoever closes it has gone',
      params,
      answer: { mediaType: 'text/event-stream' },
    },
    ({ params, reply }) => {
      const { raw } = reply
      const gone = drills.watch(params.run, () => raw.end('event: over\ndata: {}\n\n'))
      reply.hijack()
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      // Something must be written for the other end to know that it is followed, and for this one to notice that it is not.
      raw.write(': watched\n\n')
      const beat = setInterval(() => raw.write(': watched\n\n'), WATCH_BEAT_MS)
      raw.on('close', () => {
        clearInterval(beat)
        gone()
      })
    },
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/drills/kill',
      summary: 'The last kill of a node of the live cluster, and what followed from it',
      answer: lastKill,
    },
    () => ({ kill: kills.seen ?? null }),
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/drills/kill/nearest',
      summary:
        'Look for the seed of the simulator that comes nearest to the last kill, and the script that reproduces it',
      body: searchNearest,
      headers,
      answer: nearestSeed,
    },
    ({ body }) => nearest.search(body.seeds),
  )
  const actions = new IdempotentActions<DrillRunAnswer>()
  routes.add(
    { method: 'POST', path: '/api/drills/runs', summary: 'Start a run', body: startDrill, headers, answer: drillRun },
    async ({ body, request }) =>
      (
        await actions.run(request.headers['idempotency-key'], `start ${JSON.stringify(body)}`, async () =>
          drills.start({ ...body, seed: body.seed, seeds: body.seeds }),
        )
      ).answer,
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/drills/runs/:run/act',
      summary: 'One act in a run by hand; answers when it has been taken',
      params,
      body: freeAct,
      headers,
      answer: drillRun,
    },
    async ({ params: { run }, body, request }) =>
      (
        await actions.run(request.headers['idempotency-key'], `act ${run} ${JSON.stringify(body)}`, () =>
          drills.act(run, body),
        )
      ).answer,
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/drills/runs/:run/place',
      summary: 'Where an edit by hand would be made, and what stands there; nothing is changed',
      params,
      body: freeAct,
      headers,
      answer: drillPlace,
    },
    ({ params: { run }, body }) => drills.locate(run, body),
  )
  const WORDS = {
    next: 'Let a run that goes step by step take its next step',
    cancel: 'End a run and all that it made',
  }
  for (const action of ['next', 'cancel'] as const) {
    routes.add(
      {
        method: 'POST',
        path: `/api/drills/runs/:run/${action}`,
        summary: WORDS[action],
        params,
        headers,
        answer: drillRun,
      },
      async ({ params: { run }, request }) =>
        (await actions.run(request.headers['idempotency-key'], `${action} ${run}`, async () => drills[action](run)))
          .answer,
    )
  }
}
