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
import { AutoCommits } from './auto-commits.ts'
import { Cleaner } from './cleaner.ts'
import { ClientDoor } from './client-door.ts'
import type { Replica } from './contract.ts'
import type { Core } from './core.ts'
import { DRAIN_TICKS_MAX, Drain } from './drain.ts'
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
import { readRequest } from './reads.ts'
import { Reconciler } from './reconciler.ts'
import { login, logout, logoutLost } from './sessions.ts'

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
  const metadata = new MetadataHost(core, group, wal, superblock, () => reconciler.wake())
  const forwards: Forwards = new Forwards(core, () => parts)
  const door = new ClientDoor(core, {
    request: exchange => dispatch(parts, exchange),
    lost: session => logoutLost(parts, session),
  })
  const autoCommits: AutoCommits = new AutoCommits(() => parts)
  const placement = new Placement(core.ports.hash)
  const parts: Parts = { core, metadata, partitions, door, forwards, placement, autoCommits }
  const drain = new Drain()
  let drained: (() => void) | undefined
  let drainUntil = Number.POSITIVE_INFINITY

  const groups = () => [metadata.group, ...[...partitions.live.values()].map(partition => partition.group)]

  const tick = () => {
    core.tick++
    metadata.tick()
    partitions.tick()
    core.pending.expire(core.tick)
    forwards.tick()
    autoCommits.tick()
    partitions.parking.expire(core.tick)
    reconciler.tick()
    cleaner.tick()
    drain.observe(groups, core.tick)
    if (!drained) return
    if (core.tick >= drainUntil || groups().every(candidate => drain.isDone(candidate, core.tick))) drained()
  }

  const peerFrame = (from: ReplicaId, bytes: Uint8Array, mark: LinkMark) => {
    const id = frameGroup(bytes)
    if (id === METADATA_GROUP) {
      metadata.frame(from, bytes)
    } else if (id !== undefined) {
      partitions.frame(id, from, bytes, core.tick)
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
    for (const partition of partitions.live.values()) await partition.close()
    await wal.close()
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
    clientConnected: (connection, address) => core.pump.post(() => door.connected(connection, address)),
    clientFrame: (connection, bytes) => core.pump.post(() => door.frame(connection, bytes)),
    clientClosed: connection => core.pump.post(() => door.closed(connection)),
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    inspect: inspection(parts, steps),
  }
}
