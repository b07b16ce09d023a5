/**
 * The directories of drills that are run by command, one for each such process, all of one user under one roof. Each names
 * its owner, so that the next start finds what a killed one has left, and leaves alone what a living one is at work on.
 */
import { readdirSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EngineError } from '../../shared/bytes/errors.ts'
import { liveOwner, lockDirectory } from '../node/directory-lock.ts'
import { findProcess } from '../node/process-identity.ts'
import { endLeftRun, leftRunWords } from './left-run.ts'

const LOCK = 'command.lock'
const NAME = /^command-(\d+)$/

/** Where the command of this user keeps the data of its real runs, while they last. */
export const commandRoof = (): string => join(tmpdir(), `quorumscope-drills-${process.getuid?.() ?? 0}`)

/** The cluster of the run, inside the directory of the command that runs it. */
const clusterIn = (directory: string): string => join(directory, 'run')

export interface CommandDirectory {
  /** Of the runs of this process, one at a time. */
  readonly runs: string
  /** Removes it, and the roof with the last one. */
  release(): void
}

/** Makes and takes the directory of this process. */
export function takeCommandDirectory(roof = commandRoof()): CommandDirectory {
  const directory = join(roof, `command-${process.pid}`)
  const lock = lockDirectory(directory, LOCK)
  return {
    runs: clusterIn(directory),
    release: () => {
      lock.release()
      rmSync(directory, { recursive: true, force: true })
      removeEmpty(roof)
    },
  }
}

/**
 * Ends what commands that are gone have left behind: processes and directories.
 * @returns what was cleaned up, one sentence for each of them
 */
export async function endLeftCommands(roof = commandRoof()): Promise<string[]> {
  const said: string[] = []
  for (const name of namesIn(roof)) {
    const pid = Number(NAME.exec(name)?.[1])
    const directory = join(roof, name)
    if (Number.isNaN(pid) || isOwned(directory, pid)) continue
    try {
      const ended = (await endLeftRun(clusterIn(directory))) ?? []
      rmSync(directory, { recursive: true, force: true })
      said.push(leftRunWords(ended, `the command with pid ${pid}`))
    } catch (error) {
      // Another start is cleaning up the very same.
      if (!(error instanceof EngineError && error.code === 'ClusterInUse')) throw error
    }
  }
  removeEmpty(roof)
  return said
}

/** A command that is just starting has made its directory and not locked it yet. */
function isOwned(directory: string, pid: number): boolean {
  if (liveOwner(join(directory, LOCK))) return true
  return findProcess(pid) !== undefined && !namesIn(directory).includes(LOCK)
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function removeEmpty(directory: string): void {
  try {
    rmdirSync(directory)
  } catch {
    // Others are at work in it, or it was never made.
  }
}
