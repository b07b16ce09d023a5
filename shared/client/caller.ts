/**
 * How a client gets a command answered (spec wire.md §1.4, §1.7, §2, §6.3): lockstep requests over one connection, login, the
 * leader from the roster, and the rules by which a request may be repeated.
 *
 * - 57, outcome unknown: only the same bytes on the same session may be sent again; from then on the call neither moves to
 *   another node nor logs in anew, and if it fails its outcome is unknown.
 * - 58, surely not admitted: the same bytes again; after two seconds the roster is read, and if a healthy leader is elsewhere
 *   the call moves there under a new identity.
 * - a connection lost under a write: the outcome is unknown and the caller decides; a read is repeated elsewhere.
 *
 * Everything ends with the budget of the call. With `retry: false` every answer goes to the caller as it comes.
 */
import type { Hash } from '../bytes/hash.ts'
import type { ClientId } from '../bytes/units.ts'
import { type Codec, decodeBody, encodeBody } from '../protocol/codec.ts'
import { type ClientCommand, ClientCommands, commandOfCode } from '../protocol/command-codes.ts'
import { ErrorCode, errorText, isTransient } from '../protocol/error-codes.ts'
import { Operation } from '../protocol/operations.ts'
import { readServerFrame } from '../protocol/replies.ts'
import { type Roster, rosterLeader } from '../protocol/roster.ts'
import { type LoginReply, loginReply, PROTOCOL_VERSION, passwordLogin, tokenLogin } from '../protocol/session.ts'
import { Connection } from './connection.ts'
import { Endpoints, sameEndpoint } from './endpoints.ts'
import { ClientError } from './errors.ts'
import { ClientIdentity } from './identity.ts'
import type { ClientPorts, Endpoint } from './ports.ts'

export type Credentials = { readonly username: string; readonly password: string } | { readonly token: string }

export interface ClientOptions {
  /** Where to connect; the first is tried first. At least one. */
  readonly endpoints: readonly Endpoint[]
  readonly hash: Hash
  /** Logs in on every new connection. Set by `login` too. */
  readonly credentials?: Credentials
  /** Repeat under the rules above; default true. */
  readonly retry?: boolean
  /** After a login, move to the leader that the roster names; default true. */
  readonly followLeader?: boolean
  /** Total time of one call, repeats, moves and logins included; default 30 s. */
  readonly budgetMs?: number
  /** Wait for one answer; the connection is given up after it. Default 10 s. */
  readonly requestTimeoutMs?: number
  /** The id that the client always comes under. Default: drawn, and another one for each login. */
  readonly clientId?: ClientId
  readonly sdkName?: string
  readonly sdkVersion?: string
}

const BUDGET_MS = 30_000
const REQUEST_TIMEOUT_MS = 10_000
/** Pause before the same bytes are sent again (§1.7). */
const REPLAY_MS = 50
/** How long 58 is taken for a passing state of this node before the roster is asked (§1.7). */
const RECHECK_LEADER_MS = 2_000
/** How often one call, or one login, may move to another node (§6.3). */
const REDIRECTS_MAX = 3
/** A roster without a leader is read again at this pace, for so long (§6.3). */
const LEADER_POLL_MS = 250
const LEADER_WAIT_MS = 5_000
/** Pause between two rounds over all endpoints while none can be reached. */
const RECONNECT_MS = 200
/** Codes whose raw call is refused: the logins and logout have methods of their own (§3.1). */
const RAW_REFUSED: ReadonlySet<number> = new Set([38, 39, 40, 44, 45])

/** One call on its way. */
interface Attempt {
  readonly deadlineMs: number
  redirects: number
  /** A 57 was seen, or bytes were lost with their connection: the request may be applied. */
  unknown: boolean
}

export class Caller {
  readonly options: ClientOptions
  protected readonly ports: ClientPorts
  private readonly identity: ClientIdentity
  private readonly endpoints: Endpoints
  private connection: Connection | undefined
  private credentials: Credentials | undefined
  private tail: Promise<unknown> = Promise.resolve()
  private closed = false
  private lastRoster: Roster | undefined
  private lastLogin: LoginReply | undefined

  constructor(ports: ClientPorts, options: ClientOptions) {
    this.ports = ports
    this.options = options
    this.endpoints = new Endpoints(options.endpoints)
    this.credentials = options.credentials
    this.identity = new ClientIdentity(ports.entropy, options.hash, options.clientId)
  }

