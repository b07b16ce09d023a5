/**
 * While somebody looks at messages, the nodes are asked for every one of them. Without that a node tells one in some dozens
 * of its prepares, acknowledgements and commits, and steps by message pass over the rest. An asking lasts WATCH_MS at the
 * node and is renewed well before: a tab that is closed, hidden or cut off costs nothing any more soon after. What could not
 * be had is said by the events themselves (`data.sampledOneIn`, `data.leftOutBefore`), so nothing here is believed blindly.
 */
import { z } from 'zod'
import { newKey } from './actions.ts'
import { liveSource } from './live.ts'
import { latest } from './store.ts'

/** A third of what an asking lasts: two may be lost. */
const RENEW_MS = 10_000
/** Of all groups so many are asked for: beyond that nobody follows single messages, and nodes have a ceiling anyway. */
export const WATCHED_GROUPS_MAX = 8

const watching = z.object({ watching: z.string() })

/** Asks for every flow event of `groups`, from every node that runs, until the returned function is called. */
export function watchFlow(groups: readonly string[]): () => void {
  const ask = (): void => {
    if (document.hidden) return
    for (const { id, process } of latest.get().nodes.values()) {
      if (process?.state !== 'running') continue
      for (const group of groups.slice(0, WATCHED_GROUPS_MAX)) {
        // A node that does not answer is drawn as such elsewhere, and is asked again.
        liveSource.act(`/api/nodes/${id}/watch/${group}`, {}, watching, newKey()).catch(() => {})
      }
    }
  }
  ask()
  const timer = window.setInterval(ask, RENEW_MS)
  document.addEventListener('visibilitychange', ask)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', ask)
  }
}
