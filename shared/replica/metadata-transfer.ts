/**
 * The receiving side of a metadata state transfer (spec consensus.md §6.5): one session, one chunk in flight, artifacts in the
 * order of the manifest, held in memory until their checksums agree. Nothing on the disk is touched before both are whole
 * and decoded; what happens then is in metadata-install.ts.
 *
 * Every way out leads somewhere: an answer that does not come is asked for again, a peer that stays silent is given up, and
 * a group that was told "abandoned" repairs again, from whoever is primary then, and comes back here if it must.
 */
import { EngineError } from '../bytes/errors.ts'
import type { ReplicaId, View } from '../bytes/units.ts'
import { Op } from '../bytes/units.ts'
import { decodeClientTable } from '../metadata/client-table-blob.ts'
import { MetadataMachine } from '../metadata/machine.ts'
import { restoreState } from '../metadata/snapshot.ts'
import { type FrameOf, sealFrame } from '../protocol/frames.ts'
import { ArtifactKind, decodeManifest, type ManifestEntry } from '../protocol/transfer-manifest.ts'
import { decodeSnapshot } from '../storage/snapshot-decode.ts'
import type { Core } from './core.ts'
import type { GroupHost } from './group-host.ts'
import type { FetchedMetadata } from './metadata-install.ts'
import { CHUNK_BYTES_MAX } from './metadata-offers.ts'

/** Without progress for 1 s the last request goes out again; more than five times in a row, and the peer is given up. */
const STALL_TICKS = 100
const STALLS_MAX = 5
/** A peer that cannot serve now is asked again, by way of repair, a second later. */
const UNAVAILABLE_TICKS = 100
/** Fetches of one damaged artifact, and failed decodings of one generation of the snapshot. */
const FAILURES_MAX = 5
const ARTIFACT_BYTES_MAX = 1024 * 1024 * 1024
const TOTAL_BYTES_MAX = 4 * ARTIFACT_BYTES_MAX

interface Offered {
  readonly entries: readonly ManifestEntry[]
  readonly commitOp: bigint
  readonly commitMax: bigint
}

interface Session {
  readonly nonce: bigint
  readonly peer: ReplicaId
  offered: Offered | undefined
  /** Artifacts that are whole. */
  readonly whole: Uint8Array[]
  /** Of the one that is being fetched. */
  chunks: Uint8Array[]
  received: number
  refetches: number
  idleTicks: number
  stalls: number
}

export interface TransferProgress {
  readonly peer: ReplicaId
  readonly artifact: number
  readonly artifacts: number
  readonly receivedBytes: number
  readonly totalBytes: number
  readonly installing: boolean
}

export class MetadataTransfer {
  private readonly core: Core
  private readonly host: GroupHost
  /** Takes what was fetched; `done` runs when the group has been told. */
  private readonly install: (fetched: FetchedMetadata, done: () => void) => void
  private session: Session | undefined
  private installing: Session | undefined
  private abandonAt = Number.POSITIVE_INFINITY
  /** Failed decodings by checksum of the snapshot. */
  private readonly badGenerations = new Map<bigint, number>()

  constructor(core: Core, host: GroupHost, install: MetadataTransfer['install']) {
    this.core = core
    this.host = host
    this.install = install
  }

  /** The group cannot repair itself: fetch from `peer`. A later call replaces a session, but never an install. */
  need(peer: ReplicaId): void {
    if (this.installing !== undefined) return
    const { entropy } = this.core.ports
    this.abandonAt = Number.POSITIVE_INFINITY
    this.session = {
      nonce: (entropy.u64() << 64n) | entropy.u64() | 1n,
      peer,
      offered: undefined,
      whole: [],
      chunks: [],
      received: 0,
      refetches: 0,
      idleTicks: 0,
      stalls: 0,
    }
    this.say('transfer_requested', { peer })
    this.ask()
  }

  progress(): TransferProgress | undefined {
    const session = this.session ?? this.installing
    if (session === undefined) return undefined
    const entries = session.offered?.entries ?? []
    return {
      peer: session.peer,
      artifact: session.whole.length,
      artifacts: entries.length,
      receivedBytes: session.whole.reduce((sum, bytes) => sum + bytes.length, session.received),
      totalBytes: entries.reduce((sum, entry) => sum + Number(entry.length), 0),
      installing: this.installing !== undefined,
    }
  }

  tick(): void {
    if (this.core.tick >= this.abandonAt) {
      this.abandonAt = Number.POSITIVE_INFINITY
      this.host.step({ kind: 'transferAbandoned' })
    }
    const { session } = this
    if (session === undefined) return
    if (this.host.group.transferStage === 'idle') {
      // Its probes stayed unanswered and it votes now; whoever leads then says whether it must fetch.
      this.session = undefined
      this.say('transfer_abandoned', { peer: session.peer, reason: 'the group went on without it' })
      return
    }
    if (++session.idleTicks < STALL_TICKS) return
    session.idleTicks = 0
    if (++session.stalls > STALLS_MAX) this.abandon('the peer is silent', 0)
    else this.ask()
  }

