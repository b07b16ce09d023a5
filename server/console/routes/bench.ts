/** Benchmarks: one at a time, as the command runs them; and those that ended. */
import { z } from 'zod'
import { type BenchRun, benchAnswer, benchRun, startBench } from '../../../shared/inspection/bench.ts'
import type { BenchRuns } from '../bench-runs.ts'
import { IdempotentActions } from '../idempotency.ts'
import type { Routes } from '../route.ts'

const headers = { 'Idempotency-Key': 'A fresh random value; the same one when this very request is repeated.' }

export function benchRoutes(routes: Routes, bench: BenchRuns): void {
  const actions = new IdempotentActions<BenchRun>()
  routes.add(
    {
      method: 'GET',
      path: '/api/bench/runs',
      summary: 'The benchmark that runs, and those that ended, newest first',
      answer: benchAnswer,
    },
    () => bench.list(),
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/bench/runs',
      summary: 'Start a benchmark',
      body: startBench,
      headers,
      answer: benchRun,
    },
    async ({ body, request }) =>
      (
        await actions.run(request.headers['idempotency-key'], `bench ${JSON.stringify(body)}`, async () =>
          bench.start(body),
        )
      ).answer,
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/bench/runs/:id/cancel',
      summary: 'End a benchmark and all that it made',
      params: z.object({ id: z.string().regex(/^[0-9a-f]{12}$/) }),
      headers,
      answer: benchRun,
    },
    async ({ params: { id }, request }) =>
      (await actions.run(request.headers['idempotency-key'], `cancel bench ${id}`, async () => bench.cancel(id)))
        .answer,
  )
}
