/** Which processes belong to a directory: by what their command lines name, so that none can hide behind a lost note. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** Pids of all processes of this machine whose command line names something under the directory. */
export function processesUnder(directory: string): number[] {
  return allProcesses().flatMap(({ pid, command }) => (command.includes(`${directory}/`) ? [pid] : []))
}

function allProcesses(): { pid: number; command: string }[] {
  if (process.platform !== 'linux') {
    const lines = execFileSync('ps', ['-axo', 'pid=,command='], { encoding: 'utf8' }).split('\n')
    return lines.map(line => ({ pid: Number.parseInt(line, 10), command: line }))
  }
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return pids.flatMap(name => {
    try {
      return [{ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ') }]
    } catch {
      return []
    }
  })
}
