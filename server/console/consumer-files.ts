/**
 * Stored offsets of one partition, read from the files of a node without changing a byte (spec partition.md §2.6). The files
 * are what a boot will believe, so they are shown whether the node runs or not. They are written in place: of a node that
 * runs, one that does not verify is read a second time before anything is said of it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hash } from '../../shared/bytes/hash.ts'
import { DIRECTORY_BOOT } from '../../shared/inspection/logs.ts'
import { CONSUMERS_MAX, type ConsumerFile, type ConsumersAnswer } from '../../shared/inspection/polls.ts'
import type { PartitionKey } from '../../shared/protocol/groups.ts'
import { type Disk, isNotFound } from '../../shared/storage/disk.ts'
import { decodeOffsetFile, OFFSET_FILE_BYTES } from '../../shared/storage/offset-file.ts'
import { DirectoryDisk } from '../node/directory-disk.ts'
import { wallUs } from './wall.ts'

const FOLDERS = { consumer: 'consumers', group: 'groups' } as const
const U32_MAX = 0xffff_ffff
/** A write of sixteen bytes is over by then. */
const AGAIN_MS = 20

/** Consumers first, each by number; names that are none come last. Rejects with DiskError. */
export async function consumersOnDisk(
  node: number,
  dataDirectory: string,
  { stream, topic, partition }: PartitionKey,
  hash: Hash,
  runs: boolean,
): Promise<ConsumersAnswer> {
  const disk = new DirectoryDisk(dataDirectory, { readOnly: true })
  const base = `streams/${stream}/topics/${topic}/partitions/${partition}/offsets`
  const found: { kind: ConsumerFile['kind']; name: string; path: string }[] = []
  for (const kind of ['consumer', 'group'] as const) {
    const folder = `${base}/${FOLDERS[kind]}`
    for (const name of (await names(disk, folder)).sort(byNumber)) found.push({ kind, name, path: `${folder}/${name}` })
  }
  const files: ConsumerFile[] = []
  for (const file of found.slice(0, CONSUMERS_MAX)) {
    let said = await verdictOf(disk, file, hash)
    if (runs && (said.verdict === 'torn' || said.verdict === 'corrupt')) {
      await sleep(AGAIN_MS)
      said = await verdictOf(disk, file, hash)
    }
    files.push({ ...file, ...said })
  }
  return {
    reporter: { node, boot: DIRECTORY_BOOT, takenWallUs: wallUs(), takenMonoUs: 0, seq: 0 },
    total: found.length,
    files,
  }
}

async function verdictOf(
  disk: Disk,
  { name, path }: { readonly name: string; readonly path: string },
  hash: Hash,
): Promise<Pick<ConsumerFile, 'verdict' | 'offset' | 'stored' | 'computed'>> {
  if (!isId(name)) return { verdict: 'foreign' }
  let bytes: Uint8Array
  try {
    if ((await disk.stat(path)).kind !== 'file') return { verdict: 'no_file' }
    bytes = await recordOf(disk, path)
  } catch (error) {
    // Removed since it was listed, which is how a deleted offset looks.
    if (isNotFound(error)) return { verdict: 'torn' }
    throw error
  }
  const said = decodeOffsetFile(bytes, hash)
  if (said.kind === 'torn') return { verdict: 'torn' }
  const offset = said.offset.toString()
  if (said.kind !== 'corrupt') return { verdict: said.kind, offset }
  return { verdict: 'corrupt', offset, stored: hex(said.actual), computed: hex(said.expected) }
}

/** What lies behind the record is ignored by a boot, and is not read here. */
async function recordOf(disk: Disk, path: string): Promise<Uint8Array> {
  const file = await disk.open(path, 'read')
  try {
    const bytes = new Uint8Array(OFFSET_FILE_BYTES)
    return bytes.subarray(0, await file.read(0, bytes))
  } finally {
    await file.close()
  }
}

const isId = (name: string): boolean => /^\d{1,10}$/.test(name) && Number(name) <= U32_MAX
const byNumber = (a: string, b: string): number =>
  isId(a) && isId(b) ? Number(a) - Number(b) : Number(isId(b)) - Number(isId(a)) || (a < b ? -1 : 1)
const hex = (value: bigint): string => value.toString(16).padStart(16, '0')

async function names(disk: Disk, directory: string): Promise<string[]> {
  try {
    return await disk.list(directory)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}
