/**
 * The moment in the address. Stepping replaces it, so that a reload and a shared link show the same. A moment of an earlier
 * run is looked for in the recordings of the console; where it is in none, the page says so.
 */
import { toast } from './notices.ts'
import { asOf } from './store.ts'
import { addressOf, showAddress } from './time.ts'

/** Scrubbing passes many moments a second; the address follows at a pace that a browser takes. */
const WRITE_MS = 250

export async function showAsAddressed(): Promise<void> {
  const url = new URL(location.href)
  const at = url.searchParams.get('at')
  if (at === null || showAddress(at)) return
  const { runWith } = await import('./recorded.ts')
  const run = await runWith(Number(at.split('.')[0])).catch(() => undefined)
  if (run !== undefined) {
    url.searchParams.set('rec', run)
    location.replace(url)
    return
  }
  toast({
    tone: 'bad',
    words: 'The moment in the address is not held any more.',
    detail: 'No recording of this console has it; what is shown is now.',
  })
}

/** Calls `write` with what the address should say, soon after it changed. Returns the way to stop. */
export function followMoment(write: (at: string | undefined) => void): () => void {
  let timer: number | undefined
  const stop = asOf.subscribe(() => {
    timer ??= window.setTimeout(() => {
      timer = undefined
      const moment = asOf.get()
      write(moment && addressOf(moment))
    }, WRITE_MS)
  })
  return () => {
    clearTimeout(timer)
    stop()
  }
}
