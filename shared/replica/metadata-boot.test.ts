/** What a boot makes of the metadata log and superblock (spec metadata-storage.md §1.4, §2.4, §3.5, §6.2, §6.3). */
import { describe, expect, test } from 'vitest'
import { Operation } from '../protocol/operations.ts'
import { restampView } from '../protocol/seal.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import {
  bytesOf,
  CLUSTER,
  diskWith,
  edit,
  entriesOf,
  fingerprint,
  flip,
  namesUpTo,
  newDisk,
  ofThree,
  putSuperblock,
  refused,
  SLOT_A,
  SLOT_B,
  stepOf,
  streamsOf,
  upTo,
  WAL,
} from './testing/directories.ts'
import { hash, Solo, soloConfig } from './testing/solo.ts'

const three = ofThree()

describe('the superblock at boot', () => {
  test.each([
    ['SB-07', SLOT_A, 40],
    ['SB-07', SLOT_B, 40],
    ['SB-08', SLOT_A, 0],
    ['SB-08', SLOT_B, 105],
  ])('%s a flipped byte in %s refuses, and neither slot changes', async (_, slot, at) => {
    const { disk } = diskWith(upTo(3))
    putSuperblock(disk, { commitMax: 1n as never }, SLOT_A, 1n)
    putSuperblock(disk, { commitMax: 2n as never }, SLOT_B, 2n)
    edit(disk, slot, flip(at))
    expect(await refused(disk)).toMatchObject({ code: 'SuperblockUnreadable', path: slot })
  })

  test('SB-09 two corrupt slots are not a fresh disk', async () => {
    const { disk } = diskWith(upTo(3))
    for (const [slot, sequence] of [
      [SLOT_A, 1n],
      [SLOT_B, 2n],
    ] as const) {
      putSuperblock(disk, {}, slot, sequence)
      edit(disk, slot, flip(50))
    }
    const refusal = await refused(disk)
    expect(refusal).toMatchObject({ code: 'SuperblockUnreadable', path: SLOT_A, position: 102 })
    expect(refusal.expected).not.toBe(refusal.actual)
  })

  test('SB-10 an unknown version is named', async () => {
    const { disk } = diskWith(upTo(3))
    putSuperblock(disk, {})
    edit(disk, SLOT_A, bytes => {
      bytes[4] = 2
      const view = new DataView(bytes.buffer, bytes.byteOffset)
      view.setBigUint64(bytes.length - 8, hash.xxh3(bytes.subarray(0, -8)), true)
      return bytes
    })
    expect(await refused(disk)).toMatchObject({ position: 4, expected: '1', actual: '2' })
  })

  test.each([
    ['SB-03', 66, 'WrongLength'],
    ['SB-03', 57, 'WrongLength'],
  ])('%s a payload of %i bytes refuses the node', async (_, bytes, code) => {
    const { disk } = diskWith(upTo(3))
    putSuperblock(disk, {})
    const { SuperblockStore } = await import('../storage/superblock.ts')
    const { store } = await SuperblockStore.openWithLatest(disk, 'metadata', hash)
    await store.writePayload(() => new Uint8Array(bytes))
    expect(await refused(disk)).toMatchObject({ code, path: SLOT_B, position: 28, actual: `${bytes}` })
  })

  test('SB-02 a payload of 58 bytes is accepted', async () => {
    const { disk } = diskWith(upTo(3))
    putSuperblock(disk, { commitMax: 2n as never })
    const payload = disk.peek(SLOT_A)!.slice(28, 28 + 58)
    await disk.unlink(SLOT_A)
    const { SuperblockStore } = await import('../storage/superblock.ts')
    const { store } = await SuperblockStore.openWithLatest(disk, 'metadata', hash)
    await store.writePayload(() => payload)
    expect(streamsOf(await Solo.boot(disk))).toEqual(namesUpTo(3))
  })

  test('SB-04 a log view above its view refuses, with both numbers', async () => {
    const { disk } = diskWith(upTo(3))
    putSuperblock(disk, { view: 4 as never, logView: 5 as never })
    expect(await refused(disk)).toMatchObject({ code: 'BadValue', position: 50, expected: 'at most 4', actual: '5' })
  })

  test('SB-11 absent and empty slots boot from the log alone, without and with entries', async () => {
    for (const ops of [0, 3]) {
      for (const empty of [false, true]) {
        const { disk } = diskWith(upTo(ops, { view: 6 }))
        if (empty) for (const slot of [SLOT_A, SLOT_B]) disk.put(slot, new Uint8Array(0))
        const solo = await Solo.boot(disk, three)
        expect(stepOf(solo, 'superblock')!.verdict).toBe('empty')
        // An inferred view is a hint: it never becomes the view of the log.
        expect(solo.inspect.metadata()).toMatchObject({ view: ops === 0 ? 0 : 6, logView: 0 })
      }
    }
  })

  test('SB-12 a slot of 5 KiB refuses', async () => {
    const { disk } = diskWith(upTo(3))
    disk.put(SLOT_A, new Uint8Array(5 * 1024))
    expect(await refused(disk)).toMatchObject({ code: 'SuperblockUnreadable', actual: '5120' })
  })

  test('SB-21 a slot that cannot be read refuses, and boots when the fault is gone', async () => {
    const { disk } = diskWith(upTo(3))
    await disk.makeDirectory(SLOT_B)
    expect(await refused(disk)).toMatchObject({ code: 'DISK_IO', path: SLOT_B })
    await disk.remove(SLOT_B)
    expect(streamsOf(await Solo.boot(disk))).toEqual(namesUpTo(3))
  })

  test.each([
    ['cluster', { cluster: 1n }, 28],
    ['replica', { replicaId: 2 as never }, 44],
    ['replica count', { replicaCount: 5 }, 45],
  ])('CN-17 a superblock of another %s refuses, at its byte', async (field, state, position) => {
    const { disk } = diskWith(upTo(3))
    putSuperblock(disk, state)
    const refusal = await refused(disk)
    expect(refusal).toMatchObject({ code: 'SuperblockIdentityMismatch', path: SLOT_A, position })
    expect(refusal.expected).toContain(field)
  })

  test('SB-22 a wild view in the last header is reported, and the view of the entry before it taken', async () => {
    const ops = entriesOf(upTo(4))
    const wild = (bit: number) => {
      const disk = newDisk()
      const last = restampView(ops[3]!.frame, (2 ** bit) as never)
      disk.put(WAL, bytesOf([...ops.slice(0, 3), { frame: last }]))
      return disk
    }
    const damaged = await Solo.boot(wild(30), three)
    expect(stepOf(damaged, 'inferred_view')).toMatchObject({ verdict: 'damaged', detail: { found: 2 ** 30, taken: 0 } })
    expect(damaged.inspect.metadata()).toMatchObject({ view: 0, logView: 0 })
    const believed = await Solo.boot(wild(2), three)
    expect(stepOf(believed, 'inferred_view')).toBeUndefined()
    expect(believed.inspect.metadata()).toMatchObject({ view: 4, logView: 0 })
  })
})

