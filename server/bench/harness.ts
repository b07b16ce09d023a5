/**
 * What the benchmarks of a watched cluster share: a console process with real nodes, writers that make facts at a known
 * rate, and the figures of one arm. The facts are those of forwarded writes, six for each: clients write through backups
 * at the pace that gives the rate.
 */
import { spawn } from 'node:child_process'
import { once, setMaxListeners } from 'node:events'
import http from 'node:http'
import type { Hash } from '../../shared/bytes/hash.ts'
import { Client } from '../../shared/client/client.ts'
import { randomU128 } from '../../shared/client/identity.ts'
import { type CurrentCluster, currentCluster } from '../../shared/inspection/api.ts'
import type { EventEnvelope } from '../../shared/inspection/envelope.ts'
import { produceBatch } from '../../shared/protocol/batch.ts'
import { ClientCommands } from '../../shared/protocol/command-codes.ts'
import { Ident } from '../../shared/protocol/ident.ts'
import { nodeClientPorts } from '../console/client-ports.ts'
import type { Latencies } from '../console/load/latency.ts'
import { sleep } from '../console/load/sleep.ts'
import { ROOT } from '../console/serve.ts'

export const FACTS_PER_SECOND = 500
/** Received, parked, sent, taken, accepted, answered. */
const FACTS_PER_WRITE = 6
/** A client waits for its answer before it writes again: several keep the rate on a machine that answers slowly. */
const WRITERS_PER_BACKUP = 4
/** A few beside the others: they are there to be seen. */
const REFUSED_EVERY_MS = 100
const BEYOND_ANY_LOG = 1n << 60n

export interface Arm {
  readonly name: string
  readonly unit: 'ms' | 'MiB'
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
  readonly ceiling: number
  readonly ceilingP50?: number
  /** p95 over its ceiling, or p50 over its own where that is worse: above 1 is too much. */
  readonly ratio: number
  readonly perSecond?: number
}

export function armOf(
  name: string,
  latencies: Latencies,
  ceiling: number,
  more: { readonly ceilingP50?: number; readonly perSecond?: number; readonly unit?: Arm['unit'] } = {},
): Arm {
  const at = (share: number) => Math.round((latencies.percentileMs(share) ?? Number.NaN) * 10) / 10
  const [p50, p95] = [at(0.5), at(0.95)]
  const { ceilingP50 = Number.POSITIVE_INFINITY } = more
  return {
    name,
    unit: 'ms',
    count: latencies.count,
    p50,
    p95,
    p99: at(0.99),
    max: Math.round(latencies.maxMs * 10) / 10,
    ceiling,
    ratio: Math.round(Math.max(p95 / ceiling, p50 / ceilingP50) * 1000) / 1000,
    ...more,
  }
}

export interface ConsoleProcess {
  readonly url: string
  readonly token: string
  get(path: string): Promise<unknown>
  post(path: string, body?: object): Promise<unknown>
  end(): Promise<void>
}

