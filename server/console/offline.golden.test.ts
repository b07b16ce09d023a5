import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { superblocksSnapshot } from '../../shared/inspection/snapshots.ts'
import { DIRECTORY_BOOT, superblocksOnDisk } from './offline.ts'

const golden = fileURLToPath(new URL('../../../shared/golden/three-clean/node-1', import.meta.url))
const absent = !existsSync(golden)
if (absent) {
  const reason = `no recorded directories at ${golden}`
  if (process.env.CI) throw new Error(reason)
  process.stderr.write(`skipped: ${reason}\n`)
}

it.skipIf(absent)('shows both slots of every group in a directory that nobody serves', async () => {
  const said = superblocksSnapshot.parse(await superblocksOnDisk(1, golden, await createHash()))
  expect(said.reporter).toMatchObject({ node: 1, boot: DIRECTORY_BOOT })
  expect(said.groups.map(({ plane, key }) => (key ? `${key.stream}/${key.topic}/${key.partition}` : plane))).toEqual([
    'metadata',
    '0/0/0',
    '0/0/1',
    '0/1/0',
    '1/0/0',
  ])
  for (const group of said.groups) {
    expect(group.verdict).toBe('present')
    expect(group.slots.some(slot => slot.state === 'valid' && slot.hex !== '')).toBe(true)
  }
})

it('has nothing to show of a directory that is empty or not there', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'offline-'))
  try {
    const hash = await createHash()
    expect((await superblocksOnDisk(0, directory, hash)).groups).toEqual([])
    expect((await superblocksOnDisk(0, join(directory, 'gone'), hash)).groups).toEqual([])
    expect(existsSync(join(directory, 'gone'))).toBe(false)
  } finally {
    rmSync(directory, { recursive: true })
  }
})
