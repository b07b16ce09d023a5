/** Moments that a person marked, kept in this browser for each run of the console: they can be gone to, noted, shared. */
import { createCell } from './cell.ts'
import { toast } from './notices.ts'
import { asOf, latest, paused, pauseView, ring, viewNow } from './store.ts'
import { addressOf, placeOf, showPlace } from './time.ts'

export interface Bookmark {
  /** As in an address. */
  readonly at: string
  readonly atMs: number
  readonly note: string
}
const BOOKMARKS_MAX = 50
const NOTE_MAX = 200
const keyOf = (run: string): string => `quorumscope.bookmarks.${run}`

export const bookmarks = createCell<readonly Bookmark[]>([])
let run: string | undefined

/** The bookmarks of the run that is shown. */
export function readBookmarks(of: string): void {
  if (run === of) return
  run = of
  bookmarks.set(stored(of))
}

function stored(of: string): readonly Bookmark[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(of)) ?? '[]')
    return Array.isArray(kept) ? (kept as Bookmark[]).slice(0, BOOKMARKS_MAX) : []
  } catch {
    return []
  }
}

function keep(next: readonly Bookmark[]): void {
  bookmarks.set(next)
  try {
    if (run !== undefined) localStorage.setItem(keyOf(run), JSON.stringify(next))
  } catch {
    // Without storage they last as long as the tab.
  }
}

/** Marks the moment that is shown; while the page is live, this one, and stays there. */
export function addBookmark(): void {
  if (latest.get().run !== undefined) readBookmarks(latest.get().run!)
  if (asOf.get() === undefined) {
    pauseView()
    const until = paused.get()!.events
    if (until <= ring.first || !showPlace({ ...placeOf(until - 1), atMs: viewNow.get() })) return
  }
  const moment = asOf.get()!
  const at = addressOf(moment)
  if (bookmarks.get().some(item => item.at === at)) return
  const last = moment.view.facts.at(-1)
  const note = last ? `${last.about === 255 ? 'console' : `node-${last.about}`}: ${last.words}` : ''
  const next = [...bookmarks.get(), { at, atMs: moment.atMs, note: note.slice(0, NOTE_MAX) }]
  keep(next.sort((a, b) => a.atMs - b.atMs).slice(-BOOKMARKS_MAX))
  toast({ tone: 'plain', words: 'Bookmarked the moment that is shown.' })
}
export const removeBookmark = (at: string): void => keep(bookmarks.get().filter(item => item.at !== at))
export const noteBookmark = (at: string, note: string): void =>
  keep(bookmarks.get().map(item => (item.at === at ? { ...item, note: note.slice(0, NOTE_MAX) } : item)))
