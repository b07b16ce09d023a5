/**
 * Which processes are nodes of a cluster's directory, by what they were started with. A supervisor that is killed between the
 * start of a node and its note of it leaves neither a note nor, for a while, a lock; its command line it has at once.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { findProcess, type ProcessIdentity } from '../node/process-identity.ts'
import { nodeArguments } from './launcher.ts'
import { nodeFiles } from './node-files.ts'

export interface FoundNode extends ProcessIdentity {
  readonly replica: number
}

/**
 * The live nodes that were started with a config file in this directory; nothing else that names it, an editor for one.
 * @param directory an absolute path, as the supervisor was given it
 */
export function findNodes(directory: string): FoundNode[] {
  return commandLines().flatMap(({ pid, line }) => {
    const replica = Number(/(?:^| )node --replica-id (\d+) --config /.exec(line)?.[1] ?? Number.NaN)
    if (Number.isNaN(replica)) return []
    const { configFile } = nodeFiles(directory, replica)
    if (!` ${line} `.includes(` ${nodeArguments({ args: [] }, replica, configFile).join(' ')} `)) return []
    const found = findProcess(pid)
    return found ? [{ replica, pid, started: found.started }] : []
  })
}

/** Of all processes that this user may see, with one blank between the arguments. */
export function commandLines(): { pid: number; line: string }[] {
  if (process.platform !== 'linux') {
    const lines = execFileSync('ps', ['-axo', 'pid=,command='], { encoding: 'utf8' }).split('\n')
    return lines.map(line => ({ pid: Number.parseInt(line, 10), line: line.trim() }))
  }
  const names = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return names.flatMap(name => {
    try {
      return [{ pid: Number(name), line: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() }]
    } catch {
      // It has ended since the list was read.
      return []
    }
  })
}
