/**
 * Which incarnation of a partition a directory belongs to (spec partition.md §2.7, metadata-storage.md §6.5). A key may be
 * deleted and created again; the number that the creating op got is in `purge.gen`, and tells the lives apart.
 */
import { EngineError } from '../bytes/errors.ts'
import { type Disk, isNotFound, readFile } from '../storage/disk.ts'
import { joinPath, parentOf } from '../storage/paths.ts'
import { decodePurgeGen, PURGE_GEN_BYTES, PURGE_GEN_FILE } from '../storage/purge-gen.ts'
import { PartitionRefused } from './refused.ts'

/** A quarantine sibling `{directory}.fenced.{n}` has one of this many names (§1). */
const FENCES_MAX = 1000
/** purge.gen is read this far; what is behind its 16 bytes means nothing. */
const PURGE_GEN_READ_MAX = 4096

export type Claim =
  /** No purge.gen: a fresh directory, or one of a build that wrote none. */
  | { readonly kind: 'unnamed' }
  | { readonly kind: 'same'; readonly generation: bigint }
  /** It was a deleted incarnation; its directory stands aside now, whole, and the place is empty. */
  | { readonly kind: 'set_aside'; readonly to: string }

/**
 * Makes sure that `directory` is the incarnation `createdRevision`; to be called before anything in it is opened, the
 * superblock included. A lower one is renamed aside.
 * @throws PartitionRefused PurgeGenerationTorn or IncarnationAhead; DiskError.
 */
export async function claimDirectory(disk: Disk, directory: string, createdRevision: bigint): Promise<Claim> {
  let bytes: Uint8Array
  const path = joinPath(directory, PURGE_GEN_FILE)
  try {
    bytes = await readFile(disk, path, PURGE_GEN_READ_MAX)
  } catch (error) {
    if (isNotFound(error)) return { kind: 'unnamed' }
    throw error
  }
  const verdict = decodePurgeGen(bytes)
  if (verdict.kind === 'torn') {
    throw new PartitionRefused(
      'PurgeGenerationTorn',
      directory,
      `purge.gen has ${verdict.bytes} of ${PURGE_GEN_BYTES} bytes`,
      {
        path,
        advice:
          'a generation read as 0 could purge live data again; restore the file, or remove the partition from this node',
      },
    )
  }
  if (verdict.createdRevision === createdRevision) return { kind: 'same', generation: verdict.generation }
  if (verdict.createdRevision > createdRevision) {
    const message = `made by revision ${verdict.createdRevision}, this node knows revision ${createdRevision}`
    throw new PartitionRefused('IncarnationAhead', directory, message, {
      path,
      advice:
        'wait until the metadata has caught up; on a lone node, put back the metadata or the purge.gen that belong together',
    })
  }
  return { kind: 'set_aside', to: await setDirectoryAside(disk, directory) }
}

/** Renames the whole directory to a quarantine sibling; answers its name. @throws EngineError NoFreeFence, DiskError */
export async function setDirectoryAside(disk: Disk, directory: string): Promise<string> {
  const to = await freeFence(disk, directory)
  await disk.rename(directory, to)
  await disk.syncDirectory(parentOf(directory))
  return to
}

/** First free name of a quarantine sibling. Only this node writes here, one boot at a time, so looking first is enough. */
export async function freeFence(disk: Disk, directory: string): Promise<string> {
  for (let number = 0; number < FENCES_MAX; number++) {
    const path = `${directory}.fenced.${number}`
    try {
      await disk.stat(path)
    } catch (error) {
      if (isNotFound(error)) return path
      throw error
    }
  }
  throw new EngineError('NoFreeFence', `${directory}: all ${FENCES_MAX} quarantine names are taken`, {
    path: directory,
    advice: 'look through the .fenced directories beside it and move them away',
  })
}
