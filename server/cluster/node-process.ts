/**
 * The process of one node, from the outside: started here or found alive, and never mistaken for another. Its end is known
 * from the exit event when it is a child, and from the process table when it was adopted. A signal goes out only to the
 * process whose pid, start time and data-directory lock all agree.
 */
import type { ChildProcess } from 'node:child_process'
import { closeSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { EngineError } from '../../shared/bytes/errors.ts'
import { ExitStatus } from '../../shared/storage/ports.ts'
import { liveOwner, NODE_LOCK } from '../node/directory-lock.ts'
import { exitMeaning } from '../node/halt.ts'
import { findProcess, findSame, type ProcessIdentity } from '../node/process-identity.ts'
import { readReady } from '../node/ready-file.ts'
import type { NodeExit, NodePorts, NodeRefusal, NodeState, NodeStatus } from './contract.ts'
import { asCommand, launch } from './launcher.ts'
import { type NodeFiles, nodeName } from './node-files.ts'
import { exitLineOf, openLog, tailOf } from './node-log.ts'

/** How often a starting node's ready file is looked for. */
const READY_POLL_MS = 20
/** How often a signal's effect is looked for in the process table. */
const SIGNAL_POLL_MS = 5
const SIGNAL_WAIT_MS = 2_000

const REFUSALS: ReadonlySet<number> = new Set([
  ExitStatus.UnreconcilableLogHead,
  ExitStatus.WedgedSuperblock,
  ExitStatus.Configuration,
  ExitStatus.RefusedBoot,
  ExitStatus.Unavailable,
])

export interface NodeProcessOptions {
  readonly replica: number
  readonly directory: string
  readonly files: NodeFiles
  readonly ports: () => NodePorts
  readonly host: string
  readonly args: () => readonly string[]
  readonly environment: NodeJS.ProcessEnv
  readonly onChange: () => void
  /** Called in the same turn in which a process is spawned or gone, so that the cluster file never lags behind. */
  readonly onProcess: (process: (ProcessIdentity & { startedWallMs: number }) | undefined) => void
}

type EndRequest = 'kill' | 'terminate'

export class NodeProcess {
  private readonly options: NodeProcessOptions
  private identity: ProcessIdentity | undefined
  private child: ChildProcess | undefined
  private ready = false
  private halted = false
  private requested: EndRequest | undefined
  private overdue = false
  private logFrom = 0
  private startedWallMs: number | undefined
  private readyMs: number | undefined
  private lastExit: NodeExit | undefined
  private lastRefusal: NodeRefusal | undefined
  private shownState: NodeState = 'stopped'
  private sinceWallMs = Date.now()
  private readonly exitWaiters = new Set<() => void>()

  constructor(options: NodeProcessOptions) {
    this.options = options
  }

  get alive(): boolean {
    return this.identity !== undefined
  }

  get state(): NodeState {
    if (this.identity) return this.halted ? 'paused' : this.ready ? 'running' : 'starting'
    const exit = this.lastExit
    if (!exit || exit.requested === 'kill' || this.overdue || exit.status === ExitStatus.Clean) return 'stopped'
    if (exit.status !== undefined) return REFUSALS.has(exit.status) ? 'refused' : 'crashed'
    return exit.requested === undefined ? 'crashed' : 'stopped'
  }

  status(): NodeStatus {
    const { replica, files, host, args, environment } = this.options
    return {
      replica,
      name: nodeName(replica),
      state: this.state,
      sinceWallMs: this.sinceWallMs,
      ...(this.identity && { pid: this.identity.pid }),
      adopted: this.identity !== undefined && this.child === undefined,
      ports: this.options.ports(),
      host,
      ...files,
      ...(this.startedWallMs !== undefined && { startedWallMs: this.startedWallMs }),
      ...(this.readyMs !== undefined && { readyMs: this.readyMs }),
      ...(this.lastExit && { lastExit: this.lastExit }),
      ...(this.lastRefusal && { lastRefusal: this.lastRefusal }),
      command: asCommand(args(), environment),
    }
  }

  /**
   * Takes over the live process that holds the lock of the data directory, if `noted` names the same one or nothing is
   * noted (the supervisor died between spawning and noting). Answers whether there was one.
   */
  adopt(noted: (ProcessIdentity & { startedWallMs: number }) | undefined): boolean {
    const owner = liveOwner(join(this.options.files.dataDirectory, NODE_LOCK))
    if (!owner) return false
    const same = noted !== undefined && noted.pid === owner.pid && noted.started === owner.started
    this.identity = owner
    this.child = undefined
    this.startedWallMs = same ? noted.startedWallMs : undefined
    this.logFrom = sizeOf(this.options.files.logFile)
    this.look()
    this.options.onProcess({ ...owner, startedWallMs: this.startedWallMs ?? Date.now() })
    this.changed()
    return true
  }

  /** Spawns the process; resolves when it listens. @throws EngineError WrongState, StartTimedOut, or its refusal. */
  async start(timeoutMs: number): Promise<void> {
    if (this.identity) throw wrongState(this.options.replica, 'has a process already')
    const { files, directory, args, environment } = this.options
    const started = Date.now()
    const log = openLog(files.logFile)
    this.logFrom = log.sizeBytes
    this.ready = false
    this.halted = false
    this.requested = undefined
    this.overdue = false
    this.readyMs = undefined
    const child = launch(args(), directory, environment, log.fd)
    closeSync(log.fd)
    if (child.pid === undefined) {
      const cause = await new Promise<Error>(resolve => child.once('error', resolve))
      throw new EngineError('SpawnFailed', `node-${this.options.replica} could not be started: ${cause.message}`)
    }
    // In the process table from the moment of the fork, so this cannot miss.
    const found = findProcess(child.pid)
    this.child = child
    this.identity = { pid: child.pid, started: found?.started ?? 'unknown' }
    this.startedWallMs = started
    child.once('exit', (status, signal) => this.ended(status ?? undefined, signal ?? undefined))
    this.options.onProcess({ ...this.identity, startedWallMs: started })
    this.changed()

    const deadline = started + timeoutMs
    const life = this.identity
    while (this.identity === life && !this.ready) {
      this.look()
      if (this.ready) {
        this.readyMs = Date.now() - started
        this.changed()
        return
      }
      if (Date.now() > deadline) {
        throw new EngineError('StartTimedOut', `node-${this.options.replica} does not listen after ${timeoutMs} ms`, {
          path: files.logFile,
          advice: 'read its log',
        })
      }
      await sleep(READY_POLL_MS)
    }
    if (this.identity !== life) throw this.refusalError()
  }

  private refusalError(): EngineError {
    const { replica, files } = this.options
    const { lastRefusal: refusal, lastExit: exit } = this
    if (refusal) {
      return new EngineError(refusal.code, `node-${replica} ended while starting: ${refusal.message}`, {
        ...(refusal.path !== undefined && { path: refusal.path }),
        ...(refusal.advice !== undefined && { advice: refusal.advice }),
      })
    }
    const words = exit?.meaning ?? 'no status'
    return new EngineError('StartFailed', `node-${replica} ended while starting: ${words}`, { path: files.logFile })
  }

  /** SIGKILL or SIGTERM; resolves when the process is gone. A clean stop that takes longer than `graceMs` becomes a kill. */
  async end(request: EndRequest, graceMs: number): Promise<void> {
    this.requireAlive()
    this.requested = request
    const gone = this.gone()
    this.signal(request === 'kill' ? 'SIGKILL' : 'SIGTERM')
    // A stopped process takes SIGTERM only when it goes on.
    if (request === 'terminate') this.signal('SIGCONT')
    const timer = setTimeout(() => {
      this.overdue = true
      this.signal('SIGKILL')
    }, graceMs)
    await gone
    clearTimeout(timer)
  }

  async pause(): Promise<void> {
    this.requireAlive()
    if (this.halted) throw wrongState(this.options.replica, 'is paused already')
    this.signal('SIGSTOP')
    await this.until(() => this.halted, 'SIGSTOP')
  }

  async resume(): Promise<void> {
    this.requireAlive()
    if (!this.halted) throw wrongState(this.options.replica, 'is not paused')
    this.signal('SIGCONT')
    await this.until(() => !this.halted, 'SIGCONT')
  }

  logTail(lines: number): string[] {
    return tailOf(this.options.files.logFile, lines)
  }

  /** Looks at the process table and the ready file; notices pauses by others, and the end of an adopted process. */
  look(): void {
    const { identity } = this
    if (!identity) return
    const found = findSame(identity)
    if (!found) {
      if (!this.child) this.ended(undefined, undefined)
      return
    }
    const ready = this.ready || readReady(this.options.files.dataDirectory)?.pid === identity.pid
    const halted = found.condition === 'stopped'
    if (ready === this.ready && halted === this.halted) return
    this.ready = ready
    this.halted = halted
    this.changed()
  }

  /** Lets go of the process without touching it. */
  release(): void {
    this.child?.removeAllListeners('exit')
    this.child?.unref()
  }

  private gone(): Promise<void> {
    return new Promise(resolve => (this.identity ? this.exitWaiters.add(resolve) : resolve()))
  }

  private requireAlive(): void {
    this.look()
    if (!this.identity) throw wrongState(this.options.replica, 'has no process')
  }

  private signal(name: NodeJS.Signals): void {
    const { identity, child } = this
    if (!identity) return
    // A child that we have not waited for keeps its pid, so the handle cannot mean another process.
    if (child) {
      child.kill(name)
      return
    }
    const owner = liveOwner(join(this.options.files.dataDirectory, NODE_LOCK))
    if (owner?.pid === identity.pid && owner.started === identity.started) process.kill(identity.pid, name)
    else this.look()
  }

  private async until(condition: () => boolean, what: string): Promise<void> {
    const deadline = Date.now() + SIGNAL_WAIT_MS
    for (;;) {
      this.look()
      if (!this.identity) throw wrongState(this.options.replica, `ended before ${what} took effect`)
      if (condition()) return
      if (Date.now() > deadline) throw wrongState(this.options.replica, `did not take ${what}`)
      await sleep(SIGNAL_POLL_MS)
    }
  }

  private ended(status: number | undefined, signal: string | undefined): void {
    const adopted = this.child === undefined
    const line = exitLineOf(this.options.files.logFile, this.logFrom)
    const known = status ?? (adopted ? line?.status : undefined)
    this.identity = undefined
    this.child = undefined
    this.ready = false
    this.halted = false
    this.lastExit = {
      ...(known !== undefined && { status: known }),
      ...(signal !== undefined && { signal }),
      meaning: this.meaningOf(known, signal, adopted),
      atWallMs: Date.now(),
      ...(this.requested !== undefined && { requested: this.requested }),
    }
    if (line && line.status !== ExitStatus.Clean) {
      const { status, code, message, path, advice } = line
      this.lastRefusal = {
        status,
        code,
        message,
        ...(path !== undefined && { path }),
        ...(advice !== undefined && { advice }),
      }
    }
    this.options.onProcess(undefined)
    this.changed()
    for (const resolve of this.exitWaiters) resolve()
    this.exitWaiters.clear()
  }

  private meaningOf(status: number | undefined, signal: string | undefined, adopted: boolean): string {
    if (this.overdue) return 'did not stop in time and was killed'
    if (status !== undefined) return exitMeaning[status] ?? `status ${status}`
    if (signal !== undefined) return `killed by ${signal}`
    if (this.requested === 'kill') return 'killed by SIGKILL'
    return adopted ? 'ended; an earlier supervisor started it, so its status is unknown' : 'ended'
  }

  private changed(): void {
    const { state } = this
    if (state !== this.shownState) {
      this.shownState = state
      this.sinceWallMs = Date.now()
    }
    this.options.onChange()
  }
}

const wrongState = (replica: number, what: string): EngineError =>
  new EngineError('WrongState', `node-${replica} ${what}`, { advice: 'look at the state of the node first' })

export const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
