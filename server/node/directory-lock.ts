/**
 * One process per data directory. The lock is a file that names its owner by pid and start time: it outlives a SIGKILL and
 * then blocks nobody, because the process it names is gone. Taking it is a hard link, which is atomic and fails when the
 * name exists; a stale lock is first renamed away, and put back if it turns out that somebody was quicker.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EngineError } from '../../shared/bytes/errors.ts'
import { findSame, ownIdentity, type ProcessIdentity } from './process-identity.ts'

export interface DirectoryLock {
  /** Gives the directory free. Doing it twice is harmless. */
  release(): void
}

/** The lock that the process of a node holds on its data directory. */
export const NODE_LOCK = 'process.lock'

/** Rounds against others who take the same lock; each round means that somebody else made progress. */
const ATTEMPTS = 10

/**
 * Takes the lock `name` in `directory`, which is made when absent.
 * @throws EngineError DirectoryInUse with the pid of the owner.
 */
export function lockDirectory(directory: string, name: string): DirectoryLock {
  mkdirSync(directory, { recursive: true })
  const path = join(directory, name)
  const own = ownIdentity()
  const mine = `${path}.${own.pid}`
  writeFileSync(mine, `${JSON.stringify(own)}\n`)
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (tryLink(mine, path)) return { release: () => releaseIfOwn(path, own) }
      const owner = liveOwner(path)
      if (owner) {
        throw new EngineError('DirectoryInUse', `${directory} belongs to the running process ${owner.pid}`, {
          path,
          advice: `stop process ${owner.pid} first, or choose another directory`,
        })
      }
      moveStaleAway(path, `${path}.stale.${own.pid}`)
    }
  } finally {
    rmSync(mine, { force: true })
  }
  throw new EngineError('DirectoryInUse', `${directory} is being locked by others again and again`, { path })
}

/** The live process that holds the lock, or undefined: no lock, a stale one, or one that cannot be read. */
export function liveOwner(path: string): ProcessIdentity | undefined {
  const owner = readOwner(path)
  return owner && findSame(owner) ? owner : undefined
}

function readOwner(path: string): ProcessIdentity | undefined {
  try {
    const owner = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProcessIdentity>
    return typeof owner.pid === 'number' && typeof owner.started === 'string'
      ? { pid: owner.pid, started: owner.started }
      : undefined
  } catch {
    return undefined
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Takes a stale lock out of the way; one that turns out to be live, because another process was quicker, is put back. */
export function moveStaleAway(path: string, aside: string): void {
  try {
    renameSync(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  if (liveOwner(aside)) tryLink(aside, path)
  unlinkSync(aside)
}

function releaseIfOwn(path: string, own: ProcessIdentity): void {
  const owner = readOwner(path)
  if (owner?.pid === own.pid && owner.started === own.started) rmSync(path, { force: true })
}
