/** What a repair brings against what the segments hold, and where it has no place. */
import { expect, it } from 'vitest'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { StoredTail } from './stored-tail.ts'
import { DIRECTORY } from './testing/harness.ts'
import { Life } from './testing/lives.ts'

it('a batch in front of all that is held was removed by retention; one that reaches into it is another', () => {
  const tail = new StoredTail(4)
  tail.add(10n, 12n, 7n)
  expect(tail.judge(0n, 10n, 1n, 12n)).toBe('unknown')
  expect(tail.judge(8n, 11n, 1n, 12n)).toBe('differs')
  expect(tail.judge(10n, 12n, 7n, 12n)).toBe('same')
})

it('a replica without bytes has no place for batches below the name of its tail, so that a transfer brings them', async () => {
  const disk = new MemoryDisk()
  for (const kind of ['log', 'index']) disk.put(`${DIRECTORY}/${'97'.padStart(20, '0')}.${kind}`, new Uint8Array())
  const life = await Life.open(disk, { replicaCount: 3 })
  expect(life.partition.repairStanding()).toEqual({ recoveredEnd: 0n, placeFrom: 97n })
})
