/** Damage that a disk does by itself (spec drills.md §2.3, 6 and 7): sectors that cannot be read, and writes that land elsewhere. */
import { expect, test } from 'vitest'
import { Dice } from './dice.ts'
import { SimulatedDisk } from './disk.ts'
import { Life } from './life.ts'
import { Timeline } from './timeline.ts'

const SECTOR = 512

/** A disk of one life, and a way to wait for what was asked of it. */
function newDisk() {
  const timeline = new Timeline()
  const disk = new SimulatedDisk()
  const port = disk.attach(new Life(timeline), { latency: () => 1, fault: () => undefined })
  const drive = async <T>(work: Promise<T>): Promise<T> => {
    let settled = false
    const done = work.finally(() => {
      settled = true
    })
    done.catch(() => {})
    while (!settled) {
      timeline.step()
      await new Promise<void>(resolve => setImmediate(resolve))
    }
    return done
  }
  return { disk, port, drive }
}

const filled = (length: number, value: number) => new Uint8Array(length).fill(value)

async function writtenFile(bytes: Uint8Array) {
  const { disk, port, drive } = newDisk()
  const file = await drive(port.open('log', 'create'))
  await drive(file.write(0, [bytes]))
  await drive(port.syncDirectory(''))
  await drive(file.sync())
  const read = async (position: number, length: number) => {
    const into = new Uint8Array(length)
    return into.subarray(0, await drive(file.read(position, into)))
  }
  return { disk, drive, file, read }
}

test('a sector that is lost cannot be read, its neighbours can, and a write to it heals it', async () => {
  const { disk, drive, file, read } = await writtenFile(filled(3 * SECTOR, 7))
  expect(disk.loseSector('log', SECTOR + 5)).toBe(true)
  await expect(read(SECTOR - 1, 2)).rejects.toMatchObject({ disk: 'Io' })
  await expect(read(2 * SECTOR - 1, 1)).rejects.toMatchObject({ disk: 'Io' })
  expect(await read(0, SECTOR)).toEqual(filled(SECTOR, 7))
  expect(await read(2 * SECTOR, SECTOR)).toEqual(filled(SECTOR, 7))
  await drive(file.write(SECTOR, [filled(SECTOR, 8)]))
  expect(await read(SECTOR, SECTOR)).toEqual(filled(SECTOR, 8))
})

test('a lost sector stays lost through a crash, and is gone with the bytes behind a cut', async () => {
  const { disk, drive, file, read } = await writtenFile(filled(3 * SECTOR, 7))
  disk.loseSector('log', 2 * SECTOR)
  disk.crash('drop', new Dice(1n, 'test'))
  await expect(read(2 * SECTOR, 1)).rejects.toMatchObject({ disk: 'Io' })
  await drive(file.truncate(2 * SECTOR))
  expect(await read(2 * SECTOR, 1)).toEqual(filled(0, 0))
})

test('there is no sector to lose behind the end of a file, nor in one that does not exist', async () => {
  const { disk } = await writtenFile(filled(SECTOR, 7))
  expect(disk.loseSector('log', SECTOR)).toBe(false)
  expect(disk.loseSector('other', 0)).toBe(false)
})

test('a write that goes astray lands elsewhere, once, and its own place has nothing, durably', async () => {
  const { disk, drive, file, read } = await writtenFile(filled(3 * SECTOR, 7))
  let landed = 0
  const misdirected = disk.misdirect('log', SECTOR, 3 * SECTOR, () => landed++)
  expect([misdirected, landed]).toEqual([true, 0])
  await drive(file.write(3 * SECTOR, [filled(SECTOR, 8)]))
  await drive(file.sync())
  disk.crash('drop', new Dice(1n, 'test'))
  expect(landed).toBe(1)
  expect(await read(0, SECTOR)).toEqual(filled(SECTOR, 7))
  expect(await read(SECTOR, SECTOR)).toEqual(filled(SECTOR, 8))
  expect(await read(2 * SECTOR, SECTOR)).toEqual(filled(SECTOR, 7))
  expect(await read(3 * SECTOR, SECTOR)).toEqual(filled(SECTOR, 0))
  // Both sides heal when they are written over.
  await drive(file.write(SECTOR, [filled(SECTOR, 9)]))
  await drive(file.write(3 * SECTOR, [filled(SECTOR, 9)]))
  expect(await read(SECTOR, SECTOR)).toEqual(filled(SECTOR, 9))
  expect(await read(3 * SECTOR, SECTOR)).toEqual(filled(SECTOR, 9))
})

test('of a write that goes astray only what has room lands, and what it was to replace stays', async () => {
  const { disk, drive, file, read } = await writtenFile(filled(2 * SECTOR, 7))
  disk.misdirect('log', 0, 10, () => {})
  await drive(file.write(SECTOR, [filled(SECTOR, 8)]))
  expect(await read(0, 2 * SECTOR)).toEqual(Uint8Array.from([...filled(10, 8), ...filled(2 * SECTOR - 10, 7)]))
})

test('a mended disk reads every sector and misplaces nothing', async () => {
  const { disk, drive, file, read } = await writtenFile(filled(SECTOR, 7))
  disk.loseSector('log', 0)
  disk.misdirect('log', 0, 10, () => {})
  disk.mend()
  await drive(file.write(SECTOR, [filled(1, 8)]))
  expect(await read(0, SECTOR + 1)).toEqual(Uint8Array.from([...filled(SECTOR, 7), 8]))
})

test('of a power loss that keeps indexes their logs get nothing; one that keeps the last page keeps nothing in front of it', async () => {
  const { disk, port, drive } = newDisk()
  await drive(port.makeDirectory('p'))
  const files = [await drive(port.open('p/0.log', 'create')), await drive(port.open('p/0.index', 'create'))]
  await drive(port.syncDirectory('p'))
  const write = async () => {
    for (const file of files) await drive(file.write(0, [filled(5_000, 7)]))
  }
  await write()
  disk.crash('indexes', new Dice(1n, 'test'))
  expect([disk.peek('p/0.log')!.length, disk.peek('p/0.index')!.length]).toEqual([0, 5_000])
  const file = await drive(port.open('p/0.log', 'write'))
  await drive(file.write(0, [filled(5_000, 7)]))
  disk.crash('last', new Dice(1n, 'test'))
  expect(disk.peek('p/0.log')).toEqual(Uint8Array.from([...filled(4_096, 0), ...filled(904, 7)]))
})
