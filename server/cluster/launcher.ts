/** How a node process is started: this very Node, on the built command line, or on the sources through tsx. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface LaunchEntry {
  /** Arguments for Node before `node --replica-id …`. */
  readonly args: readonly string[]
}

/** libuv runs file work on this many threads; with its default of 4, syncs of a few partitions queue behind each other. */
export const THREAD_POOL_SIZE = 16

/** What a child inherits. Anything else of the parent's environment could change what a node does. */
const INHERITED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'USER', 'LD_LIBRARY_PATH', 'SystemRoot']

/** The command line of this project: the file that is running when it is the built one, else the sources. */
export function defaultEntry(): LaunchEntry {
  const here = fileURLToPath(import.meta.url)
  // Bundled, this module lies in dist/server beside the entry; in the sources it lies in server/cluster.
  const built = join(dirname(here), 'quorumscope.js')
  return existsSync(built) ? { args: [built] } : sourceEntry()
}

/** The sources, through tsx: slower to start, never stale. */
export function sourceEntry(): LaunchEntry {
  const main = fileURLToPath(new URL('../commands/main.ts', import.meta.url))
  return { args: ['--import', import.meta.resolve('tsx'), main] }
}

export function nodeArguments(entry: LaunchEntry, replica: number, configFile: string): string[] {
  return [...entry.args, 'node', '--replica-id', String(replica), '--config', configFile]
}

export function nodeEnvironment(root: { readonly username: string; readonly password: string }): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = {}
  for (const name of INHERITED) if (process.env[name] !== undefined) environment[name] = process.env[name]
  environment.UV_THREADPOOL_SIZE = String(THREAD_POOL_SIZE)
  environment.IGGY_ROOT_USERNAME = root.username
  environment.IGGY_ROOT_PASSWORD = root.password
  return environment
}

/**
 * Starts the process in a session of its own, so that neither the death of the supervisor nor a Ctrl-C in its terminal
 * reaches it; its output goes to `logFd`.
 */
export function launch(
  args: readonly string[],
  directory: string,
  environment: NodeJS.ProcessEnv,
  logFd: number,
): ChildProcess {
  return spawn(process.execPath, args, {
    cwd: directory,
    env: environment,
    detached: true,
    stdio: ['ignore', logFd, logFd],
  })
}

/** One line of shell that does the same by hand. */
export function asCommand(args: readonly string[], environment: NodeJS.ProcessEnv): string {
  const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
  const shown = Object.entries(environment)
    .filter(([name]) => name.startsWith('IGGY_') || name.startsWith('UV_'))
    .map(([name, value]) => `${name}=${quote(value ?? '')}`)
  return [...shown, ...[process.execPath, ...args].map(quote)].join(' ')
}
