/** A value that React can watch: one value, listeners, replaced whole. Forty lines instead of a library. */
import { useCallback, useRef, useSyncExternalStore } from 'react'

export interface Cell<T> {
  get(): T
  set(next: T | ((old: T) => T)): void
  subscribe(listener: () => void): () => void
}

export function createCell<T>(initial: T): Cell<T> {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      const replaced = typeof next === 'function' ? (next as (old: T) => T)(value) : next
      if (Object.is(replaced, value)) return
      value = replaced
      for (const listener of [...listeners]) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export function useCell<T>(cell: Cell<T>): T
export function useCell<T, S>(cell: Cell<T>, select: (value: T) => S, same?: (a: S, b: S) => boolean): S
/** Renders again only when the selected part changes (by identity, or by `same`). */
export function useCell<T, S>(
  cell: Cell<T>,
  select: (value: T) => S = value => value as unknown as S,
  same: (a: S, b: S) => boolean = Object.is,
): S {
  const last = useRef<{ value: T; select: (value: T) => S; selected: S } | undefined>(undefined)
  const read = useCallback((): S => {
    const value = cell.get()
    const known = last.current
    if (known && known.value === value && known.select === select) return known.selected
    const fresh = select(value)
    const selected = known && same(known.selected, fresh) ? known.selected : fresh
    last.current = { value, select, selected }
    return selected
  }, [cell, select, same])
  return useSyncExternalStore(cell.subscribe, read)
}
