import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHash } from '../../../shared/bytes/hash.ts'
import { changeOf, type FileState } from '../../../shared/inspection/files.ts'
import { FakeSupervisor } from '../testing/fake-supervisor.ts'
import { DiskHistory } from './disk-history.ts'

const hash = await createHash()
let directory: string
let supervisor: FakeSupervisor
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'disk-history-'))
  supervisor = new FakeSupervisor([{}], 'stopped')
  supervisor.set(0, { dataDirectory: join(directory, 'node-0') })
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const open = () =>
  new DiskHistory(supervisor, hash, error => {
    throw error
  })
const write = (path: string, text: string) => {
  mkdirSync(join(directory, 'node-0', path, '..'), { recursive: true })
  writeFileSync(join(directory, 'node-0', path), text)
}
const files = (history: DiskHistory) => history.files(supervisor.status().nodes[0]!)
async function boot(history: DiskHistory, end: 'running' | 'refused' = 'running', status?: number): Promise<void> {
  supervisor.set(0, { state: 'starting' })
  // The process comes to its files a good while after it was spawned.
  await new Promise(resolve => setTimeout(resolve, 30))
  supervisor.set(0, { state: end, ...(status !== undefined && { lastExit: { status, meaning: '', atWallMs: 1 } }) })
  await files(history)
}
const changes = async (history: DiskHistory) =>
  (await files(history)).rows.map(({ path, bootBefore, lastBoot, now }) => [
    path,
    changeOf(bootBefore, lastBoot),
    changeOf(lastBoot, now),
  ])

it('tells what changed between the last two boots, and since', async () => {
  const history = open()
  write('metadata/superblock.a', 'one')
  write('metadata/superblock.b', 'two')
  write('gone', 'x')
  await boot(history)
  expect(await files(history)).toMatchObject({ bootBeforeWallMs: null, files: 3, bytes: 7 })
  supervisor.set(0, { state: 'stopped' })
  write('metadata/superblock.a', 'ONE')
  write('metadata/wal', 'abc')
  rmSync(join(directory, 'node-0', 'gone'))
  await boot(history)
  write('metadata/wal', 'abcdef')
  expect(await changes(history)).toEqual([
    ['metadata/wal', 'new', 'grown'],
    ['gone', 'gone', undefined],
    ['metadata/superblock.a', 'rewritten', 'same'],
    ['metadata/superblock.b', 'same', 'same'],
  ])
  history.close()
})

it('counts a boot that refused, and no start that found its ports taken', async () => {
  const history = open()
  write('a', '1')
  await boot(history)
  supervisor.set(0, { state: 'stopped' })
  write('a', '22')
  await boot(history, 'refused', 69)
  expect(await files(history)).toMatchObject({ bootBeforeWallMs: null })
  await boot(history, 'refused', 65)
  expect(await changes(history)).toEqual([['a', 'grown', 'same']])
  history.close()
})

it('outlives the console, and forgets what nobody can read', async () => {
  const first = open()
  write('a', '1')
  await boot(first)
  first.close()
  supervisor.set(0, { state: 'stopped' })
  write('a', '22')
  const second = open()
  await boot(second)
  expect(await changes(second)).toEqual([['a', 'grown', 'same']])
  second.close()
  writeFileSync(join(directory, 'node-0.boots.json'), '{')
  expect(await files(open())).toMatchObject({ lastBootWallMs: null, files: 1 })
})

it('follows no link out of the directory', async () => {
  write('a', '1')
  mkdirSync(join(directory, 'elsewhere'))
  writeFileSync(join(directory, 'elsewhere', 'secret'), 's')
  symlinkSync(join(directory, 'elsewhere'), join(directory, 'node-0', 'link'))
  expect(await files(open())).toMatchObject({ files: 1, leftOut: 1, rows: [{ path: 'a' }] })
})

it('does not take a new time of equal bytes for a change, where it knows the bytes', () => {
  const at = (modifiedWallMs: number, checksum?: string): FileState => ({
    sizeBytes: 1,
    modifiedWallMs,
    ...(checksum !== undefined && { checksum }),
  })
  expect([changeOf(at(1, 'a'), at(2, 'a')), changeOf(at(1), at(2)), changeOf(at(1, 'a'), at(1, 'b'))]).toEqual([
    'same',
    'rewritten',
    'rewritten',
  ])
})
