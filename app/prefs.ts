/** What a person chose for this browser: theme, single-key shortcuts. Kept in storage, applied at once. */
import { createCell } from './data/cell.ts'

export type Theme = 'system' | 'light' | 'dark'
export interface Prefs {
  readonly theme: Theme
  /** WCAG 2.1.4: shortcuts of one key can be switched off. */
  readonly singleKeys: boolean
}

const THEME_KEY = 'quorumscope.theme'
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
export function setSingleKeys(on: boolean): void {
  prefs.set(old => ({ ...old, singleKeys: on }))
  store(KEYS_KEY, on ? 'on' : 'off')
}
