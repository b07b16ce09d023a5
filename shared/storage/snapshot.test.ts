/** The snapshot format against recorded snapshots of the peer (spec metadata-storage.md §3.1–3.3). */
import { describe, expect, test } from 'vitest'
import { createHash } from '../bytes/hash.ts'
import { MemoryDisk } from './memory-disk.ts'
import { decodeSnapshot } from './snapshot-decode.ts'
import { encodeSnapshot } from './snapshot-encode.ts'
import { SNAPSHOT_TRAILER_BYTES } from './snapshot-file.ts'
import { goldenAbsent, goldenBytes } from './testing/golden-directories.ts'

const hash = await createHash()
const NODES = ['three-checkpoint/node-0', 'three-checkpoint/node-1', 'three-checkpoint/node-2']
const payloadOf = (file: Uint8Array) => file.subarray(0, file.length - SNAPSHOT_TRAILER_BYTES)

describe.skipIf(goldenAbsent)('recorded snapshots', () => {
  test.each(NODES)('%s: every byte comes back out of plain JSON', node => {
    const payload = payloadOf(goldenBytes(node, 'metadata/snapshot.bin'))
    const record = decodeSnapshot(payload)
    const json = JSON.stringify(record, (_, value) =>
      typeof value === 'bigint' ? { $big: `${value}` } : value instanceof Uint8Array ? { $hex: [...value] } : value,
    )
    const back = JSON.parse(json, (_, value) =>
      value?.$big !== undefined ? BigInt(value.$big) : value?.$hex !== undefined ? Uint8Array.from(value.$hex) : value,
    )
    expect(encodeSnapshot(back)).toEqual(payload)
  })

  test('what the recording holds', () => {
    const record = decodeSnapshot(payloadOf(goldenBytes(NODES[0]!, 'metadata/snapshot.bin')))
    expect(record).toMatchObject({ op: 192n, revision: 51n, writerRelease: 11_264 })
    expect(record.users.map(user => user.username)).toContain('user19')
    expect(record.streams).toHaveLength(93)
    expect(record.tokens.find(owner => owner.userId === 0)!.tokens).toHaveLength(5)
    expect(record.clients).toHaveLength(1)
  })
})
void hash
void MemoryDisk
