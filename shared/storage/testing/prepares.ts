/** A chain of sealed prepares, for tests of the write-ahead log. */
import type { Hash } from '../../bytes/hash.ts'
import type { Checksum, ClientId, GroupId, Micros, Op, ReplicaId, View } from '../../bytes/units.ts'
import { Command } from '../../protocol/commands.ts'
import { encodeFrame } from '../../protocol/frames.ts'
import { METADATA_GROUP } from '../../protocol/groups.ts'
import { type PrepareHeader, prepareLayout } from '../../protocol/headers.ts'
import { Operation } from '../../protocol/operations.ts'
import { sealBody, sealPrepare } from '../../protocol/seal.ts'

export interface TestPrepare {
  readonly frame: Uint8Array
  readonly header: PrepareHeader
}

/** One prepare; sealed unless `sealed` is false. */
export function makePrepare(
  hash: Hash,
  op: bigint,
  parent: bigint,
  options: { readonly bodyBytes?: number; readonly view?: number; readonly sealed?: boolean } = {},
): TestPrepare {
  const body = Uint8Array.from({ length: options.bodyBytes ?? 10 }, (_, index) => (Number(op) * 31 + index) & 0xff)
  const header: PrepareHeader = {
    checksum: 0n as Checksum,
    checksumBody: 0n as Checksum,
    cluster: 99n,
    size: 0,
    view: (options.view ?? 0) as View,
    release: 0,
    command: Command.Prepare,
    replica: 0 as ReplicaId,
    client: 5n as ClientId,
    parent: parent as Checksum,
    requestChecksum: 0n as Checksum,
    op: op as Op,
    commit: (op - 1n) as Op,
    timestamp: (1_700_000_000_000_000n + op) as Micros,
    request: op,
    operation: Operation.CreateStream,
    group: METADATA_GROUP as GroupId,
    userId: 1,
    purgeGeneration: 0n,
  }
  const frame = encodeFrame(prepareLayout, header, body)
  if (options.sealed !== false) {
    sealBody(hash, frame)
    sealPrepare(hash, frame)
  }
  return { frame, header: prepareLayout.decode(frame) }
}

/** Ops `from` to `to`, each with the checksum of the one before it as parent. */
export function makeChain(
  hash: Hash,
  from: number,
  to: number,
  options: Parameters<typeof makePrepare>[3] = {},
): TestPrepare[] {
  const chain: TestPrepare[] = []
  for (let op = from; op <= to; op++)
    chain.push(makePrepare(hash, BigInt(op), chain.at(-1)?.header.checksum ?? 0n, options))
  return chain
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
