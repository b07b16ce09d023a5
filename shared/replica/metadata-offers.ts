/**
 * What the metadata plane offers a replica that lags (spec consensus.md §6.4): the snapshot file, proven and without its
 * trailer, and the live client table.
 */
import { EngineError } from '../bytes/errors.ts'
import { encodeClientTable } from '../metadata/client-table-blob.ts'
import { ArtifactKind, type ManifestEntry } from '../protocol/transfer-manifest.ts'
import { readSnapshot } from '../storage/snapshot-store.ts'
import type { Core } from './core.ts'
import { METADATA_DIRECTORY } from './metadata-log.ts'
import type { Built, OfferPlane } from './transfer-offers.ts'

export class MetadataOffers implements OfferPlane {
  private readonly core: Core
  private readonly applied: () => bigint
  /** The snapshot of the last offer: the same generation for several requesters is kept once. */
  private last: Uint8Array = new Uint8Array(0)

  constructor(core: Core, applied: () => bigint) {
    this.core = core
    this.applied = applied
  }

  async build(): Promise<Built> {
    const { disk, hash } = this.core.ports
    const snapshot = await readSnapshot(disk, METADATA_DIRECTORY, hash)
    // Repair covers everything while there is no snapshot.
    if (snapshot === undefined) throw new EngineError('NoSnapshot', 'no_snapshot')
    const commitOp = this.applied()
    const table = encodeClientTable(this.core.machine.clients, hash)
    const payload = equal(this.last, snapshot.payload) ? this.last : snapshot.payload
    this.last = payload
    const entry = (kind: number, frontier: bigint, bytes: Uint8Array): ManifestEntry => ({
      kind,
      frontier,
      length: BigInt(bytes.length),
      checksum: hash.xxh3(bytes),
    })
    const artifacts = [payload, table]
    return {
      commitOp,
      entries: [
        entry(ArtifactKind.MetadataSnapshot, snapshot.op, payload),
        entry(ArtifactKind.ClientTable, commitOp, table),
      ],
      read: (artifact, at, end) => artifacts[artifact]!.subarray(at, end),
    }
  }
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}
