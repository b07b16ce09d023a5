/** About the console itself: is it well, what has it counted, what can it do. */
import { z } from 'zod'
import { health } from '../../../shared/inspection/api.ts'
import type { Hub } from '../hub.ts'
import type { Load } from '../load/load.ts'
import { metricsText } from '../metrics.ts'
import { openapiDocument } from '../openapi.ts'
import type { Routes } from '../route.ts'

export const API_VERSION = '1'

export function metaRoutes(routes: Routes, hub: Hub, load: Load): void {
  routes.add(
    { method: 'GET', path: '/healthz', summary: 'The console answers; what it sees of its nodes', answer: health },
    () => ({
      ok: true,
      run: hub.run,
      uptimeMs: Math.round(performance.now()),
      readOnly: hub.readOnly,
      nodes: hub.nodes().map(node => ({ id: node.id, state: node.state, inspection: node.inspection.state })),
    }),
  )
  routes.add(
    {
      method: 'GET',
      path: '/metrics',
      summary: 'Counters and gauges as Prometheus text',
      answer: { mediaType: 'text/plain' },
    },
    ({ reply }) => {
      void reply.type('text/plain; version=0.0.4; charset=utf-8')
      return metricsText(hub, load)
    },
  )
  for (const path of ['/api/openapi.json', '/openapi.json']) {
    routes.add({ method: 'GET', path, summary: 'This document', answer: z.record(z.string(), z.unknown()) }, () =>
      openapiDocument(routes.specs, API_VERSION),
    )
  }
}
