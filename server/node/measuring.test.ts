import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { MemoryDisk } from '../../shared/storage/memory-disk.ts'
import { MeasuredDisk, mayMeasure, parseMeasuring } from './measuring.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'measuring-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const LOCK = 'node.lock'
const PARTITION = 'streams/0/topics/0/partitions/0'

it('reads its switches, and takes no other', () => {
  expect(parseMeasuring([])).toEqual({ persist: { halves: 'concurrent', groupCommit: true }, sync: { kind: 'real' } })
  expect(parseMeasuring(['persist=serial', 'group-commit=off', 'sync=8/2'])).toEqual({
    persist: { halves: 'serial', groupCommit: false },
    sync: { kind: 'wait', logMs: 8, indexMs: 2 },
  })
  expect(parseMeasuring(['sync=5']).sync).toEqual({ kind: 'wait', logMs: 5, indexMs: 5 })
  expect(parseMeasuring(['sync=none']).sync).toEqual({ kind: 'none' })
  for (const wrong of ['persist=both', 'group-commit', 'sync=-1', 'sync=1/2/3', 'sync', 'x=1', ''])
    expect(() => parseMeasuring([wrong])).toThrowError(/nothing that can be measured/)
})

it('is refused with a directory that holds data, and in a cluster', () => {
  mkdirSync(join(directory, 'runtime'))
  writeFileSync(join(directory, LOCK), '')
  mayMeasure(directory, false, LOCK)
  expect(() => mayMeasure(directory, true, LOCK)).toThrowError(/without a cluster/)
  mkdirSync(join(directory, 'streams'))
  expect(() => mayMeasure(directory, false, LOCK)).toThrowError(/an empty directory/)
})

it('counts each sync of a segment file once, whatever a sync does, and leaves other files alone', async () => {
  for (const sync of ['real', 'none', '1']) {
    const inner = new MemoryDisk()
    const disk = new MeasuredDisk(inner, parseMeasuring([`sync=${sync}`]))
    await disk.makeDirectory(PARTITION)
    const log = await disk.open(`${PARTITION}/00000000000000000000.log`, 'create')
    const index = await disk.open(`${PARTITION}/00000000000000000000.index`, 'create')
    const other = await disk.open(`${PARTITION}/superblock.a.tmp`, 'create')
    await Promise.all([log.write(0, [new Uint8Array(3)]), index.write(0, [new Uint8Array(24)])])
    await Promise.all([log.datasync(), index.datasync(), log.datasync(), other.sync()])
    await disk.rename(`${PARTITION}/superblock.a.tmp`, `${PARTITION}/superblock.a`)
    expect(disk.counts()).toMatchObject({ logSyncs: 2, indexSyncs: 1, superblockWrites: 1 })
    expect(await log.sizeBytes()).toBe(3)
  }
})
