/** Ports for a cluster, chosen by the operating system (free now; a node that finds its port taken says so and is given others). */
import { createServer, type Server } from 'node:net'

/**
 * `2/3`: this process is the second of three that start clusters at the same time. A port is nobody's from its choice until
 * its node listens, so each of them chooses among ports of its own.
 */
export const PORT_SHARE = 'QUORUMSCOPE_PORT_SHARE'
/** Chosen by this process last, for clusters whose nodes may not listen yet. */
const given = new Set<number>()
const GIVEN_KEPT = 512

function isOwn(port: number): boolean {
  const [, mine, all] = /^(\d+)\/([1-9]\d*)$/.exec(process.env[PORT_SHARE] ?? '') ?? []
  // Linux gives odd ports only.
  return all === undefined || (port >> 1) % Number(all) === Number(mine) % Number(all)
}

function give(port: number): void {
  given.add(port)
  for (const old of given) {
    if (given.size <= GIVEN_KEPT) return
    given.delete(old)
  }
}

const open = (host: string, port: number): Promise<Server | undefined> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ host, port, exclusive: true }, () => resolve(server))
  })

const close = (server: Server): Promise<void> => new Promise(resolve => server.close(() => resolve()))

/**
 * `count` different free ports of `host`; all are held until all are known. `spoken`: ports that somebody who does not
 * listen just now is going to.
 */
export async function chooseFreePorts(
  host: string,
  count: number,
  spoken: ReadonlySet<number> = new Set(),
): Promise<number[]> {
  const servers: Server[] = []
  const ports: number[] = []
  try {
    while (ports.length < count) {
      const server = await open(host, 0)
      if (!server) throw new Error(`the system gives no free port on ${host}`)
      servers.push(server)
      const { port } = server.address() as { port: number }
      if (!spoken.has(port) && !given.has(port) && isOwn(port)) ports.push(port)
    }
    ports.forEach(give)
    return ports
  } finally {
    await Promise.all(servers.map(close))
  }
}

export async function isFree(host: string, port: number): Promise<boolean> {
  const server = await open(host, port)
  if (!server) return false
  await close(server)
  return true
}
