/** Sealed prepare headers for tests: chains with a chosen flavour, so that two logs differ from a chosen op on. */
import type { Hash } from '../../bytes/hash.ts'
import { Checksum, ClientId, type GroupId, Micros, Op, ReplicaId, View } from '../../bytes/units.ts'
import { Command } from '../../protocol/commands.ts'
import { METADATA_GROUP } from '../../protocol/groups.ts'
import { type PrepareHeader, prepareLayout } from '../../protocol/headers.ts'
import { Operation } from '../../protocol/operations.ts'
import { sealPrepare } from '../../protocol/seal.ts'

export function sealedHeader(
  hash: Hash,
  fields: {
    op: bigint
    parent: bigint
    flavour?: number
    commit?: bigint
    view?: number
    body?: Uint8Array
    group?: GroupId
  },
): { header: PrepareHeader; frame: Uint8Array } {
  const body = fields.body ?? new Uint8Array(0)
  const record: PrepareHeader = {
    checksum: Checksum(0n),
    checksumBody: Checksum(body.length === 0 ? 0n : hash.xxh3(body)),
    cluster: 0x1234n,
    size: 256 + body.length,
    view: View(fields.view ?? 0),
    release: 0,
    command: Command.Prepare,
    replica: ReplicaId(0),
    client: ClientId(BigInt((fields.flavour ?? 0) + 1)),
    parent: Checksum(fields.parent),
    requestChecksum: Checksum(0n),
    op: Op(fields.op),
    commit: Op(fields.commit ?? 0n),
    timestamp: Micros(1_000_000n + fields.op),
    request: 1n,
    operation: Operation.CreateStream,
    group: fields.group ?? METADATA_GROUP,
    userId: 1,
    purgeGeneration: 0n,
  }
  const frame = new Uint8Array(256 + body.length)
  prepareLayout.encode(record, frame)
  frame.set(body, 256)
  sealPrepare(hash, frame)
  return { header: prepareLayout.decode(frame), frame }
}

/** Headers of ops 1..length; from op `forkAt` on they are of another flavour. Index 0 is op 1. */
export function chainOf(hash: Hash, length: number, forkAt = Number.POSITIVE_INFINITY, flavour = 1): PrepareHeader[] {
  const headers: PrepareHeader[] = []
  for (let op = 1; op <= length; op++) {
    const parent = headers[op - 2]?.checksum ?? 0n
    headers.push(sealedHeader(hash, { op: BigInt(op), parent, flavour: op >= forkAt ? flavour : 0 }).header)
  }
  return headers
}
