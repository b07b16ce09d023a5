/**
 * What a boot would do with a data directory (design.md §1, §7): the real boot, over an overlay that keeps every change to
 * itself, with the network cut off and no tick given. What it wrote there is what a boot would write.
 */
import { DecodeError, EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { Micros, ReplicaId } from '../bytes/units.ts'
import type { RecoveryStep } from '../partition/contract.ts'
import { clusterId } from '../protocol/handshake.ts'
import { HEADER_BYTES, type PrepareHeader, prepareLayout } from '../protocol/headers.ts'
import { prepareIdentity } from '../protocol/seal.ts'
import { type Disk, isNotFound } from '../storage/disk.ts'
import { OverlayDisk } from '../storage/overlay-disk.ts'
import type { Scheduler } from '../storage/ports.ts'
import { readSuperblock } from '../storage/superblock.ts'
import { decodeVsrState, encodeSuperblockRecord, encodeVsrState } from '../storage/superblock-record.ts'
import { type PlannedWrite, TraceDisk } from '../storage/trace-disk.ts'
import { bootReplica } from './boot.ts'
import type { ReplicaConfig, ReplicaPorts } from './contract.ts'
import { DEFAULT_SETTINGS } from './default-settings.ts'
import { METADATA_DIRECTORY } from './metadata-log.ts'

/**
 * Who a data directory belongs to, by its first superblock; without one, by its log, as a node of its own. Where both are
 * gone or damaged, a lone node of the default name is assumed: a boot has its identity from its configuration.
 */
export interface DirectoryIdentity {
  readonly cluster: bigint
  readonly replica: number
  readonly replicaCount: number
  readonly foundIn: string
}

export interface BootPlan {
  /** `boots`, or the code of what would refuse it. */
  readonly verdict: string
  readonly message?: string
  /** What a person should do about a refusal. */
  readonly advice?: string
  readonly identity: DirectoryIdentity
  readonly steps: readonly RecoveryStep[]
  /** Partitions that the boot would refuse to serve. */
  readonly refused: readonly PlannedRefusal[]
  readonly writes: readonly PlannedWrite[]
}

export interface PlannedRefusal {
  readonly path: string
  readonly code: string
  readonly message: string
  readonly advice?: string
}

const ASSUMED = 'assumed'
const DEFAULT_CLUSTER_NAME = 'iggy-cluster'

export interface PlanOptions {
  readonly hash: Hash
  readonly scheduler: Scheduler
  /** Reads a superblock of 66 bytes, which has no reservation, as if its reservation were its frontier. */
  readonly assumeUnreserved?: boolean
}

/** @throws EngineError NoIdentity when nothing says whose directory it is; DiskError of the disk below. */
export async function planBoot(below: Disk, options: PlanOptions): Promise<BootPlan> {
  const { hash } = options
  const overlay = new OverlayDisk(below)
  const partitions = await partitionDirectories(overlay)
  const identity = await findIdentity(overlay, partitions, hash)
  if (options.assumeUnreserved) {
    for (const directory of [METADATA_DIRECTORY, ...partitions]) await reserve(overlay, directory, hash)
  }
  const disk = new TraceDisk(overlay, hash)
  return { identity, ...(await bootOn(disk, identity, options)), writes: disk.writes }
}

/** The boot of a node that is `identity`, cut off from everybody. Ends before the first tick. */
export async function bootOn(
  disk: Disk,
  identity: DirectoryIdentity,
  { hash, scheduler }: PlanOptions,
): Promise<Omit<BootPlan, 'identity' | 'writes'>> {
  const steps: RecoveryStep[] = []
  const refused: PlannedRefusal[] = []
  const ports: ReplicaPorts = {
    disk,
    hash,
    scheduler,
    clock: { nowMicros: () => Micros(0n), monoMicros: () => 0 },
    entropy: { u64: () => 1n, bytes: length => new Uint8Array(length) },
    halt: {
      fatal: (_, error) => {
        throw error
      },
    },
    passwords: { hash: async () => '', verify: async () => false },
    replicaLinks: { send: () => false, isConnected: () => false },
    clientLinks: { send: () => {}, close: () => {} },
    sink: {
      emit: ({ kind, data }) => {
        if (kind !== 'recovery_step') return 0
        const { step, path, verdict, ...detail } = data as Record<string, string>
        steps.push({ step: step!, path: path!, verdict: verdict!, detail })
        if (step === 'partition' && verdict === 'refused') {
          const { code = '', message = '', advice } = detail
          refused.push({ path: path!, code, message, ...(advice !== undefined && { advice }) })
        }
        return 0
      },
      wantsFlow: () => false,
      count: () => {},
    },
  }
  try {
    const replica = await bootReplica(planConfig(identity), ports)
    const all = replica.inspect
      .recovery()
      .steps.map(({ step, path, verdict, detail }) => ({ step, path, verdict, detail }))
    steps.splice(0, steps.length, ...all)
    const verdict = refused.length === 0 ? 'boots' : 'boots_without_some_partitions'
    return { verdict, steps, refused }
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    const { advice } = error.context
    return { verdict: error.code, message: error.message, ...(advice !== undefined && { advice }), steps, refused }
  }
}

async function listOrNothing(disk: Disk, path: string): Promise<string[]> {
  try {
    return await disk.list(path)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

/** `streams/S/topics/T/partitions/P` with numbers for names. */
async function partitionDirectories(disk: Disk): Promise<string[]> {
  let found = ['']
  for (const part of ['streams', 'topics', 'partitions']) {
    const next: string[] = []
    for (const parent of found) {
      const folder = parent === '' ? part : `${parent}/${part}`
      for (const name of await listOrNothing(disk, folder)) if (/^\d+$/.test(name)) next.push(`${folder}/${name}`)
    }
    found = next
  }
  return found
}

async function findIdentity(disk: Disk, partitions: readonly string[], hash: Hash): Promise<DirectoryIdentity> {
  for (const directory of [METADATA_DIRECTORY, ...partitions]) {
    const { a, b } = await readSuperblock(disk, directory, hash)
    // Beside a damaged slot the boot refuses the other one, but whose it is can be read.
    for (const { slot, class: read } of [a, b]) {
      if (read.kind !== 'valid') continue
      const { cluster, replicaId, replicaCount } = decodeVsrState(read.payload).state
      return { cluster, replica: replicaId, replicaCount, foundIn: `${directory}/superblock.${slot}` }
    }
  }
  const path = `${METADATA_DIRECTORY}/journal.wal`
  const names = await listOrNothing(disk, METADATA_DIRECTORY)
  const header = names.includes('journal.wal') ? await firstHeader(disk, path, hash) : undefined
  if (header) return { cluster: header.cluster, replica: header.replica, replicaCount: 1, foundIn: path }
  if (names.length > 0 || partitions.length > 0)
    return { cluster: clusterId(DEFAULT_CLUSTER_NAME), replica: 0, replicaCount: 1, foundIn: ASSUMED }
  throw new EngineError('NoIdentity', 'neither a superblock nor a log says whose directory this is', {
    advice: 'name the directory of one node, the one with metadata/ and streams/ in it',
  })
}

/** Of the first entry of the log, unless it is damaged. */
async function firstHeader(disk: Disk, path: string, hash: Hash): Promise<PrepareHeader | undefined> {
  const file = await disk.open(path, 'read')
  try {
    const bytes = new Uint8Array(HEADER_BYTES)
    if ((await file.read(0, bytes)) < bytes.length) return undefined
    const header = prepareLayout.decode(bytes)
    return header.checksum === 0n || header.checksum === prepareIdentity(hash, bytes) ? header : undefined
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return undefined
  } finally {
    await file.close()
  }
}

/** Puts 74-byte records in the place of 66-byte ones, in the overlay only. */
async function reserve(disk: Disk, directory: string, hash: Hash): Promise<void> {
  const reading = await readSuperblock(disk, directory, hash)
  for (const slot of ['a', 'b'] as const) {
    const read = reading[slot].class
    if (read.kind !== 'valid' || read.payload.length !== 66) continue
    const { state } = decodeVsrState(read.payload)
    const payload = encodeVsrState({ ...state, offsetReserved: state.offsetFrontier })
    const file = await disk.open(`${directory}/superblock.${slot}`, 'create')
    await file.write(0, [encodeSuperblockRecord({ sequence: read.sequence, payload }, hash)])
    await file.close()
  }
}

function planConfig({ cluster, replica, replicaCount }: DirectoryIdentity): ReplicaConfig {
  return {
    clusterEnabled: replicaCount > 1,
    clusterName: 'plan',
    clusterId: cluster,
    replica: ReplicaId(replica),
    nodes: Array.from({ length: replicaCount }, (_, id) => ({
      replica: ReplicaId(id),
      name: `node-${id}`,
      ip: '127.0.0.1',
      ports: { tcp: 0, quic: 0, http: 0, websocket: 0 },
    })),
    ...DEFAULT_SETTINGS,
  }
}
