/** One reader of `GET /events`: a cursor into the ring, and lines written as fast as the reader takes them. */
import type { ServerResponse } from 'node:http'
import type { EventRing } from './event-ring.ts'

/** Events of one write; a slow reader then never holds more than this beside its socket buffer. */
const BATCH_EVENTS = 500
/** Events that come within this time leave together. Far below the 250 ms from event to pixel. */
const COALESCE_MS = 10
const KEEP_ALIVE_MS = 1_000

/** Writes everything after `after`, then whatever comes, until `response` closes. */
export function streamEvents(ring: EventRing, after: number, response: ServerResponse): void {
  let cursor = after
  let blocked = false
  let timer: NodeJS.Timeout | undefined
  let wroteSinceBeat = false
  let late = false

  const pump = (): void => {
    timer = undefined
    while (!blocked && cursor < ring.seq) {
      const slice = ring.read(cursor, BATCH_EVENTS, late ? 'slow_reader' : 'ring_overflow')
      cursor = slice.next
      const lines: string[] = []
      if (slice.gap) lines.push(JSON.stringify(slice.gap))
      for (const event of slice.events) lines.push(JSON.stringify(event))
      lines.push('')
      wroteSinceBeat = true
      blocked = !response.write(lines.join('\n'))
    }
    late = true
  }
  const schedule = (): void => {
    if (!blocked) timer ??= setTimeout(pump, COALESCE_MS)
  }
  const unfollow = ring.follow(schedule)
  response.on('drain', () => {
    blocked = false
    schedule()
  })
  const beat = setInterval(() => {
    if (!wroteSinceBeat && !blocked) response.write('\n')
    wroteSinceBeat = false
  }, KEEP_ALIVE_MS)
  response.once('close', () => {
    unfollow()
    clearInterval(beat)
    clearTimeout(timer)
  })
  pump()
}
