import { afterEach, expect, it } from 'vitest'
import type { StreamMessage } from '../../shared/inspection/api.ts'
import type { EventEnvelope } from '../../shared/inspection/envelope.ts'
import { asOf, fill, paused, resumeView, ring, shown } from './store.ts'
import { onOutOfReach, step } from './time.ts'

const START_MS = 1_790_000_000_000
const BLOCKS = 6
const EVENTS_PER_BLOCK = 10
const LAST = BLOCKS * EVENTS_PER_BLOCK

/** Event `seq` of the console happened so many milliseconds after the start. Every event is a fact, one a message. */
function event(seq: number): EventEnvelope & { consoleSeq: number } {
  const wallUs = String((START_MS + seq) * 1000)
  const common = {
    v: 1,
    node: 1,
    boot: 'b',
    seq,
    monoUs: 0,
    wallUs,
    receivedWallUs: wallUs,
    plane: 'metadata',
  } as const
  const frame = seq === 3 ? { link: { id: '2>1#1', ordinal: 7, dir: 'in' } as const } : {}
  return { ...common, group: 'metadata', kind: 'x', class: 'fact', data: {}, consoleSeq: seq, ...frame }
}

/** A recording whose blocks begin with a keyframe each; like the console's it begins one keyframe before what is asked. */
async function* from(block: number): AsyncGenerator<{ message: StreamMessage; atMs: number }> {
  for (let at = block; at < BLOCKS; at++) {
    const first = at * EVENTS_PER_BLOCK + 1
    const atMs = START_MS + first
    const hello = { run: 'r', seq: first - 1, wallUs: String(atMs * 1000) }
    yield { message: { event: 'hello', data: hello } as unknown as StreamMessage, atMs }
    yield { message: { event: 'load', data: { takenWallUs: String(atMs * 1000) } } as unknown as StreamMessage, atMs }
    const data = Array.from({ length: EVENTS_PER_BLOCK }, (_, nth) => event(first + nth))
    yield { message: { event: 'batch', data }, atMs: atMs + EVENTS_PER_BLOCK }
  }
}
let reads = 0
onOutOfReach(async place => {
  reads += 1
  if (!('seq' in place)) throw new Error('nobody asks by time here')
  await fill(from(Math.max(0, Math.floor((place.seq - 1) / EVENTS_PER_BLOCK) - 1)), { alone: false })
  return true
})
const seen = () => asOf.get()?.seq
const stepped = async (by: 'event' | 'message', before: number | undefined) => {
  step(-1, by)
  await expect.poll(seen).not.toBe(before)
}

afterEach(() => resumeView())

it('a step back to a message that lies several keyframes before what is held finds it', async () => {
  await fill(from(BLOCKS - 1), { alone: false })
  expect(ring.at(ring.first)?.seq).toBe(LAST - EVENTS_PER_BLOCK + 1)
  reads = 0
  await stepped('message', undefined)
  expect(seen()).toBe(3)
  expect(reads).toBeGreaterThan(1)
  expect(shown.get().until).toBe(ring.behind(3))
})

it('and where there is none at all, the page stays at the moment that was shown', async () => {
  await fill(from(BLOCKS - 1), { alone: false })
  await stepped('event', undefined)
  const at = seen()!
  const wanted = ring.behind(at)
  reads = 0
  step(-1, 'turn')
  await expect.poll(() => ring.at(ring.first)?.seq).toBe(1)
  await expect.poll(() => reads).toBeGreaterThan(2)
  expect(seen()).toBe(at)
  expect(wanted).not.toBe(ring.behind(at))
  expect([asOf.get()!.until, shown.get().until]).toEqual([ring.behind(at), ring.behind(at)])
})

it('steps back go from event to event, none left out, over the edge of what is held', async () => {
  await fill(from(BLOCKS - 1), { alone: false })
  for (let last: number | undefined; last !== 1; last = seen()) {
    await stepped('event', last)
    if (last !== undefined) expect(seen()).toBe(last - 1)
    expect(paused.get()?.events).toBe(ring.behind(LAST))
  }
})
