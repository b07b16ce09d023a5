import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { Client, type ClientOptions } from '../../shared/client/client.ts'
import { ClientError } from '../../shared/client/errors.ts'
import { ClientCommands } from '../../shared/protocol/command-codes.ts'
import { ErrorCode } from '../../shared/protocol/error-codes.ts'
import { nodeClientPorts } from './client-ports.ts'
import type { ConsoleError } from './errors.ts'
import { understand } from './topics.ts'

let server: Server | undefined
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  server?.close()
})

/** What comes of a call at a node that treats every connection so. */
async function failure(meet: (socket: Socket) => void, options: Partial<ClientOptions>): Promise<ConsoleError> {
  server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    meet(socket)
  })
  const port = await new Promise<number>(resolve =>
    server!.listen(0, '127.0.0.1', () => resolve((server!.address() as { port: number }).port)),
  )
  const client = new Client(nodeClientPorts, {
    endpoints: [{ host: '127.0.0.1', port }],
    hash: await createHash(),
    credentials: { username: 'a', password: 'b' },
    ...options,
  })
  try {
    await client.call(ClientCommands.createStream, { name: 's', options: [] })
  } catch (error) {
    return understand(error) as ConsoleError
  } finally {
    client.close()
  }
  throw new Error('it went well')
}

it('a node that never answers the sign-in is no refusal: nothing was sent, and the code says so', async () => {
  const error = await failure(socket => socket.resume(), { budgetMs: 300 })
  expect(error.toJSON()).toMatchObject({
    code: 'CON_SIGN_IN_TIMED_OUT',
    message: expect.stringContaining('No node signed the console in: no answer within'),
    cause: { code: 'TaskTimeout' },
  })
  expect(error.statusCode).toBe(504)
})

it('a node that hangs up on the sign-in serves nobody', async () => {
  // Tried again, it may meet the end of its time first.
  expect((await failure(socket => socket.end(), { retry: false })).code).toBe('CON_NO_NODE_SERVES')
})

it.each([
  ['CON_OUTCOME_UNKNOWN', new ClientError(ErrorCode.TaskTimeout, 'unknown')],
  ['CON_REQUEST_REFUSED', new ClientError(ErrorCode.StreamNameAlreadyExists, 'not_applied')],
  ['CON_NO_NODE_SERVES', new ClientError(ErrorCode.TransientNotAccepted, 'not_applied')],
])('%s', (code, error) => {
  expect(understand(error)).toMatchObject({ code, origin: { code: error.code } })
})
