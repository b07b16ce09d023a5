/** Forwarded writes of the whole cluster: what each node says of its end, joined (design.md §4). */
import { z } from 'zod'
import {
  FORWARDS_LIMIT_MAX,
  type ForwardsAnswer,
  forwardsAnswer,
  joinForwards,
} from '../../../shared/inspection/forwards.ts'
import { nodePath } from '../../../shared/inspection/node-api.ts'
import { type ForwardsSnapshot, forwardsSnapshot } from '../../../shared/inspection/snapshots.ts'
import type { Hub } from '../hub.ts'
import type { Routes } from '../route.ts'

export function forwardRoutes(routes: Routes, hub: Hub): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/forwards',
      summary: 'Writes that went from one node to another, newest first, each with its steps at both ends',
      query: z.object({ limit: z.coerce.number().int().min(1).max(FORWARDS_LIMIT_MAX).default(100) }),
      answer: forwardsAnswer,
    },
    async ({ query: { limit } }): Promise<ForwardsAnswer> => {
      const heard: ForwardsSnapshot[] = []
      const nodes = await Promise.all(
        hub.supervisor.status().nodes.map(async ({ replica: node }): Promise<ForwardsAnswer['nodes'][number]> => {
          try {
            const snapshot = forwardsSnapshot.parse(await hub.ask(node, nodePath.forwards(limit)))
            heard.push(snapshot)
            const { reporter, parked, waiting, total } = snapshot
            return { node, reporter, parked, waiting, total }
          } catch (error) {
            // A node that is down is part of the picture: its end of the chains is missing, and the answer says so.
            return { node, error: error instanceof Error ? error.message : String(error) }
          }
        }),
      )
      return { forwards: joinForwards(heard, limit), nodes }
    },
  )
}
