/** Writers of one superblock (spec metadata-storage.md §1.6–1.8): none lowers what another has made durable. */
import { expect, test } from 'vitest'
import { createHash } from '../bytes/hash.ts'
import { Offset, Op, ReplicaId, View } from '../bytes/units.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { GroupSuperblock } from './group-superblock.ts'

const hash = await createHash()
const identity = { cluster: 7n, replica: ReplicaId(1), replicaCount: 3 }

async function opened(disk: MemoryDisk): Promise<GroupSuperblock> {
  await disk.makeDirectory('d')
  return GroupSuperblock.open(disk, 'd', hash, identity)
}

test('SB-16 a reservation queued behind a view carries the new view forward, and a view the new reservation', async () => {
  const disk = new MemoryDisk()
  const superblock = await opened(disk)
  const offsets = (reserved: bigint) =>
    superblock.writeOffsets(() => ({ frontier: Offset(0n), reserved: Offset(reserved) }))
  const pair = (view: number) => superblock.write(View(view), View(view), Op(0n), () => Offset(0n))
  const written = await Promise.all([pair(3), offsets(16n), pair(4), offsets(32n)])
  expect(written.map(({ view, offsetReserved }) => [view, offsetReserved])).toEqual([
    [3, 0n],
    [3, 16n],
    [4, 16n],
    [4, 32n],
  ])
  expect((await opened(disk)).recorded).toMatchObject({ view: 4, logView: 4, offsetReserved: 32n })
})
