/**
 * The offline inspection of a node's data directory (design.md §7): every format this room knows, and the relations
 * between files that a boot would judge. A pure function over a Disk; it opens for reading only and changes nothing. Give
 * it a read-only disk all the same.
 */
import { EngineError } from '../../bytes/errors.ts'
import type { Hash } from '../../bytes/hash.ts'
import { PARTITIONS_PER_TOPIC_MAX, STREAMS_MAX, TOPICS_PER_STREAM_MAX } from '../../protocol/groups.ts'
import type { Disk } from '../disk.ts'
import { joinPath } from '../paths.ts'
import type { Scheduler } from '../ports.ts'
import { type InspectedMetadata, inspectMetadata } from './metadata.ts'
import { inspectPartition, listOrReport, type PartitionContext } from './partition.ts'
import { Findings, type GroupSuperblock, type Inspection, type PartitionReport } from './report.ts'
import type { InspectedSuperblock } from './superblocks.ts'

export interface InspectOptions {
  readonly hash: Hash
  /** Compute every checksum of every message and batch; else segments are checked by their layout only. */
  readonly verify?: boolean
  readonly scheduler?: Scheduler
}

/** Directories of a node that hold nothing to verify. */
const KNOWN_AT_TOP = new Set(['metadata', 'streams', 'state', 'runtime', 'logs', 'process.lock'])

/**
 * Inspects the directory that is the root of `disk`.
 * @throws EngineError NOT_A_NODE_DIRECTORY when it has neither `metadata` nor `streams`; DiskError when the root cannot be listed.
 */
export async function inspectDirectory(disk: Disk, options: InspectOptions): Promise<Inspection> {
  const names = await disk.list('')
  if (!names.includes('metadata') && !names.includes('streams')) {
    throw new EngineError('NOT_A_NODE_DIRECTORY', 'this is no node directory: it holds neither metadata nor streams', {
      advice: 'name the directory of one node, the one with metadata/ and streams/ in it',
    })
  }
  const findings = new Findings()
  for (const name of names) {
    if (!KNOWN_AT_TOP.has(name)) findings.add('info', 'UNKNOWN_NAME', name, 0, 'name', 'no part of a node directory')
  }
  const context: PartitionContext = {
    disk,
    hash: options.hash,
    verify: options.verify ?? false,
    findings,
    ...(options.scheduler === undefined ? {} : { scheduler: options.scheduler }),
  }

  let metadata: InspectedMetadata = {}
  if (await isDirectory(disk, 'metadata', names, findings)) {
    metadata = await inspectMetadata(
      disk,
      'metadata',
      await listOrReport(disk, 'metadata', findings),
      options.hash,
      findings,
    )
  }
  const superblocks: GroupSuperblock[] = metadata.superblock === undefined ? [] : [metadata.superblock.report]
  const partitions: PartitionReport[] = []
  for (const { directory, key } of await findPartitions(disk, names, findings)) {
    const inspected = await inspectPartition(context, directory, await listOrReport(disk, directory, findings), key)
    partitions.push(inspected.report)
    if (inspected.superblock !== undefined) {
      superblocks.push(inspected.superblock.report)
      checkIdentity(metadata, inspected.superblock, findings)
    }
  }
  checkMetadataThere(metadata, partitions, findings)
  return summarise(context, metadata, superblocks, partitions)
}

/** True for a directory; anything else under that name is a finding. A link is not followed. */
async function isDirectory(disk: Disk, path: string, names: readonly string[], findings: Findings): Promise<boolean> {
  if (!names.includes(path.slice(path.lastIndexOf('/') + 1))) return false
  try {
    const { kind } = await disk.stat(path)
    if (kind === 'directory') return true
    findings.add(
      'damage',
      'NOT_A_DIRECTORY',
      path,
      0,
      'kind',
      kind === 'other' ? 'a link or a special file, which is not followed' : 'a file where a directory belongs',
    )
  } catch (error) {
    findings.unreadable(error, path)
  }
  return false
}

interface FoundPartition {
  readonly directory: string
  readonly key: PartitionReport['key']
}

async function findPartitions(disk: Disk, top: readonly string[], findings: Findings): Promise<FoundPartition[]> {
  const found: FoundPartition[] = []
  if (!(await isDirectory(disk, 'streams', top, findings))) return found
  for (const stream of await numbered(disk, 'streams', STREAMS_MAX, findings)) {
    const topics = await only(disk, stream.path, 'topics', findings)
    for (const topic of topics === undefined ? [] : await numbered(disk, topics, TOPICS_PER_STREAM_MAX, findings)) {
      const partitions = await only(disk, topic.path, 'partitions', findings)
      for (const partition of partitions === undefined
        ? []
        : await numbered(disk, partitions, PARTITIONS_PER_TOPIC_MAX, findings)) {
        const key = { stream: stream.id, topic: topic.id, partition: partition.id }
        found.push({ directory: partition.path, key })
      }
    }
  }
  return found
}

