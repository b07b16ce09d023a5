/** What a replica says of itself, now: the snapshots of the inspection contract (shared/inspection/snapshots.ts). */

import type { Hash } from '../bytes/hash.ts'
import { toHex } from '../bytes/hex.ts'
import { GroupId, Offset } from '../bytes/units.ts'
import type { RecoveryStep } from '../partition/contract.ts'
import { batchChecksum, MESSAGE_HEADER_BYTES } from '../protocol/batch.ts'
import { METADATA_GROUP, type PartitionKey, packGroup } from '../protocol/groups.ts'
import { type DiskFile, isNotFound } from '../storage/disk.ts'
import { joinPath } from '../storage/paths.ts'
import { segmentFileName } from '../storage/segment-names.ts'
import { type ScannedBatch, type SegmentProblem, scanSegment } from '../storage/segment-scan.ts'
import { describeSuperblock, readSuperblock } from '../storage/superblock.ts'
import { retentionOf } from './cleaner.ts'
import type { ReplicaInspection } from './contract.ts'
import { groupJson, hex, standingOf, summaryOf, tombstoneJson } from './inspect-groups.ts'
import { journalOf, logInspection } from './inspect-logs.ts'
import { partitionDirectory, type ReplicatedPartition } from './partition-host.ts'
import type { Parts } from './parts.ts'
import { describeEntry } from './wal-description.ts'

/** Bytes of a file that one look at the byte view returns. */
const BYTES_MAX = 65_536
/** Newest entries of the log that a snapshot lists. */
const WAL_ENTRIES_SHOWN = 1024

export function inspection(parts: Parts, steps: readonly RecoveryStep[]): ReplicaInspection {
  const { core, metadata, partitions } = parts
  const at = (key: PartitionKey): ReplicatedPartition | undefined => {
    try {
      return partitions.get(packGroup(key))
    } catch {
      // A key that no partition can have.
      return undefined
    }
  }
  return {
    metadata: () => groupJson(metadata.group, undefined, metadata.transfer),
    groups: () => [
      ...[...partitions.live.values()].map(partition => summaryOf(groupJson(partition.group, partition))),
      ...[...partitions.tombstones.values()].map(tombstone => summaryOf(tombstoneJson(tombstone))),
    ],
    standings: () => [
      standingOf(metadata.group),
      ...[...partitions.live.values()].map(partition => standingOf(partition.group)),
      ...[...partitions.tombstones.values()].map(({ key }) => ({
        group: packGroup(key),
        status: 'tombstoned' as const,
        view: 0,
        commitMin: 0n,
        commitMax: 0n,
      })),
    ],
    group: id => {
      if (id === METADATA_GROUP) return groupJson(metadata.group, undefined, metadata.transfer)
      const partition = partitions.get(GroupId(id))
      if (partition) return groupJson(partition.group, partition)
      const tombstone = partitions.tombstones.get(GroupId(id))
      return tombstone && tombstoneJson(tombstone)
    },
    topics: () => topics(parts),
    partition: key => {
      const partition = at(key)
      return partition && partitionSnapshot(parts, partition)
    },
    index: async (key, startOffset, window) => {
      const listed = await at(key)?.partition.indexEntries(Offset(startOffset), window)
      if (!listed) return undefined
      return {
        startOffset: startOffset.toString(),
        total: listed.total,
        matching: listed.matching,
        entries: listed.entries.map(({ number, offset, timestamp, position }) => ({
          number,
          offset: offset.toString(),
          timestamp: timestamp.toString(),
          positionBytes: position,
        })),
        trailingBytes: listed.trailingBytes,
      }
    },
    batches: async (key, startOffset, fromPosition, limit) => {
      const partition = at(key)
      return partition && batches(parts, partition, startOffset, fromPosition, limit)
    },
    bytes: async (key, startOffset, kind, position, length) => {
      const partition = at(key)
      return partition && bytes(parts, partition, startOffset, kind, position, length)
    },
    superblocks: () => superblocks(parts),
    wal: () => ({
      ...checkpointAndTransfer(parts),
      slots: metadata.wal.slots,
      appliedOp: metadata.applied.toString(),
      commitMax: metadata.group.commitMax.toString(),
      waitingOps: metadata.wal.waitingOps().map(String),
      ...(metadata.wal.failure && { failure: metadata.wal.failure.message }),
      snapshotOp: metadata.wal.floorOp().toString(),
      lastOp: metadata.wal.highestOp().toString(),
      sizeBytes: metadata.wal.sizeBytes,
      entries: metadata.wal
        .entries()
        .slice(-WAL_ENTRIES_SHOWN)
        .map(({ header, position, frame }) => describeEntry(header, position, frame.length)),
    }),
    clients: () => ({
      connections: [...parts.door.connections.values()].map(({ id, address, session }) => ({
        connection: id,
        address,
        ...(session && {
          user: session.userId,
          client: session.client.toString(16),
          session: session.session.toString(),
        }),
      })),
      slots: core.machine.clients.slotCount,
      table: [...core.machine.clients.entries()].map(([slot, entry]) => ({
        slot,
        client: entry.client.toString(16),
        session: entry.epoch.toString(),
        user: entry.userId,
        watermark: entry.watermark.toString(),
        cachedReplies: entry.replies.length,
        latestCommit: entry.latestCommit.toString(),
      })),
    }),
    ...logInspection(parts),
    journal: key => {
      const partition = at(key)
      return partition && journalOf(partition)
    },
    recovery: () => ({
      steps: [...steps, ...[...partitions.live.values()].flatMap(partition => partition.partition.recovery)].map(
        (step, index) => ({ at: index, ...step, detail: { ...step.detail } }),
      ),
    }),
    forwards: limit => ({
      parked: parts.forwards.size,
      waiting: core.pending.size,
      parkedBytes: partitions.parking.bytes,
      total: parts.forwards.log.total,
      forwards: parts.forwards.log.newest(limit),
    }),
    clientCount: () => parts.door.connections.size,
  }
}

