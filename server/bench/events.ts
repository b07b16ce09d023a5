/**
 * `bench events`: how old a fact is when a reader of the console's stream has it, at FACTS_PER_SECOND, and how long a kill
 * takes to reach that reader. Real node processes, a real console process; this process is the client and the reader.
 * The facts are those of forwarded writes, five for each: clients write through backups at the pace that gives the rate.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { Client } from '../../shared/client/client.ts'
import { randomU128 } from '../../shared/client/identity.ts'
import { type CurrentCluster, currentCluster } from '../../shared/inspection/api.ts'
import type { EventEnvelope } from '../../shared/inspection/envelope.ts'
import { produceBatch } from '../../shared/protocol/batch.ts'
import { ClientCommands } from '../../shared/protocol/command-codes.ts'
import { Ident } from '../../shared/protocol/ident.ts'
import { defaultEntry } from '../cluster/launcher.ts'
import { nodeClientPorts } from '../console/client-ports.ts'
import { Latencies } from '../console/load/latency.ts'
import { sleep } from '../console/load/sleep.ts'
import { ROOT } from '../console/serve.ts'
import { wallMs } from '../console/wall.ts'

export const FACTS_PER_SECOND = 500
const FACTS_PER_WRITE = 5
/** Half of the budget from event to pixel (250 ms at p95) is left to the browser. */
const FACT_CEILING_MS = 125
const KILL_CEILING_MS = 500

export interface Arm {
  readonly name: string
  readonly unit: 'ms'
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
  readonly ceiling: number
  /** p95 over the ceiling: above 1 is too slow. */
  readonly ratio: number
  readonly perSecond?: number
}

export interface EventsBench {
  readonly suite: 'events'
  readonly arms: readonly Arm[]
  /** The worst arm. */
  readonly ratio: number
  /** From the best median to the worst p99, milliseconds. */
  readonly interval: readonly [number, number]
  readonly ceiling: { readonly factMs: number; readonly killMs: number }
  readonly ok: boolean
}

export async function benchEvents(options: {
  readonly seconds: number
  readonly kills: number
  readonly say: (line: string) => void
}): Promise<EventsBench> {
  const directory = mkdtempSync(join(tmpdir(), 'quorumscope-bench-'))
  const stop = new AbortController()
  const hash = await createHash()
  const console = await startConsole(directory)
  try {
    const cluster = await settled(console)
    options.say(`three nodes run; writing through backups for ${options.seconds} s`)
    const facts = new Latencies()
    const kill = new Latencies()
    let measuring = false
    let exited: (() => void) | undefined
    readEvents(`${console.url}/api/events`, stop.signal, event => {
      if (event.kind === 'process_exited') exited?.()
      if (measuring && event.kind.startsWith('forward_')) facts.add(Math.max(0, wallMs() - Number(event.wallUs) / 1000))
    })
    const writers = startWriters(cluster, hash, stop.signal)
    await sleep(2_000, stop.signal)
    measuring = true
    const beganMs = performance.now()
    await sleep(options.seconds * 1000, stop.signal)
    measuring = false
    const perSecond = facts.count / ((performance.now() - beganMs) / 1000)

    options.say(`killing a backup ${options.kills} times`)
    for (let i = 0; i < options.kills; i++) {
      const seen = new Promise<void>(done => {
        exited = done
      })
      const beganKillMs = performance.now()
      await Promise.all([console.post('/api/nodes/2/kill'), seen.then(() => kill.add(performance.now() - beganKillMs))])
      await console.post('/api/nodes/2/start')
    }
    stop.abort()
    await writers
    const arms = [
      armOf('a fact, from its node to a reader', facts, FACT_CEILING_MS, Math.round(perSecond)),
      armOf('a kill, from the request to a reader', kill, KILL_CEILING_MS),
    ]
    const ratio = Math.max(...arms.map(arm => arm.ratio))
    return {
      suite: 'events',
      arms,
      ratio,
      interval: [Math.min(...arms.map(arm => arm.p50)), Math.max(...arms.map(arm => arm.p99))],
      ceiling: { factMs: FACT_CEILING_MS, killMs: KILL_CEILING_MS },
      // A rate far below the asked one would flatter the figures.
      ok: ratio <= 1 && perSecond >= FACTS_PER_SECOND * 0.8,
    }
  } finally {
    stop.abort()
    await console.end()
    rmSync(directory, { recursive: true, force: true })
  }
}

function armOf(name: string, latencies: Latencies, ceiling: number, perSecond?: number): Arm {
  const at = (share: number) => Math.round((latencies.percentileMs(share) ?? Number.NaN) * 10) / 10
  const p95 = at(0.95)
  return {
    name,
    unit: 'ms',
    count: latencies.count,
    p50: at(0.5),
    p95,
    p99: at(0.99),
    max: Math.round(latencies.maxMs * 10) / 10,
    ceiling,
    ratio: Math.round((p95 / ceiling) * 1000) / 1000,
    ...(perSecond !== undefined && { perSecond }),
  }
}

interface ConsoleProcess {
  readonly url: string
  get(path: string): Promise<unknown>
  post(path: string, body?: object): Promise<unknown>
  end(): Promise<void>
}

async function startConsole(directory: string): Promise<ConsoleProcess> {
  const child = spawn(process.execPath, [...defaultEntry().args, 'console', '--data', directory, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Whatever ends this process ends the console, and the console its nodes.
  const end = () => child.kill('SIGTERM')
  process.once('exit', end)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
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
      process.off('exit', end)
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function settled(console: ConsoleProcess): Promise<CurrentCluster> {
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

/** One client on each backup of view 0; each paces itself. Resolves once they have ended. */
function startWriters(cluster: CurrentCluster, hash: Hash, signal: AbortSignal): Promise<unknown> {
  const backups = cluster.nodes.filter(node => node.id !== 0 && node.ports)
  const intervalMs = (1000 * FACTS_PER_WRITE * backups.length) / FACTS_PER_SECOND
  const write = async (port: number) => {
    const client = new Client(nodeClientPorts, {
      endpoints: [{ host: '127.0.0.1', port }],
      hash,
      credentials: ROOT,
      followLeader: false,
      budgetMs: 2_000,
    })
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
  return Promise.all(backups.map(node => write(node.ports!.client)))
}

/** Calls `take` for each event of each batch until `signal` aborts. */
function readEvents(url: string, signal: AbortSignal, take: (event: EventEnvelope) => void): void {
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
