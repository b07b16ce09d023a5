/**
 * The life of a node process (spec metadata-storage.md §6.1): configuration, lock, directories, recovery, listeners, ticks,
 * until a signal asks for a clean stop or something ends it with the status that says why.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { EngineError } from '../../shared/bytes/errors.ts'
import { createHash } from '../../shared/bytes/hash.ts'
import type { Micros } from '../../shared/bytes/units.ts'
import type { NodeSnapshot, Reporter } from '../../shared/inspection/snapshots.ts'
import { RULES_ON } from '../../shared/protocol/rules.ts'
import { bootReplica } from '../../shared/replica/boot.ts'
import type { Replica, ReplicaPorts } from '../../shared/replica/contract.ts'
import type { ReplicaLinks } from '../../shared/replica/ports.ts'
import { type Disk, DiskError } from '../../shared/storage/disk.ts'
import { type Clock, ExitStatus } from '../../shared/storage/ports.ts'
import { ClientListener } from './client-listener.ts'
import { systemClock } from './clock.ts'
import { loadNodeConfig, type NodeConfig } from './config.ts'
import { DirectoryDisk } from './directory-disk.ts'
import { type DirectoryLock, lockDirectory, NODE_LOCK } from './directory-lock.ts'
import { systemEntropy } from './entropy.ts'
import { EventRing } from './event-ring.ts'
import { NodeFaults } from './faults/node-faults.ts'
import { die, processHalt } from './halt.ts'
import { hostFacts } from './host-facts.ts'
import { HttpServer } from './http/http-server.ts'
import { LocalConnections } from './http/local-connections.ts'
import { InspectionServer } from './inspection-server.ts'
import { type Log, openLog } from './log.ts'
import { LoopPauses } from './loop-pauses.ts'
import { MeasuredDisk, type Measuring, mayMeasure, parseMeasuring } from './measuring.ts'
import { argon2Passwords } from './passwords.ts'
import { removeReady, wipeRuntime, writeReady } from './ready-file.ts'
import { TcpReplicaLinks } from './replica-links.ts'
import { immediateScheduler, turnPacing } from './scheduler.ts'
import { startTicker } from './ticker.ts'

export interface NodeOptions {
  readonly replicaId?: string
  readonly config?: string
  readonly fresh: boolean
  readonly withDefaultRootCredentials: boolean
  /** Lets a test do damage from inside; `volatile`: and SIGKILL loses what was not synced. */
  readonly testFaults?: 'plain' | 'volatile'
  /** Points that are armed from the start, as a request to `/faults/arm` would say it. */
  readonly arm?: readonly string[]
  /** Switches of a benchmark (measuring.ts); only with an empty directory. */
  readonly measure?: readonly string[]
}

/** A clean stop flushes every partition; one that takes longer has hung. */
const STOP_MS = 30_000
/** libuv's own default, when nobody says otherwise. */
const THREADS_DEFAULT = 4

/** Runs one replica; resolves when it listens. The process ends with the status that says why. */
export async function runNode(options: NodeOptions): Promise<void> {
  process.on('uncaughtException', error => die(faultStatus(error), error))
  process.on('unhandledRejection', error => die(faultStatus(error), error))
  const config = configured(options)
  const log = openLog(config.logLevel, config.replica.replica)
  for (const warning of config.warnings) log.warn(warning)
  const lock = locked(config)
  try {
    if (options.fresh) wipe(config.dataDirectory)
    wipeRuntime(config.dataDirectory)
    const faults = options.testFaults && new NodeFaults({ volatileDisk: options.testFaults === 'volatile' })
    for (const query of options.arm ?? []) faults?.handle('POST', ['arm'], new URLSearchParams(query))
    if (faults) log.warn({ testFaults: options.testFaults }, 'this node takes faults from tests; its data is not safe')
    const measuring = options.measure && parseMeasuring(options.measure)
    if (measuring) {
      // What takes faults from tests is no place for data either.
      if (!faults) mayMeasure(config.dataDirectory, config.replica.clusterEnabled, NODE_LOCK)
      log.warn({ measuring }, 'this node is there to be measured; its data is not safe')
    }
    await new NodeLife(config, log, lock, faults, measuring).run()
  } catch (error) {
    die(bootStatus(error), error)
  }
}

