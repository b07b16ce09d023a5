/**
 * A metadata directory damaged in each way of the catalogue (spec drills.md §1.3–1.5) in front of the real node command: it
 * refuses with the typed code, names file, position, stored and expected value, ends with 65, and changes no byte, no name
 * and no time.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Operation } from '../../shared/protocol/operations.ts'
import {
  bytesOf,
  diskWith,
  edit,
  entriesOf,
  flip,
  newDisk,
  putSuperblock,
  SLOT_A,
  SLOT_B,
  SNAPSHOT,
  upTo,
  WAL,
} from '../../shared/replica/testing/directories.ts'
import { Peer } from '../../shared/replica/testing/peer.ts'
import { hash, Solo, soloConfig } from '../../shared/replica/testing/solo.ts'
import type { MemoryDisk } from '../../shared/storage/memory-disk.ts'
import { decodeSnapshot } from '../../shared/storage/snapshot-decode.ts'
import { encodeSnapshot } from '../../shared/storage/snapshot-encode.ts'
import { writeSnapshot } from '../../shared/storage/snapshot-store.ts'
import { SuperblockStore } from '../../shared/storage/superblock.ts'
import { buildEntry } from '../cluster/testing/build-entry.ts'
import { NODE_LOCK } from './directory-lock.ts'
import type { ExitLine } from './halt.ts'

const SEGMENT = 'streams/0/topics/0/partitions/0/00000000000000000000.log'
const LONG_AGO = new Date('2024-02-03T04:05:06Z')
/** A process keeps these for its own life. */
const OWN: ReadonlySet<string> = new Set(['runtime', NODE_LOCK])

let built: Awaited<ReturnType<typeof buildEntry>>
let checkpointed: MemoryDisk
let directory: string
beforeAll(async () => {
  built = await buildEntry()
  checkpointed = newDisk()
  const small = { metadata: { ...soloConfig().metadata, journalSlots: 256 } }
  const solo = await Solo.boot(checkpointed, small)
  const peer = await Peer.login(solo, 7n)
  for (let op = 2; op <= 195; op++) await peer.createStream(`n${op}`)
  await solo.settle(() => solo.facts.some(({ kind }) => kind === 'checkpoint_finished'))
})
afterAll(() => built.remove())
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'refusal-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/* -------------------------------------------------------------------------------------------------- directories */

const withSlots = (): MemoryDisk => {
  const { disk } = diskWith(upTo(3))
  putSuperblock(disk, { commitMax: 1n as never }, SLOT_A, 1n)
  putSuperblock(disk, { commitMax: 2n as never }, SLOT_B, 2n)
  return disk
}

async function withPayload(bytes: number): Promise<MemoryDisk> {
  const { disk } = diskWith(upTo(3))
  const { store } = await SuperblockStore.openWithLatest(disk, 'metadata', hash)
  await store.writePayload(() => new Uint8Array(bytes))
  return disk
}

const edited = (disk: MemoryDisk, path: string, ...changes: Parameters<typeof edit>[2][]): MemoryDisk => {
  for (const change of changes) edit(disk, path, change)
  return disk
}

const logOf = (...frames: readonly { readonly frame: Uint8Array }[]): MemoryDisk => {
  const disk = newDisk()
  disk.put(WAL, bytesOf(frames))
  return disk
}

const log = entriesOf(upTo(24))
const damagedLog = (change: Parameters<typeof edit>[2]) => () => edited(diskWith(upTo(24)).disk, WAL, change)
const torn = (bytes: Uint8Array) => bytes.slice(0, -5)

const resealSlot = (bytes: Uint8Array): Uint8Array => {
  new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(bytes.length - 8, hash.xxh3(bytes.subarray(0, -8)), true)
  return bytes
}
const resealSnapshot = (bytes: Uint8Array): Uint8Array => {
  const sum = hash.xxh3(bytes.subarray(0, -20))
  new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(bytes.length - 16, sum, true)
  return bytes
}

const withSnapshot = (): MemoryDisk => {
  const disk = newDisk()
  disk.restore(checkpointed.snapshot())
  return disk
}
const record = () => decodeSnapshot(checkpointed.peek(SNAPSHOT)!.slice(0, -20))

