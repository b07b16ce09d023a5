/**
 * The console's HTTP application: access rules first, then routes, then the page. It owns the hub, the load and the drills
 * for as long as it runs, and nothing of the cluster's processes.
 */
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify'
import type { Hash } from '../../shared/bytes/hash.ts'
import type { Credentials } from '../../shared/client/client.ts'
import type { OpenWorlds } from '../../shared/drills/run.ts'
import type { Supervisor } from '../cluster/contract.ts'
import type { LaunchEntry } from '../cluster/launcher.ts'
import { drillDirectory } from '../drills/left-run.ts'
import { drillWorlds } from '../drills/worlds.ts'
import { type AccessRules, installAccess } from './access.ts'
import { BenchRuns } from './bench-runs.ts'
import { DiskHistory } from './disk/disk-history.ts'
import { DrillRuns } from './drill-runs.ts'
import { ConsoleError } from './errors.ts'
import type { EventLogOptions } from './event-log.ts'
import { Hub } from './hub.ts'
import { LastKill, leadershipOf } from './last-kill.ts'
import { loadCluster } from './load/cluster.ts'
import { Load } from './load/load.ts'
import type { LoadCluster } from './load/ports.ts'
import { NearestSeeds } from './nearest-seed.ts'
import { servePage } from './page.ts'
import { Readers } from './readers.ts'
import { startRecording } from './recordings/start.ts'
import type { Limits } from './recordings/store.ts'
import { Recoveries } from './recoveries.ts'
import { Routes } from './route.ts'
import { benchRoutes } from './routes/bench.ts'
import { drillRoutes } from './routes/drills.ts'
import { forwardRoutes } from './routes/forwards.ts'
import { inspectionRoutes } from './routes/inspection.ts'
import { linkRoutes } from './routes/links.ts'
import { loadRoutes } from './routes/load.ts'
import { messageRoutes } from './routes/messages.ts'
import { metaRoutes } from './routes/meta.ts'
import { nodeRoutes } from './routes/nodes.ts'
import { recordingRoutes } from './routes/recordings.ts'
import { recoveryRoutes } from './routes/recoveries.ts'
import { streamRoutes } from './routes/stream.ts'
import { topicRoutes } from './routes/topics.ts'
import { Topics } from './topics.ts'

export interface ConsoleOptions {
  readonly supervisor: Supervisor
  readonly hash: Hash
  readonly access: AccessRules
  readonly credentials: Credentials
  /** Directory of the built page; undefined when it is not built. */
  readonly page: string | undefined
  readonly log?: EventLogOptions
  /** Where runs are recorded; undefined: nothing is. */
  readonly recordings?: { readonly directory: string; readonly limits?: Partial<Limits> } | undefined
  /** Instead of the client protocol, for tests. */
  readonly loadCluster?: (hub: Hub) => LoadCluster
  /** What runs benchmarks instead of this program, for tests. */
  readonly benchEntry?: LaunchEntry
  /** Worlds of drills instead of the simulator and this machine, for tests. */
  readonly drillWorlds?: OpenWorlds
  /** What an earlier console had left of a drill and what became of it, in words. */
  readonly leftDrill?: string | undefined
  /** Starts a new cluster of so many nodes in the place of this one; absent where nobody can. */
  readonly reset?: ((nodes: number) => void) | undefined
  /** Told of each route as it is added, for tests. */
  readonly onRoute?: (route: { readonly method: string; readonly url: string }) => void
  readonly onError?: (error: Error) => void
}

export interface ConsoleApp {
  readonly app: FastifyInstance
  readonly hub: Hub
  readonly load: Load
  readonly routes: Routes
  close(): Promise<void>
}

/** Settings and names; nothing larger is ever sent to the console. */
const BODY_BYTES_MAX = 64 * 1024

