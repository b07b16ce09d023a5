import { cpSync, existsSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { DIRECTORY_BOOT, walEntrySnapshot, walScanSnapshot } from '../../shared/inspection/logs.ts'
import { superblocksSnapshot, walSnapshot } from '../../shared/inspection/snapshots.ts'
import { superblocksOnDisk, walEntryOnDisk, walOnDisk, walScanOnDisk } from './offline.ts'

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

it.skipIf(absent)('reads the log of a directory that nobody serves, and the tail that a boot would cut', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'offline-'))
  try {
    cpSync(golden, directory, { recursive: true })
    const hash = await createHash()
    const whole = walSnapshot.parse(await walOnDisk(1, directory, hash))
    const [before, last] = whole.entries.slice(-2)
    expect(whole).toMatchObject({ reporter: { node: 1, boot: DIRECTORY_BOOT }, lastOp: last!.op, appliedOp: '0' })
    expect(BigInt(whole.commitMax)).toBeGreaterThan(0n)
    const entry = walEntrySnapshot.parse(await walEntryOnDisk(1, directory, hash, BigInt(last!.op)))
    expect(entry).toMatchObject({ positionBytes: last!.positionBytes, identity: 'valid', parent: 'follows' })
    expect(entry.hex).toHaveLength(2 * last!.lengthBytes)
    expect(entry).not.toHaveProperty('sameAsMemory')

    truncateSync(join(directory, 'metadata/journal.wal'), whole.sizeBytes - 7)
    const torn = walSnapshot.parse(await walOnDisk(1, directory, hash))
    expect(torn).toMatchObject({ lastOp: before!.op, sizeBytes: whole.sizeBytes - 7 })
    expect(await walEntryOnDisk(1, directory, hash, BigInt(last!.op))).toBeUndefined()
    expect(walScanSnapshot.parse(await walScanOnDisk(1, directory, hash))).toMatchObject({
      end: 'torn',
      positionBytes: last!.positionBytes,
      highestOp: before!.op,
      problem: { check: 'TooShort' },
    })
    expect(statSync(join(directory, 'metadata/journal.wal')).size).toBe(whole.sizeBytes - 7)
  } finally {
    rmSync(directory, { recursive: true })
  }
})

it('has nothing to show of a directory that is empty or not there', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'offline-'))
  try {
    const hash = await createHash()
    expect((await superblocksOnDisk(0, directory, hash)).groups).toEqual([])
    expect((await superblocksOnDisk(0, join(directory, 'gone'), hash)).groups).toEqual([])
    expect(await walOnDisk(0, join(directory, 'gone'), hash)).toMatchObject({ entries: [], sizeBytes: 0, lastOp: '0' })
    expect(await walScanOnDisk(0, directory, hash)).toMatchObject({ entries: 0, end: 'clean' })
    expect(existsSync(join(directory, 'gone'))).toBe(false)
  } finally {
    rmSync(directory, { recursive: true })
  }
})
