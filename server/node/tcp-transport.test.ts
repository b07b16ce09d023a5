import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { Client } from '../../shared/client/client.ts'
import { localReply } from '../../shared/protocol/replies.ts'
import { readClientFrame } from '../../shared/protocol/requests.ts'
import { FrameSplitter } from '../../shared/protocol/splitter.ts'
import { nodeClientPorts } from './tcp-transport.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** A server on a port of the system's choosing. */
async function listen(accept: (socket: Socket) => void): Promise<number> {
  const server = createServer(accept)
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

const clientOf = async (port: number) =>
  new Client(nodeClientPorts, {
    endpoints: [{ host: '127.0.0.1', port }],
    hash: await createHash(),
    budgetMs: 2_000,
    retry: false,
  })

describe('client ports of Node', () => {
  it('carry a request and an answer that arrives byte by byte', async () => {
    const port = await listen(socket => {
      const splitter = new FrameSplitter()
      socket.setNoDelay(true)
      socket.on('data', chunk =>
        splitter.push(chunk, async frame => {
          const read = readClientFrame(frame)
          if (read.kind !== 'request') return
          for (const byte of localReply(read.header, {})) {
            socket.write(Uint8Array.of(byte))
            await new Promise(resolve => setImmediate(resolve))
          }
        }),
      )
    })
    const client = await clientOf(port)
    await client.ping()
    await client.ping()
    client.close()
  })

  it('tell a refused connection from one that ends under a request', async () => {
    const gone = await listen(socket => socket.once('data', () => socket.destroy()))
    const client = await clientOf(gone)
    await expect(client.ping()).rejects.toMatchObject({ code: 'Disconnected', outcome: 'unknown' })
    client.close()

    const closed = createServer()
    await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
    const { port } = closed.address() as { port: number }
    await new Promise<void>(resolve => closed.close(() => resolve()))
    const refused = await clientOf(port)
    await expect(refused.ping()).rejects.toMatchObject({ code: 'CannotEstablishConnection', outcome: 'not_applied' })
  })
})