  /** Where the client is connected, if it is. */
  get endpoint(): Endpoint | undefined {
    return this.connection?.isOpen ? this.connection.endpoint : undefined
  }
  get session(): bigint {
    return this.identity.session
  }
  /** The roster as it was read last. */
  get knownRoster(): Roster | undefined {
    return this.lastRoster
  }

  /** Connects, and logs in when credentials are known. Otherwise the first call does. */
  connect(): Promise<void> {
    return this.inTurn(async () => {
      await this.ready(this.attempt())
    })
  }

  /** Ends the connection; calls that wait fail. The client cannot be used again. */
  close(): void {
    this.closed = true
    this.connection?.close()
  }

  /**
   * Logs in, on the present connection when there is one, and remembers the credentials for later connections.
   * @throws ClientError InvalidCredentials, IncompatibleProtocolVersion …
   */
  login(credentials: Credentials): Promise<LoginReply> {
    return this.inTurn(async () => {
      const attempt = this.attempt()
      if (this.connection?.isOpen && this.identity.session !== 0n) {
        // Whatever becomes of the old session, the server drops it with the next login or with the connection.
        await this.send(this.connection, Operation.Logout, 0, NO_BODY, attempt).catch(ignoreClientError)
      }
      this.identity.unbind()
      this.credentials = credentials
      try {
        await this.ready(attempt)
      } catch (error) {
        this.credentials = undefined
        throw error
      }
      return this.lastLogin!
    })
  }

  logout(): Promise<void> {
    return this.inTurn(async () => {
      this.credentials = undefined
      const attempt = this.attempt()
      await this.send(await this.ready(attempt), Operation.Logout, 0, NO_BODY, attempt)
      this.identity.unbind()
    })
  }

  /**
   * Performs one command of the protocol.
   * @throws ClientError with the server's code, or with a code of the client's own.
   */
  async call<Q, R>(command: ClientCommand<Q, R>, request: Q): Promise<R> {
    const payload = await this.exchange(command.operation, command.code, encodeBody(command.request, request))
    return this.decode(command.reply, payload)
  }

  /**
   * Sends a body under a command code, routed as the typed calls are, and gives the payload of the reply (§3.1, raw).
   * @throws ClientError InvalidCommand for the login codes.
   */
  raw(code: number, body: Uint8Array): Promise<Uint8Array> {
    if (RAW_REFUSED.has(code)) return Promise.reject(new ClientError(ErrorCode.InvalidCommand, 'not_applied'))
    return this.exchange(commandOfCode(code)?.operation ?? Operation.NonReplicated, code, body)
  }

  /** Asks the connected node for the roster. */
  async roster(): Promise<Roster> {
    this.lastRoster = await this.call(ClientCommands.roster, {})
    return this.lastRoster
  }

  private exchange(operation: number, code: number, body: Uint8Array): Promise<Uint8Array> {
    return this.inTurn(() => this.perform(operation, code, body))
  }

