/** A whole console over fakes, listening on a port of the system's choice. */
import type { AddressInfo } from 'node:net'
import { createHash } from '../../../shared/bytes/hash.ts'
import { buildConsole, type ConsoleApp, type ConsoleOptions } from '../app.ts'
import type { LoadCluster } from '../load/ports.ts'
import { FakeNode } from './fake-node.ts'
import { FakeSupervisor } from './fake-supervisor.ts'

export const TOKEN = 'test-token'
export const authorization = `Bearer ${TOKEN}`

const hash = await createHash()

export interface TestConsole extends ConsoleApp {
  readonly nodes: readonly FakeNode[]
  readonly supervisor: FakeSupervisor
  readonly url: string
  readonly errors: Error[]
}

const nobody: LoadCluster = {
  candidates: () => [],
  ensureTopic: () => Promise.reject(new Error('no cluster behind this test')),
  open: () => Promise.reject(new Error('no cluster behind this test')),
}

export async function testConsole(
  options: Partial<ConsoleOptions> & { readonly count?: number; readonly readOnly?: boolean } = {},
): Promise<TestConsole> {
  const nodes = Array.from({ length: options.count ?? 3 }, (_, id) => new FakeNode(id))
  const ports = await Promise.all(nodes.map(node => node.listen()))
  const supervisor = new FakeSupervisor(ports.map(inspection => ({ inspection })))
  const errors: Error[] = []
  const built = await buildConsole({
    supervisor,
    hash,
    access: { host: '127.0.0.1', token: TOKEN, readOnly: options.readOnly ?? false },
    credentials: { username: 'iggy', password: 'iggy' },
    page: undefined,
    loadCluster: () => nobody,
    onError: error => errors.push(error),
    ...options,
  })
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = built.app.server.address() as AddressInfo
  return {
    ...built,
    nodes,
    supervisor,
    errors,
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      await built.close()
      for (const node of nodes) node.close()
    },
  }
}
