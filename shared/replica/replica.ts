/** One running replica: how its parts are wired, and the way in for ticks, frames and connections. */
import { EngineError } from '../bytes/errors.ts'
import type { ReplicaId } from '../bytes/units.ts'
import { createGroup } from '../consensus/group.ts'
import type { RecoveryStep } from '../partition/contract.ts'
import { Command } from '../protocol/commands.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { parseReplicaFrame } from '../protocol/frames.ts'
import { METADATA_GROUP } from '../protocol/groups.ts'
import { isMetadata, isPartition, Operation } from '../protocol/operations.ts'
import { EvictionReason, localReply } from '../protocol/replies.ts'
import { ExitStatus } from '../storage/ports.ts'
import { AutoCommits } from './auto-commits.ts'
import { Cleaner } from './cleaner.ts'
import { ClientDoor } from './client-door.ts'
import type { Replica } from './contract.ts'
import type { Core } from './core.ts'
import { DRAIN_TICKS_MAX, isDrained as isGroupDrained } from './drain.ts'
import { deny, type Exchange, evict } from './exchange.ts'
import { Forwards } from './forwards.ts'
import { frameGroup } from './frame-group.ts'
import { metadataGroupConfig } from './group-config.ts'
import { inspection } from './inspect.ts'
import { MetadataHost } from './metadata-host.ts'
import type { RecoveredMetadata } from './metadata-recovery.ts'
import { metadataRequest } from './metadata-requests.ts'
import { offsetWriteRequest } from './offset-requests.ts'
import { sendRequest } from './partition-writes.ts'
import type { Partitions } from './partitions.ts'
import type { Parts } from './parts.ts'
import { Placement } from './placement.ts'
import type { LinkMark } from './ports.ts'
import { ReadBarrier } from './read-barrier.ts'
import { readRequest } from './reads.ts'
import { Reconciler } from './reconciler.ts'
import { login, logout, logoutLost } from './sessions.ts'
import { TokenCleaner } from './token-cleaner.ts'

/** Legacy logins, which name no protocol version (wire.md §2.4). */
const LEGACY_LOGINS: ReadonlySet<number> = new Set([38, 44])
const PING = 1

/** The gate of every request (wire.md §2.4). */
function dispatch(parts: Parts, exchange: Exchange) {
  const { operation, code } = exchange.header
  const { session } = exchange.connection
  if (operation === Operation.NonReplicated) {
    if (LEGACY_LOGINS.has(code)) return evict(parts, exchange, EvictionReason.MalformedLogin)
    if (code === PING) {
      const commit = session ? parts.metadata.group.commitMax : 0n
      return exchange.answer(localReply(exchange.header, { commit }))
    }
    if (!session) return deny(parts, exchange, ErrorCode.Unauthenticated)
    return readRequest(parts, exchange)
  }
  if (operation === Operation.Register) return login(parts, exchange)
  if (operation === Operation.Logout) return logout(parts, exchange)
  if (!session) return evict(parts, exchange, EvictionReason.NoSession)
  if (operation === Operation.SendMessages) return sendRequest(parts, exchange, session)
  if (isPartition(operation)) return offsetWriteRequest(parts, exchange, session)
  if (operation >= 128 && isMetadata(operation)) return metadataRequest(parts, exchange, session)
  if (operation === Operation.DeleteSegments) return metadataRequest(parts, exchange, session)
  // What is left is internal to the log.
  deny(parts, exchange, ErrorCode.InvalidCommand)
}

/** Builds the replica from what was recovered. Nothing runs before its first tick, frame or connection. */
export function assembleReplica(
  core: Core,
  recovered: RecoveredMetadata,
  partitions: Partitions,
  steps: readonly RecoveryStep[],
): Replica {
  const { wal, superblock, restore } = recovered
  const reconciler = new Reconciler(core, partitions)
  const cleaner = new Cleaner(core, partitions)
  const group = createGroup(metadataGroupConfig(core), restore, wal)
  core.metadataSettled = () => group.pastRecoveryBarrier
  const metadata = new MetadataHost(core, group, wal, superblock, () => reconciler.wake())
  const tokenCleaner = new TokenCleaner(core, metadata)
  const forwards: Forwards = new Forwards(core, () => parts)
  const door = new ClientDoor(core, {
    request: exchange => dispatch(parts, exchange),
    lost: session => logoutLost(parts, session),
  })
  const autoCommits: AutoCommits = new AutoCommits(() => parts)
  const placement = new Placement(core.ports.hash)
  const readBarrier = new ReadBarrier(group, core.config.timers)
  const parts: Parts = { core, metadata, partitions, door, forwards, placement, autoCommits, readBarrier }
  let drained: (() => void) | undefined
  let drainUntil = Number.POSITIVE_INFINITY

  const isDrained = () => {
    if (!isGroupDrained(metadata.host, core.tick)) return false
    for (const { host } of partitions.live.values()) if (!isGroupDrained(host, core.tick)) return false
    return true
  }

  const tick = () => {
    core.tick++
    metadata.tick()
    partitions.tick()
    core.pending.expire(core.tick)
    forwards.tick()
    autoCommits.tick()
    readBarrier.tick(core.tick)
    partitions.parking.expire(core.tick)
    reconciler.tick()
    cleaner.tick()
    tokenCleaner.tick()
    if (drained && (core.tick >= drainUntil || isDrained())) drained()
  }

  const peerFrame = (from: ReplicaId, bytes: Uint8Array, mark: LinkMark) => {
    const id = frameGroup(bytes)
    if (id === METADATA_GROUP) {
      metadata.frame(from, bytes, mark)
    } else if (id !== undefined) {
      partitions.frame(id, from, bytes, mark, core.tick)
    } else {
      try {
        forwards.frame(from, parseReplicaFrame(core.ports.hash, bytes), mark)
      } catch (error) {
        if (!(error instanceof EngineError)) throw error
        core.events.node('frame_refused', {
          from,
          code: error.code,
          message: error.message,
          command: bytes[60] ?? Command.Reserved,
        })
      }
    }
  }

  const close = async () => {
    core.stopping.begin()
    for (const [id, partition] of partitions.live) await core.stopping.closed(id.toString(), partition.close())
    await wal.close()
    const { failure } = core.stopping
    if (failure) core.ports.halt.fatal(ExitStatus.FailedPersist, failure)
    core.pump.end()
  }

  const stop = () =>
    new Promise<void>((resolve, reject) => {
      core.pump.post(() => {
        core.events.node('stopping', {})
        core.accepting = false
        reconciler.stop()
        drainUntil = core.tick + DRAIN_TICKS_MAX
        drained = () => {
          drained = undefined
          core.events.node('stopped', {})
          close().then(resolve, reject)
        }
      })
    })
  let stopping: Promise<void> | undefined

  return {
    tick: () => core.pump.post(tick),
    peerFrame: (from, bytes, mark) => core.pump.post(() => peerFrame(from, bytes, mark)),
    peerConnected: peer => core.pump.post(() => core.events.node('peer_connected', { peer })),
    peerDisconnected: peer =>
      core.pump.post(() => {
        core.events.node('peer_disconnected', { peer })
        forwards.peerLost(peer)
      }),
    clientConnected: (connection, address, local) => core.pump.post(() => door.connected(connection, address, local)),
    clientFrame: (connection, bytes) => core.pump.post(() => door.frame(connection, bytes)),
    clientClosed: connection => core.pump.post(() => door.closed(connection)),
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    inspect: inspection(parts, steps),
  }
}
