/**
 * Questions of the screens, put to whatever is watched. While a moment of the past is shown, the answer is the one that the
 * console had last given by then, from what it records: an answer of now would be a lie there.
 */
import type { z } from 'zod'
import { liveSource } from './live.ts'
import type { Source } from './source.ts'
import { asOf } from './store.ts'

let current: Source = liveSource
export const setSource = (source: Source): void => {
  current = source
}

export async function ask<T>(path: string, schema: z.ZodType<T>, signal?: AbortSignal): Promise<T> {
  const moment = asOf.get()
  if (moment === undefined) return current.read(path, schema, signal)
  if (current.kind === 'BUNDLE') return current.read(path, schema, signal, moment)
  const { readAnswer } = await import('./recorded.ts')
  return readAnswer('current', path, schema, moment, signal)
}
