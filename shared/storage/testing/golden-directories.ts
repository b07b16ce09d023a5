/** The golden node directories, copied into memory, so that tests may damage them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { goldenAbsent, goldenRoot } from '../../protocol/testing/golden.ts'
import { MemoryDisk } from '../memory-disk.ts'

export { goldenAbsent }

export const GOLDEN_NODES = goldenAbsent
  ? []
  : ['solo-clean', 'solo-killed', 'three-clean', 'three-checkpoint'].flatMap(run =>
      readdirSync(join(goldenRoot, run))
        .sort()
        .map(node => `${run}/${node}`),
    )

/** Paths of all files below one golden node directory, sorted. */
export function goldenFiles(node: string): string[] {
  return readdirSync(join(goldenRoot, node), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(join(goldenRoot, node).length + 1))
    .sort()
}

export const goldenBytes = (node: string, path: string): Uint8Array =>
  Uint8Array.from(readFileSync(join(goldenRoot, node, path)))

/** A copy of one golden node directory in memory. */
export function goldenDisk(node: string): MemoryDisk {
  const disk = new MemoryDisk()
  for (const path of goldenFiles(node)) disk.put(path, goldenBytes(node, path))
  return disk
}
