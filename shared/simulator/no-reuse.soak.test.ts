/** Many seeds: OR-01 to OR-03, OR-14, OR-25 to OR-27 over random histories: no offset is ever confirmed for two payloads. */
import { describe, test } from 'vitest'
import { HISTORIES, liveAndCheck } from './testing/histories.ts'

const SEEDS = Number(process.env.NO_REUSE_SEEDS ?? 40)
const FIRST = Number(process.env.NO_REUSE_FIRST ?? 100)
const seeds = Array.from({ length: SEEDS }, (_, index) => BigInt(FIRST + index))

describe.each(HISTORIES)('OR-27 %s', (_name, history) => {
  test.each(seeds)('no offset twice, one log in the end (seed %s)', seed => liveAndCheck(seed, history))
})
