/**
 * What the metadata plane makes of a state transfer (spec consensus.md §6.5): a snapshot and a client table, held in memory
 * until their checksums agree. Nothing on the disk is touched before both are whole and decoded; what happens then is in
 * metadata-install.ts.
 */
import { EngineError } from '../bytes/errors.ts'
import { Op } from '../bytes/units.ts'
import { decodeClientTable } from '../metadata/client-table-blob.ts'
import { MetadataMachine } from '../metadata/machine.ts'
import { restoreState } from '../metadata/snapshot.ts'
import { ArtifactKind, type ManifestEntry } from '../protocol/transfer-manifest.ts'
import { decodeSnapshot } from '../storage/snapshot-decode.ts'
import type { Core } from './core.ts'
import type { GroupHost } from './group-host.ts'
import type { FetchedMetadata } from './metadata-install.ts'
import { ArtifactInMemory } from './transfer-artifact.ts'
import type { Failure, Offer, TransferPlane } from './transfer-session.ts'

/** A peer that cannot serve now is asked again, by way of repair, a second later. */
const UNAVAILABLE_TICKS = 100
/** Failed decodings of one generation of the snapshot. */
const FAILURES_MAX = 5
const ARTIFACT_BYTES_MAX = 1024 * 1024 * 1024
const TOTAL_BYTES_MAX = 4 * ARTIFACT_BYTES_MAX

export class MetadataTransfer implements TransferPlane {
  private readonly core: Core
  private readonly host: GroupHost
  /** Takes what was fetched; `done` runs when the group has been told. */
  private readonly take: (fetched: FetchedMetadata, done: () => void) => void
  /** The artifacts of the session under way, in the order of the manifest. */
  private fetched: ArtifactInMemory[] = []
  /** Failed decodings by checksum of the snapshot. */
  private readonly badGenerations = new Map<bigint, number>()

  constructor(core: Core, host: GroupHost, take: MetadataTransfer['take']) {
    this.core = core
    this.host = host
    this.take = take
  }

  /** Exactly a snapshot and a table that fit each other and this replica. @throws EngineError IncoherentManifest. */
  judge({ entries, commitOp, view }: Offer) {
    const refuse = (message: string): never => {
      throw new EngineError('IncoherentManifest', message)
    }
    const [snapshot, table] = entries
    if (entries.length !== 2 || snapshot === undefined || table === undefined) return refuse('not two artifacts')
    if (snapshot.kind !== ArtifactKind.MetadataSnapshot || table.kind !== ArtifactKind.ClientTable)
      return refuse('not a snapshot and a client table')
    if (entries.some(({ length }) => length > BigInt(ARTIFACT_BYTES_MAX)))
      return refuse(`an artifact of more than ${ARTIFACT_BYTES_MAX} bytes`)
    if (snapshot.length + table.length > BigInt(TOTAL_BYTES_MAX)) return refuse('too many bytes')
    if (snapshot.length === 0n || table.length === 0n) return refuse('an empty artifact')
    if (snapshot.frontier > commitOp || table.frontier > commitOp) return refuse('an artifact ahead of the commit')
    const { commitMin, view: own } = this.host.group
    if (commitOp < commitMin || view < own) return refuse('the offer is older than what this replica has')
    if (snapshot.frontier <= commitMin) return refuse('the snapshot holds nothing that this replica lacks')
    if ((this.badGenerations.get(snapshot.checksum) ?? 0) > FAILURES_MAX)
      return refuse('this snapshot could not be decoded before')
    this.fetched = []
  }

  open({ entries }: Offer, index: number): ArtifactInMemory {
    const sink = new ArtifactInMemory(entries[index]!, this.core.ports.hash)
    this.fetched[index] = sink
    return sink
  }

  install({ entries, commitMax, peer, view }: Offer, done: () => void): void {
    const [payload, blob] = this.fetched.map(({ bytes }) => bytes) as [Uint8Array, Uint8Array]
    this.fetched = []
    const [snapshot, table] = entries as [ManifestEntry, ManifestEntry]
    try {
      const { record, clients } = this.decode(payload, blob, snapshot)
      this.take({ peer, payload, record, clients, tableFrontier: table.frontier, commitMax: Op(commitMax), view }, done)
    } catch (cause) {
      this.badGenerations.set(snapshot.checksum, (this.badGenerations.get(snapshot.checksum) ?? 0) + 1)
      throw cause
    }
  }

  delayTicks(failure: Failure): number {
    return failure === 'silent' ? 0 : UNAVAILABLE_TICKS
  }

  /** Proves on a scratch machine that all of it can be restored. */
  private decode(payload: Uint8Array, blob: Uint8Array, snapshot: ManifestEntry) {
    const record = decodeSnapshot(payload)
    const clients = decodeClientTable(blob, this.core.ports.hash)
    if (record.op !== snapshot.frontier)
      throw new EngineError('IncoherentManifest', `a snapshot of op ${record.op} under op ${snapshot.frontier}`)
    const scratch = new MetadataMachine(this.core.config.metadata.clientsTableMax)
    restoreState(scratch.state, record)
    scratch.clients.restore(clients)
    return { record, clients }
  }
}
