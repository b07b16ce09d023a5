/** Going live while history is still being read: what is shown as the present is the present. */
import { afterAll, expect, it, vi } from 'vitest'
import type { StreamMessage } from '../../shared/inspection/api.ts'
import type { EventEnvelope } from '../../shared/inspection/envelope.ts'
import type { Source, StreamListener } from './source.ts'

// A tab that is hidden: what arrives is folded by a timer.
vi.stubGlobal('window', globalThis)
vi.stubGlobal('document', { hidden: true, addEventListener: () => {} })
vi.stubGlobal('requestAnimationFrame', () => 0)
vi.stubGlobal('cancelAnimationFrame', () => {})
afterAll(() => vi.unstubAllGlobals())
const { asOf, fill, pauseView, paused, resumeView, ring, shown, watch } = await import('./store.ts')

const START_MS = 1_790_000_000_000
const NOW = 100

function event(seq: number): EventEnvelope & { consoleSeq: number } {
  const wallUs = String((START_MS + seq) * 1000)
  const of = { v: 1, node: 1, boot: 'b', seq, monoUs: 0, wallUs, receivedWallUs: wallUs } as const
  return { ...of, plane: 'metadata', group: 'metadata', kind: 'x', class: 'fact', data: {}, consoleSeq: seq }
}
const hello = (seq: number): StreamMessage =>
  ({
    event: 'hello',
    data: { run: 'r', seq, firstSeq: 1, wallUs: String(START_MS * 1000), replicaCount: 3, name: 'c', readOnly: false },
  }) as StreamMessage
const batch = (...seqs: number[]): StreamMessage => ({ event: 'batch', data: seqs.map(event) })

it('a view of the past that is left while it is read is left for now, and the reading with it', async () => {
  const opened: { readonly listener: StreamListener; readonly after: number | undefined; closed: boolean }[] = []
  const source: Source = {
    kind: 'LIVE',
    open(listener, lastSeq) {
      const stream = { listener, after: lastSeq(), closed: false }
      opened.push(stream)
      const close = (): void => {
        stream.closed = true
      }
      return { retryNow: () => {}, close }
    },
    read: async () => Promise.reject(new Error('nothing is asked here')),
    act: async () => Promise.reject(new Error('nothing is done here')),
  }
  watch(source, () => {})
  opened[0]!.listener.message(hello(NOW))
  opened[0]!.listener.message(batch(NOW))
  await expect.poll(() => shown.get().view.seq, { timeout: 5_000 }).toBe(NOW)

  pauseView()
  let goOn = (): void => {}
  const stuck = new Promise<void>(resolve => {
    goOn = resolve
  })
  async function* lines() {
    yield { message: hello(1), atMs: START_MS }
    yield { message: batch(2), atMs: START_MS + 2 }
    await stuck
    yield { message: batch(3), atMs: START_MS + 3 }
  }
  const read = fill(lines(), { alone: false })
  await expect.poll(() => ring.consoleSeqAt(ring.next - 1)).toBe(2)

  resumeView()
  expect([paused.get(), asOf.get()]).toEqual([undefined, undefined])
  expect(shown.get().view.seq, 'nothing of the past is shown as now').toBe(0)
  expect(opened.map(({ closed, after }) => [closed, after])).toEqual([
    [true, undefined],
    [false, undefined],
  ])
  opened[1]!.listener.message(hello(NOW + 1))
  opened[1]!.listener.message(batch(NOW + 1))
  await expect.poll(() => shown.get().view.seq, { timeout: 5_000 }).toBe(NOW + 1)

  goOn()
  expect(await read).toBe(false)
  expect(ring.consoleSeqAt(ring.next - 1)).toBe(NOW + 1)
})
