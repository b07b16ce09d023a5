import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { requireSpace, resources } from './recover.ts'
import { writeForgedHeaders, writeForgedMessages, writeWhole } from './recover-files.ts'
import { RECOVERED_LOG, recoverInProcess } from './recover-worker.ts'

const hash = await createHash()
let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'recover-'))
})
afterEach(() => rmSync(root, { recursive: true }))

it('what is recovered is the partition that was written, and each frame of it is hashed', async () => {
  const written = writeWhole(root, hash, 300_000, 100, 200)
  expect(written).toBe(1100)
  const { recoveries, hashMs } = await recoverInProcess(root, 2, true)
  expect(recoveries.map(({ messages, refusal }) => [messages, refusal])).toEqual([
    ['1100', undefined],
    ['1100', undefined],
  ])
  expect(hashMs.length).toBe(2)
})

it.each([
  ['headers', writeForgedHeaders],
  ['messages', writeForgedMessages],
] as const)('a forged tail of %s is refused with nothing changed', async (_, write) => {
  // The headers claim a mebibyte each: so much must be there more than once.
  write(root, hash, 2.5 * 2 ** 20)
  const before = statSync(join(root, RECOVERED_LOG)).size
  const { recoveries } = await recoverInProcess(root, 1, false)
  expect(recoveries[0]!.refusal).toBe('UnverifiedResidue')
  expect(statSync(join(root, RECOVERED_LOG)).size).toBe(before)
})

it('too much memory and too long a pause are failures, and a full disk is said before anything is written', () => {
  const one = { ms: 1, messages: '1', longestPauseMs: 10, aboveIdleMib: 20 }
  expect(resources('x', [one]).map(({ ok }) => ok)).toEqual([true, true])
  expect(resources('x', [one, { ...one, aboveIdleMib: 300 }]).map(({ ok }) => ok)).toEqual([false, true])
  expect(resources('x', [one, { ...one, longestPauseMs: 120 }]).map(({ ok }) => ok)).toEqual([true, false])
  const full = { bavail: 10, bsize: 4096 } as never
  expect(() => requireSpace(root, 1, full)).toThrowError(expect.objectContaining({ code: 'NoSpace' }))
})
