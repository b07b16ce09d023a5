/** Metadata directories made by hand, damaged at will, and compared before and after a boot. */
import { expect } from 'vitest'
import { Checksum, ClientId, Micros, Op, ReplicaId, View } from '../../bytes/units.ts'
import { encodeBody } from '../../protocol/codec.ts'
import { Command } from '../../protocol/commands.ts'
import { encodeFrame } from '../../protocol/frames.ts'
import { METADATA_GROUP } from '../../protocol/groups.ts'
import { clusterId } from '../../protocol/handshake.ts'
import { type PrepareHeader, prepareLayout } from '../../protocol/headers.ts'
import { Operation } from '../../protocol/operations.ts'
import { sealBody, sealPrepare } from '../../protocol/seal.ts'
import { createStream } from '../../protocol/streams.ts'
import { MemoryDisk } from '../../storage/memory-disk.ts'
import { joinPath } from '../../storage/paths.ts'
import { encodeSuperblockRecord, encodeVsrState, type VsrState } from '../../storage/superblock-record.ts'
import type { ReplicaConfig } from '../contract.ts'
import { hash, ProcessEnded, Solo, soloConfig } from './solo.ts'

export const WAL = 'metadata/journal.wal'
export const SNAPSHOT = 'metadata/snapshot.bin'
export const SLOT_A = 'metadata/superblock.a'
export const SLOT_B = 'metadata/superblock.b'
export const CLUSTER = clusterId('golden')

/** A configuration of replica 0 of three whose peers never answer. */
export const ofThree = (): Partial<ReplicaConfig> => ({
  clusterEnabled: true,
  nodes: [0, 1, 2].map(id => ({ ...soloConfig().nodes[0]!, replica: ReplicaId(id), name: `node-${id}` })),
})

/** A disk on which every change has a time of its own. */
export function newDisk(): MemoryDisk {
  let now = 0
  return new MemoryDisk({ nowMs: () => ++now })
}

export interface TestOp {
  readonly op: number
  readonly commit?: number
  readonly view?: number
  readonly operation?: number
  readonly body?: Uint8Array
  readonly parent?: bigint
  /** False: both seals and the parent stay zero, as an older build wrote them. */
  readonly sealed?: boolean
}

export interface Entry {
  readonly header: PrepareHeader
  readonly frame: Uint8Array
  readonly at: number
}

/** Whatever else a header may hold is zero. */
const BLANK = prepareLayout.decode(new Uint8Array(256))

/** A log in which op n creates the stream `s<n>`, each entry chained to the one before it in the list. */
export function entriesOf(ops: readonly TestOp[], cluster = CLUSTER): Entry[] {
  const entries: Entry[] = []
  let at = 0
  for (const { op, commit = op - 1, view = 0, operation = Operation.CreateStream, sealed = true, ...rest } of ops) {
    const before = entries[entries.length - 1]?.header
    const parent = rest.parent ?? (sealed && before?.op === BigInt(op - 1) ? before.checksum : 0n)
    const body = rest.body ?? encodeBody(createStream, { name: `s${op}`, options: [] })
    const header: PrepareHeader = {
      ...BLANK,
      checksum: Checksum(0n),
      checksumBody: Checksum(0n),
      cluster,
      size: 0,
      view: View(view),
      release: 0,
      command: Command.Prepare,
      replica: ReplicaId(0),
      client: ClientId(5n),
      parent: Checksum(parent),
      requestChecksum: Checksum(0n),
      op: Op(BigInt(op)),
      commit: Op(BigInt(commit)),
      timestamp: Micros(1_600_000_000_000_000n + BigInt(op)),
      request: BigInt(op),
      operation,
      group: METADATA_GROUP,
      userId: 0,
      purgeGeneration: 0n,
    }
    const frame = encodeFrame(prepareLayout, header, body)
    if (sealed) {
      sealBody(hash, frame)
      sealPrepare(hash, frame)
    }
    entries.push({ header: prepareLayout.decode(frame), frame, at })
    at += frame.length
  }
  return entries
}