async function withClients(change: (reply: Uint8Array) => Uint8Array): Promise<MemoryDisk> {
  const disk = withSnapshot()
  const clients = record().clients!.map(entry => ({ ...entry, reply: change(entry.reply) }))
  const checksum = await writeSnapshot(disk, 'metadata', encodeSnapshot({ ...record(), clients }), hash)
  putSuperblock(disk, { checkpointOp: 192n as never, checkpointChecksum: checksum, commitMax: 192n as never })
  return disk
}

/* -------------------------------------------------------------------------------------------------- the table */

type Way = readonly [
  title: string,
  make: () => MemoryDisk | Promise<MemoryDisk>,
  code: string,
  path: string,
  /** What the refusal does not have, as nothing stands for it. */
  without?: readonly ('position' | 'values')[],
]

const SUPERBLOCK: readonly Way[] = [
  ['SB-03 a record of 66 bytes', () => withPayload(66), 'WrongLength', SLOT_A],
  ['SB-03 a record of 57 bytes', () => withPayload(57), 'WrongLength', SLOT_A],
  [
    'SB-04 a log view above its view',
    () => {
      const { disk } = diskWith(upTo(3))
      putSuperblock(disk, { view: 4 as never, logView: 5 as never })
      return disk
    },
    'BadValue',
    SLOT_A,
  ],
  ['SB-07 a flipped byte in slot a', () => edited(withSlots(), SLOT_A, flip(40)), 'SuperblockUnreadable', SLOT_A],
  ['SB-07 a flipped byte in slot b', () => edited(withSlots(), SLOT_B, flip(40)), 'SuperblockUnreadable', SLOT_B],
  ['SB-08 a flipped magic', () => edited(withSlots(), SLOT_B, flip(0)), 'SuperblockUnreadable', SLOT_B],
  [
    'SB-09 a flipped byte in each slot',
    () => edited(edited(withSlots(), SLOT_A, flip(50)), SLOT_B, flip(50)),
    'SuperblockUnreadable',
    SLOT_A,
  ],
  [
    'SB-10 an unknown version',
    () =>
      edited(withSlots(), SLOT_B, bytes => {
        bytes[4] = 2
        return resealSlot(bytes)
      }),
    'SuperblockUnreadable',
    SLOT_B,
  ],
  [
    'SB-12 a slot of 5 KiB',
    () => {
      const disk = withSlots()
      disk.put(SLOT_A, new Uint8Array(5 * 1024))
      return disk
    },
    'SuperblockUnreadable',
    SLOT_A,
    ['position'],
  ],
  [
    'SB-21 a slot that is a directory',
    async () => {
      const disk = withSlots()
      await disk.unlink(SLOT_B)
      disk.put(SLOT_B, undefined)
      return disk
    },
    'DISK_IO',
    SLOT_B,
    ['position', 'values'],
  ],
  [
    'CN-17 a record of another replica',
    () => {
      const { disk } = diskWith(upTo(3))
      putSuperblock(disk, { replicaId: 2 as never })
      return disk
    },
    'SuperblockIdentityMismatch',
    SLOT_A,
  ],
]

