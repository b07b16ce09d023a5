/** OR-01 to OR-03, OR-14, OR-25 to OR-27 over random histories: no offset is ever confirmed for two payloads. */
import { describe, test } from 'vitest'
import { HISTORIES, liveAndCheck } from './testing/histories.ts'

describe.each(HISTORIES)('OR-27 %s', (_name, history) => {
  test('no offset twice, one log in the end', () => liveAndCheck(2n, history))
})
