/** One node without a cluster, in a process and a directory of its own, for a benchmark to drive. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '../../shared/bytes/errors.ts'
import type { Hash } from '../../shared/bytes/hash.ts'
import { Client } from '../../shared/client/client.ts'
import type { PartitionSnapshot } from '../../shared/inspection/snapshots.ts'
import { defaultEntry, type LaunchEntry, nodeEnvironment } from '../cluster/launcher.ts'
import { nodeClientPorts } from '../console/client-ports.ts'

import { ROOT } from '../console/serve.ts'
import type { MeasuredCounts } from '../node/measuring.ts'
import { type ReadyFile, readReady } from '../node/ready-file.ts'

const START_MS = 120_000
const OUTPUT_KEPT = 4_000

export interface SoloNodeOptions {
  /** Home of the node; its data lies in `data` below. */
  readonly directory: string
  /** Switches of `node --measure`; absent: an ordinary node. */
  readonly measure?: readonly string[]
  /** Arguments of `node` beyond that. */
  readonly args?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly entry?: LaunchEntry
}

export class SoloNode {
  readonly child: ChildProcess
  readonly ports: ReadyFile['ports']
  /** From the start of the process until it was ready. */
  readonly bootMs: number
  private readonly clients: Client[] = []

  private constructor(child: ChildProcess, ports: ReadyFile['ports'], bootMs: number) {
    this.child = child
    this.ports = ports
    this.bootMs = bootMs
  }

  /** @throws EngineError NodeEnded, NodeNotReady */
  static async start(options: SoloNodeOptions): Promise<SoloNode> {
    const { directory, measure, args = [], environment = {}, entry = defaultEntry() } = options
    mkdirSync(directory, { recursive: true })
    const data = join(directory, 'data')
    const beganMs = performance.now()
    const child = spawn(
      process.execPath,
      [...entry.args, 'node', ...(measure ? ['--measure', ...measure] : []), ...args],
      {
        cwd: directory,
        env: {
          ...nodeEnvironment(ROOT),
          IGGY_SYSTEM_PATH: data,
          IGGY_TCP_ADDRESS: '127.0.0.1:0',
          IGGY_INSPECTION_ADDRESS: '127.0.0.1:0',
          ...environment,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    // Whatever ends this process ends the node.
    const end = () => child.kill('SIGKILL')
    process.once('exit', end)
    child.once('exit', () => process.off('exit', end))
    let output = ''
    const take = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-OUTPUT_KEPT)
    }
    child.stdout!.on('data', take)
    child.stderr!.on('data', take)
    for (;;) {
      const ready = readReady(data)
      if (ready?.pid === child.pid) return new SoloNode(child, ready!.ports, performance.now() - beganMs)
      if (child.exitCode !== null || child.signalCode !== null)
        throw new EngineError('NodeEnded', `the node ended with ${child.exitCode ?? child.signalCode}:\n${output}`)
      if (performance.now() - beganMs > START_MS) {
        child.kill('SIGKILL')
        throw new EngineError('NodeNotReady', `the node was not ready after ${START_MS / 1000} s:\n${output}`)
      }
      await sleep(5)
    }
  }

  async dial(hash: Hash): Promise<Client> {
    const client = new Client(nodeClientPorts, {
      endpoints: [{ host: '127.0.0.1', port: this.ports.client }],
      hash,
      credentials: ROOT,
      followLeader: false,
    })
    this.clients.push(client)
    await client.connect()
    return client
  }

  counts(): Promise<MeasuredCounts> {
    return this.ask('/measure')
  }

  partition(stream: number, topic: number, partition: number): Promise<PartitionSnapshot> {
    return this.ask(`/partitions/${stream}/${topic}/${partition}`)
  }

  /** What the inspection port answers. */
  async ask<T>(path: string): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${this.ports.inspection}${path}`)
    if (!response.ok) throw new EngineError('NodeRefused', `${path}: ${await response.text()}`, { path })
    return response.json() as Promise<T>
  }

  kill(): Promise<void> {
    return this.end('SIGKILL')
  }

  stop(): Promise<void> {
    return this.end('SIGTERM')
  }

  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this
    if (child.exitCode === null && child.signalCode === null) {
      // Before the connections go: a crash must not look like a logout.
      child.kill(signal)
      await once(child, 'exit')
    }
    for (const client of this.clients.splice(0)) client.close()
  }
}
