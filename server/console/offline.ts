/**
 * Superblocks of a node that has no process, read from its directory without changing a byte: a node that refuses to boot
 * is the one whose slots somebody wants to see. The reporter of such an answer is the directory, not a life of the node.
 */
import type { Hash } from '../../shared/bytes/hash.ts'
import type { SuperblocksSnapshot } from '../../shared/inspection/snapshots.ts'
import { METADATA_GROUP, type PartitionKey, packGroup } from '../../shared/protocol/groups.ts'
import { type Disk, isNotFound } from '../../shared/storage/disk.ts'
import { describeSuperblock, readSuperblock } from '../../shared/storage/superblock.ts'
import { DirectoryDisk } from '../node/directory-disk.ts'
import { wallUs } from './wall.ts'

/** `boot` of a reporter that is a directory. */
export const DIRECTORY_BOOT = 'directory'

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
  return { reporter: { node, boot: DIRECTORY_BOOT, takenWallUs: wallUs(), takenMonoUs: 0, seq: 0 }, groups }
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
