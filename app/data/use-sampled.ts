import { useEffect, useRef, useState } from 'react'

/** A value that changes faster than it can be read, passed on at most once in `everyMs`; the last one always arrives. */
export function useSampled<T>(value: T, everyMs: number): T {
  const [sampled, setSampled] = useState(value)
  const last = useRef(0)
  useEffect(() => {
    const wait = Math.max(0, last.current + everyMs - performance.now())
    const timer = setTimeout(() => {
      last.current = performance.now()
      setSampled(value)
    }, wait)
    return () => clearTimeout(timer)
  }, [value, everyMs])
  return sampled
}
