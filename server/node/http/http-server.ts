/**
 * The part of the HTTP API that a node serves (spec wire.md §7): logins, personal access tokens, and posting messages. A
 * message may be posted to any node: the engine hands it to the primary of its partition. A write of the metadata plane that
 * reaches a backup is sent on to the primary with 307, its path kept. Whatever else the API has is answered "not served".
 *
 * Bounds: requests that wait, per session and over all (a slow primary must not fill this node's memory with what waits for
 * it); the size of a body; the time to an answer; sessions, at half of the client table.
 */
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { Client, Credentials } from '../../../shared/client/client.ts'
import { ClientError } from '../../../shared/client/errors.ts'
import { ErrorCode } from '../../../shared/protocol/error-codes.ts'
import type { RosterNode } from '../../../shared/replica/contract.ts'
import { listenOn } from '../client-listener.ts'
import type { HttpConfig } from '../config/http.ts'
import { createTokenBody, credentialsBody, parseJson, readBody, sendBody, tokenBody, writeJson } from './bodies.ts'
import { HttpError, notServed, plainError, protocolError } from './errors.ts'
import { type Bearer, Jwt } from './jwt.ts'
import type { LocalConnections } from './local-connections.ts'
import { redirectTo } from './redirect.ts'
import { type HttpSession, HttpSessions } from './sessions.ts'

export const IN_FLIGHT_PER_SESSION_MAX = 32
export const IN_FLIGHT_MAX = 128
const ANSWER_MS = 10_000

/** The first words of paths that the API has. */
const KNOWN_PATHS =
  /^\/(users|personal-access-tokens|streams|stats|clients|options|snapshot|cluster|metrics|ui)(\/|\?|$)/

/** How the metadata group stands, seen from this node. */
export interface Leadership {
  readonly view: number
  readonly isSelf: boolean
  /** Undefined between views. */
  readonly primary: RosterNode | undefined
}

export interface HttpServerOptions {
  readonly config: HttpConfig
  readonly sessionsMax: number
  readonly hash: Hash
  readonly connections: LocalConnections
  readonly leadership: () => Leadership
}

/** Who asks: a session, and the bearer under which it is kept. */
interface Caller {
  readonly session: HttpSession
  readonly bearer: Bearer | undefined
}

interface TopicPath {
  readonly stream: string
  readonly topic: string
}

export class HttpServer {
  private readonly options: HttpServerOptions
  private readonly app: FastifyInstance
  private readonly jwt: Jwt
  private readonly sessions: HttpSessions
  private readonly sockets = new Set<Socket>()
  private inFlight = 0

  constructor(options: HttpServerOptions) {
    this.options = options
    const { config } = options
    this.jwt = new Jwt(config.jwt.key, config.jwt.lifetimeS)
    this.sessions = new HttpSessions(options.connections, options.hash, options.sessionsMax)
    const settings = { bodyLimit: config.bodyBytesMax, ...(config.tls && { https: config.tls }) }
    this.app = Fastify(settings) as FastifyInstance
    this.app.server.on('connection', socket => {
      this.sockets.add(socket)
      socket.once('close', () => this.sockets.delete(socket))
    })
    this.routes()
  }

  /** @throws EngineError PortUnavailable */
  async listen(): Promise<number> {
    await this.app.ready()
    const { host, port } = this.options.config.listen
    return listenOn(this.app.server, host, port, 'HTTP')
  }

  /** Ends everything at once. */
  close(): void {
    this.sessions.close()
    this.app.server.close()
    for (const socket of this.sockets) socket.destroy()
  }

