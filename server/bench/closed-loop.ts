/**
 * Producers that each send the next batch when the last one is confirmed, and the ledger of what was confirmed. The batches
 * are built beforehand, so that what is timed is the server and not this process; their payloads tell them apart, so that a
 * ledger can be held against what is read back.
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '../../shared/bytes/errors.ts'
import type { Hash } from '../../shared/bytes/hash.ts'
import type { Client } from '../../shared/client/client.ts'
import { produceBatch } from '../../shared/protocol/batch.ts'
import { nodeClientPorts } from '../console/client-ports.ts'
import type { MeasuredCounts } from '../node/measuring.ts'
import type { SoloNode } from './solo-node.ts'

export const STREAM = 'bench'
export const TOPIC = 'log'
/** Distinct batches that a producer sends in turn. */
const BATCHES_BUILT = 16
const POLL_MESSAGES = 1000

export interface LoopOptions {
  readonly producers: number
  readonly batchMessages: number
  readonly messageBytes: number
  /** Producer n writes to partition n % partitions; default 1. */
  readonly partitions?: number
  readonly warmMs: number
  readonly measureMs: number
  /** Batches a second of all producers together, at even distances; latency then counts from when a batch was due. */
  readonly pace?: number
}

export interface LoopRun {
  readonly seconds: number
  readonly batches: number
  /** One for each batch, unsorted. */
  readonly latenciesMs: readonly number[]
  /** Of this process, 0 to 1. */
  readonly clientUtilization: number
  /** What the node counted in the same time. */
  readonly counts: CountedRun
  readonly ledger: Ledger
}

export interface CountedRun {
  readonly logSyncs: number
  readonly indexSyncs: number
  readonly superblockWrites: number
  readonly cpuMs: number
  /** Of the node, 0 to 1. */
  readonly utilization: number
}

/** What was confirmed, warm-up included: base offset to producer and batch, for each partition. */
export interface Ledger {
  readonly built: readonly (readonly BuiltBatch[])[]
  readonly confirmed: readonly Map<bigint, BuiltBatch>[]
}

interface BuiltBatch {
  readonly bytes: Uint8Array
  readonly payloads: readonly Uint8Array[]
}

function build(hash: Hash, producer: number, number: number, options: LoopOptions): BuiltBatch {
  const payloads = Array.from({ length: options.batchMessages }, (_, index) => {
    const payload = new Uint8Array(options.messageBytes).fill(0x61 + (number % 26))
    const name = Buffer.from(`${producer}.${number}.${index};`).subarray(0, payload.length)
    payload.set(name)
    return payload
  })
  const originTimestamp = nodeClientPorts.clock.nowMicros()
  const messages = payloads.map((payload, index) => ({
    id: (BigInt(producer + 1) << 64n) | BigInt(number * options.batchMessages + index + 1),
    payload,
    originTimestamp,
  }))
  return { bytes: produceBatch(hash, messages), payloads }
}