const WRITE_AHEAD_LOG: readonly Way[] = [
  ['WA-03 a flipped body inside', damagedLog(flip(log[5]!.at + 257)), 'WAL_DAMAGED', WAL],
  ['WA-04 a flipped commit inside', damagedLog(flip(log[5]!.at + 184)), 'WAL_DAMAGED', WAL],
  [
    'WA-05 a wrong size inside',
    damagedLog(bytes => {
      new DataView(bytes.buffer, bytes.byteOffset).setUint32(log[5]!.at + 48, 257, true)
      return bytes
    }),
    'WAL_DAMAGED',
    WAL,
  ],
  [
    'WA-06 an entry that chains elsewhere',
    () => logOf(...log.slice(0, 5), ...entriesOf([{ op: 6, parent: 77n }]), ...log.slice(6)),
    'WAL_DAMAGED',
    WAL,
  ],
  [
    'WA-09 65 MiB of noise behind the log',
    damagedLog(bytes => {
      const long = new Uint8Array(bytes.length + 65 * 1024 * 1024).fill(0x5a)
      long.set(bytes)
      return long
    }),
    'WAL_DAMAGED',
    WAL,
  ],
  ['WA-11 an op that is missing', () => logOf(...log.slice(0, 4), ...log.slice(5)), 'LogGap', WAL],
  [
    'WA-19 both seals of an entry zeroed',
    damagedLog(bytes => {
      bytes.fill(0, log[5]!.at, log[5]!.at + 32)
      bytes[log[5]!.at + 257]! ^= 1
      return bytes
    }),
    'WAL_DAMAGED',
    WAL,
  ],
  [
    'WA-20 a log cut to nothing beside messages',
    () => {
      const disk = newDisk()
      disk.put(WAL, new Uint8Array(0))
      disk.put(SEGMENT, new Uint8Array(300).fill(1))
      return disk
    },
    'MetadataMissing',
    SEGMENT,
  ],
  [
    'WA-20 no metadata beside messages',
    () => {
      const disk = newDisk()
      disk.put(SEGMENT, new Uint8Array(300).fill(1))
      return disk
    },
    'MetadataMissing',
    SEGMENT,
  ],
  [
    'WA-20 entries cut under a superblock that knows more',
    () => {
      const { disk } = diskWith(upTo(3))
      putSuperblock(disk, { commitMax: 5n as never })
      return disk
    },
    'CommitAheadOfLog',
    WAL,
  ],
  [
    'WA-23 a torn tail under a commit that names it',
    () => {
      const { disk } = diskWith(upTo(5))
      putSuperblock(disk, { commitMax: 5n as never })
      return edited(disk, WAL, torn)
    },
    'CommitAheadOfLog',
    WAL,
  ],
  [
    'WA-23 a torn tail behind a gap',
    () => edited(logOf(...log.slice(0, 4), ...log.slice(5, 9)), WAL, torn),
    'LogGap',
    WAL,
  ],
  [
    'WA-23 a broken parent in front of a torn tail',
    () => edited(diskWith([{ op: 1 }, { op: 3, parent: 7n }, { op: 2 }, { op: 9 }]).disk, WAL, torn),
    'ChainBroken',
    WAL,
  ],
  [
    'WA-23 a body that nothing decodes',
    () => edited(diskWith([...upTo(3), { op: 4, body: Uint8Array.of(9, 1) }, { op: 5 }, { op: 6 }]).disk, WAL, torn),
    'StateMachine',
    WAL,
    ['values'],
  ],
  [
    'WA-23 an operation that no log holds',
    () => diskWith([...upTo(3), { op: 4, operation: Operation.Reserved, body: new Uint8Array(0) }, { op: 5 }]).disk,
    'StateMachine',
    WAL,
    ['values'],
  ],
  [
    'CN-21 the log of another cluster, its tail torn',
    () => edited(logOf(...entriesOf(upTo(4), 12n)), WAL, torn),
    'ClusterMismatch',
    WAL,
  ],
]

const CHECKPOINT: readonly Way[] = [
  [
    'CK-02 a snapshot older than the superblock names',
    async () => {
      const disk = withSnapshot()
      await writeSnapshot(disk, 'metadata', encodeSnapshot({ ...record(), op: 100n as never }), hash)
      return disk
    },
    'CheckpointAheadOfSnapshot',
    SNAPSHOT,
    ['position'],
  ],
  [
    'CK-02 no snapshot where the superblock names one',
    async () => {
      const disk = withSnapshot()
      await disk.unlink(SNAPSHOT)
      return disk
    },
    'CheckpointAheadOfSnapshot',
    SNAPSHOT,
    ['position'],
  ],
  ['CK-03 a flipped byte', () => edited(withSnapshot(), SNAPSHOT, flip(-100)), 'SnapshotChecksum', SNAPSHOT],
  [
    'CK-03 a flipped byte, sealed again',
    () => edited(withSnapshot(), SNAPSHOT, flip(-100), resealSnapshot),
    'CheckpointChecksumMismatch',
    SNAPSHOT,
    ['position'],
  ],
  [
    'CK-05 bytes that no decoder survives, with no superblock to tell',
    async () => {
      const disk = withSnapshot()
      edit(disk, SNAPSHOT, bytes => {
        bytes.set([0xdd, 0xff, 0xff, 0xff, 0xff], 14)
        return resealSnapshot(bytes)
      })
      await disk.unlink(SLOT_A)
      return disk
    },
    'SnapshotUndecodable',
    SNAPSHOT,
    ['position', 'values'],
  ],
  [
    'CK-13 another format version',
    () =>
      edited(withSnapshot(), SNAPSHOT, bytes => {
        bytes[1] = 4
        return resealSnapshot(bytes)
      }),
    'SnapshotVersion',
    SNAPSHOT,
  ],
  [
    'CK-15 a trailer that is none, under an equal pairing',
    () => edited(withSnapshot(), SNAPSHOT, bytes => flip(bytes.length - 20, 1)(bytes)),
    'CheckpointChecksumMismatch',
    SNAPSHOT,
    ['position'],
  ],
  [
    'CK-15 a trailer that is none, under a pairing that lags',
    () => {
      const disk = edited(withSnapshot(), SNAPSHOT, bytes => flip(bytes.length - 20, 1)(bytes))
      putSuperblock(disk, { checkpointOp: 20n as never })
      return disk
    },
    'SnapshotUnsealed',
    SNAPSHOT,
    ['position'],
  ],
  [
    'CK-15 a trailer that is none, and no superblock',
    async () => {
      const disk = edited(withSnapshot(), SNAPSHOT, bytes => flip(bytes.length - 20, 1)(bytes))
      await disk.unlink(SLOT_A)
      return disk
    },
    'SnapshotUnsealed',
    SNAPSHOT,
    ['position'],
  ],
  [
    'CT-13 a stored reply that is none',
    () => withClients(reply => reply.map((byte, at) => (at === 60 ? byte ^ 1 : byte))),
    'ClientTableDecode',
    SNAPSHOT,
    ['position', 'values'],
  ],
]

