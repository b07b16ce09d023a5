import { expect, it } from 'vitest'
import { MemoryDisk } from './memory-disk.ts'
import { describeDisk } from './testing/disk-conformance.ts'

describeDisk('MemoryDisk', async () => ({ disk: new MemoryDisk(), dispose: async () => {} }))

it('restores a whole tree from a snapshot that later writes cannot reach', async () => {
  const disk = new MemoryDisk()
  await disk.makeDirectory('empty')
  disk.put('a/b', Uint8Array.of(1, 2, 3))
  const image = disk.snapshot()
  const file = await disk.open('a/b', 'write')
  await file.write(1, [Uint8Array.of(9, 9, 9)])
  await disk.remove('empty')
  disk.put('late', Uint8Array.of(1))
  expect(disk.peek('a/b')).toEqual(Uint8Array.of(1, 9, 9, 9))
  disk.restore(image)
  expect([...disk.snapshot()]).toEqual([
    ['a', undefined],
    ['a/b', Uint8Array.of(1, 2, 3)],
    ['empty', undefined],
  ])
  await file.write(0, [Uint8Array.of(7)])
  expect(disk.peek('a/b')).toEqual(Uint8Array.of(1, 2, 3))
})