  /** Calls go one after the other: the connection is lockstep. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work)
    this.tail = result.catch(() => {})
    return result
  }

  private attempt(): Attempt {
    return { deadlineMs: this.ports.clock.nowMs() + (this.options.budgetMs ?? BUDGET_MS), redirects: 0, unknown: false }
  }

  private async perform(operation: number, code: number, body: Uint8Array): Promise<Uint8Array> {
    const attempt = this.attempt()
    let relogged = false
    for (;;) {
      const connection = await this.ready(attempt, code === ClientCommands.ping.code)
      if (operation !== Operation.NonReplicated && this.identity.session === 0n) {
        throw new ClientError(ErrorCode.Unauthenticated, 'not_applied')
      }
      try {
        const payload = await this.send(connection, operation, code, body, attempt)
        if (payload !== undefined) return payload
      } catch (error) {
        if (!(error instanceof ClientError)) throw error
        const sessionLost = isSessionLoss(error.status)
        const again =
          (error.outcome === 'unknown' && !connection.isOpen && operation === Operation.NonReplicated) ||
          (!attempt.unknown && error.outcome === 'not_applied' && CONNECTION_ERRORS.has(error.status)) ||
          (!attempt.unknown && sessionLost && !relogged && this.credentials !== undefined)
        if (!again || this.options.retry === false || this.closed || this.remaining(attempt) <= REPLAY_MS) {
          throw attempt.unknown ? asUnknown(error) : error
        }
        relogged ||= sessionLost
        this.identity.unbind()
        await this.sleep(REPLAY_MS)
      }
    }
  }

  /** Sends one request and repeats it where it stands. Undefined: the client has moved to the leader; build it anew. */
  private async send(
    connection: Connection,
    operation: number,
    code: number,
    body: Uint8Array,
    attempt: Attempt,
  ): Promise<Uint8Array | undefined> {
    const frame = this.identity.frame(operation, code, body)
    let checkedMs = this.ports.clock.nowMs()
    for (;;) {
      const answer = readServerFrameOrThrow(await connection.exchange(frame, this.timeout(attempt)), connection)
      if (answer.kind === 'eviction') this.identity.unbind()
      else if (answer.code === 0) return answer.payload
      if (answer.code === ErrorCode.TransientNotCommitted) attempt.unknown = true
      if (!isTransient(answer.code) || this.options.retry === false || this.remaining(attempt) <= REPLAY_MS) {
        throw new ClientError(answer.code, attempt.unknown ? 'unknown' : 'not_applied')
      }
      const now = this.ports.clock.nowMs()
      if (now - checkedMs >= RECHECK_LEADER_MS && operation !== Operation.Register) {
        checkedMs = now
        if (!attempt.unknown && (await this.moveToLeader(connection, attempt))) return undefined
      }
      await this.sleep(REPLAY_MS)
    }
  }

  /** A connection with a session, as far as credentials are known. */
  private async ready(attempt: Attempt, withoutLogin = false): Promise<Connection> {
    if (this.closed) throw new ClientError(ErrorCode.ClientShutdown, 'not_applied')
    for (;;) {
      if (!this.connection?.isOpen) {
        if (this.connection) this.endpoints.demote(this.connection.endpoint)
        await this.connectSomewhere(attempt)
      }
      const connection = this.connection!
      if (withoutLogin || this.credentials === undefined || this.identity.session !== 0n) return connection
      try {
        await this.register(connection, this.credentials, attempt)
        await this.settle(attempt)
        return this.connection!
      } catch (error) {
        // Nothing of the call itself has been sent yet; a connection that died under the login is replaced.
        const lost = error instanceof ClientError && !connection.isOpen
        if (!lost || this.options.retry === false || this.remaining(attempt) <= RECONNECT_MS) throw error
        await this.sleep(RECONNECT_MS)
      }
    }
  }

  private async connectSomewhere(attempt: Attempt): Promise<void> {
    for (;;) {
      let last: unknown
      for (const endpoint of this.endpoints.all()) {
        if (this.closed) throw new ClientError(ErrorCode.ClientShutdown, 'not_applied')
        try {
          await this.connectTo(endpoint)
          return
        } catch (error) {
          last = error
          this.endpoints.demote(endpoint)
        }
      }
      if (this.options.retry === false || this.remaining(attempt) <= RECONNECT_MS) throw last
      await this.sleep(RECONNECT_MS)
    }
  }

  private async connectTo(endpoint: Endpoint): Promise<void> {
    this.connection?.close()
    const connection = await Connection.open(this.ports, endpoint)
    if (this.closed) {
      connection.close()
      throw new ClientError(ErrorCode.ClientShutdown, 'not_applied')
    }
    connection.onUnsolicited = () => this.identity.unbind()
    this.connection = connection
    this.identity.unbind()
  }

  private async register(connection: Connection, credentials: Credentials, attempt: Attempt): Promise<LoginReply> {
    const version = {
      protocol: PROTOCOL_VERSION,
      sdkName: this.options.sdkName ?? 'quorumscope',
      sdkVersion: this.options.sdkVersion ?? '0.1.0',
    }
    const body =
      'token' in credentials
        ? encodeBody(tokenLogin, { ...version, token: credentials.token, context: '' })
        : encodeBody(passwordLogin, { ...version, ...credentials, context: '' })
    let payload: Uint8Array | undefined
    try {
      payload = await this.send(connection, Operation.Register, 0, body, { ...attempt, unknown: false })
    } catch (error) {
      // What a login leaves in doubt is no doubt about the call that needs it: that has not been sent.
      if (!(error instanceof ClientError)) throw error
      throw new ClientError(error.status, 'not_applied', error.message, { cause: error })
    }
    const reply = this.decode(loginReply, payload!)
    this.identity.bind(reply.session)
    this.lastLogin = reply
    return reply
  }

