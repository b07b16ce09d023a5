/**
 * What a node says of itself, to whoever may ask on this machine (design.md §3, Inspection; §4). Loopback HTTP, read-only
 * but for `watch`. Every snapshot is stamped with who reported it and when.
 *
 *   GET  /healthz                                                 {ok, node, boot, ready}
 *   GET  /node · /groups · /groups/:g · /groups/:g/counters · /topics
 *   GET  /partitions/:s/:t/:p
 *   GET  /partitions/:s/:t/:p/segments/:base/index?from=&to=&limit= or ?offset=&limit=
 *   GET  /partitions/:s/:t/:p/segments/:base/batches?from=&limit=
 *   GET  /partitions/:s/:t/:p/segments/:base/bytes?kind=log|index&position=&length=
 *   GET  /partitions/:s/:t/:p/journal                             ops of a partition group that are in memory
 *   GET  /superblocks · /wal · /clients · /recovery
 *   GET  /wal/entries/:op · /wal/scan · /clients/:client          one entry, a scan of the file, one session
 *   GET  /forwards?limit=                                         forwarded writes that this node sent or took, newest first
 *   GET  /events?after=SEQ[&boot=ID]                              one JSON object a line, until the reader leaves
 *   POST /watch/:group                                            every flow event of the group for 30 s
 *
 * Lines of `/events` are envelopes and gaps; an empty line comes each second when nothing else does. The headers
 * `quorumscope-boot` and `quorumscope-seq` say which life this is and its newest event. With a `boot` that is not this
 * one, `after` counts for nothing and the stream starts with the oldest event kept.
 * Failures are `{error: {code, message}}` with status 400, 403, 404, 405, 429 or 500.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { EngineError } from '../../shared/bytes/errors.ts'
import { FORWARDS_LIMIT_MAX } from '../../shared/inspection/forwards.ts'
import { INDEX_LIMIT_MAX, POSITION_MAX_BYTES } from '../../shared/inspection/node-api.ts'
import type { NodeSnapshot, Reporter } from '../../shared/inspection/snapshots.ts'
import type { IndexWindow } from '../../shared/partition/index-window.ts'
import type { ReplicaInspection } from '../../shared/replica/contract.ts'
import { listenOn } from './client-listener.ts'
import type { EventRing } from './event-ring.ts'
import { streamEvents } from './event-stream.ts'

/** Bytes of one byte view: a screen of hex is far below. */
export const BYTES_MAX = 64 * 1024
export const BATCHES_MAX = 1000
/** Consoles, tests and curious people together; each costs a cursor and a socket. */
export const READERS_MAX = 16

export interface InspectionSource {
  readonly ring: EventRing
  /** Undefined until the replica has booted. */
  inspect(): ReplicaInspection | undefined
  reporter(): Reporter
  node(inspect: ReplicaInspection): Omit<NodeSnapshot, 'reporter'>
  /** Faults for tests; a node that was not started for them has no such path. */
  faults?(method: string, path: readonly string[], query: URLSearchParams): unknown
  /** What a node has counted that was started to be measured; another one has no such path. */
  measured?(): unknown
}

class Refused extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const notFound = (message: string): Refused => new Refused(404, 'NotFound', message)
const badRequest = (message: string): Refused => new Refused(400, 'BadRequest', message)

export class InspectionServer {
  private readonly source: InspectionSource
  private readonly server: Server
  private readers = 0

  constructor(source: InspectionSource) {
    this.source = source
    this.server = createServer((request, response) => void this.handle(request, response))
    // The page polls over kept connections; nothing here takes longer than a disk read.
    this.server.requestTimeout = 10_000
  }

  /** Binds and returns the port. @throws EngineError PortUnavailable */
  listen(host: string, port: number): Promise<number> {
    return listenOn(this.server, host, port, 'inspection')
  }

