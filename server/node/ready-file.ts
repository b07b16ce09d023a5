/** `runtime/ready.json` in the data directory: this life of the node is listening, and where. Gone after a clean stop. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface ReadyFile {
  readonly pid: number
  readonly boot: string
  readonly ports: { readonly client: number; readonly replica: number; readonly inspection: number }
}

export const RUNTIME_DIRECTORY = 'runtime'
const pathIn = (dataDirectory: string): string => join(dataDirectory, RUNTIME_DIRECTORY, 'ready.json')

/** Wipes `runtime/`, as each boot does (metadata-storage.md §6.1, step 6). */
export function wipeRuntime(dataDirectory: string): void {
  rmSync(join(dataDirectory, RUNTIME_DIRECTORY), { recursive: true, force: true })
  mkdirSync(join(dataDirectory, RUNTIME_DIRECTORY), { recursive: true })
}

export function writeReady(dataDirectory: string, ready: ReadyFile): void {
  const path = pathIn(dataDirectory)
  writeFileSync(`${path}.tmp`, `${JSON.stringify(ready)}\n`)
  renameSync(`${path}.tmp`, path)
}

export function removeReady(dataDirectory: string): void {
  rmSync(pathIn(dataDirectory), { force: true })
}

/** What the directory says; undefined when no node is ready there, or the file is no such file. */
export function readReady(dataDirectory: string): ReadyFile | undefined {
  try {
    const ready = JSON.parse(readFileSync(pathIn(dataDirectory), 'utf8')) as Partial<ReadyFile>
    return typeof ready.pid === 'number' && typeof ready.boot === 'string' && ready.ports !== undefined
      ? (ready as ReadyFile)
      : undefined
  } catch {
    return undefined
  }
}