/** Sub-directories named by an id below `bound`, ascending by id; fenced siblings and other names are findings. */
async function numbered(
  disk: Disk,
  directory: string,
  bound: number,
  findings: Findings,
): Promise<{ id: number; path: string }[]> {
  const names = await listOrReport(disk, directory, findings)
  const found: { id: number; path: string }[] = []
  for (const name of names) {
    const path = joinPath(directory, name)
    if (/^\d+\.fenced\.\d+$/.test(name)) {
      findings.add('warning', 'FENCED', path, 0, 'name', 'segments that a boot set aside; nothing reclaims them')
    } else if (!/^(0|[1-9]\d*)$/.test(name) || Number(name) >= bound) {
      findings.add('warning', 'FOREIGN_NAME', path, 0, 'name', 'no id: invisible to a boot')
    } else if (await isDirectory(disk, path, names, findings)) found.push({ id: Number(name), path })
  }
  return found.sort((a, b) => a.id - b.id)
}

/** The one sub-directory that belongs into a stream or a topic. */
async function only(disk: Disk, directory: string, expected: string, findings: Findings): Promise<string | undefined> {
  const names = await listOrReport(disk, directory, findings)
  for (const name of names) {
    if (name !== expected)
      findings.add('info', 'UNKNOWN_NAME', joinPath(directory, name), 0, 'name', `only ${expected} belongs here`)
  }
  const path = joinPath(directory, expected)
  return (await isDirectory(disk, path, names, findings)) ? path : undefined
}

/** All groups of one node belong to one cluster, and to one replica of it. */
function checkIdentity(metadata: InspectedMetadata, partition: InspectedSuperblock, findings: Findings): void {
  const { state, report } = partition
  if (state === undefined || report.winner === undefined) return
  const path = joinPath(report.directory, `superblock.${report.winner}`)
  const own = metadata.superblock?.state
  if (metadata.cluster !== undefined && state.cluster !== metadata.cluster) {
    findings.add(
      'damage',
      'IDENTITY_MISMATCH',
      path,
      28,
      'cluster',
      'this group is of another cluster than the metadata',
    )
  } else if (own !== undefined && (own.replicaId !== state.replicaId || own.replicaCount !== state.replicaCount)) {
    const message = `this group is of replica ${state.replicaId} of ${state.replicaCount}, the metadata of replica ${own.replicaId} of ${own.replicaCount}`
    findings.add('damage', 'IDENTITY_MISMATCH', path, 44, 'replica', message)
  }
}

/** Segments without any metadata: a solo boot would build over them (spec metadata-storage.md §6.2 step 7). */
function checkMetadataThere(
  metadata: InspectedMetadata,
  partitions: readonly PartitionReport[],
  findings: Findings,
): void {
  if (metadata.snapshot !== undefined || (metadata.wal !== undefined && metadata.wal.entries > 0)) return
  const segment = partitions.flatMap(partition => partition.segments).find(({ sizeBytes }) => sizeBytes > 0)
  if (segment === undefined) return
  findings.add(
    'warning',
    'METADATA_MISSING',
    'metadata',
    0,
    'metadata_present',
    `no snapshot and no log entry, but ${segment.path} has bytes: a solo boot refuses, a replica fetches its metadata from the others`,
  )
}

function summarise(
  context: PartitionContext,
  metadata: InspectedMetadata,
  superblocks: readonly GroupSuperblock[],
  partitions: readonly PartitionReport[],
): Inspection {
  const { findings, verify } = context
  const segments = partitions.flatMap(partition => partition.segments)
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  return {
    ok: !findings.damaged,
    verified: verify,
    findings: findings.list,
    findingsDropped: findings.dropped,
    counts: {
      files: findings.files,
      bytes: findings.bytes,
      superblocks: sum(superblocks.map(group => group.slots.filter(slot => slot.state !== 'absent').length)),
      walEntries: metadata.wal?.entries ?? 0,
      segments: segments.length,
      batches: sum(segments.map(segment => segment.batches)),
      messages: segments.reduce((total, segment) => total + BigInt(segment.messages), 0n).toString(),
      indexEntries: sum(segments.map(segment => segment.indexEntries)),
      offsets: sum(partitions.map(partition => partition.offsets.length)),
    },
    superblocks,
    ...(metadata.wal === undefined ? {} : { wal: metadata.wal }),
    ...(metadata.snapshot === undefined ? {} : { snapshot: metadata.snapshot }),
    partitions,
  }
}