  private routes(): void {
    const { app } = this
    app.removeContentTypeParser('application/json')
    app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, text, done) => {
      try {
        done(null, parseJson(text as string))
      } catch {
        done(protocolError(ErrorCode.InvalidCommand, 'the body is not JSON'))
      }
    })
    app.setReplySerializer(writeJson)
    app.setErrorHandler((error, _, reply) => this.fail(reply, asHttpError(error)))
    app.setNotFoundHandler((request, reply) =>
      this.fail(reply, KNOWN_PATHS.test(request.url) ? notServed() : plainError(404, 'not_found', 'no such path')),
    )
    app.addHook('onSend', async (request, reply, payload) => {
      // Nobody has proved anything yet where a ping is answered.
      if (reply.statusCode < 400 && request.routeOptions.url !== '/ping') {
        reply.header('iggy-view', String(this.options.leadership().view))
      }
      return payload
    })

    app.get('/ping', async (_, reply) => reply.type('text/plain').serializer(String).send('pong'))
    app.post('/users/login', async request => this.login(request, readBody(credentialsBody, request.body)))
    app.post('/personal-access-tokens/login', async request => this.login(request, readBody(tokenBody, request.body)))
    app.delete('/users/logout', async (request, reply) => {
      const { bearer, session } = await this.caller(request)
      if (bearer) this.sessions.end(bearer)
      else session.client.close()
      return reply.code(204).send()
    })

    app.get('/personal-access-tokens', request =>
      this.perform(request, async client =>
        (await client.tokens()).map(({ name, expiryAt }) => ({ name, expiry_at: expiryAt === 0n ? null : expiryAt })),
      ),
    )
    app.post('/personal-access-tokens', (request, reply) =>
      this.atPrimary(request, reply, async client => {
        const { name, expiry } = readBody(createTokenBody, request.body)
        return { token: await client.createToken(name, expiry) }
      }),
    )
    app.delete<{ Params: { name: string } }>('/personal-access-tokens/:name', (request, reply) =>
      this.atPrimary(request, reply, async client => {
        await client.deleteToken(request.params.name)
        reply.code(204)
      }),
    )
    app.post<{ Params: TopicPath }>('/streams/:stream/topics/:topic/messages', (request, reply) =>
      this.perform(request, client => send(client, request, reply)),
    )
  }

  /** Proves the credentials by a login, and keeps the session for the bearer that it answers. */
  private async login(request: FastifyRequest, credentials: Credentials) {
    // A password is slow to check.
    if (this.inFlight >= IN_FLIGHT_MAX) throw busy()
    this.inFlight++
    const session = this.sessions.withCredentials(request.ip, credentials)
    try {
      const { userId } = await this.inTime(session, client => client.login(credentials))
      const { token, bearer } = await this.jwt.issue(userId)
      if (!this.sessions.keep(bearer, session)) throw busy()
      return { user_id: userId, access_token: { token, expiry: bearer.expiresAtS } }
    } catch (error) {
      session.client.close()
      throw error
    } finally {
      this.inFlight--
    }
  }

  private async caller(request: FastifyRequest): Promise<Caller> {
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (token === undefined) throw protocolError(ErrorCode.AccessTokenMissing, 'this needs "Authorization: Bearer …"')
    // A personal access token is base64, which has no dots.
    if (!token.includes('.')) {
      return { session: this.sessions.withCredentials(request.ip, { token }), bearer: undefined }
    }
    const bearer = await this.jwt.verify(token)
    if (!bearer || this.sessions.hasEnded(bearer)) {
      throw protocolError(ErrorCode.InvalidAccessToken, 'the bearer token is not valid here; log in again')
    }
    const session = this.sessions.of(bearer, request.ip)
    if (!session) throw busy()
    return { session, bearer }
  }

  private async perform<T>(request: FastifyRequest, work: (client: Client) => Promise<T>): Promise<T> {
    const caller = await this.caller(request)
    const { session, bearer } = caller
    if (this.inFlight >= IN_FLIGHT_MAX) throw busy()
    if (session.inFlight >= IN_FLIGHT_PER_SESSION_MAX) {
      throw plainError(429, 'too_many_in_flight_writes', 'this session waits for as many answers as it may')
    }
    this.inFlight++
    session.inFlight++
    try {
      return await this.inTime(session, work)
    } catch (error) {
      // Whatever waits behind a request that nobody answers is given up with it.
      if (bearer && isTimeout(error)) this.sessions.drop(bearer.id)
      throw error
    } finally {
      this.inFlight--
      session.inFlight--
      if (!bearer) session.client.close()
    }
  }

  /** A write of the metadata plane: only its primary takes it. */
  private async atPrimary<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (client: Client) => Promise<T>,
  ): Promise<T | undefined> {
    const { isSelf, primary } = this.options.leadership()
    if (isSelf) return this.perform(request, work)
    // Nobody learns who leads without a bearer.
    await this.perform(request, client => client.connect())
    const location = redirectTo(primary, this.options.config.tls !== undefined, request.url)
    if (location === undefined)
      throw plainError(503, 'not_primary', 'this node is a backup, and knows no primary to ask')
    reply.code(307).header('location', location)
    return undefined
  }

  /** A session that the cluster has ended meanwhile is registered again, once, when that surely repeats nothing. */
  private async inTime<T>({ client }: HttpSession, work: (client: Client) => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(protocolError(ErrorCode.TaskTimeout, 'no answer came in time')), ANSWER_MS)
    })
    const again = (error: unknown) => {
      const ended = error instanceof ClientError && error.status === ErrorCode.Unauthenticated
      if (!ended || error.outcome !== 'not_applied') throw error
      return work(client)
    }
    try {
      return await Promise.race([work(client).catch(again), late])
    } finally {
      clearTimeout(timer)
    }
  }

  private fail(reply: FastifyReply, error: HttpError): void {
    if (error.retryable) reply.header('retry-after', '1')
    // Its body was not read, so the connection cannot be used again.
    if (error.status === 413) reply.header('connection', 'close')
    void reply.code(error.status).send(error.body)
  }
}