class NodeLife {
  private readonly config: NodeConfig
  private readonly log: Log
  private readonly lock: DirectoryLock
  private readonly faults: NodeFaults | undefined
  private readonly measuring: Measuring | undefined
  private readonly disk: Disk
  private readonly clock: Clock
  private readonly boot = Buffer.from(systemEntropy.bytes(8)).toString('hex')
  private readonly startedWallUs: Micros
  private readonly ring: EventRing
  private readonly listener: ClientListener
  private readonly local: LocalConnections
  private readonly links: TcpReplicaLinks | undefined
  private readonly inspection: InspectionServer
  private replica: Replica | undefined
  private ports = { client: 0, replica: 0, inspection: 0 }
  private http: HttpServer | undefined
  private stopTicks: () => void = () => {}
  private pauses: LoopPauses | undefined
  private stopping = false

  constructor(
    config: NodeConfig,
    log: Log,
    lock: DirectoryLock,
    faults: NodeFaults | undefined,
    measuring: Measuring | undefined,
  ) {
    this.config = config
    this.log = log
    this.lock = lock
    this.faults = faults
    this.measuring = measuring
    const directory = new DirectoryDisk(config.dataDirectory)
    const disk = faults?.disk(directory) ?? directory
    const measured = measuring && new MeasuredDisk(disk, measuring)
    this.disk = measured ?? disk
    this.clock = faults?.clock(systemClock()) ?? systemClock()
    this.startedWallUs = this.clock.nowMicros()
    const { replica } = config
    this.ring = new EventRing({ node: replica.replica, boot: this.boot, clock: this.clock })
    this.listener = new ClientListener({
      frameBytesMax: replica.messageBytesMax,
      // Twice the client table: sessions that end and sessions that begin overlap.
      connectionsMax: 2 * replica.metadata.clientsTableMax,
      onClosed: (reason, detail) => {
        this.ring.count('node', `client_closed_${reason}`)
        log.warn({ reason, detail }, 'closed a client connection')
      },
      onDropped: command => this.ring.count('node', `client_frame_dropped_${command}`),
    })
    this.local = new LocalConnections(faults?.clientLinks(this.listener) ?? this.listener)
    this.links =
      config.links &&
      new TcpReplicaLinks({
        cluster: replica.clusterId,
        self: replica.replica,
        replicaCount: replica.nodes.length,
        peers: config.links.peers,
        ...(config.links.auth && { auth: config.links.auth }),
        handshakeGraceMs: config.links.handshakeGraceMs,
        queueFramesMax: config.links.queueFramesMax,
        frameBytesMax: replica.messageBytesMax,
        entropy: systemEntropy,
        onLink: event => {
          const { kind, ...data } = event
          // The engine tells of peers that come and go; strangers at the door are this side's to tell.
          if (kind === 'handshake_failed') this.fact(kind, data)
          log.info(data, kind)
        },
      })
    this.inspection = new InspectionServer({
      ring: this.ring,
      inspect: () => this.replica?.inspect,
      reporter: () => this.reporter(),
      node: inspect => this.snapshot(inspect),
      ...(faults && { faults: faults.handle.bind(faults) }),
      ...(measured && { measured: () => measured.counts() }),
    })
  }

