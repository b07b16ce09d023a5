/** A supervised cluster of real processes for one test: its directory, its clients, and what its nodes say of themselves. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hash } from '../../../shared/bytes/hash.ts'
import { Client, type ClientOptions } from '../../../shared/client/client.ts'
import { type NodeSnapshot, nodeSnapshot } from '../../../shared/inspection/snapshots.ts'
import { nodeClientPorts } from '../../node/tcp-transport.ts'
import type { LaunchEntry } from '../launcher.ts'
import { type LocalSupervisor, openSupervisor } from '../supervisor.ts'

export const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** Runs `work` on a cluster of three in a fresh directory; whatever happens, no process and no file is left. */
export async function withCluster(
  entry: LaunchEntry,
  work: (supervisor: LocalSupervisor) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'cluster-'))
  const supervisor = await openSupervisor({ directory, entry })
  try {
    await work(supervisor)
  } finally {
    await supervisor.close({ stopNodes: true })
    rmSync(directory, { recursive: true, force: true })
  }
}

export async function snapshotOf(supervisor: LocalSupervisor, replica: number): Promise<NodeSnapshot> {
  const { inspection } = supervisor.status().nodes[replica]!.ports
  return nodeSnapshot.parse(await (await fetch(`http://127.0.0.1:${inspection}/node`)).json())
}

/** A client of the running nodes, of `only` where it is given. The caller closes it. */
export function clientOf(
  supervisor: LocalSupervisor,
  hash: Hash,
  options: Partial<ClientOptions> & { readonly only?: number } = {},
): Client {
  const { only, ...rest } = options
  const endpoints = supervisor
    .status()
    .nodes.filter(({ replica, state }) => state === 'running' && (only === undefined || replica === only))
    .map(({ ports }) => ({ host: '127.0.0.1', port: ports.client }))
  return new Client(nodeClientPorts, {
    endpoints,
    hash,
    credentials: { username: 'iggy', password: 'iggy' },
    ...rest,
  })
}

export async function withClient<T>(
  supervisor: LocalSupervisor,
  hash: Hash,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = clientOf(supervisor, hash)
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

export async function until(condition: () => boolean | Promise<boolean>, what: string, withinMs = 60_000) {
  const deadline = Date.now() + withinMs
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`)
    await sleep(50)
  }
}
