import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeDisk } from '../../shared/storage/testing/disk-conformance.ts'
import { behind, DirectoryDisk } from './directory-disk.ts'

describeDisk('DirectoryDisk', async () => {
  const root = await mkdtemp(join(tmpdir(), 'disk-'))
  return { disk: new DirectoryDisk(root), dispose: () => rm(root, { recursive: true }) }
})

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no failure',
    error => error.disk,
  )

describe('a read-only directory disk', () => {
  let root: string
  let disk: DirectoryDisk
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'disk-'))
    await mkdir(join(root, 'data/inside'), { recursive: true })
    await mkdir(join(root, 'outside'))
    await writeFile(join(root, 'outside/secret'), 'secret')
    await writeFile(join(root, 'data/inside/file'), 'file')
    await symlink('../outside', join(root, 'data/link'))
    await symlink('inside', join(root, 'data/near'))
    await symlink('../outside/secret', join(root, 'data/secret'))
    execFileSync('mkfifo', [join(root, 'data/fifo')])
    disk = new DirectoryDisk(join(root, 'data'), { readOnly: true })
  })
  afterAll(() => rm(root, { recursive: true }))

  it('reads, and changes nothing', async () => {
    const file = await disk.open('inside/file', 'read')
    expect(await file.sizeBytes()).toBe(4)
    await file.close()
    expect(await failure(disk.open('inside/file', 'write'))).toBe('ReadOnly')
    expect(await failure(disk.open('new', 'create'))).toBe('ReadOnly')
    expect(await failure(disk.open('new', 'append'))).toBe('ReadOnly')
    expect(await failure(disk.rename('inside/file', 'x'))).toBe('ReadOnly')
    expect(await failure(disk.unlink('inside/file'))).toBe('ReadOnly')
    expect(await failure(disk.remove('inside'))).toBe('ReadOnly')
    expect(await failure(disk.makeDirectory('new'))).toBe('ReadOnly')
    expect(await failure(disk.syncDirectory(''))).toBe('ReadOnly')
    expect(await disk.list('')).toEqual(['fifo', 'inside', 'link', 'near', 'secret'])
  })

  it('follows no link, to the outside or to the inside', async () => {
    expect(await disk.stat('link')).toMatchObject({ kind: 'other' })
    expect(await disk.stat('secret')).toMatchObject({ kind: 'other' })
    expect(await failure(disk.open('secret', 'read'))).toBe('Io')
    expect(await failure(disk.open('link/secret', 'read'))).toBe('Io')
    expect(await failure(disk.stat('link/secret'))).toBe('Io')
    expect(await failure(disk.list('link'))).toBe('Io')
    expect(await failure(disk.list('near'))).toBe('Io')
    expect(await failure(disk.open('near/file', 'read'))).toBe('Io')
  })

  it('does not wait at a fifo', async () => {
    expect(await disk.stat('fifo')).toMatchObject({ kind: 'other' })
    expect(await failure(disk.open('fifo', 'read'))).toBe('Io')
  })
})

it('continues a short write where it stopped', () => {
  const buffers = [Uint8Array.of(1, 2), Uint8Array.of(3), Uint8Array.of(4, 5, 6)]
  const left = (count: number) => behind(buffers, count).map(buffer => [...buffer])
  expect(left(0)).toEqual([[1, 2], [3], [4, 5, 6]])
  expect(left(1)).toEqual([[2], [3], [4, 5, 6]])
  expect(left(2)).toEqual([[3], [4, 5, 6]])
  expect(left(4)).toEqual([[5, 6]])
  expect(left(6)).toEqual([])
})