/** Creates stream and topic, produces, and says what happened in `measureMs` behind the warm-up. */
export async function runLoop(
  node: SoloNode,
  hash: Hash,
  options: LoopOptions,
  topic: { readonly enforceFsync: boolean; readonly messagesRequiredToSave: number },
): Promise<LoopRun> {
  const { producers, batchMessages, partitions = 1, pace } = options
  const admin = await node.dial(hash)
  await admin.createStream(STREAM)
  await admin.createTopic(STREAM, TOPIC, partitions, topic)
  const clients = await Promise.all(Array.from({ length: producers }, () => node.dial(hash)))
  const built = clients.map((_, producer) =>
    Array.from({ length: BATCHES_BUILT }, (_, number) => build(hash, producer, number, options)),
  )
  const confirmed = Array.from({ length: partitions }, () => new Map<bigint, BuiltBatch>())
  const latenciesMs: number[] = []
  let measuring = false
  let going = true
  const unanswered = new Set(clients.keys())
  let steady = (): void => {}
  const allAnswered = new Promise<void>(resolve => {
    steady = resolve
  })
  const produce = async (client: Client, producer: number): Promise<void> => {
    const partition = producer % partitions
    const everyMs = pace === undefined ? 0 : (1000 * producers) / pace
    let dueMs = performance.now() + (everyMs * producer) / producers
    for (let number = 0; going; number = (number + 1) % BATCHES_BUILT) {
      const batch = built[producer]![number]!
      if (pace !== undefined) {
        const waitMs = dueMs - performance.now()
        if (waitMs > 0) await sleep(waitMs)
      }
      const beganMs = pace === undefined ? performance.now() : dueMs
      dueMs += everyMs
      const target = { kind: 'partition', partition } as const
      const answer = await client.sendBatch(STREAM, TOPIC, target, batchMessages, batch.bytes)
      if (answer === undefined) throw new EngineError('NoOffset', 'a batch was confirmed without an offset')
      if (measuring) latenciesMs.push(performance.now() - beganMs)
      confirmed[partition]!.set(answer.baseOffset, batch)
      if (unanswered.delete(producer) && unanswered.size === 0) steady()
    }
  }
  const work = Promise.all(clients.map(produce))
  // The first batch of a partition waits for its reservation, on a slow disk longer than any warm-up; that is not measured.
  // A producer that fails ends the run at once.
  await Promise.race([Promise.all([sleep(options.warmMs), allAnswered]), work])
  const before = await node.counts()
  const loop = performance.eventLoopUtilization()
  const beganMs = performance.now()
  measuring = true
  await Promise.race([sleep(options.measureMs), work])
  measuring = false
  const seconds = (performance.now() - beganMs) / 1000
  const clientUtilization = performance.eventLoopUtilization(loop).utilization
  const after = await node.counts()
  going = false
  await work
  return {
    seconds,
    batches: latenciesMs.length,
    latenciesMs,
    clientUtilization,
    counts: counted(before, after),
    ledger: { built, confirmed },
  }
}

function counted(before: MeasuredCounts, after: MeasuredCounts): CountedRun {
  const active = after.loopActiveMs - before.loopActiveMs
  const idle = after.loopIdleMs - before.loopIdleMs
  return {
    logSyncs: after.logSyncs - before.logSyncs,
    indexSyncs: after.indexSyncs - before.indexSyncs,
    superblockWrites: after.superblockWrites - before.superblockWrites,
    cpuMs: after.cpuMs - before.cpuMs,
    utilization: active / Math.max(1, active + idle),
  }
}

/**
 * Reads every partition and holds it against the ledger: every confirmed batch is there, whole, at its offset.
 * @throws EngineError LostWrite
 */
export async function verifyLedger(node: SoloNode, hash: Hash, { confirmed }: Ledger): Promise<number> {
  const client = await node.dial(hash)
  let verified = 0
  for (const [partition, batches] of confirmed.entries()) {
    const missing = new Map<bigint, Uint8Array>()
    for (const [base, { payloads }] of batches)
      for (const [index, payload] of payloads.entries()) missing.set(base + BigInt(index), payload)
    let offset = 0n
    for (;;) {
      const strategy = { kind: 'offset', offset } as const
      const target = { stream: STREAM, topic: TOPIC, partition, strategy, count: POLL_MESSAGES }
      const { messages } = await client.poll(target)
      if (messages.length === 0) break
      for (const message of messages) {
        const expected = missing.get(message.offset)
        if (expected && Buffer.compare(expected, message.payload) === 0 && missing.delete(message.offset)) verified++
      }
      offset = messages.at(-1)!.offset + 1n
    }
    if (missing.size === 0) continue
    const first = missing.keys().next().value
    const message = `${missing.size} confirmed messages of partition ${partition} are gone or altered, the first at offset ${first}`
    throw new EngineError('LostWrite', message)
  }
  return verified
}