function checkpointAndTransfer({ metadata }: Parts) {
  const { checkpoint, superblock, transfer, wal } = metadata
  const progress = transfer.progress()
  const recorded = superblock.recorded
  return {
    freeSlots: wal.remainingCapacity(),
    checkpoint: {
      phase: checkpoint.phase,
      op: checkpoint.op.toString(),
      pairedOp: (recorded?.checkpointOp ?? 0n).toString(),
      pairedChecksum: hex(recorded?.checkpointChecksum ?? 0n),
      finished: checkpoint.finished,
      failed: checkpoint.failed,
      marginSlots: checkpoint.marginSlots,
      ...(checkpoint.freed && {
        freed: {
          ...checkpoint.freed,
          fromOp: checkpoint.freed.fromOp.toString(),
          toOp: checkpoint.freed.toOp.toString(),
        },
      }),
    },
    ...(progress && { transfer: progress }),
  }
}

function topics({ core }: Parts): ReturnType<ReplicaInspection['topics']> {
  return {
    streams: [...core.machine.state.streams].map(stream => ({
      id: stream.id,
      name: stream.name,
      topics: [...stream.topics].map(topic => ({
        id: topic.id,
        name: topic.name,
        partitions: topic.partitions.length,
        segmentSizeBytes: topic.settings.segmentSize.toString(),
        enforceFsync: topic.settings.enforceFsync,
        messagesRequiredToSave: topic.settings.messagesRequiredToSave,
      })),
    })),
  }
}

function partitionSnapshot(
  { core }: Parts,
  replicated: ReplicatedPartition,
): NonNullable<ReturnType<ReplicaInspection['partition']>> {
  const { partition } = replicated
  const rules = retentionOf(core, replicated)
  const { settings, directory } = partition.options
  const info = partition.info()
  const { firstOffset, lastOffset, ...journal } = info.journal
  const { active, sealed, ...descriptors } = info.descriptors
  return {
    group: groupJson(replicated.group, replicated),
    directory,
    segments: info.segments.map(segment => ({
      ...segment,
      startOffset: segment.startOffset.toString(),
      endOffset: segment.endOffset.toString(),
      startTimestamp: segment.startTimestamp.toString(),
      endTimestamp: segment.endTimestamp.toString(),
    })),
    journal: {
      ...journal,
      ...(firstOffset !== undefined && { firstOffset: firstOffset.toString() }),
      ...(lastOffset !== undefined && { lastOffset: lastOffset.toString() }),
    },
    flusher: {
      ...info.flusher,
      persistedBytes: info.flusher.persistedBytes.toString(),
      inFlightBytes: info.flusher.inFlightBytes.toString(),
      journaledBytes: info.flusher.journaledBytes.toString(),
    },
    reservation: {
      frontier: info.frontier.toString(),
      reserved: info.reserved.toString(),
      held: info.held.toString(),
    },
    descriptors: {
      ...descriptors,
      ...(active && { active: { ...active, startOffset: active.startOffset.toString() } }),
      sealed: sealed.map(each => ({ ...each, startOffset: each.startOffset.toString() })),
    },
    settings: {
      segmentSizeBytes: settings.segmentSizeBytes,
      enforceFsync: settings.enforceFsync,
      messagesRequiredToSave: settings.messagesRequiredToSave,
      sizeRequiredToSaveBytes: settings.sizeRequiredToSaveBytes,
      ...(rules?.expiryMicros !== undefined && { expiryUs: rules.expiryMicros.toString() }),
      ...(rules?.sealedBytesMax !== undefined && { sealedBytesMax: rules.sealedBytesMax.toString() }),
    },
    purge: {
      applied: partition.purgeGeneration.toString(),
      committed: replicated.committedPurge().toString(),
    },
  }
}

