import { expect, it } from 'vitest'
import { makeDurableDirectory } from './directories.ts'
import { MemoryDisk } from './memory-disk.ts'
import { ScriptedDisk } from './testing/scripted-disk.ts'

it('each new name is synced before anything is made in it, and what holds something costs no sync', async () => {
  const disk = new ScriptedDisk(new MemoryDisk())
  const changes = () => disk.calls.splice(0).filter(call => !call.startsWith('list'))
  await makeDurableDirectory(disk, 'a/b/c')
  expect(changes()).toEqual([
    'mkdir a',
    'syncDirectory ',
    'mkdir a/b',
    'syncDirectory a',
    'mkdir a/b/c',
    'syncDirectory a/b',
  ])
  await (await disk.open('a/b/c/f', 'create')).close()
  changes()
  await makeDurableDirectory(disk, 'a/b/c')
  expect(changes()).toEqual([])
})

it('an empty directory may be what a process left that died before the sync', async () => {
  const memory = new MemoryDisk()
  await memory.makeDirectory('a/b')
  const disk = new ScriptedDisk(memory)
  await makeDurableDirectory(disk, 'a/b')
  expect(disk.calls).toContain('syncDirectory a')
})

it('the directories outside, which have the most names in them, are not listed once an inner one holds something', async () => {
  const memory = new MemoryDisk()
  await memory.makeDirectory('a/b/c')
  const disk = new ScriptedDisk(memory)
  await makeDurableDirectory(disk, 'a/b/c/d')
  expect(disk.calls).toEqual([
    'list a/b/c/d',
    'list a/b/c',
    'list a/b',
    'mkdir a/b/c',
    'syncDirectory a/b',
    'mkdir a/b/c/d',
    'syncDirectory a/b/c',
  ])
})