export const upTo = (last: number, options: Omit<TestOp, 'op'> = {}): TestOp[] =>
  Array.from({ length: last }, (_, index) => ({ op: index + 1, ...options }))

export const bytesOf = (entries: readonly { readonly frame: Uint8Array }[]): Uint8Array =>
  Uint8Array.from(entries.flatMap(({ frame }) => [...frame]))

/** A directory with this log and nothing else. */
export function diskWith(ops: readonly TestOp[]): { disk: MemoryDisk; entries: Entry[] } {
  const disk = newDisk()
  const entries = entriesOf(ops)
  disk.put(WAL, bytesOf(entries))
  return { disk, entries }
}

export function putSuperblock(disk: MemoryDisk, state: Partial<VsrState>, slot = SLOT_A, sequence = 1n): void {
  const whole: VsrState = {
    cluster: CLUSTER,
    replicaId: ReplicaId(0),
    replicaCount: 1,
    view: View(0),
    logView: View(0),
    commitMax: Op(0n),
    checkpointOp: Op(0n),
    checkpointChecksum: Checksum(0n),
    offsetFrontier: 0n as never,
    offsetReserved: 0n as never,
    ...state,
  }
  disk.put(slot, encodeSuperblockRecord({ sequence, payload: encodeVsrState(whole) }, hash))
}

export function edit(disk: MemoryDisk, path: string, change: (bytes: Uint8Array) => Uint8Array | undefined): void {
  const bytes = disk.peek(path)
  if (bytes === undefined) throw new Error(`${path} is not there`)
  disk.put(path, change(bytes) ?? bytes)
}

export const flip =
  (at: number, mask = 0xff) =>
  (bytes: Uint8Array): undefined => {
    bytes[at < 0 ? bytes.length + at : at]! ^= mask
  }

/** Every name with its bytes and its time. */
export async function fingerprint(disk: MemoryDisk): Promise<string[]> {
  const lines: string[] = []
  const walk = async (path: string) => {
    const { kind, modifiedMs } = await disk.stat(path)
    if (kind !== 'directory') {
      lines.push(`${path} ${modifiedMs} ${hash.xxh3(disk.peek(path)!)} ${disk.peek(path)!.length}`)
      return
    }
    lines.push(`${path}/ ${modifiedMs}`)
    for (const name of await disk.list(path)) await walk(joinPath(path, name))
  }
  await walk('')
  return lines
}

export interface Refusal {
  readonly status: number
  readonly code: string
  readonly path: string | undefined
  readonly position: number | undefined
  readonly expected: string | undefined
  readonly actual: string | undefined
}

/** Boots twice, expects the same refusal both times, and the directory as it was: bytes, names, times. */
export async function refused(disk: MemoryDisk, overrides: Partial<ReplicaConfig> = {}): Promise<Refusal> {
  const before = await fingerprint(disk)
  const seen: Refusal[] = []
  for (let boot = 0; boot < 2; boot++) {
    try {
      await Solo.boot(disk, overrides)
      throw new Error('the boot was accepted')
    } catch (error) {
      if (!(error instanceof ProcessEnded)) throw error
      const { path, position, expected, actual } = error.error.context
      seen.push({ status: error.status, code: error.error.code, path, position, expected, actual })
    }
  }
  expect(seen[1]).toEqual(seen[0])
  expect(await fingerprint(disk)).toEqual(before)
  expect(seen[0]!.status).toBe(65)
  return seen[0]!
}

export const streamsOf = (solo: Solo): string[] => solo.inspect.topics().streams.map(stream => stream.name)

export const namesUpTo = (last: number): string[] => Array.from({ length: last }, (_, index) => `s${index + 1}`)

/** One step of the last boot, as plain values. */
export const stepOf = (solo: Solo, step: string) => solo.inspect.recovery().steps.find(taken => taken.step === step)