  async run(): Promise<void> {
    const { config, log } = this
    const inspection = await this.inspection.listen(config.inspection.host, config.inspection.port)
    this.ports = { ...this.ports, inspection }
    // With port 0 the roster must name the port before anything boots; clients wait until the node serves.
    const chosen = config.client.port === 0
    if (chosen) await this.openClientPort()
    if (config.rootPasswordGenerated) {
      const { username, password } = config.replica.root
      log.warn(
        { username, password },
        'root credentials were made up for this start; set IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD',
      )
    }
    const hash = await createHash()
    this.pauses = LoopPauses.watching()
    const replica = await bootReplica(this.replicaConfig(), this.replicaPorts(hash))
    this.replica = replica
    if (!chosen) await this.openClientPort()
    if (this.links) {
      this.ports = { ...this.ports, replica: await this.links.start(config.links!.listen, replica) }
    }
    this.listener.serve(replica)
    await this.serveHttp(replica, hash)
    this.startTicks(replica)
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void this.stop(signal))
    this.announce()
  }

  private async serveHttp(replica: Replica, hash: ReplicaPorts['hash']): Promise<void> {
    const { http, replica: own } = this.config
    if (!http) return
    this.local.serve(replica)
    this.http = new HttpServer({
      config: http,
      // The other half is for clients of the protocol.
      sessionsMax: Math.max(1, Math.floor(own.metadata.clientsTableMax / 2)),
      hash,
      connections: this.local,
      leadership: () => {
        const { view, primary, status } = replica.inspect.metadata()
        const leader = status === 'normal' ? own.nodes.find(node => node.replica === primary) : undefined
        return { view, primary: leader, isSelf: leader?.replica === own.replica }
      },
    })
    this.log.info({ port: await this.http.listen(), tls: http.tls !== undefined }, 'serving HTTP')
  }

  private async openClientPort(): Promise<void> {
    const { host, port } = this.config.client
    this.ports = { ...this.ports, client: await this.listener.listen(host, port) }
  }

  private replicaConfig(): NodeConfig['replica'] {
    const { replica: configured } = this.config
    const replica = this.measuring
      ? { ...configured, partition: { ...configured.partition, persist: this.measuring.persist } }
      : configured
    if (replica.clusterEnabled) return replica
    const nodes = replica.nodes.map(node => ({
      ...node,
      ports: { ...node.ports, tcp: this.ports.client || node.ports.tcp },
    }))
    return { ...replica, nodes }
  }

  private replicaPorts(hash: ReplicaPorts['hash']): ReplicaPorts {
    const replicaLinks = this.links ?? noLinks
    return {
      disk: this.disk,
      clock: this.clock,
      entropy: systemEntropy,
      scheduler: immediateScheduler,
      pacing: turnPacing(this.clock),
      hash,
      halt: processHalt,
      passwords: argon2Passwords,
      replicaLinks: this.faults?.replicaLinks(replicaLinks) ?? replicaLinks,
      clientLinks: this.local,
      sink: this.ring,
      hostFacts: hostFacts(this.config.dataDirectory, this.clock.monoMicros),
    }
  }

  private startTicks(replica: Replica): void {
    this.stopTicks = startTicker({
      monoMicros: this.clock.monoMicros,
      onTick: () => replica.tick(),
      onStall: ({ lateMs, skipped }) => {
        this.fact('loop_stalled', { lateMs, skippedTicks: skipped })
        this.log.warn(
          { lateMs, skippedTicks: skipped },
          'the event loop stood still; skipped ticks are not made up for',
        )
      },
    })
  }

  private announce(): void {
    const { ports, boot, config } = this
    writeFileSync(join(config.dataDirectory, 'runtime', 'current_config.toml'), stringify(nested(config.effective)))
    writeReady(config.dataDirectory, { pid: process.pid, boot, ports })
    this.fact('node_started', { pid: process.pid, ...ports, bootMs: Math.round(this.clock.monoMicros() / 1000) })
    this.log.info({ ready: true, pid: process.pid, boot, ports, dataDirectory: config.dataDirectory }, 'ready')
  }

  /** Refuses what is new, flushes what is committed, closes files, ends with 0. A second signal changes nothing. */
  private async stop(signal: string): Promise<void> {
    if (this.stopping) return
    this.stopping = true
    this.log.info({ signal }, 'stopping')
    setTimeout(() => {
      die(ExitStatus.Internal, new EngineError('StopTimedOut', `a clean stop was not done after ${STOP_MS} ms`))
    }, STOP_MS).unref()
    this.listener.stopAccepting()
    this.http?.close()
    // Ticks go on: what is in the pipeline still commits.
    await this.replica!.stop()
    this.stopTicks()
    this.links?.stop()
    this.listener.destroy()
    this.inspection.close()
    removeReady(this.config.dataDirectory)
    this.lock.release()
    this.log.info(
      { quorumscopeExit: 1, status: ExitStatus.Clean, meaning: 'clean stop', code: 'Clean', message: signal },
      'stopped',
    )
    this.log.flush()
    process.exit(ExitStatus.Clean)
  }

  private fact(kind: string, data: Readonly<Record<string, string | number | boolean>>): void {
    this.ring.count('node', kind)
    this.ring.emit({ plane: 'node', group: 'node', kind, class: 'fact', data: { ...data } })
  }

  private reporter(): Reporter {
    return {
      node: this.config.replica.replica,
      boot: this.boot,
      takenWallUs: this.clock.nowMicros().toString(),
      takenMonoUs: this.clock.monoMicros(),
      seq: this.ring.seq,
    }
  }

  private snapshot(inspect: Replica['inspect']): Omit<NodeSnapshot, 'reporter'> {
    const { replica, dataDirectory } = this.config
    return {
      pid: process.pid,
      clusterName: replica.clusterName,
      clusterEnabled: replica.clusterEnabled,
      replicaCount: replica.nodes.length,
      startedWallUs: this.startedWallUs.toString(),
      dataDirectory,
      threadPoolSize: Number(process.env.UV_THREADPOOL_SIZE ?? THREADS_DEFAULT) || THREADS_DEFAULT,
      ports: this.ports,
      peers: (this.config.links?.peers ?? []).map(({ replica: peer }) => ({
        replica: peer,
        connected: this.links!.isConnected(peer),
      })),
      clients: inspect.clientCount(),
      metadata: inspect.metadata(),
      groups: inspect.groups(),
      counters: this.ring.countersOf(),
      memoryBytes: process.memoryUsage.rss(),
      ...(this.pauses && { longestPauseMs: this.pauses.longestMs }),
      // macOS leaves the drive's own cache alone on fsync.
      fsync: process.platform === 'darwin' ? 'weaker' : 'full',
    }
  }
}

