/**
 * Superblocks and log of a node that has no process, read from its directory without changing a byte: a node that refuses to
 * boot is the one whose slots somebody wants to see, and a torn tail is seen before the boot that cuts it, or never. The
 * reporter of such an answer is the directory, not a life of the node.
 */
import type { Hash } from '../../shared/bytes/hash.ts'
import { toHex } from '../../shared/bytes/hex.ts'
import {
  DIRECTORY_BOOT,
  ENTRY_BYTES_MAX,
  type WalEntrySnapshot,
  type WalScanSnapshot,
} from '../../shared/inspection/logs.ts'
import type { Reporter, SuperblocksSnapshot, WalSnapshot } from '../../shared/inspection/snapshots.ts'
import { METADATA_GROUP, type PartitionKey, packGroup } from '../../shared/protocol/groups.ts'
import type { PrepareHeader } from '../../shared/protocol/headers.ts'
import { METADATA_DIRECTORY, WAL_PATH } from '../../shared/replica/metadata-log.ts'
import { describeEntry, describeScan, entryVerdicts } from '../../shared/replica/wal-description.ts'
import { type Disk, isNotFound } from '../../shared/storage/disk.ts'
import { describeSuperblock, readSuperblock } from '../../shared/storage/superblock.ts'
import { WAL_SLOTS_DEFAULT } from '../../shared/storage/wal.ts'
import { type ScannedEntry, scanWal, type WalScan } from '../../shared/storage/wal-scan.ts'
import { DirectoryDisk } from '../node/directory-disk.ts'
import { wallUs } from './wall.ts'

/** Newest entries of the log that an answer lists. */
const WAL_ENTRIES_SHOWN = 1024

const reporterOf = (node: number): Reporter => ({
  node,
  boot: DIRECTORY_BOOT,
  takenWallUs: wallUs(),
  takenMonoUs: 0,
  seq: 0,
})

const NO_SCAN: WalScan = {
  fileBytes: 0,
  entries: 0,
  unsealed: 0,
  highestOp: 0n as WalScan['highestOp'],
  end: { kind: 'clean', position: 0 },
}

/** The scan of a boot over the log of a directory; of an absent log, that nothing is in it. @throws DiskError */
async function scanOnDisk(dataDirectory: string, hash: Hash, onEntry: (entry: ScannedEntry) => void): Promise<WalScan> {
  const disk = new DirectoryDisk(dataDirectory, { readOnly: true })
  try {
    const file = await disk.open(WAL_PATH, 'read')
    try {
      return await scanWal(file, await file.sizeBytes(), hash, onEntry)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isNotFound(error)) return NO_SCAN
    throw error
  }
}

/**
 * The log as its file has it, up to where a scan stops. Nothing is applied and nothing waits; what is known to be committed is
 * what the superblock and the prepares themselves say. The directory does not say how many slots its node had: the default.
 */
export async function walOnDisk(node: number, dataDirectory: string, hash: Hash): Promise<WalSnapshot> {
  const entries: WalSnapshot['entries'] = []
  let commitMax = 0n
  const scan = await scanOnDisk(dataDirectory, hash, ({ header, frame, position }) => {
    entries.push(describeEntry(header, position, frame.length))
    if (entries.length > WAL_ENTRIES_SHOWN) entries.shift()
    if (header.commit > commitMax) commitMax = header.commit
  })
  const disk = new DirectoryDisk(dataDirectory, { readOnly: true })
  const { slots, winner } = describeSuperblock(await readSuperblock(disk, METADATA_DIRECTORY, hash))
  const recorded = slots.find(({ slot }) => slot === winner)?.fields
  const written = BigInt(recorded?.commitMax ?? 0)
  return {
    reporter: reporterOf(node),
    slots: WAL_SLOTS_DEFAULT,
    snapshotOp: String(recorded?.checkpointOp ?? 0),
    lastOp: scan.highestOp.toString(),
    sizeBytes: scan.fileBytes,
    appliedOp: '0',
    commitMax: (written > commitMax ? written : commitMax).toString(),
    waitingOps: [],
    entries,
  }
}

export const walScanOnDisk = async (node: number, dataDirectory: string, hash: Hash): Promise<WalScanSnapshot> => ({
  reporter: reporterOf(node),
  ...describeScan(WAL_PATH, await scanOnDisk(dataDirectory, hash, () => {})),
})

/** One entry with its bytes; undefined when the scan did not come to it. */
export async function walEntryOnDisk(
  node: number,
  dataDirectory: string,
  hash: Hash,
  op: bigint,
): Promise<WalEntrySnapshot | undefined> {
  let found: Omit<WalEntrySnapshot, 'reporter'> | undefined
  let before: PrepareHeader | undefined
  await scanOnDisk(dataDirectory, hash, ({ header, frame, position }) => {
    if (header.op === op) {
      const bytes = frame.slice(0, ENTRY_BYTES_MAX)
      found = {
        op: op.toString(),
        slot: Number(op % BigInt(WAL_SLOTS_DEFAULT)),
        path: WAL_PATH,
        positionBytes: position,
        lengthBytes: frame.length,
        hex: toHex(bytes),
        ...entryVerdicts(hash, bytes, frame.length, before?.op === op - 1n ? before : undefined),
      }
    }
    before = header
  })
  return found && { reporter: reporterOf(node), ...found }
}

export async function superblocksOnDisk(node: number, dataDirectory: string, hash: Hash): Promise<SuperblocksSnapshot> {
  const disk = new DirectoryDisk(dataDirectory, { readOnly: true })
  const read = async (directory: string) => describeSuperblock(await readSuperblock(disk, directory, hash))
  const groups: SuperblocksSnapshot['groups'] = []
  if ((await names(disk, '')).includes('metadata')) {
    groups.push({ group: METADATA_GROUP.toString(), plane: 'metadata', ...(await read('metadata')) })
  }
  for (const { key, directory } of await partitions(disk)) {
    groups.push({ group: packGroup(key).toString(), plane: 'partition', key, ...(await read(directory)) })
  }
  return { reporter: reporterOf(node), groups }
}

/** `streams/S/topics/T/partitions/P`, in the order of their numbers. */
async function partitions(disk: Disk): Promise<{ readonly key: PartitionKey; readonly directory: string }[]> {
  const found: { key: PartitionKey; directory: string }[] = []
  for (const stream of await numbers(disk, 'streams')) {
    for (const topic of await numbers(disk, `streams/${stream}/topics`)) {
      for (const partition of await numbers(disk, `streams/${stream}/topics/${topic}/partitions`)) {
        found.push({
          key: { stream, topic, partition },
          directory: `streams/${stream}/topics/${topic}/partitions/${partition}`,
        })
      }
    }
  }
  return found
}

async function names(disk: Disk, directory: string): Promise<string[]> {
  try {
    return await disk.list(directory)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

const numbers = async (disk: Disk, directory: string): Promise<number[]> =>
  (await names(disk, directory))
    .filter(name => /^(0|[1-9]\d{0,6})$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
