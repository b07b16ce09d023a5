/**
 * The token that allows changes. It is printed when the console starts, as part of an address; the page takes it out of
 * the address at once, so that a copied link does not carry it.
 */
import { VIEWER_PREFIX } from '../../shared/inspection/api.ts'
import { createCell } from './cell.ts'

const KEY = 'quorumscope.token'
const PARAMETER = 'token'

export const token = createCell<string | undefined>(undefined)

export const isViewer = (known: string | undefined): boolean => known?.startsWith(VIEWER_PREFIX) === true
export const VIEWER_WHY = "This tab carries a viewer's token: it looks and changes nothing."

/** Reads the token from `#token=` or `?token=`, else from storage. Called once, before the router reads the address. */
export function takeToken(): void {
  const url = new URL(location.href)
  const fragment = new URLSearchParams(url.hash.slice(1))
  const given = fragment.get(PARAMETER) ?? url.searchParams.get(PARAMETER)
  if (given) {
    remember(given)
    fragment.delete(PARAMETER)
    url.searchParams.delete(PARAMETER)
    url.hash = fragment.toString()
    history.replaceState(history.state, '', url)
    return
  }
  try {
    token.set(localStorage.getItem(KEY) ?? undefined)
  } catch {
    // Without storage the token is asked for again on a reload.
  }
}

export function remember(value: string): void {
  token.set(value)
  try {
    localStorage.setItem(KEY, value)
  } catch {
    // See above.
  }
}

/** The console refused it: it prints a new one at every start. */
export function forget(): void {
  token.set(undefined)
  try {
    localStorage.removeItem(KEY)
  } catch {
    // See above.
  }
}
