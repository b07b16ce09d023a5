/** What a person chose for this browser: theme, motion, single-key shortcuts. Kept in storage, applied at once. */
import { createCell } from './data/cell.ts'

export type Theme = 'system' | 'light' | 'dark'
/** `reduced`: nothing moves, whatever the system says (spec ui.md §3.4). */
export type Motion = 'system' | 'reduced'
export interface Prefs {
  readonly theme: Theme
  readonly motion: Motion
  /** WCAG 2.1.4: shortcuts of one key can be switched off. */
  readonly singleKeys: boolean
}

const THEME_KEY = 'quorumscope.theme'
const MOTION_KEY = 'quorumscope.motion'
const KEYS_KEY = 'quorumscope.singleKeys'

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}
function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value)
  } catch {
    // Without storage the choice lasts as long as the tab.
  }
}

const shownTheme = document.documentElement.dataset.theme
export const prefs = createCell<Prefs>({
  theme: shownTheme === 'light' || shownTheme === 'dark' ? shownTheme : 'system',
  motion: document.documentElement.dataset.motion === 'reduced' ? 'reduced' : 'system',
  singleKeys: stored(KEYS_KEY) !== 'off',
})

export function setTheme(theme: Theme): void {
  prefs.set(old => ({ ...old, theme }))
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  store(THEME_KEY, theme)
}
/** From what is seen now to the other one. */
export function flipTheme(): void {
  const { theme } = prefs.get()
  const dark = theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
  setTheme(dark ? 'light' : 'dark')
}
export function setMotion(motion: Motion): void {
  prefs.set(old => ({ ...old, motion }))
  if (motion === 'system') delete document.documentElement.dataset.motion
  else document.documentElement.dataset.motion = motion
  store(MOTION_KEY, motion)
}
export function setSingleKeys(on: boolean): void {
  prefs.set(old => ({ ...old, singleKeys: on }))
  store(KEYS_KEY, on ? 'on' : 'off')
}