const noLinks: ReplicaLinks = { send: () => false, isConnected: () => false }

function configured(options: NodeOptions): NodeConfig {
  try {
    const config = loadNodeConfig({
      ...(options.replicaId !== undefined && { replicaId: options.replicaId }),
      ...(options.config !== undefined && { configFile: options.config }),
      withDefaultRootCredentials: options.withDefaultRootCredentials,
      environment: process.env,
      workingDirectory: process.cwd(),
    })
    if (config.replica.rules !== RULES_ON)
      throw new EngineError('RulesOff', 'a node runs with every rule of the protocol on')
    return config
  } catch (error) {
    return die(error instanceof EngineError ? ExitStatus.Configuration : ExitStatus.Internal, error)
  }
}

function locked(config: NodeConfig): DirectoryLock {
  try {
    return lockDirectory(config.dataDirectory, NODE_LOCK)
  } catch (error) {
    return die(bootStatus(error), error)
  }
}

/** `--fresh`: everything but the lock. @throws when something stays; a half-removed directory must not boot. */
function wipe(dataDirectory: string): void {
  mkdirSync(dataDirectory, { recursive: true })
  for (const name of readdirSync(dataDirectory)) {
    if (name !== NODE_LOCK) rmSync(join(dataDirectory, name), { recursive: true })
  }
}

const STATUS_BY_CODE: Readonly<Record<string, ExitStatus>> = {
  BadMeasure: ExitStatus.Configuration,
  MeasureRefused: ExitStatus.Configuration,
  PortUnavailable: ExitStatus.Unavailable,
  DirectoryInUse: ExitStatus.Unavailable,
}

const isOfDisk = (error: unknown): boolean =>
  error instanceof DiskError || (error instanceof Error && error.cause !== undefined && isOfDisk(error.cause))

/** An error that nobody handled: the disk failed under it, or this program did. */
const faultStatus = (error: unknown): ExitStatus => (isOfDisk(error) ? ExitStatus.FailedPersist : ExitStatus.Internal)

/** An error that ended the boot. */
function bootStatus(error: unknown): ExitStatus {
  if (!(error instanceof EngineError) || isOfDisk(error)) return faultStatus(error)
  return STATUS_BY_CODE[error.code] ?? ExitStatus.RefusedBoot
}

function nested(flat: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const root: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(flat)) {
    const path = key.split('.')
    const last = path.pop()!
    let table = root
    for (const part of path) {
      table[part] ??= {}
      table = table[part] as Record<string, unknown>
    }
    table[last] = value
  }
  return root
}
