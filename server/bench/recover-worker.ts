/**
 * The process that recovers, so that its memory and its event loop are those of a recovery and of nothing else. Opens the
 * partition as a booting node does; between that it hashes the same frames from memory, one call each.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import type { PartitionOptions } from '../../shared/partition/contract.ts'
import { openPartition } from '../../shared/partition/open.ts'
import { PartitionRefused } from '../../shared/partition/refused.ts'
import { BATCH_HEADER_BYTES, batchLengthAt, MESSAGE_HEADER_BYTES } from '../../shared/protocol/batch.ts'
import { RULES_ON } from '../../shared/protocol/rules.ts'
import { DirectoryDisk } from '../node/directory-disk.ts'
import { immediateScheduler } from '../node/scheduler.ts'

/** Where the partition lies below the directory that is given. */
export const RECOVERED = 'streams/0/topics/0/partitions/0'
export const RECOVERED_LOG = `${RECOVERED}/00000000000000000000.log`
const MIB = 2 ** 20
/** How much of the file is in memory at once while it is hashed. */
const HELD_BYTES = 64 * MIB
const SAMPLE_MS = 2
/** The loop looks about once a millisecond; a delay is what comes on top. */
const RESOLUTION_MS = 1

export interface Recovery {
  readonly ms: number
  readonly messages: string
  /** Code of the refusal; absent when the partition opened. */
  readonly refusal?: string
  readonly longestPauseMs: number
  /** Resident memory at its highest, above what the process had before. */
  readonly aboveIdleMib: number
}

export interface WorkerReport {
  readonly recoveries: readonly Recovery[]
  /** Hashing every frame of the log once, from memory. */
  readonly hashMs: readonly number[]
}

/** Recovers `rounds` times; with `hashing` in the order recover, hash, hash, recover, … */
export async function recoverInProcess(root: string, rounds: number, hashing: boolean): Promise<WorkerReport> {
  const hash = await createHash()
  const recoveries: Recovery[] = []
  const hashMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const recover = async () => recoveries.push(await recoverOnce(root, hash))
    const hashAll = async () => hashing && hashMs.push(hashFrames(join(root, RECOVERED_LOG), hash))
    for (const step of round % 2 === 0 ? [recover, hashAll] : [hashAll, recover]) await step()
  }
  return { recoveries, hashMs }
}

function options(root: string, hash: Hash): PartitionOptions {
  return {
    key: { stream: 0, topic: 0, partition: 0 },
    directory: RECOVERED,
    createdRevision: 1n,
    replicaCount: 1,
    rules: RULES_ON,
    settings: {
      segmentSizeBytes: 1024 * MIB,
      enforceFsync: false,
      messagesRequiredToSave: 1024,
      sizeRequiredToSaveBytes: MIB,
      preallocateSegments: false,
    },
    evictedRingOps: 4096,
    evictedRingBytes: 16 * MIB,
    validateChecksum: true,
    host: {
      disk: new DirectoryDisk(root),
      hash,
      scheduler: immediateScheduler,
      post: completion => completion(),
      persistFailed: error => {
        throw error
      },
      note: () => {},
    },
  }
}

async function recoverOnce(root: string, hash: Hash): Promise<Recovery> {
  await sleep(200)
  const idle = process.memoryUsage.rss()
  let highest = idle
  const sampler = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss())
  }, SAMPLE_MS)
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  const beganMs = performance.now()
  let messages = 0n
  let refusal: string | undefined
  try {
    const partition = await openPartition(options(root, hash))
    messages = partition.info().nextOffset
    await partition.close()
  } catch (error) {
    if (!(error instanceof PartitionRefused)) throw error
    refusal = error.refusal
  }
  const ms = performance.now() - beganMs
  delays.disable()
  clearInterval(sampler)
  highest = Math.max(highest, process.memoryUsage.rss())
  return {
    ms,
    messages: messages.toString(),
    ...(refusal !== undefined && { refusal }),
    longestPauseMs: delays.max / 1e6,
    aboveIdleMib: (highest - idle) / MIB,
  }
}

/** Time that the hashing of every frame took, one call each; reading the file is not in it. */
export function hashFrames(path: string, hash: Hash): number {
  const size = statSync(path).size
  const file = openSync(path, 'r')
  const held = new Uint8Array(Math.min(size, HELD_BYTES))
  let spentMs = 0
  try {
    for (let at = 0; at < size; ) {
      const bytes = held.subarray(0, readSync(file, held, 0, held.length, at))
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      const beganMs = performance.now()
      let p = 0
      while (p + BATCH_HEADER_BYTES <= bytes.length) {
        const end = p + batchLengthAt(bytes, p)
        if (end > bytes.length) break
        for (let frame = p + BATCH_HEADER_BYTES; frame < end; ) {
          const length = MESSAGE_HEADER_BYTES + view.getUint32(frame + 32, true) + view.getUint32(frame + 36, true)
          hash.xxh3(bytes.subarray(frame + 8, frame + length))
          frame += length
        }
        p = end
      }
      spentMs += performance.now() - beganMs
      if (p === 0) throw new RangeError('a batch is larger than what is held in memory')
      at += p
    }
  } finally {
    closeSync(file)
  }
  return spentMs
}
