/** The stopwatches of the faults of this cluster, the same for every tab. */
import { recoveriesAnswer } from '../../../shared/inspection/recoveries.ts'
import type { Recoveries } from '../recoveries.ts'
import type { Routes } from '../route.ts'

export function recoveryRoutes(routes: Routes, recoveries: Recoveries): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/recoveries',
      summary: 'The stopwatch of each of the last faults, newest first',
      answer: recoveriesAnswer,
    },
    () => recoveries.answer(),
  )
}