export async function buildConsole(options: ConsoleOptions): Promise<ConsoleApp> {
  const app = Fastify({
    bodyLimit: BODY_BYTES_MAX,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 300 },
    // An address that cannot be read gets no further than here; like every failure it says its code and what to do.
    frameworkErrors: (error, _request, reply) => sendError(reply, understand(error)),
  })
  const hub = new Hub({
    supervisor: options.supervisor,
    readOnly: options.access.readOnly,
    ...(options.log && { log: options.log }),
  })
  const topics = new Topics(hub, options.hash, options.credentials)
  const readers = new Readers(hub, options.hash, options.credentials)
  const cluster = options.loadCluster?.(hub) ?? loadCluster(hub, topics, options.hash, options.credentials)
  const load = new Load(options.hash, cluster, {
    emit: (kind, data) => hub.emit(kind, data),
    tell: state => hub.stream.sendLoad(state),
  })
  hub.loadState = () => load.state()
  const directory = drillDirectory(options.supervisor.status().directory)
  const worlds = options.drillWorlds ?? drillWorlds(options.hash, { directory })
  const bench = new BenchRuns(options.supervisor.status().directory, options.benchEntry)
  const drills = new DrillRuns(options.hash, worlds, options.leftDrill)
  const kills = new LastKill(hub.log, hub.replicaCount, () => leadershipOf(hub))
  const disk = new DiskHistory(options.supervisor, options.hash, error => options.onError?.(error))
  const nearest = new NearestSeeds(options.hash, worlds, () => kills.seen)

  app.addHook('onRoute', route => {
    for (const method of [route.method].flat()) options.onRoute?.({ method, url: route.url })
  })
  installAccess(app, options.access)
  const recording = await startRecording({
    app,
    hub,
    hash: options.hash,
    where: options.recordings,
    onError: options.onError,
  })
  const recoveries = new Recoveries({
    directory: options.recordings && options.supervisor.status().directory,
    keyframe: () => hub.keyframe(),
    seq: () => hub.log.seq,
    onError: error => options.onError?.(error),
  })
  hub.stream.taps.add(recoveries)
  acceptEmptyJson(app)
  app.setErrorHandler((error: FastifyError | ConsoleError, _request, reply) => {
    const known = understand(error)
    if (known.code === 'CON_INTERNAL') options.onError?.(error)
    return sendError(reply, known)
  })
  app.addHook('onSend', async (request, reply) => {
    if (request.url.startsWith('/api/')) void reply.header('cache-control', 'no-store')
  })

  const routes = new Routes(app)
  nodeRoutes(routes, hub, disk, options.reset)
  linkRoutes(routes, hub)
  inspectionRoutes(routes, hub, options.hash)
  forwardRoutes(routes, hub)
  topicRoutes(routes, hub, topics)
  messageRoutes(routes, hub, readers, topics, options.hash)
  loadRoutes(routes, load)
  drillRoutes(routes, drills, kills, nearest)
  benchRoutes(routes, bench)
  recordingRoutes(routes, recording.recordings)
  recoveryRoutes(routes, recoveries)
  streamRoutes(routes, hub)
  metaRoutes(routes, hub, load)
  await servePage(app, options.page)

  return {
    app,
    hub,
    load,
    routes,
    close: async () => {
      // Those who follow the stream first: their responses never end by themselves.
      await recording.close()
      hub.stream.taps.delete(recoveries)
      await recoveries.close()
      readers.close()
      hub.close()
      kills.close()
      disk.close()
      nearest.close()
      await Promise.all([load.close(), drills.close(), bench.close()])
      await app.close()
    },
  }
}

const sendError = (reply: FastifyReply, error: ConsoleError) =>
  reply.status(error.statusCode).type('application/json; charset=utf-8').send(JSON.stringify(error.toJSON()))

/** A POST without a body is legal for actions, also when it says that its body is JSON. */
function acceptEmptyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    if (body === '') {
      done(null, undefined)
      return
    }
    try {
      done(null, JSON.parse(body as string))
    } catch (error) {
      done(new ConsoleError('CON_BAD_REQUEST', `The body is not JSON: ${(error as Error).message}`), undefined)
    }
  })
}

function understand(error: FastifyError | ConsoleError): ConsoleError {
  if (error instanceof ConsoleError) return error
  const status = error.statusCode ?? 500
  if (status === 413) return new ConsoleError('CON_TOO_LARGE', error.message)
  if (status >= 400 && status < 500) return new ConsoleError('CON_BAD_REQUEST', error.message)
  return new ConsoleError('CON_INTERNAL', error.message)
}