  target(from: ReplicaId, { header, body }: FrameOf<'StateTransferTarget'>) {
    const session = this.session
    if (session === undefined || session.peer !== from || session.nonce !== header.nonce) return
    if (header.available === 0) return this.abandon('the peer cannot serve now', UNAVAILABLE_TICKS)
    // A second descriptor of an accepted session says nothing new.
    if (session.offered !== undefined) return
    const { commitOp, commitMax, view } = header
    let entries: ManifestEntry[]
    try {
      entries = decodeManifest(body, this.core.ports.hash)
      this.judge(entries, commitOp, view)
    } catch (cause) {
      if (!(cause instanceof EngineError)) throw cause
      return this.abandon(cause.message, UNAVAILABLE_TICKS)
    }
    session.offered = { entries, commitOp, commitMax }
    this.progressed(session)
    this.host.step({ kind: 'transferStage', stage: 'fetching' })
    this.say('transfer_offered', {
      peer: from,
      snapshotOp: entries[0]!.frontier.toString(),
      commitOp: commitOp.toString(),
      bytes: Number(entries[0]!.length + entries[1]!.length),
    })
    this.ask()
  }

  chunk(from: ReplicaId, { header, body }: FrameOf<'StateChunk'>): void {
    const session = this.session
    if (session?.offered === undefined || session.peer !== from || session.nonce !== header.nonce) return
    const entry = session.offered.entries[session.whole.length]
    if (entry === undefined || header.artifact !== session.whole.length) return
    if (header.offset !== BigInt(session.received) || body.length === 0) return
    if (BigInt(session.received + body.length) > entry.length) return
    session.chunks.push(body.slice())
    session.received += body.length
    this.progressed(session)
    this.core.events.group(this.host.group, 'transfer_chunk', 'flow', {
      artifact: session.whole.length,
      received: session.received,
      bytes: Number(entry.length),
    })
    if (BigInt(session.received) === entry.length) this.artifactWhole(session, entry)
    else this.ask()
  }

  /** Exactly a snapshot and a table that fit each other and this replica. @throws EngineError IncoherentManifest. */
  private judge(entries: readonly ManifestEntry[], commitOp: bigint, view: View) {
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
  }

  private artifactWhole(session: Session, entry: ManifestEntry): void {
    const bytes = join(session.chunks, session.received)
    session.chunks = []
    session.received = 0
    const artifact = session.whole.length
    if (this.core.ports.hash.xxh3(bytes) !== entry.checksum) {
      this.say('transfer_refetched', { artifact, code: 'BadChecksum', message: 'the checksum differs' })
      if (++session.refetches > FAILURES_MAX) this.abandon('an artifact stays damaged', UNAVAILABLE_TICKS)
      else this.ask()
      return
    }
    session.whole.push(bytes)
    this.say('transfer_artifact', { artifact, bytes: bytes.length })
    if (session.whole.length < session.offered!.entries.length) this.ask()
    else this.finish(session)
  }

  private finish(session: Session) {
    const { entries, commitMax } = session.offered!
    const [snapshot, table] = entries as [ManifestEntry, ManifestEntry]
    let fetched: FetchedMetadata
    try {
      fetched = this.decode(session, snapshot, table, commitMax)
    } catch (cause) {
      if (!(cause instanceof EngineError)) throw cause
      const failures = (this.badGenerations.get(snapshot.checksum) ?? 0) + 1
      this.badGenerations.set(snapshot.checksum, failures)
      return this.abandon(`undecodable: ${cause.message}`, UNAVAILABLE_TICKS)
    }
    this.session = undefined
    this.installing = session
    this.host.step({ kind: 'transferStage', stage: 'installing' })
    this.install(fetched, () => {
      this.installing = undefined
    })
  }

  /** Proves on a scratch machine that all of it can be restored. */
  private decode(session: Session, snapshot: ManifestEntry, table: ManifestEntry, commitMax: bigint): FetchedMetadata {
    const [payload, blob] = session.whole as [Uint8Array, Uint8Array]
    const record = decodeSnapshot(payload)
    const clients = decodeClientTable(blob, this.core.ports.hash)
    if (record.op !== snapshot.frontier)
      throw new EngineError('IncoherentManifest', `a snapshot of op ${record.op} under op ${snapshot.frontier}`)
    const scratch = new MetadataMachine(this.core.config.metadata.clientsTableMax)
    restoreState(scratch.state, record)
    scratch.clients.restore(clients)
    return { peer: session.peer, payload, record, clients, tableFrontier: table.frontier, commitMax: Op(commitMax) }
  }

  /** Sends what the session waits for. */
  private ask(): void {
    const { session } = this
    if (session === undefined) return
    const { hash, replicaLinks } = this.core.ports
    const { cluster, replica, group } = this.host.group.config
    const origin = { cluster, replica, group, view: 0 as View, nonce: session.nonce }
    const entry = session.offered?.entries[session.whole.length]
    if (entry === undefined) {
      replicaLinks.send(session.peer, sealFrame(hash, 'RequestStateTransfer', origin))
      return
    }
    const missing = Number(entry.length) - session.received
    const length = Math.min(missing, CHUNK_BYTES_MAX, this.core.config.messageBytesMax - 256)
    const fields = { ...origin, offset: BigInt(session.received), length, artifact: session.whole.length }
    replicaLinks.send(session.peer, sealFrame(hash, 'RequestStateChunk', fields))
  }

  private progressed(session: Session): void {
    session.idleTicks = 0
    session.stalls = 0
  }

  private abandon(reason: string, afterTicks: number): void {
    const peer = this.session!.peer
    this.session = undefined
    this.say('transfer_abandoned', { peer, reason })
    this.abandonAt = this.core.tick + afterTicks
  }

  private say(kind: string, data: Record<string, string | number>): void {
    this.core.events.group(this.host.group, kind, 'fact', data)
  }
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