/** `command` is what runs a console, without its options. */
export async function startConsole(command: readonly string[], directory: string): Promise<ConsoleProcess> {
  const child = spawn(process.execPath, [...command, '--data', directory, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Whatever ends this process ends the console, and the console its nodes.
  const end = () => child.kill('SIGTERM')
  const exit = () => process.exit(1)
  process.once('exit', end).once('SIGINT', exit).once('SIGTERM', exit)
  const found = await new Promise<RegExpExecArray>((resolve, reject) => {
    let output = ''
    child.on('exit', status => reject(new Error(`the console ended with status ${status}`)))
    child.stdout.on('data', chunk => {
      output += chunk
      const match = /(http:\/\/[^/]+)\/#token=(\S+)/.exec(output)
      if (match) resolve(match)
    })
  })
  const [, url, token] = found
  const ask = async (path: string, init: RequestInit) => {
    const response = await fetch(url + path, init)
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return response.json()
  }
  return {
    url: url!,
    token: token!,
    get: path => ask(path, {}),
    post: (path, body) =>
      ask(path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': randomU128(nodeClientPorts.entropy).toString(16),
        },
        body: JSON.stringify(body ?? {}),
      }),
    end: async () => {
      process.off('exit', end).off('SIGINT', exit).off('SIGTERM', exit)
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

export async function settled(console: ConsoleProcess): Promise<CurrentCluster> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const cluster = currentCluster.parse(await console.get('/api/clusters/current'))
    if (cluster.nodes.every(node => node.snapshot?.metadata.status === 'normal')) {
      await console.post('/api/streams', { name: 'bench' })
      await console.post('/api/topics', { stream: 'bench', name: 'events', partitions: 1 })
      return cluster
    }
    await new Promise(done => setTimeout(done, 100))
  }
  throw new Error('the cluster did not settle within 30 s')
}

const backupsOf = (cluster: CurrentCluster) =>
  cluster.nodes.flatMap(({ id, ports }) => (id !== 0 && ports ? [ports.client] : []))

/** A client that stays on the node that it dialled, so that its writes are forwarded. */
const clientOn = (port: number, hash: Hash) =>
  new Client(nodeClientPorts, {
    endpoints: [{ host: '127.0.0.1', port }],
    hash,
    credentials: ROOT,
    followLeader: false,
    budgetMs: 2_000,
  })

/** Clients on each backup of view 0; each paces itself. Resolves once they have ended. */
export function startWriters(cluster: CurrentCluster, hash: Hash, signal: AbortSignal): Promise<unknown> {
  const doors = backupsOf(cluster).flatMap(port => Array.from({ length: WRITERS_PER_BACKUP }, () => port))
  // Each of them waits on it, and there are more than the ten that Node takes for a leak.
  setMaxListeners(0, signal)
  const intervalMs = (1000 * FACTS_PER_WRITE * doors.length) / FACTS_PER_SECOND
  const write = async (port: number) => {
    const client = clientOn(port, hash)
    let dueMs = performance.now()
    while (!signal.aborted) {
      const now = performance.now()
      if (dueMs > now) await sleep(dueMs - now, signal)
      dueMs = Math.max(dueMs + intervalMs, now - 1000)
      const message = {
        id: randomU128(nodeClientPorts.entropy),
        payload: new Uint8Array(64),
        originTimestamp: nodeClientPorts.clock.nowMicros(),
      }
      const metadata = {
        stream: Ident.name('bench'),
        topic: Ident.name('events'),
        partitioning: { kind: 'partition', partition: 0 } as const,
        messagesCount: 1,
      }
      try {
        await client.call(ClientCommands.send, { metadata, batch: produceBatch(hash, [message]) })
      } catch {
        // Its node may be the one that is killed: what counts here is the stream, not this write.
        await sleep(100, signal)
      }
    }
    client.close()
  }
  return Promise.all(doors.map(write))
}

/** Writes through a backup that its primary must refuse, each a fact that the page says in words. Resolves once it has ended. */
export async function writeRefused(cluster: CurrentCluster, hash: Hash, signal: AbortSignal): Promise<void> {
  const client = clientOn(backupsOf(cluster)[0]!, hash)
  while (!signal.aborted) {
    await sleep(REFUSED_EVERY_MS, signal)
    await client.storeOffset('bench', 'events', 0, BEYOND_ANY_LOG).catch(() => {})
  }
  client.close()
}

/** Calls `take` for each event of each batch until `signal` aborts. */
export function readEvents(url: string, signal: AbortSignal, take: (event: EventEnvelope) => void): void {
  const request = http.get(url, { agent: false }, response => {
    response.setEncoding('utf8')
    let pending = ''
    response.on('data', (chunk: string) => {
      const messages = (pending + chunk).split('\n\n')
      pending = messages.pop()!
      for (const message of messages) {
        const data = /^event: batch\ndata: (.*)$/m.exec(message)?.[1]
        if (data === undefined) continue
        for (const item of JSON.parse(data)) if (item.kind !== 'gap') take(item)
      }
    })
  })
  request.on('error', () => {})
  signal.addEventListener('abort', () => request.destroy())
}
