/** A partition on a memory disk with a pump of its own, for the tests of this folder. */
import { EngineError } from '../../bytes/errors.ts'
import { createHash, type Hash } from '../../bytes/hash.ts'
import { Checksum, ClientId, GroupId, Micros, Offset, Op, type ReplicaId, type View } from '../../bytes/units.ts'
import { decodeBatch, produceBatch } from '../../protocol/batch.ts'
import { Command } from '../../protocol/commands.ts'
import { packGroup } from '../../protocol/groups.ts'
import { type PrepareHeader, prepareLayout } from '../../protocol/headers.ts'
import { Operation } from '../../protocol/operations.ts'
import { RULES_ON } from '../../protocol/rules.ts'
import type { Disk } from '../../storage/disk.ts'
import type { Applied, Partition, PartitionHost, PartitionOptions, PartitionSettings } from '../contract.ts'

export const hash: Hash = await createHash()

/** Thrown in place of the end of the process. */
export class ProcessEnded extends Error {}

export interface TestNote {
  readonly kind: string
  readonly cls: 'fact' | 'flow'
  readonly data: Readonly<Record<string, string | number | boolean>>
}

export class TestHost implements PartitionHost {
  readonly disk: Disk
  readonly hash = hash
  readonly scheduler = { yield: () => new Promise<void>(resolve => setImmediate(resolve)) }
  readonly notes: TestNote[] = []
  readonly failures: EngineError[] = []
  /** Completions wait here when the pump is stopped. */
  private readonly pending: (() => void)[] = []
  stopped = false

  constructor(disk: Disk) {
    this.disk = disk
  }

  post(completion: () => void): void {
    if (this.failures.length > 0) return
    if (this.stopped) {
      this.pending.push(completion)
      return
    }
    try {
      completion()
    } catch (error) {
      if (!(error instanceof ProcessEnded)) throw error
    }
  }

  runPending(): void {
    this.stopped = false
    for (const completion of this.pending.splice(0)) this.post(completion)
  }

  persistFailed(error: EngineError): never {
    this.failures.push(error)
    throw new ProcessEnded(error.message)
  }

  note(kind: string, cls: 'fact' | 'flow', data: TestNote['data']): void {
    this.notes.push({ kind, cls, data })
  }

  kinds(): string[] {
    return this.notes.map(note => note.kind)
  }
}

export const KEY = { stream: 1, topic: 2, partition: 3 }
export const DIRECTORY = 'streams/1/topics/2/partitions/3'
export const DEFAULTS: PartitionSettings = {
  segmentSizeBytes: 1024 * 1024 * 1024,
  enforceFsync: false,
  messagesRequiredToSave: 1024,
  sizeRequiredToSaveBytes: 1024 * 1024,
  preallocateSegments: false,
}
export const EAGER: PartitionSettings = { ...DEFAULTS, enforceFsync: true, messagesRequiredToSave: 1 }

export const testOptions = (host: PartitionHost, settings: Partial<PartitionSettings> = {}): PartitionOptions => ({
  key: KEY,
  directory: DIRECTORY,
  createdRevision: 7n,
  replicaCount: 1,
  settings: { ...DEFAULTS, ...settings },
  evictedRingOps: 4096,
  evictedRingBytes: 16 * 1024 * 1024,
  validateChecksum: true,
  rules: RULES_ON,
  host,
})

export const text = (value: string): Uint8Array => new TextEncoder().encode(value)

/** A producer's batch, its partition stamped as admission does. */
export function producedBatch(payloads: readonly Uint8Array[], origin = 1_700_000_000_000_000n): Uint8Array {
  const messages = payloads.map((payload, index) => ({
    id: BigInt(index + 1),
    payload,
    originTimestamp: Micros(origin + BigInt(index)),
  }))
  const bytes = produceBatch(hash, messages)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(KEY.partition), true)
  return bytes
}

/** A prepare around `body`, as consensus hands it to `append`. */
export function prepare(
  op: bigint,
  body: Uint8Array,
  fields: Partial<PrepareHeader> = {},
): { header: PrepareHeader; frame: Uint8Array } {
  const header: PrepareHeader = {
    checksum: Checksum(0n),
    checksumBody: Checksum(0n),
    cluster: 9n,
    size: 256 + body.length,
    view: 0 as View,
    release: 0,
    command: Command.Prepare,
    replica: 0 as ReplicaId,
    client: ClientId(5n),
    parent: Checksum(0n),
    requestChecksum: Checksum(0n),
    op: Op(op),
    commit: Op(0n),
    timestamp: Micros(1_700_000_000_001_000n + op),
    request: op,
    operation: Operation.SendMessages,
    group: GroupId(packGroup(KEY)),
    userId: 1,
    purgeGeneration: 0n,
    ...fields,
  }
  const frame = new Uint8Array(256 + body.length)
  prepareLayout.encode(header, frame)
  frame.set(body, 256)
  return { header, frame }
}

/** Drives a partition as a group does that commits each op at once, unless it is told to wait. */
export class Sender {
  readonly partition: Partition
  op: bigint
  timestamp: bigint

  constructor(partition: Partition, op = 0n, timestamp = 1_700_000_000_001_000n) {
    this.partition = partition
    this.op = op
    this.timestamp = timestamp
  }

  append(payloads: readonly Uint8Array[], role: 'primary' | 'backup' = 'primary'): PrepareHeader {
    this.op++
    this.timestamp++
    const { header, frame } = prepare(this.op, producedBatch(payloads), { timestamp: Micros(this.timestamp) })
    const result = this.partition.append(role, header, frame)
    if (!result.ok) throw result.error
    return header
  }

  send(...payloads: (string | Uint8Array)[]): Applied {
    return this.partition.apply(
      this.append(payloads.map(payload => (typeof payload === 'string' ? text(payload) : payload))),
    )
  }
}

/** `offset:payload` of each message of a poll reply, checksums verified. */
export function messagesOf(records: readonly Uint8Array[]): string[] {
  return records.flatMap(record => {
    const { header, messages } = decodeBatch(record, 0, hash)
    return messages.map(
      message =>
        `${header.baseOffset + BigInt(message.header.offsetDelta)}:${new TextDecoder().decode(message.payload)}`,
    )
  })
}

export async function pollOffset(
  partition: Partition,
  from: bigint,
  count = 100_000,
  bytesMax = 1 << 26,
): Promise<string[]> {
  return messagesOf((await partition.poll({ kind: 'offset', offset: Offset(from) }, count, bytesMax)).records)
}

/** Lets everything that is ready run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise<void>(resolve => setImmediate(resolve))
}

export function must<T>(value: T | undefined | null): T {
  if (value === undefined || value === null) throw new EngineError('TestBroken', 'a value is missing')
  return value
}

/** Waits for something that other turns of the event loop bring about; fails when it never comes. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1000; turn++) {
    if (holds()) return
    await new Promise<void>(resolve => setImmediate(resolve))
  }
  throw new EngineError('TestBroken', 'what the test waits for did not come')
}