async function batches(
  { core }: Parts,
  { partition }: ReplicatedPartition,
  startOffset: bigint,
  from: number,
  limit: number,
): Promise<Awaited<ReturnType<ReplicaInspection['batches']>>> {
  const segment = partition.info().segments.find(candidate => candidate.startOffset === startOffset)
  if (!segment) return undefined
  const { disk, hash, scheduler } = core.ports
  const file = await disk.open(
    joinPath(partition.options.directory, segmentFileName(Offset(startOffset), 'log')),
    'read',
  )
  try {
    const listed: ScannedBatch[] = []
    // Only what the flusher has finished: behind it a write may be under way.
    const sizeBytes = Math.min(segment.sizeBytes, await file.sizeBytes())
    const onBatch = (batch: ScannedBatch) => {
      listed.push(batch)
      return listed.length < limit
    }
    const problems = new Map<number, SegmentProblem>()
    const onProblem = (problem: SegmentProblem) => void problems.set(problem.batchPosition, problem)
    const scan = await scanSegment(file, sizeBytes, hash, { from, scheduler, onBatch, onProblem })
    const stop = problems.get(scan.reachedBytes)
    const more = listed.length >= limit && scan.reachedBytes < sizeBytes
    return {
      startOffset: startOffset.toString(),
      sizeBytes,
      fromPositionBytes: from,
      // Behind a bad batch the walk says no more that it was stopped.
      ...(more && { nextPositionBytes: scan.reachedBytes }),
      ...(stop && !more && { stopped: { positionBytes: stop.position, check: stop.check, message: stop.message } }),
      batches: await Promise.all(
        listed.map(async batch => {
          const problem = problems.get(batch.position)
          return {
            positionBytes: batch.position,
            lengthBytes: batch.lengthBytes,
            baseOffset: batch.baseOffset.toString(),
            baseTimestamp: batch.baseTimestamp.toString(),
            originTimestamp: batch.originTimestamp.toString(),
            messages: batch.messages,
            checksum: hex(batch.checksum),
            verdict: batch.verdict,
            ...(problem && {
              problem: { check: problem.check, message: problem.message, ...(await sums(file, problem, batch, hash)) },
            }),
          }
        }),
      ),
    }
  } finally {
    await file.close()
  }
}

/** Bytes of a batch that are read again to say which checksum they have. */
const SUMMED_BYTES_MAX = 4 * 2 ** 20

/** What is stored beside what its bytes have, of the checksum that failed: of the batch, or of one message of it. */
async function sums(
  file: DiskFile,
  { check, position }: SegmentProblem,
  batch: ScannedBatch,
  hash: Hash,
): Promise<{ stored?: string; computed?: string }> {
  if ((check !== 'batch_checksum' && check !== 'message_checksum') || batch.lengthBytes > SUMMED_BYTES_MAX) return {}
  const held = new Uint8Array(batch.lengthBytes)
  if ((await file.read(batch.position, held)) < held.length) return {}
  if (check === 'batch_checksum') return { stored: hex(batch.checksum), computed: hex(batchChecksum(hash, held)) }
  const at = position - batch.position
  const view = new DataView(held.buffer)
  const length = MESSAGE_HEADER_BYTES + view.getUint32(at + 32, true) + view.getUint32(at + 36, true)
  return { stored: hex(view.getBigUint64(at, true)), computed: hex(hash.xxh3(held.subarray(at + 8, at + length))) }
}

async function bytes(
  { core }: Parts,
  { partition }: ReplicatedPartition,
  startOffset: bigint,
  kind: 'log' | 'index',
  position: number,
  length: number,
): Promise<Awaited<ReturnType<ReplicaInspection['bytes']>>> {
  const path = joinPath(partition.options.directory, segmentFileName(Offset(startOffset), kind))
  let file: Awaited<ReturnType<typeof core.ports.disk.open>>
  try {
    file = await core.ports.disk.open(path, 'read')
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
  try {
    const sizeBytes = await file.sizeBytes()
    const into = new Uint8Array(Math.max(0, Math.min(length, BYTES_MAX, sizeBytes - position)))
    const read = into.length > 0 ? await file.read(position, into) : 0
    return { path, positionBytes: position, sizeBytes, hex: toHex(into.subarray(0, read)) }
  } finally {
    await file.close()
  }
}

type SuperblockGroup = Awaited<ReturnType<ReplicaInspection['superblocks']>>['groups'][number]

async function superblocks({ core, metadata, partitions }: Parts): Promise<{ groups: SuperblockGroup[] }> {
  const { disk, hash } = core.ports
  const read = async (directory: string) => describeSuperblock(await readSuperblock(disk, directory, hash))
  const groups: SuperblockGroup[] = [
    { group: METADATA_GROUP.toString(), plane: 'metadata', ...(await read(metadata.superblock.directory)) },
  ]
  const keys = [...partitions.live.values(), ...partitions.tombstones.values()].map(({ key }) => key)
  for (const key of keys) {
    const group = packGroup(key).toString()
    groups.push({ group, plane: 'partition', key: { ...key }, ...(await read(partitionDirectory(key))) })
  }
  return { groups }
}
