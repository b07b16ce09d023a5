import { expect, it } from 'vitest'
import { transferWords } from './transfer.tsx'

const of = { peer: 0, artifact: 1, artifacts: 3, receivedBytes: 1024, totalBytes: 4096, installing: false }

it('says of a transfer who gives it and how much is there, and no total before one was offered', () => {
  expect(transferWords(of)).toBe('artifact 2 of 3, 1 KiB of 4 KiB from node-0')
  expect(transferWords({ ...of, artifact: 3, receivedBytes: 4096 })).toBe('artifact 3 of 3, 4 KiB of 4 KiB from node-0')
  expect(transferWords({ ...of, installing: true })).toMatch(/^installs/)
  expect(transferWords({ ...of, artifacts: 0, totalBytes: 0, receivedBytes: 0 })).toBe('asked node-0 for its state')
})
