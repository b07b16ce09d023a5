/** The steady load and its ledger. */
import { loadCommand, loadState } from '../../../shared/inspection/api.ts'
import type { Load } from '../load/load.ts'
import type { Routes } from '../route.ts'

export function loadRoutes(routes: Routes, load: Load): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/load',
      summary: 'The steady load: settings, ledger, latency, verdict',
      answer: loadState,
    },
    () => load.state(),
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/load',
      summary: 'Start or stop the steady load, or change its rate',
      body: loadCommand,
      answer: loadState,
    },
    ({ body }) => {
      if (body.action === 'start') load.start(body.settings)
      else if (body.action === 'rate') load.changeRate(body.ratePerSecond)
      else load.stop()
      return load.state()
    },
  )
}
