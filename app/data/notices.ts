/** Things the page must tell a person: toasts, notes on the address, and the polite line for screen readers. */
import type { InvalidSearch } from '../search.ts'
import { createCell } from './cell.ts'

export interface Toast {
  readonly id: number
  readonly tone: 'plain' | 'good' | 'bad'
  readonly words: string
  readonly detail?: string | undefined
  readonly action?: { readonly label: string; readonly run: () => void } | undefined
}

/** Plain toasts leave after this, unless somebody is at them; errors stay until they are dismissed. */
const TOAST_MS = 6_000
/** More than this at once is a wall, not a message: plain ones give way, errors do not. */
const TOASTS_MAX = 4
/** Errors that nobody dismissed for so long were not read one by one. */
const ERRORS_MAX = 20
/** One polite message at a time, so that a burst does not talk over itself. */
const ANNOUNCE_MS = 3_000

export const toasts = createCell<readonly Toast[]>([])
export const addressNotes = createCell<readonly InvalidSearch[]>([])
export const politeLine = createCell<string>('')

let nextToast = 1

export function toast(content: Omit<Toast, 'id'>): void {
  const id = nextToast++
  toasts.set(old => kept([...old.filter(item => !isSame(item, content)), { ...content, id }]))
  announce(
    content.detail === undefined || content.tone !== 'bad' ? content.words : `${content.words} ${content.detail}`,
  )
  leaveLater(id)
}

/** The same error again is the same error. */
const isSame = (one: Omit<Toast, 'id'>, other: Omit<Toast, 'id'>): boolean =>
  one.tone === 'bad' && other.tone === 'bad' && one.words === other.words && one.detail === other.detail

function kept(all: readonly Toast[]): readonly Toast[] {
  let spare = all.length - TOASTS_MAX
  return all.filter(item => item.tone === 'bad' || spare-- <= 0).slice(-ERRORS_MAX)
}

let held = false
/** While the pointer or focus is at the toasts none leaves (WCAG 2.2.1); afterwards each has its time again. */
export function holdToasts(on: boolean): void {
  if (held === on) return
  held = on
  if (!on) for (const { id } of toasts.get()) leaveLater(id)
}
function leaveLater(id: number): void {
  setTimeout(() => {
    if (!held && toasts.get().find(item => item.id === id)?.tone !== 'bad') dismissToast(id)
  }, TOAST_MS)
}

export function dismissToast(id: number): void {
  toasts.set(old => old.filter(item => item.id !== id))
  // What had focus is gone with it, and says so to nobody.
  holdToasts(false)
}

/** Called while the router reads the address, hence not at once: nothing may render inside that. */
export function noteAddress(note: InvalidSearch): void {
  queueMicrotask(() => {
    const known = addressNotes.get()
    if (!known.some(item => item.screen === note.screen && item.key === note.key && item.value === note.value)) {
      addressNotes.set([...known, note])
    }
  })
}
export const dismissAddressNotes = (): void => addressNotes.set([])

let lastSaid = 0
let waiting: string | undefined

/** Says something to screen readers, at most once in three seconds; of a burst, the last. */
export function announce(words: string): void {
  const wait = lastSaid + ANNOUNCE_MS - Date.now()
  if (wait <= 0) {
    lastSaid = Date.now()
    politeLine.set(words)
    return
  }
  if (waiting === undefined) {
    setTimeout(() => {
      const text = waiting
      waiting = undefined
      if (text !== undefined) announce(text)
    }, wait)
  }
  waiting = words
}