  /** Ends all readers at once. */
  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      this.admit(request)
      const url = new URL(request.url ?? '/', 'http://node')
      const path = url.pathname.split('/').slice(1).map(decodePart)
      if (path[0] === 'events' && path.length === 1) {
        needMethod(request, 'GET')
        this.stream(url.searchParams, response)
        return
      }
      if (path[0] === 'watch' && path.length === 2) {
        needMethod(request, 'POST')
        this.source.ring.watch(path[1]!)
        answer(response, 200, { watching: path[1] })
        return
      }
      if (path[0] === 'faults' && this.source.faults) {
        answer(response, 200, this.source.faults(request.method ?? '', path.slice(1), url.searchParams))
        return
      }
      needMethod(request, 'GET')
      if (path[0] === 'measure' && path.length === 1 && this.source.measured) {
        answer(response, 200, this.source.measured())
        return
      }
      answer(response, 200, await this.read(path, url.searchParams))
    } catch (error) {
      fail(response, error)
    }
  }

  /** A page in a browser must not reach a node behind the console's back, not by a name that resolves to loopback either. */
  private admit(request: IncomingMessage): void {
    const host = (request.headers.host ?? '').replace(/:\d+$/, '')
    const local = host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
    if (!local) throw new Refused(403, 'WrongHost', `the host ${JSON.stringify(host)} is not this machine`)
    if (request.headers.origin !== undefined) throw new Refused(403, 'NoBrowsers', 'requests of web pages are refused')
  }

  private stream(query: URLSearchParams, response: ServerResponse): void {
    if (this.readers >= READERS_MAX) throw new Refused(429, 'TooManyReaders', `${READERS_MAX} readers are connected`)
    const { ring } = this.source
    const boot = query.get('boot')
    const after = boot !== null && boot !== ring.boot ? ring.firstSeq - 1 : number(query, 'after', 0, 2 ** 53 - 1)
    this.readers++
    response.once('close', () => this.readers--)
    response.writeHead(200, {
      'content-type': 'application/x-ndjson',
      'cache-control': 'no-store',
      'quorumscope-boot': ring.boot,
      'quorumscope-seq': String(ring.seq),
    })
    response.flushHeaders()
    streamEvents(ring, Math.min(after, ring.seq), response)
  }

  private async read(path: readonly string[], query: URLSearchParams): Promise<unknown> {
    const inspect = this.source.inspect()
    const [first, ...rest] = path
    if (first === 'healthz' && rest.length === 0) {
      const { node, boot } = this.source.reporter()
      return { ok: inspect !== undefined, node, boot, ready: inspect !== undefined }
    }
    if (!inspect) throw new Refused(503, 'Booting', 'the node is still booting')
    if (first === 'partitions') return this.readPartition(inspect, rest, query)
    if (rest.length === 0) {
      switch (first) {
        case 'node':
          return this.stamp(this.source.node(inspect))
        case 'groups':
          return this.stamp({ groups: inspect.groups() })
        case 'topics':
          return this.stamp(inspect.topics())
        case 'superblocks':
          return this.stamp(await inspect.superblocks())
        case 'wal':
          return this.stamp(inspect.wal())
        case 'clients':
          return this.stamp(inspect.clients())
        case 'recovery':
          return this.stamp(inspect.recovery())
        case 'forwards':
          return this.stamp(inspect.forwards(number(query, 'limit', 100, FORWARDS_LIMIT_MAX)))
      }
    }
    if (first === 'wal' && rest.length === 1 && rest[0] === 'scan') return this.stamp(await inspect.walScan())
    if (first === 'wal' && rest.length === 2 && rest[0] === 'entries') {
      const op = u64(rest[1]!, 'op')
      return this.stamp((await inspect.walEntry(op)) ?? raise(notFound(`op ${op} is not in the log of this node`)))
    }
    if (first === 'clients' && rest.length === 1) {
      const client = rest[0]!
      if (!/^[0-9a-f]{1,32}$/.test(client)) throw badRequest(`${JSON.stringify(client)} is no id of a client`)
      return this.stamp(
        inspect.session(BigInt(`0x${client}`)) ?? raise(notFound(`client ${client} has no session here`)),
      )
    }
    if (first === 'groups' && (rest.length === 1 || (rest.length === 2 && rest[1] === 'counters'))) {
      const group = u64(rest[0]!, 'group')
      if (rest.length === 2) return this.stamp({ counters: this.source.ring.countersOf(group.toString()) })
      const snapshot = inspect.group(group)
      if (!snapshot) throw notFound(`group ${group} is not here`)
      return this.stamp({ group: snapshot })
    }
    throw notFound(`/${path.join('/')} is not a path of a node`)
  }

  private async readPartition(
    inspect: ReplicaInspection,
    rest: readonly string[],
    query: URLSearchParams,
  ): Promise<unknown> {
    const [stream, topic, partition] = rest.slice(0, 3).map(part => Number(u64(part, 'id')))
    if (stream === undefined || topic === undefined || partition === undefined) throw notFound('a partition is s/t/p')
    const key = { stream, topic, partition }
    const absent = notFound(`partition ${stream}/${topic}/${partition} is not on this node`)
    if (rest.length === 3) return this.stamp(inspect.partition(key) ?? raise(absent))
    if (rest.length === 4 && rest[3] === 'journal') return this.stamp(inspect.journal(key) ?? raise(absent))
    if (rest.length !== 6 || rest[3] !== 'segments') throw notFound('a partition has segments/:base/…')
    const base = u64(rest[4]!, 'segment')
    const noSegment = notFound(`segment ${base} of partition ${stream}/${topic}/${partition} is not on this node`)
    switch (rest[5]) {
      case 'index':
        return this.stamp((await inspect.index(key, base, indexWindow(query))) ?? raise(noSegment))
      case 'batches': {
        const from = number(query, 'from', 0, 2 ** 40)
        const limit = number(query, 'limit', 100, BATCHES_MAX)
        return this.stamp((await inspect.batches(key, base, from, limit)) ?? raise(noSegment))
      }
      case 'bytes': {
        const kind = query.get('kind') ?? 'log'
        if (kind !== 'log' && kind !== 'index') throw badRequest('kind is log or index')
        const position = number(query, 'position', 0, 2 ** 40)
        const length = number(query, 'length', 4096, BYTES_MAX)
        return this.stamp((await inspect.bytes(key, base, kind, position, length)) ?? raise(noSegment))
      }
    }
    throw notFound('a segment has index, batches and bytes')
  }

  private stamp<T extends object>(body: T): T & { reporter: Reporter } {
    return { reporter: this.source.reporter(), ...body }
  }
}

