/** Ports for a cluster, chosen by the operating system (free now; a node that finds its port taken says so and is given others). */
import { createServer, type Server } from 'node:net'

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
      if (!spoken.has(port)) ports.push(port)
    }
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
