/**
 * What is left of a real run when whoever ran it was killed: the directory that was made for it, and the node processes in
 * sessions of their own. The directory is the note that there was a run; its locks and their command lines name the processes.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { CLUSTER_FILE } from '../cluster/cluster-file.ts'
import { findNodes } from '../cluster/find-nodes.ts'
import { openSupervisor } from '../cluster/supervisor.ts'
import { findSame, type ProcessIdentity } from '../node/process-identity.ts'

/** Beside the nodes of the console's own cluster. */
export const drillDirectory = (clusterDirectory: string): string => join(clusterDirectory, 'drill')

const GONE_POLL_MS = 10

/**
 * Ends every process of a run that was cut short, and removes its directory.
 * @returns the pids that were ended, or undefined when nothing was left
 * @throws EngineError ClusterInUse when a living console runs a drill there
 */
export async function endLeftRun(directory: string): Promise<readonly number[] | undefined> {
  if (!existsSync(directory)) return undefined
  const pids: number[] = []
  if (existsSync(join(directory, CLUSTER_FILE))) {
    const supervisor = await openSupervisor({ directory, links: false, awaitStarts: false })
    try {
      for (const replica of supervisor.adopted) {
        const { pid } = supervisor.status().nodes[replica]!
        if (pid !== undefined) pids.push(pid)
      }
      await Promise.all(supervisor.adopted.map(replica => supervisor.kill(replica)))
      // What had only just been started holds no lock yet, and may never have been noted.
      pids.push(...(await endAll(findNodes(directory))))
    } finally {
      await supervisor.close({ stopNodes: true })
    }
  }
  rmSync(directory, { recursive: true, force: true })
  return pids
}

/** Pid and start time together name one process for good, so nobody else's is ended. */
async function endAll(nodes: readonly ProcessIdentity[]): Promise<number[]> {
  const alive = nodes.filter(each => findSame(each))
  for (const { pid } of alive) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch (error) {
      // It has just ended by itself.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  for (const each of alive) while (findSame(each)) await new Promise(resolve => setTimeout(resolve, GONE_POLL_MS))
  return alive.map(({ pid }) => pid)
}

/** What is said of it at the next start. `whose`: who was cut short. */
export const leftRunWords = (pids: readonly number[], whose = 'the last console'): string =>
  pids.length === 0
    ? `A drill was cut short when ${whose} ended; its directory was removed, no process was left.`
    : `A drill was cut short when ${whose} ended; its node processes (pid ${pids.join(', ')}) were ended and its directory removed.`