describe('the log at boot', () => {
  test('WA-01 WA-08 a torn tail is cut, and the rest replayed', async () => {
    for (const [cut, extra] of [
      [100, 0],
      [1, 0],
      [0, 40],
    ] as const) {
      const { disk, entries } = diskWith(upTo(5))
      const whole = cut > 0 ? entries[4]!.at : disk.peek(WAL)!.length
      edit(disk, WAL, bytes =>
        extra > 0 ? Uint8Array.from([...bytes, ...new Uint8Array(extra).fill(0xa5)]) : bytes.slice(0, -cut),
      )
      const solo = await Solo.boot(disk)
      expect(stepOf(solo, 'torn_tail')).toMatchObject({ verdict: 'cut', detail: { position: whole } })
      expect(disk.peek(WAL)!.length).toBe(whole)
      expect(streamsOf(solo)).toEqual(namesUpTo(cut > 0 ? 4 : 5))
    }
  })

  test('WA-02 a wrong body of the last entry is cut alone, and kept as a gap in a cluster', async () => {
    for (const overrides of [{}, three]) {
      const { disk, entries } = diskWith(upTo(5))
      edit(disk, WAL, flip(entries[4]!.at + 257))
      const solo = await Solo.boot(disk, overrides)
      const cut = overrides !== three
      expect(stepOf(solo, 'torn_tail')!.verdict).toBe(cut ? 'cut' : 'kept')
      expect(disk.peek(WAL)!.length).toBe(cut ? entries[4]!.at : bytesOf(entries).length)
      expect(solo.inspect.metadata().op).toBe(cut ? '4' : '5')
    }
  })

  test('WA-03 WA-04 WA-05 WA-06 damage in front of another entry refuses, with position and both values', async () => {
    const log = entriesOf(upTo(24))
    const at = log[5]!.at
    const cases: [string, (bytes: Uint8Array) => Uint8Array | undefined, string, number][] = [
      ['body', flip(at + 257), 'WAL_DAMAGED', at],
      ['commit', flip(at + 184), 'WAL_DAMAGED', at],
      [
        'size',
        bytes => {
          new DataView(bytes.buffer).setUint32(at + 48, 257, true)
          return bytes
        },
        'WAL_DAMAGED',
        at,
      ],
      [
        'parent',
        () => bytesOf([...log.slice(0, 5), ...entriesOf([{ op: 6, parent: 77n }]), ...log.slice(6)]),
        'WAL_DAMAGED',
        at,
      ],
    ]
    for (const [name, change, code, position] of cases) {
      const { disk } = diskWith(upTo(24))
      edit(disk, WAL, change)
      const refusal = await refused(disk, three)
      expect([name, refusal]).toMatchObject([name, { code, path: WAL, position }])
      expect([name, refusal.expected]).not.toEqual([name, refusal.actual])
    }
  })

  test('WA-07 WA-19 a log that was never sealed boots, and is counted', async () => {
    const { disk } = diskWith(upTo(6, { sealed: false }))
    const solo = await Solo.boot(disk)
    expect(stepOf(solo, 'wal_scan')!.detail).toMatchObject({ entries: 6, unsealed: 6 })
    expect(streamsOf(solo)).toEqual(namesUpTo(6))
  })

  test('WA-19 an interior entry whose seals were zeroed refuses at that entry', async () => {
    const { disk, entries } = diskWith(upTo(6))
    const { at } = entries[2]!
    edit(disk, WAL, bytes => {
      bytes.fill(0, at, at + 32)
      bytes[at + 257]! ^= 1
      return bytes
    })
    expect(await refused(disk)).toMatchObject({ code: 'WAL_DAMAGED', position: at })
  })

  test('WA-22 an unsealed last entry behind a sealed one is kept, and only torn bytes behind it are cut', async () => {
    for (const overrides of [{}, three]) {
      const { disk } = diskWith([...upTo(5), { op: 6, sealed: false }])
      const whole = disk.peek(WAL)!.length
      // No sector boundary 8 to 48 bytes on, or this would be what a lost sector leaves.
      const start = whole - entriesOf([{ op: 6, sealed: false }])[0]!.frame.length
      const boundary = 512 - (start % 512)
      expect(boundary >= 8 && boundary <= 48).toBe(false)
      edit(disk, WAL, bytes => Uint8Array.from([...bytes, ...new Uint8Array(30).fill(9)]))
      for (let boot = 0; boot < 2; boot++) {
        const solo = await Solo.boot(disk, overrides)
        expect(disk.peek(WAL)!.length).toBe(whole)
        expect(stepOf(solo, 'replay')!.detail.held).toBe('6')
        expect(streamsOf(solo)).toEqual(namesUpTo(overrides === three ? 5 : 6))
      }
    }
  })

  test('WA-09 65 MiB of noise behind the log refuse', async () => {
    const { disk } = diskWith(upTo(3))
    edit(disk, WAL, bytes => {
      const long = new Uint8Array(bytes.length + 65 * 1024 * 1024).fill(0x5a)
      long.set(bytes)
      return long
    })
    expect(await refused(disk)).toMatchObject({ code: 'WAL_DAMAGED' })
  })

  test('WA-11 a gap: a cluster applies up to it and keeps what is behind it, alone the boot refuses', async () => {
    const ops = upTo(9, { commit: 8 }).filter(({ op }) => op !== 5)
    const { disk, entries } = diskWith(ops)
    const before = disk.peek(WAL)!
    const solo = await Solo.boot(disk, three)
    expect(streamsOf(solo)).toEqual(namesUpTo(4))
    expect(stepOf(solo, 'replay')).toMatchObject({ verdict: 'gap', detail: { applied: '4', held: '9' } })
    expect(solo.inspect.metadata()).toMatchObject({ op: '9', commitMin: '4', commitMax: '8' })
    expect(disk.peek(WAL)).toEqual(before)
    expect(await refused(diskWith(ops).disk)).toMatchObject({
      code: 'LogGap',
      position: entries[4]!.at,
      expected: 'op 5',
      actual: 'op 6',
    })
  })

  test('WA-12 only what is known committed is applied; alone, all of it', async () => {
    const ops = [...upTo(8), { op: 9, commit: 7 }, { op: 10, commit: 7 }]
    const cluster = await Solo.boot(diskWith(ops).disk, three)
    expect(streamsOf(cluster)).toEqual(namesUpTo(7))
    expect(cluster.inspect.metadata()).toMatchObject({ op: '10', commitMin: '7', commitMax: '7', status: 'recovering' })
    expect(streamsOf(await Solo.boot(diskWith(ops).disk))).toEqual(namesUpTo(10))
  })

  test('WA-20 metadata lost beside partitions that hold messages refuses, whatever way it was lost', async () => {
    const segment = 'streams/0/topics/0/partitions/0/00000000000000000000.log'
    const lost: [string, (disk: MemoryDisk) => void | Promise<void>, string][] = [
      ['log cut to nothing', disk => disk.put(WAL, new Uint8Array(0)), 'MetadataMissing'],
      ['directory removed', disk => disk.remove('metadata'), 'MetadataMissing'],
      [
        'entries cut under a superblock that knows more',
        disk => {
          putSuperblock(disk, { commitMax: 5n as never })
          disk.put(WAL, bytesOf(entriesOf(upTo(3))))
        },
        'CommitAheadOfLog',
      ],
    ]
    for (const [name, lose, code] of lost) {
      const { disk } = diskWith(upTo(5))
      disk.put(segment, new Uint8Array(300).fill(1))
      await lose(disk)
      expect([name, await refused(disk)]).toMatchObject([name, { code }])
    }
    // An empty directory is a fresh one.
    expect(streamsOf(await Solo.boot(newDisk()))).toEqual([])
  })

  test('WA-23 a refusal cuts nothing: torn tail with a commit above it, a gap, a broken parent, an unreadable body', async () => {
    const torn = (disk: MemoryDisk) => edit(disk, WAL, bytes => bytes.slice(0, -5))
    const cases: [string, MemoryDisk, Parameters<typeof refused>[1]][] = []
    const ahead = diskWith(upTo(5)).disk
    putSuperblock(ahead, { commitMax: 5n as never })
    torn(ahead)
    cases.push(['CommitAheadOfLog', ahead, {}])
    const gap = diskWith(upTo(9).filter(({ op }) => op !== 4)).disk
    torn(gap)
    cases.push(['LogGap', gap, {}])
    // Apart in the file, so that the scan does not see the pair.
    const broken = diskWith([{ op: 1 }, { op: 3, parent: 7n }, { op: 2 }, { op: 9 }]).disk
    torn(broken)
    cases.push(['ChainBroken', broken, three])
    const unreadable = diskWith([...upTo(3), { op: 4, body: Uint8Array.of(9, 1) }, { op: 5 }, { op: 6 }]).disk
    torn(unreadable)
    cases.push(['StateMachine', unreadable, {}])
    for (const [code, disk, overrides] of cases) {
      const bytes = disk.peek(WAL)!
      expect(await refused(disk, overrides)).toMatchObject({ code, path: WAL })
      expect(disk.peek(WAL)).toEqual(bytes)
    }
  })

  test('WA-24 a broken parent behind a gap refuses, naming the op and both checksums', async () => {
    const good = entriesOf(upTo(25, { commit: 9 }))
    // Op 23 as another history wrote it, and far from its neighbours in the file.
    const [other] = entriesOf([{ op: 23, commit: 9, parent: 4711n }])
    const kept = good.filter(({ header: { op } }) => op !== 23n && !(op >= 11n && op <= 20n))
    const disk = newDisk()
    disk.put(WAL, bytesOf([other!, ...kept]))
    const refusal = await refused(disk, three)
    expect(refusal).toMatchObject({ code: 'ChainBroken', position: 0, actual: 4711n.toString(16) })
    expect(refusal.expected).toBe(good[21]!.header.checksum.toString(16))
  })

  test('WA-25 what may have been acknowledged at the end of the log is kept as a gap', async () => {
    const rotted = diskWith(upTo(25, { commit: 20 }))
    edit(rotted.disk, WAL, flip(rotted.entries[24]!.at + 257))
    const cut = diskWith(upTo(24, { commit: 20 }))
    putSuperblock(cut.disk, { replicaCount: 3, commitMax: 25n as never })
    for (const { disk } of [rotted, cut]) {
      // Until the first append every boot finds it again.
      for (let boot = 0; boot < 3; boot++) {
        const before = await fingerprint(disk)
        const solo = await Solo.boot(disk, three)
        expect(solo.inspect.metadata()).toMatchObject({ op: '25', commitMin: '20' })
        expect(stepOf(solo, 'replay')!.verdict).toBe('gap')
        expect(await fingerprint(disk)).toEqual(before)
      }
    }
    const torn = diskWith(upTo(25, { commit: 20 }))
    edit(torn.disk, WAL, bytes => bytes.slice(0, -100))
    expect((await Solo.boot(torn.disk, three)).inspect.metadata().op).toBe('24')
  })

  test('an operation that no log holds refuses, and names its entry', async () => {
    const { disk, entries } = diskWith([
      ...upTo(3),
      { op: 4, operation: Operation.Reserved, body: new Uint8Array(0) },
      { op: 5 },
    ])
    expect(await refused(disk)).toMatchObject({ code: 'StateMachine', position: entries[3]!.at })
  })

  test('CN-21 the log of another cluster refuses where no superblock speaks, and its torn tail stays', async () => {
    const other = { clusterName: 'other', clusterId: 12n }
    for (const torn of [false, true]) {
      // An entry without a seal proves nothing about who wrote it: the first sealed one is judged.
      const { disk, entries } = diskWith([{ op: 1, sealed: false }, { op: 2 }, { op: 3 }, { op: 4 }])
      if (torn) edit(disk, WAL, bytes => bytes.slice(0, -7))
      expect(await refused(disk, other)).toMatchObject({
        code: 'ClusterMismatch',
        path: WAL,
        position: entries[1]!.at + 32,
        expected: 'c',
        actual: CLUSTER.toString(16),
      })
      expect(streamsOf(await Solo.boot(disk))).toEqual(namesUpTo(torn ? 3 : 4))
    }
  })

  test('fewer slots than the log needs refuse instead of forgetting entries', async () => {
    const { disk } = diskWith(upTo(300))
    const metadata = { ...soloConfig().metadata, journalSlots: 256 }
    expect(await refused(disk, { metadata })).toMatchObject({ code: 'WAL_SLOTS', path: WAL })
  })

  test('leftovers of an interrupted replacement are swept once nothing has refused, never before', async () => {
    const { disk } = diskWith(upTo(3))
    for (const name of ['superblock.a.tmp', 'snapshot.bin.tmp', 'journal.wal.tmp'])
      disk.put(`metadata/${name}`, Uint8Array.of(1))
    const damaged = new MemoryDisk()
    damaged.restore(disk.snapshot())
    edit(damaged, WAL, flip(300))
    await refused(damaged)
    await Solo.boot(disk)
    expect(await disk.list('metadata')).toEqual(['journal.wal'])
  })
})
