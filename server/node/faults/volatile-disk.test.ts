import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Disk, isNotFound, readFile } from '../../../shared/storage/disk.ts'
import { describeDisk } from '../../../shared/storage/testing/disk-conformance.ts'
import { DirectoryDisk } from '../directory-disk.ts'
import { VolatileDisk } from './volatile-disk.ts'

const SCRATCH = 'scratch'
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

let root: string
let disk: Disk
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'volatile-'))
  disk = new VolatileDisk(new DirectoryDisk(root), SCRATCH)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describeDisk('VolatileDisk', async () => {
  const own = mkdtempSync(join(tmpdir(), 'volatile-'))
  return {
    disk: new VolatileDisk(new DirectoryDisk(own), SCRATCH),
    dispose: async () => rmSync(own, { recursive: true, force: true }),
  }
})

/** What the next life finds: the process is gone, and a boot empties the scratch directory. */
async function kill(): Promise<void> {
  const real = new DirectoryDisk(root)
  await real.remove(SCRATCH)
  disk = new VolatileDisk(real, SCRATCH)
}

async function write(path: string, text: string, at = 0, sync = false): Promise<void> {
  const file = await disk.open(path, 'append')
  await file.write(at, [bytes(text)])
  if (sync) await file.datasync()
  await file.close()
}

const read = async (path: string): Promise<string | undefined> => {
  try {
    return new TextDecoder().decode(await readFile(disk, path, 1 << 20))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** A file that a kill leaves alone. */
async function durable(path: string, text: string): Promise<void> {
  await write(path, text, 0, true)
  await disk.syncDirectory(path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '')
}

describe('what a kill takes', () => {
  it('bytes written and not synced, and no others', async () => {
    await durable('f', 'abcdef')
    await write('f', 'XY', 2)
    await write('f', 'tail', 6)
    expect(await read('f')).toBe('abXYeftail')
    await kill()
    expect(await read('f')).toBe('abcdef')
    await write('f', 'XY', 2, true)
    await write('f', 'z', 9)
    await kill()
    expect(await read('f')).toBe('abXYef')
  })

  it('a truncation that was not synced, and the write over it', async () => {
    await durable('f', 'abcdef')
    const file = await disk.open('f', 'write')
    await file.truncate(2)
    await file.write(3, [bytes('Z')])
    expect(await read('f')).toBe('ab\0Z')
    await file.close()
    await kill()
    expect(await read('f')).toBe('abcdef')
    const again = await disk.open('f', 'write')
    await again.truncate(2)
    await again.truncate(4)
    await again.sync()
    await again.close()
    await kill()
    expect(await read('f')).toBe('ab\0\0')
  })

  it('a name whose directory was not synced, its synced bytes with it', async () => {
    await write('f', 'synced', 0, true)
    expect(await read('f')).toBe('synced')
    await kill()
    expect(await read('f')).toBeUndefined()
  })

  it('a new name keeps the bytes that were synced, not those that were not', async () => {
    await write('f', 'synced', 0, true)
    await write('f', ' and not', 6)
    await disk.syncDirectory('')
    await kill()
    expect(await read('f')).toBe('synced')
  })

  it('a rename before its directory is synced: the old file is there, the new one is not', async () => {
    await durable('slot', 'old')
    await write('slot.tmp', 'new', 0, true)
    await disk.rename('slot.tmp', 'slot')
    expect(await read('slot')).toBe('new')
    await kill()
    expect(await read('slot')).toBe('old')
    expect(await disk.list('')).toEqual(['slot'])
    await write('slot.tmp', 'new', 0, true)
    await disk.rename('slot.tmp', 'slot')
    await disk.syncDirectory('')
    await kill()
    expect(await read('slot')).toBe('new')
  })

  it('a removal before its directory is synced', async () => {
    await durable('f', 'here')
    await disk.unlink('f')
    expect(await read('f')).toBeUndefined()
    await kill()
    expect(await read('f')).toBe('here')
    await disk.unlink('f')
    await disk.syncDirectory('')
    await kill()
    expect(await read('f')).toBeUndefined()
  })

  it('a directory whose parent was not synced, with all that is in it', async () => {
    await disk.makeDirectory('a/b')
    await durable('a/b/f', 'deep')
    await disk.syncDirectory('a')
    expect(await read('a/b/f')).toBe('deep')
    await kill()
    expect(await disk.list('')).toEqual([])
    await disk.makeDirectory('a/b')
    await durable('a/b/f', 'deep')
    await disk.syncDirectory('a')
    await disk.syncDirectory('')
    await kill()
    expect(await read('a/b/f')).toBe('deep')
  })
})

describe('names that change places', () => {
  it('a file that moved on before its old name is taken again keeps its bytes', async () => {
    await durable('a', 'first')
    await disk.rename('a', 'b')
    await write('a', 'second', 0, true)
    await disk.syncDirectory('')
    await kill()
    expect([await read('a'), await read('b')]).toEqual(['second', 'first'])
  })

  it('a tree moves to another directory', async () => {
    await disk.makeDirectory('from/tree')
    await disk.makeDirectory('to')
    await durable('from/tree/f', 'leaf')
    await disk.syncDirectory('from')
    await disk.syncDirectory('')
    await disk.rename('from/tree', 'to/tree')
    await disk.syncDirectory('to')
    await disk.syncDirectory('from')
    await kill()
    expect(await read('to/tree/f')).toBe('leaf')
    expect(await disk.list('from')).toEqual([])
  })

  it('a handle stays on its file when the name is taken by another and synced', async () => {
    await durable('f', 'old')
    const file = await disk.open('f', 'write')
    await write('f.tmp', 'new', 0, true)
    await disk.rename('f.tmp', 'f')
    await disk.syncDirectory('')
    await file.write(3, [bytes('er')])
    await file.datasync()
    const into = new Uint8Array(5)
    expect(await file.read(0, into)).toBe(5)
    expect(new TextDecoder().decode(into)).toBe('older')
    await file.close()
    expect(await read('f')).toBe('new')
  })
})

it('reads, writes and syncs that overlap lose nothing', async () => {
  await durable('f', '')
  const file = await disk.open('f', 'write')
  const model = new Uint8Array(4_000)
  let end = 0
  let synced = Promise.resolve()
  for (let step = 0; step < 400; step++) {
    const at = (step * 977) % 3_900
    const value = new Uint8Array(100).fill(step & 0xff)
    model.set(value, at)
    end = Math.max(end, at + 100)
    void file.write(at, [value])
    if (step % 7 === 0) synced = Promise.all([synced, file.datasync()]).then(() => {})
    if (step % 11 === 0) {
      const into = new Uint8Array(4_000)
      const length = await file.read(0, into)
      expect(Buffer.compare(into.subarray(0, length), model.subarray(0, length))).toBe(0)
    }
  }
  await synced
  await file.datasync()
  await file.close()
  await kill()
  const found = await readFile(disk, 'f', 1 << 20)
  expect(Buffer.compare(found, model.subarray(0, end))).toBe(0)
})
