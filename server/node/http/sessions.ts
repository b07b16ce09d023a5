/**
 * What stands behind a bearer (spec wire.md §7): a client of the protocol on a connection inside the process. The sessions of
 * JWTs are kept until they expire; a personal access token is looked up anew for each request, since it may be deleted at
 * any moment.
 */
import type { Hash } from '../../../shared/bytes/hash.ts'
import { Client, type Credentials } from '../../../shared/client/client.ts'
import { nodeClientPorts } from '../tcp-transport.ts'
import type { Bearer } from './jwt.ts'
import type { LocalConnections } from './local-connections.ts'

export interface HttpSession {
  readonly client: Client
  /** Requests that wait for their answer. */
  inFlight: number
  expiresAtS: number
}

/** The client does not look at it: its network knows one place. */
const HERE = { host: 'localhost', port: 0 }
const SWEEP_MS = 60_000

export class HttpSessions {
  private readonly connections: LocalConnections
  private readonly hash: Hash
  private readonly max: number
  private readonly kept = new Map<string, HttpSession>()
  private readonly ended = new Map<string, number>()
  private readonly sweeper: NodeJS.Timeout

  /** @param max sessions that are kept; the one that was used longest ago makes room when it is idle. */
  constructor(connections: LocalConnections, hash: Hash, max: number) {
    this.connections = connections
    this.hash = hash
    this.max = max
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS)
    this.sweeper.unref()
  }

  get size(): number {
    return this.kept.size
  }

  /** A session under these credentials, not kept. The caller closes its client, or keeps it. */
  withCredentials(address: string, credentials: Credentials): HttpSession {
    return this.session(address, credentials)
  }

  /** False when there is no room. */
  keep({ id, expiresAtS }: Bearer, session: HttpSession): boolean {
    if (this.kept.size >= this.max && !this.makeRoom()) return false
    session.expiresAtS = expiresAtS
    this.kept.set(id, session)
    return true
  }

  /** Whether it was logged out. */
  hasEnded({ id }: Bearer): boolean {
    return this.ended.has(id)
  }

  /** The session of a bearer that was verified; undefined when there is no room. */
  of(bearer: Bearer, address: string): HttpSession | undefined {
    const kept = this.kept.get(bearer.id)
    if (kept) {
      // Used last, so it stands last.
      this.kept.delete(bearer.id)
      this.kept.set(bearer.id, kept)
      return kept
    }
    const session = this.session(address, { token: bearer.id }, bearer.userId)
    return this.keep(bearer, session) ? session : undefined
  }

  /** Ends the session of a bearer, which is good for nothing any more at this node. */
  end({ id, expiresAtS }: Bearer): void {
    this.ended.set(id, expiresAtS)
    this.drop(id)
  }

  /** A client that did not answer in time: what waits behind it is given up, the next request starts anew. */
  drop(id: string): void {
    this.kept.get(id)?.client.close()
    this.kept.delete(id)
  }

  close(): void {
    clearInterval(this.sweeper)
    for (const id of [...this.kept.keys()]) this.drop(id)
  }

  private session(address: string, credentials: Credentials, userId?: number): HttpSession {
    const client = new Client(
      { ...nodeClientPorts, network: this.connections.network(address, userId) },
      { endpoints: [HERE], hash: this.hash, credentials, followLeader: false, retry: false, sdkName: 'http' },
    )
    return { client, inFlight: 0, expiresAtS: 0 }
  }

  private makeRoom(): boolean {
    this.sweep()
    if (this.kept.size < this.max) return true
    for (const [id, { inFlight }] of this.kept) {
      if (inFlight > 0) continue
      this.drop(id)
      return true
    }
    return false
  }

  private sweep(): void {
    const nowS = Date.now() / 1000
    for (const [id, { expiresAtS }] of this.kept) if (expiresAtS < nowS) this.drop(id)
    for (const [id, expiresAtS] of this.ended) if (expiresAtS < nowS) this.ended.delete(id)
  }
}
