/**
 * What the last two boots of each node found on its disk. A directory is read when its process has been spawned, before
 * that has come to its files, and counts once the boot came to an end: an attempt that found its ports taken is no boot.
 * Kept beside the node's log, so that it outlives the console.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { Hash } from '../../../shared/bytes/hash.ts'
import { FILE_ROWS_MAX, type FileRow, type FilesAnswer, fileState } from '../../../shared/inspection/files.ts'
import { ExitStatus } from '../../../shared/storage/ports.ts'
import type { NodeState, NodeStatus, Supervisor } from '../../cluster/contract.ts'
import { bootsFileOf } from '../../cluster/node-files.ts'
import { wallMs, wallUs } from '../wall.ts'
import { type Listing, listFiles } from './list-files.ts'

const bootFile = z.object({
  v: z.literal(1),
  /** Newest last, at most two. */
  boots: z.array(z.object({ atWallMs: z.number(), files: z.record(z.string(), fileState) })).max(2),
})
type Boots = z.infer<typeof bootFile>['boots']

export class DiskHistory {
  readonly #hash: Hash
  readonly #states = new Map<number, NodeState>()
  readonly #found = new Map<number, { readonly atWallMs: number; readonly listing: Promise<Listing> }>()
  readonly #boots = new Map<number, Promise<Boots>>()
  readonly #stop: () => void

  constructor(supervisor: Supervisor, hash: Hash, onError: (error: Error) => void) {
    this.#hash = hash
    for (const node of supervisor.status().nodes) {
      this.#states.set(node.replica, node.state)
      this.#boots.set(node.replica, Promise.resolve(readBoots(node)))
    }
    this.#stop = supervisor.onChange(node => this.#changed(node, onError))
  }

  #changed(node: NodeStatus, onError: (error: Error) => void): void {
    const { replica, state } = node
    if (this.#states.get(replica) === state) return
    this.#states.set(replica, state)
    if (state === 'starting') {
      const listing = listFiles(node.dataDirectory, this.#hash)
      listing.catch(onError)
      this.#found.set(replica, { atWallMs: wallMs(), listing })
      return
    }
    const found = this.#found.get(replica)
    this.#found.delete(replica)
    if (!found || node.lastExit?.status === ExitStatus.Unavailable) return
    const before = this.#boots.get(replica)!
    this.#boots.set(
      replica,
      found.listing.then(
        async ({ files }) => {
          const boots = [...(await before), { atWallMs: found.atWallMs, files: Object.fromEntries(files) }].slice(-2)
          writeBoots(node, boots)
          return boots
        },
        () => before,
      ),
    )
  }

  /** @throws Error of the file system */
  async files(node: NodeStatus): Promise<FilesAnswer> {
    const takenWallUs = wallUs()
    const [{ files, leftOut }, boots] = await Promise.all([
      listFiles(node.dataDirectory, this.#hash),
      this.#boots.get(node.replica)!,
    ])
    const [last, before] = [boots.at(-1), boots.at(-2)]
    const paths = new Set([...files.keys(), ...Object.keys(last?.files ?? {}), ...Object.keys(before?.files ?? {})])
    const rows = [...paths].map(
      (path): FileRow => ({
        path,
        now: files.get(path) ?? null,
        lastBoot: last?.files[path] ?? null,
        bootBefore: before?.files[path] ?? null,
      }),
    )
    const quiet = ({ now, lastBoot, bootBefore }: FileRow): number =>
      Number(same(bootBefore, lastBoot)) + Number(same(lastBoot, now))
    return {
      node: node.replica,
      takenWallUs,
      dataDirectory: node.dataDirectory,
      files: files.size,
      bytes: [...files.values()].reduce((sum, file) => sum + file.sizeBytes, 0),
      leftOut,
      lastBootWallMs: last?.atWallMs ?? null,
      bootBeforeWallMs: before?.atWallMs ?? null,
      total: rows.length,
      rows: rows.sort((a, b) => quiet(a) - quiet(b) || (a.path < b.path ? -1 : 1)).slice(0, FILE_ROWS_MAX),
    }
  }

  close(): void {
    this.#stop()
  }
}

const same = (a: FileRow['now'], b: FileRow['now']): boolean => JSON.stringify(a) === JSON.stringify(b)

function readBoots(node: NodeStatus): Boots {
  try {
    return bootFile.parse(JSON.parse(readFileSync(bootsFileOf(node.dataDirectory), 'utf8'))).boots
  } catch {
    // None yet, or one that nobody can read: then nothing is known of earlier boots, and that is said.
    return []
  }
}

/** A disk that is full ends no console: the boots are known to this one then, and to none after it. */
function writeBoots(node: NodeStatus, boots: Boots): void {
  const path = bootsFileOf(node.dataDirectory)
  try {
    writeFileSync(`${path}.tmp`, JSON.stringify({ v: 1, boots }))
    renameSync(`${path}.tmp`, path)
  } catch {}
}
