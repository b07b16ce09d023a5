/** What every implementation of the Disk port must do, as tests that both run. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Disk } from '../disk.ts'

const text = (value: string): Uint8Array => new TextEncoder().encode(value)

export function describeDisk(name: string, make: () => Promise<{ disk: Disk; dispose: () => Promise<void> }>): void {
  describe(`${name} keeps the Disk contract`, () => {
    let disk: Disk
    let dispose: () => Promise<void>
    beforeEach(async () => {
      ;({ disk, dispose } = await make())
    })
    afterEach(() => dispose())

    const write = async (path: string, content: string): Promise<void> => {
      const file = await disk.open(path, 'create')
      await file.write(0, [text(content)])
      await file.close()
    }
    const read = async (path: string): Promise<string> => {
      const file = await disk.open(path, 'read')
      const bytes = new Uint8Array(await file.sizeBytes())
      expect(await file.read(0, bytes)).toBe(bytes.length)
      await file.close()
      return new TextDecoder().decode(bytes)
    }
    const failure = (promise: Promise<unknown>) =>
      promise.then(
        () => 'no failure',
        error => error.disk,
      )

    it('opens by mode: read and write need the file, create empties it, append keeps it', async () => {
      expect(await failure(disk.open('x', 'read'))).toBe('NotFound')
      expect(await failure(disk.open('x', 'write'))).toBe('NotFound')
      await write('x', 'content')
      await (await disk.open('x', 'append')).close()
      await (await disk.open('x', 'write')).close()
      expect(await read('x')).toBe('content')
      await (await disk.open('x', 'create')).close()
      expect(await read('x')).toBe('')
      await (await disk.open('y', 'append')).close()
      expect(await read('y')).toBe('')
    })

    it('refuses to write through a handle that was opened for reading', async () => {
      await write('x', 'content')
      const file = await disk.open('x', 'read')
      expect(await failure(file.write(0, [text('a')]))).toBe('Io')
      expect(await failure(file.truncate(0))).toBe('Io')
      await file.close()
      expect(await read('x')).toBe('content')
    })

    it('writes many buffers back to back at a position, empty ones among them', async () => {
      const file = await disk.open('x', 'create')
      const buffers = Array.from({ length: 3000 }, (_, index) => text(index % 7 === 0 ? '' : `${index},`))
      await file.write(5, buffers)
      await file.write(0, [text('hello')])
      await file.write(2, [])
      await file.close()
      expect(await read('x')).toBe(`hello${buffers.map(buffer => new TextDecoder().decode(buffer)).join('')}`)
    })

    it('reads fewer bytes only at the end, and none behind it', async () => {
      await write('x', 'abcdef')
      const file = await disk.open('x', 'read')
      const into = new Uint8Array(4)
      expect(await file.read(4, into)).toBe(2)
      expect(into.subarray(0, 2)).toEqual(text('ef'))
      expect(await file.read(6, into)).toBe(0)
      expect(await file.read(100, into)).toBe(0)
      await file.close()
    })

    it('fills a hole and what a truncation grew with zeros', async () => {
      const file = await disk.open('x', 'create')
      await file.write(0, [text('abcdef')])
      await file.truncate(2)
      await file.truncate(4)
      await file.write(6, [text('z')])
      await file.datasync()
      await file.sync()
      expect(await file.sizeBytes()).toBe(7)
      await file.close()
      expect(await read('x')).toBe('ab\0\0\0\0z')
    })

    it('keeps a handle on its file when the name moves or goes', async () => {
      await write('x', 'old')
      await write('y', 'other')
      const file = await disk.open('x', 'write')
      await disk.rename('x', 'y')
      await file.write(0, [text('new')])
      expect(await read('y')).toBe('new')
      await disk.unlink('y')
      await file.write(0, [text('odd')])
      const into = new Uint8Array(3)
      expect(await file.read(0, into)).toBe(3)
      expect(into).toEqual(text('odd'))
      await file.close()
      expect(await failure(disk.stat('y'))).toBe('NotFound')
    })

    it('replaces a file by rename and never a full directory', async () => {
      await write('x', 'x')
      await write('y', 'y')
      await disk.rename('x', 'y')
      expect(await disk.list('')).toEqual(['y'])
      expect(await read('y')).toBe('x')
      await disk.makeDirectory('d')
      await disk.makeDirectory('e')
      await write('e/f', 'f')
      expect(await failure(disk.rename('d', 'e'))).toBe('Exists')
      expect(await failure(disk.rename('absent', 'z'))).toBe('NotFound')
      await disk.rename('e', 'd')
      expect(await read('d/f')).toBe('f')
    })

    it('makes directories with their parents, again without complaint, never over a file', async () => {
      await disk.makeDirectory('a/b/c')
      await disk.makeDirectory('a/b/c')
      await disk.makeDirectory('')
      await write('a/b/file', '1')
      expect(await failure(disk.makeDirectory('a/b/file'))).toBe('NotADirectory')
      expect(await failure(disk.makeDirectory('a/b/file/d'))).toBe('NotADirectory')
      expect(await failure(disk.open('absent/x', 'create'))).toBe('NotFound')
      expect(await failure(disk.open('a/b/file/x', 'create'))).toBe('NotADirectory')
      await disk.syncDirectory('a/b')
      await disk.syncDirectory('')
      expect(await failure(disk.syncDirectory('absent'))).toBe('NotFound')
    })

    it('lists names by code unit', async () => {
      for (const name of ['b', 'B', 'a10', 'a2', 'é', '_']) await write(name, '')
      expect(await disk.list('')).toEqual(['B', '_', 'a10', 'a2', 'b', 'é'])
      expect(await failure(disk.list('absent'))).toBe('NotFound')
      expect(await failure(disk.list('b'))).toBe('NotADirectory')
    })

    it('tells files from directories', async () => {
      await disk.makeDirectory('d')
      await write('d/f', 'four')
      expect(await disk.stat('d')).toMatchObject({ kind: 'directory' })
      expect(await disk.stat('')).toMatchObject({ kind: 'directory' })
      expect(await disk.stat('d/f')).toMatchObject({ kind: 'file', sizeBytes: 4 })
      expect(await failure(disk.stat('d/absent'))).toBe('NotFound')
      expect(await failure(disk.stat('d/f/g'))).toBe('NotADirectory')
    })

    it('treats a directory where a file should be as a broken disk, not as an absent file', async () => {
      await disk.makeDirectory('d')
      expect(await failure(disk.open('d', 'read'))).toBe('Io')
      expect(await failure(disk.open('d', 'append'))).toBe('Io')
      expect(await failure(disk.unlink('d'))).toBe('Io')
      expect(await failure(disk.unlink('absent'))).toBe('NotFound')
    })

    it('removes trees, and what is absent without complaint', async () => {
      await disk.makeDirectory('a/b')
      await write('a/b/f', '1')
      await disk.remove('a')
      await disk.remove('a')
      await write('top', '1')
      await disk.remove('top')
      expect(await disk.list('')).toEqual([])
      await write('again', '1')
      await disk.remove('')
      expect(await disk.list('')).toEqual([])
    })

    it('takes no path that leaves the directory', async () => {
      for (const path of ['../x', '/x', 'a/../../x', 'a//b', './x', 'a/.', 'a\0b']) {
        expect(await failure(disk.open(path, 'create')), path).toBe('Io')
        expect(await failure(disk.list(path)), path).toBe('Io')
        expect(await failure(disk.makeDirectory(path)), path).toBe('Io')
        expect(await failure(disk.remove(path)), path).toBe('Io')
      }
      expect(await failure(disk.rename('x', '../y'))).toBe('Io')
    })
  })
}
