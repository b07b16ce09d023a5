import './ui/tokens.css'
import './ui/base.css'
import './ui/app.css'
import './shell/shell.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { setSource } from './data/ask.ts'
import { lagSummary, resetLag } from './data/lag.ts'
import { liveSource } from './data/live.ts'
import { queryClient, refreshFrom } from './data/queries.ts'
import { ring, watch } from './data/store.ts'
import { hasReadTo, onOutOfReach } from './data/time.ts'
import { takeToken } from './data/token.ts'
import { showAsAddressed } from './data/when.ts'
import { router } from './router.tsx'

/** A recording that does not answer must not keep the page from what runs. */
const REACH_MS = 8_000
/** One that does is read until it has come to the moment, however slow this page is: so often it is looked at. */
const LOOK_MS = 100
const pause = (ms: number): Promise<void> => new Promise(done => setTimeout(done, ms))

takeToken()
void open()

/** Read by the benchmark of event to pixel and by browser tests; nothing in the page depends on it. */
Object.assign(window, {
  quorumscope: { lagSummary, resetLag, events: () => ring.next, asking: () => queryClient.isFetching() },
})

createRoot(document.getElementById('page')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)

/** The address says what is watched: a recording, or the cluster; and which moment of it. */
async function open(): Promise<void> {
  const address = new URLSearchParams(location.search)
  const [rec, at] = [address.get('rec'), address.get('at') ?? undefined]
  if (rec !== null && /^([0-9a-f]{1,32}|file-[0-9a-f]{12})$/.test(rec)) {
    const { openRecorded } = await import('./data/recorded.ts')
    const source = await openRecorded(rec, at)
    setSource(source)
    watch(source, () => {})
    return
  }
  const recorded = () => import('./data/recorded.ts')
  onOutOfReach(async place =>
    (await recorded()).reachBack('seq' in place ? { from: place.seq } : { ms: Math.floor(place.ms) }),
  )
  if (at !== undefined) {
    let over = false
    const found = recorded()
      .then(({ reachBack }) => reachBack({ from: Number(at.split('.')[0]) }))
      .finally(() => {
        over = true
      })
    await Promise.race([found, pause(REACH_MS)])
    while (!over && ring.next > 0 && !hasReadTo(at)) await pause(LOOK_MS)
  }
  watch(liveSource, refreshFrom)
  showAsAddressed()
}