/* -------------------------------------------------------------------------------------------------- the node */

function writeOut(disk: MemoryDisk): void {
  const paths = [...disk.snapshot()]
  for (const [path, bytes] of paths) {
    const target = join(directory, path)
    mkdirSync(bytes === undefined ? target : dirname(target), { recursive: true })
    if (bytes !== undefined) writeFileSync(target, bytes)
  }
  // From the inside out: a name that is made changes the time of its directory.
  for (const [path] of paths.reverse()) utimesSync(join(directory, path), LONG_AGO, LONG_AGO)
}

/** Every name with its time, and of a file the bytes. */
function fingerprint(under = ''): string[] {
  return readdirSync(join(directory, under))
    .sort()
    .flatMap(name => {
      const path = under === '' ? name : `${under}/${name}`
      if (OWN.has(path)) return []
      const { mtimeMs } = statSync(join(directory, path))
      if (statSync(join(directory, path)).isDirectory()) return [`${path}/ ${mtimeMs}`, ...fingerprint(path)]
      const bytes = readFileSync(join(directory, path))
      return [`${path} ${mtimeMs} ${bytes.length} ${hash.xxh3(bytes)}`]
    })
}

async function boot(): Promise<{ status: number | null; last: ExitLine | undefined }> {
  const child = spawn(process.execPath, [...built.entry.args, 'node', '--with-default-root-credentials'], {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      IGGY_SYSTEM_PATH: directory,
      IGGY_TCP_ADDRESS: '127.0.0.1:0',
      IGGY_CLUSTER_NAME: 'golden',
      IGGY_METADATA_JOURNAL_SLOTS: '256',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      // One that boots all the same would run for ever.
      if (text.includes('"ready":true')) child.kill('SIGKILL')
    })
  const [status] = (await once(child, 'close')) as [number | null]
  const line = text.split('\n').find(each => each.includes('"quorumscopeExit"'))
  return { status, last: line === undefined ? undefined : (JSON.parse(line) as ExitLine) }
}

test('the directories that are damaged below boot when nothing is wrong with them', async () => {
  for (const disk of [diskWith(upTo(24)).disk, withSlots(), withSnapshot()]) {
    writeOut(disk)
    expect(await boot()).toEqual({ status: null, last: undefined })
    for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true })
  }
})

describe.each([
  ['superblock', SUPERBLOCK],
  ['log', WRITE_AHEAD_LOG],
  ['snapshot', CHECKPOINT],
] as const)('a damaged %s', (_, ways) => {
  test.each(ways.map(way => [way[0], way] as const))('%s', async (_title, [, make, code, path, without = []]) => {
    writeOut(await make())
    const before = fingerprint()
    const { status, last } = await boot()
    expect([status, last?.code]).toEqual([65, code])
    expect(last!.path).toBe(path)
    if (!without.includes('position')) expect(last!.position).toBeGreaterThanOrEqual(0)
    if (!without.includes('values')) {
      expect(last!.expected).toBeDefined()
      expect(last!.actual).toBeDefined()
      expect(last!.expected).not.toBe(last!.actual)
    }
    expect(fingerprint()).toEqual(before)
  })
})