  /** Moves to the leader that the roster names, as official clients do right after a login (§2.6). */
  private async settle(attempt: Attempt): Promise<void> {
    if (this.options.followLeader === false) return
    const untilMs = Math.min(this.ports.clock.nowMs() + LEADER_WAIT_MS, attempt.deadlineMs - REPLAY_MS)
    while (attempt.redirects < REDIRECTS_MAX) {
      const roster = await this.rosterOf(this.connection!, attempt)
      if (!roster || roster.nodes.length <= 1) return
      if (!rosterLeader(roster)) {
        if (this.ports.clock.nowMs() + LEADER_POLL_MS > untilMs) return
        await this.sleep(LEADER_POLL_MS)
        continue
      }
      if (!(await this.follow(roster, attempt))) return
    }
  }

  /** True when the client stands on another node now, logged in. */
  private async moveToLeader(connection: Connection, attempt: Attempt): Promise<boolean> {
    if (this.options.followLeader === false || attempt.redirects >= REDIRECTS_MAX) return false
    const roster = await this.rosterOf(connection, attempt)
    return roster !== undefined && this.follow(roster, attempt)
  }

  private async follow(roster: Roster, attempt: Attempt): Promise<boolean> {
    const leader = rosterLeader(roster)
    const current = this.connection!.endpoint
    if (!leader || leader.tcp === 0 || !this.credentials) return false
    const target = { host: leader.ip, port: leader.tcp }
    if (sameEndpoint(target, current)) return false
    attempt.redirects++
    try {
      await this.connectTo(target)
    } catch {
      // An advertised leader that cannot be reached: stay where it works.
      await this.connectTo(current)
    }
    await this.register(this.connection!, this.credentials, attempt)
    return !sameEndpoint(this.connection!.endpoint, current)
  }

  /** Undefined on any error: a client without a roster stays where it is (§2.6). */
  private async rosterOf(connection: Connection, attempt: Attempt): Promise<Roster | undefined> {
    try {
      const frame = this.identity.frame(Operation.NonReplicated, ClientCommands.roster.code, NO_BODY)
      const answer = readServerFrameOrThrow(await connection.exchange(frame, this.timeout(attempt)), connection)
      if (answer.kind === 'eviction' || answer.code !== 0) return undefined
      const roster = this.decode(ClientCommands.roster.reply, answer.payload)
      this.lastRoster = roster
      this.endpoints.learn(roster)
      return roster
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      return undefined
    }
  }

  private decode<T>(codec: Codec<T>, payload: Uint8Array): T {
    try {
      return decodeBody(codec, payload)
    } catch (cause) {
      // The command itself was answered with success.
      throw new ClientError(ErrorCode.InvalidBytesResponse, 'unknown', errorText(ErrorCode.InvalidBytesResponse), {
        cause,
      })
    }
  }

  private timeout(attempt: Attempt): number {
    return Math.min(this.remaining(attempt), this.options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS)
  }

  private remaining(attempt: Attempt): number {
    return Math.max(1, attempt.deadlineMs - this.ports.clock.nowMs())
  }

  private sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      this.ports.clock.after(ms, resolve)
    })
  }
}

const NO_BODY = new Uint8Array(0)

const CONNECTION_ERRORS: ReadonlySet<number> = new Set([
  ErrorCode.NotConnected,
  ErrorCode.CannotEstablishConnection,
  ErrorCode.Disconnected,
  ErrorCode.TaskTimeout,
])

function ignoreClientError(error: unknown): undefined {
  if (!(error instanceof ClientError)) throw error
}

const asUnknown = (error: ClientError): ClientError =>
  error.outcome === 'unknown' ? error : new ClientError(error.status, 'unknown', error.message, { cause: error })

const isSessionLoss = (status: number): boolean =>
  status === ErrorCode.Unauthenticated || status === ErrorCode.StaleClient

function readServerFrameOrThrow(bytes: Uint8Array, connection: Connection) {
  try {
    return readServerFrame(bytes)
  } catch (cause) {
    connection.close('the answer could not be read')
    throw new ClientError(ErrorCode.InvalidBytesResponse, 'unknown', errorText(ErrorCode.InvalidBytesResponse), {
      cause,
    })
  }
}
