import { describe, expect, it } from 'vitest'
import { Micros, Offset } from '../bytes/units.ts'
import { encodeIndex, INDEX_ENTRY_BYTES } from '../storage/index-file.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { type IndexWindow, listIndex, WHOLE_INDEX } from './index-window.ts'

const PATH = 'segment.index'
/** Entry n: offset 10 n, byte 100 n. */
function diskWith(count: number, torn = 0): MemoryDisk {
  const disk = new MemoryDisk()
  const whole = encodeIndex(
    Array.from({ length: count }, (_, number) => ({
      offset: Offset(BigInt(number * 10)),
      timestamp: Micros(BigInt(number)),
      position: BigInt(number * 100),
    })),
  )
  const bytes = new Uint8Array(whole.length + torn)
  bytes.set(whole)
  disk.put(PATH, bytes)
  return disk
}
const listed = async (count: number, window: IndexWindow, torn = 0) => {
  const { entries, ...rest } = await listIndex(diskWith(count, torn), PATH, window)
  return { numbers: entries.map(entry => entry.number), ...rest }
}
const between = (from: number, to: number, limit: number): IndexWindow => ({ by: 'position', from, to, limit })

describe('the listed part of an index', () => {
  it('is all of a short one, and says what is torn', async () => {
    expect(await listed(3, WHOLE_INDEX, 7)).toEqual({ numbers: [0, 1, 2], total: 3, matching: 3, trailingBytes: 7 })
    expect(await listed(0, WHOLE_INDEX)).toEqual({ numbers: [], total: 0, matching: 0, trailingBytes: 0 })
  })

  it('begins with the entry from which the window can be walked, and ends in front of its end', async () => {
    expect((await listed(9, between(250, 500, 9))).numbers).toEqual([2, 3, 4])
    expect((await listed(9, between(300, 501, 9))).numbers).toEqual([3, 4, 5])
    expect((await listed(9, between(5_000, 6_000, 9))).numbers).toEqual([8])
  })

  it('is thinned evenly to its limit and counts what it stands for', async () => {
    const { numbers, total, matching } = await listed(350_000, between(0, 10 ** 9, 100))
    expect({ total, matching, listed: numbers.length }).toEqual({ total: 350_000, matching: 350_000, listed: 100 })
    expect(new Set(numbers.slice(1).map((number, at) => number - numbers[at]!))).toEqual(new Set([3_500]))
  })

  it('holds the floor of an offset and the entry behind it', async () => {
    const around = (offset: bigint) => listed(5, { by: 'offset', offset, limit: 2 })
    expect((await around(0n)).numbers).toEqual([0, 1])
    expect((await around(29n)).numbers).toEqual([2, 3])
    expect((await around(30n)).numbers).toEqual([3, 4])
    expect(await around(10n ** 15n)).toMatchObject({ numbers: [4], total: 5, matching: 1 })
  })

  it('reads no more of a long file than it lists and the steps of its searches', async () => {
    const disk = diskWith(100_000)
    let read = 0
    const open = disk.open.bind(disk)
    disk.open = async (path, mode) => {
      const file = await open(path, mode)
      const inner = file.read.bind(file)
      file.read = async (position, into) => {
        read += into.length
        return inner(position, into)
      }
      return file
    }
    await listIndex(disk, PATH, between(1_000, 9_000_000, 50))
    expect(read).toBeLessThan((50 + 2 * 18) * INDEX_ENTRY_BYTES)
    expect(read).toBeGreaterThan(0)
  })
})
