/**
 * Which process a pid means. A pid alone is not enough: it may belong to another program by now. With the start time it
 * names one process for good; on Linux both come from /proc, elsewhere from `ps`, with seconds for resolution.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export interface ProcessIdentity {
  readonly pid: number
  /** Text that two processes with the same pid do not share. */
  readonly started: string
}

export type ProcessCondition = 'running' | 'stopped'

interface Found {
  readonly started: string
  readonly condition: ProcessCondition
}

/** The live process with this pid; undefined when there is none, or only a zombie that nobody has waited for yet. */
export function findProcess(pid: number): (ProcessIdentity & { readonly condition: ProcessCondition }) | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined
  const found = process.platform === 'linux' ? fromProc(pid) : fromPs(pid)
  return found && { pid, ...found }
}

/** The live process, if it is the very one that `identity` was taken of. */
export function findSame(identity: ProcessIdentity): ReturnType<typeof findProcess> {
  const found = findProcess(identity.pid)
  return found?.started === identity.started ? found : undefined
}

export function ownIdentity(): ProcessIdentity {
  const found = findProcess(process.pid)
  if (!found) throw new Error('this process cannot be found in the process table')
  return { pid: found.pid, started: found.started }
}

function fromProc(pid: number): Found | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The command is in brackets and may hold spaces and brackets itself; what follows the last one is plain words.
  const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const state = words[0]
  const startTicks = words[19]
  if (state === undefined || startTicks === undefined || state === 'Z' || state === 'X') return undefined
  return { started: `${bootId()}:${startTicks}`, condition: state === 'T' ? 'stopped' : 'running' }
}

let cachedBootId: string | undefined
/** Start times count from the boot of the machine, so the boot is part of the name. */
function bootId(): string {
  cachedBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return cachedBootId
}

function fromPs(pid: number): Found | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, LC_ALL: 'C' },
    }).trim()
    const [state = '', ...started] = line.split(/\s+/)
    if (line === '' || state.startsWith('Z')) return undefined
    return { started: started.join(' '), condition: state.startsWith('T') ? 'stopped' : 'running' }
  } catch {
    return undefined
  }
}