const busy = (): HttpError => plainError(503, 'server_busy', 'this node waits for as many answers as it may')
const isTimeout = (error: unknown): boolean => error instanceof HttpError && error.status === 504

const identOf = (text: string): number | string => {
  const id = /^\d{1,10}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
  return id <= 0xffff_ffff ? id : text
}

async function send(client: Client, request: FastifyRequest<{ Params: TopicPath }>, reply: FastifyReply) {
  const { partitioning, messages } = readBody(sendBody, request.body)
  const { stream, topic } = request.params
  const sending = client.sendMessages(identOf(stream), identOf(topic), partitioning, messages)
  if ((request.query as { ack?: string }).ack === 'none') {
    sending.catch(() => {})
    reply.code(202).header('iggy-durability', 'none')
    return undefined
  }
  const confirmation = await sending
  reply.code(201).header('iggy-durability', 'replicated-memory')
  const confirmations = confirmation
    ? [
        {
          stream_id: confirmation.streamId,
          topic_id: confirmation.topicId,
          partition_id: confirmation.partitionId,
          base_offset: confirmation.baseOffset,
        },
      ]
    : []
  return { confirmations }
}

/** The connection to the engine ended under a request: that of a session which was given up, or of a node that stops. */
const GIVEN_UP: ReadonlySet<number> = new Set([
  ErrorCode.Disconnected,
  ErrorCode.CannotEstablishConnection,
  ErrorCode.NotConnected,
  ErrorCode.ClientShutdown,
])

function asHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  if (error instanceof ClientError && GIVEN_UP.has(error.status)) {
    return protocolError(error.outcome === 'unknown' ? ErrorCode.TransientNotCommitted : ErrorCode.TransientNotAccepted)
  }
  if (error instanceof ClientError) return protocolError(error.status, error.message)
  const { statusCode = 500, message } = error as { statusCode?: number; message?: string }
  if (statusCode === 413) return plainError(413, 'payload_too_large', 'the body is larger than http.max_request_size')
  return plainError(statusCode, statusCode < 500 ? 'bad_request' : 'error', message ?? 'unexpected failure')
}
