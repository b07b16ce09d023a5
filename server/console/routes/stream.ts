/** `GET /api/events` (shared/inspection/api.ts has the table of messages). */
import { z } from 'zod'
import { ConsoleError } from '../errors.ts'
import type { Hub } from '../hub.ts'
import type { Routes } from '../route.ts'

export function streamRoutes(routes: Routes, hub: Hub): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/events',
      summary: 'Everything that happens, as server-sent events; resumes after a console sequence',
      query: z.object({ after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional() }),
      answer: { mediaType: 'text/event-stream' },
    },
    ({ query, request, reply }) => {
      const last = request.headers['last-event-id']
      // A browser that reconnects by itself repeats its first address and adds the header: the header is the newer one.
      const after = typeof last === 'string' ? cursor(last) : query.after
      if (hub.stream.full)
        throw new ConsoleError('CON_TOO_MANY_READERS', 'Too many readers follow this console already.')
      reply.hijack()
      const headers = { ...reply.getHeaders() } as Record<string, string>
      reply.raw.writeHead(200, {
        ...headers,
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      request.raw.socket.setNoDelay(true)
      hub.stream.add(reply.raw, after)
    },
  )
}

function cursor(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new ConsoleError('CON_BAD_REQUEST', 'Last-Event-ID is a console sequence, a whole number.')
  }
  return value
}