function indexWindow(query: URLSearchParams): IndexWindow {
  const limit = number(query, 'limit', INDEX_LIMIT_MAX, INDEX_LIMIT_MAX)
  const offset = query.get('offset')
  if (offset !== null) return { by: 'offset', offset: u64(offset, 'offset'), limit }
  const from = number(query, 'from', 0, POSITION_MAX_BYTES)
  return { by: 'position', from, to: number(query, 'to', POSITION_MAX_BYTES, POSITION_MAX_BYTES), limit }
}

const raise = (error: Error): never => {
  throw error
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw badRequest(`${JSON.stringify(part)} is not percent-encoded text`)
  }
}

function needMethod(request: IncomingMessage, method: 'GET' | 'POST'): void {
  if (request.method !== method) throw new Refused(405, 'WrongMethod', `${request.method} is not ${method}`)
}

function u64(text: string, what: string): bigint {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) >> 64n !== 0n)
    throw badRequest(`${what} ${JSON.stringify(text)} is no u64`)
  return BigInt(text)
}

function number(query: URLSearchParams, name: string, fallback: number, max: number): number {
  const given = query.get(name)
  if (given === null) return fallback
  const value = Number(given)
  if (!/^\d+$/.test(given) || value > max) throw badRequest(`${name} is a whole number of at most ${max}`)
  return value
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (error instanceof Refused) answer(response, error.status, { error: { code: error.code, message: error.message } })
  else if (error instanceof EngineError) answer(response, 500, { error: { code: error.code, message: error.message } })
  else
    answer(response, 500, {
      error: { code: 'Internal', message: error instanceof Error ? error.message : String(error) },
    })
}
