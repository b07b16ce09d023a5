/**
 * The receiving side of a state transfer, both planes (spec consensus.md §6.5): one session, one chunk in flight, artifacts
 * in the order of the manifest. Where the bytes of an artifact go, whether an offer is worth taking, and what becomes of it
 * when all is there, is the plane's.
 *
 * Every way out leads somewhere: an answer that does not come is asked for again, a peer that stays silent is given up, and
 * a group that was told "abandoned" repairs again, from whoever is primary then, and comes back here if it must.
 */
import { EngineError } from '../bytes/errors.ts'
import type { ReplicaId, View } from '../bytes/units.ts'
import { type FrameOf, sealFrame } from '../protocol/frames.ts'
import { decodeManifest, type ManifestEntry } from '../protocol/transfer-manifest.ts'
import type { Core } from './core.ts'
import type { GroupHost } from './group-host.ts'
import { CHUNK_BYTES_MAX } from './transfer-offers.ts'

/** Without progress for 1 s the last request goes out again; more than five times in a row, and the peer is given up. */
const STALL_TICKS = 100
const STALLS_MAX = 5
/** Fetches of one damaged artifact. */
const FAILURES_MAX = 5

export interface Offer {
  readonly peer: ReplicaId
  readonly entries: readonly ManifestEntry[]
  readonly commitOp: bigint
  readonly commitMax: bigint
  readonly view: View
}

/** Takes the bytes of one artifact in order. What it returns a promise for holds back the next request. */
export interface ArtifactSink {
  write(position: number, bytes: Uint8Array): Promise<void> | undefined
  /** The artifact is complete. Throws, or rejects with, EngineError when it is not what the manifest says: fetched again. */
  complete(): Promise<void> | undefined
}

/** Why a session ended without an install. */
export type Failure =
  /** The peer does not answer. */
  | 'silent'
  /** It cannot serve just now, or what it offers is not worth taking: asked again before long. */
  | 'transient'
  /** It offered something that cannot be used. */
  | 'bad'

export interface TransferPlane {
  /** @throws EngineError when this offer must not be taken. */
  judge(offer: Offer): void
  /** Where artifact `index` goes; undefined when it is here already. */
  open(offer: Offer, index: number): ArtifactSink | undefined | Promise<ArtifactSink | undefined>
  /** All artifacts are there. The group is installing; `done` runs once it knows the outcome. @throws EngineError: bad offer. */
  install(offer: Offer, done: () => void): void
  /** Ticks until the group hears that the session was abandoned. */
  delayTicks(failure: Failure): number
  /** The group went on by itself: the session is over and nobody will be told. */
  ended?(): void
  /** False: too much is under way; asked again after `delayTicks('transient')`. */
  mayBegin?(): boolean
}

interface Session {
  readonly nonce: bigint
  readonly peer: ReplicaId
  offer: Offer | undefined
  /** Artifacts that are whole. */
  whole: number
  wholeBytes: number
  sink: ArtifactSink | undefined
  /** Bytes of the artifact that is being fetched. */
  received: number
  refetches: number
  idleTicks: number
  stalls: number
  /** Something of it is being written or proven: nothing is asked for meanwhile. */
  busy: boolean
}

export interface TransferProgress {
  readonly peer: ReplicaId
  readonly artifact: number
  readonly artifacts: number
  readonly receivedBytes: number
  readonly totalBytes: number
  readonly installing: boolean
}

export class TransferSession {
  private readonly core: Core
  private readonly host: GroupHost
  private readonly plane: TransferPlane
  private session: Session | undefined
  private installing: Session | undefined
  private abandonAt = Number.POSITIVE_INFINITY

  constructor(core: Core, host: GroupHost, plane: TransferPlane) {
    this.core = core
    this.host = host
    this.plane = plane
  }

  /** Fetching or installing. */
  get active(): boolean {
    return this.session !== undefined || this.installing !== undefined
  }

  get installs(): boolean {
    return this.installing !== undefined
  }

  /** The group cannot repair itself: fetch from `peer`. A later call replaces a session, but never an install. */
  need(peer: ReplicaId): void {
    if (this.installing !== undefined) return
    if (this.plane.mayBegin && !this.plane.mayBegin()) {
      this.session = undefined
      this.abandonAt = this.core.tick + this.plane.delayTicks('transient')
      return
    }
    const { entropy } = this.core.ports
    this.abandonAt = Number.POSITIVE_INFINITY
    this.session = {
      nonce: (entropy.u64() << 64n) | entropy.u64() | 1n,
      peer,
      offer: undefined,
      whole: 0,
      wholeBytes: 0,
      sink: undefined,
      received: 0,
      refetches: 0,
      idleTicks: 0,
      stalls: 0,
      busy: false,
    }
    this.say('transfer_requested', { peer })
    this.ask()
  }

  progress(): TransferProgress | undefined {
    const session = this.session ?? this.installing
    if (session === undefined) return undefined
    const entries = session.offer?.entries ?? []
    return {
      peer: session.peer,
      artifact: session.whole,
      artifacts: entries.length,
      receivedBytes: session.wholeBytes + session.received,
      totalBytes: entries.reduce((sum, entry) => sum + Number(entry.length), 0),
      installing: this.installing !== undefined,
    }
  }

  /** What is being fetched is worth nothing any more. The group hears of it and may come back. */
  cancel(reason: string): void {
    if (this.session !== undefined) this.abandon(reason, 'transient')
  }

  tick(): void {
    if (this.core.tick >= this.abandonAt) {
      this.abandonAt = Number.POSITIVE_INFINITY
      this.host.step({ kind: 'transferAbandoned' })
    }
    const { session } = this
    if (session === undefined) return
    if (this.host.group.transferStage === 'idle') {
      this.session = undefined
      this.left(session)
      return
    }
    if (session.busy || ++session.idleTicks < STALL_TICKS) return
    session.idleTicks = 0
    if (++session.stalls > STALLS_MAX) this.abandon('the peer is silent', 'silent')
    else this.ask()
  }

  target(from: ReplicaId, { header, body }: FrameOf<'StateTransferTarget'>) {
    const session = this.session
    if (session === undefined || session.peer !== from || session.nonce !== header.nonce) return
    if (header.available === 0) {
      const failure = header.unavailableTransient === 0 ? 'bad' : 'transient'
      return this.abandon('the peer cannot serve now', failure)
    }
    // A second descriptor of an accepted session says nothing new.
    if (session.offer !== undefined) return
    const { commitOp, commitMax, view } = header
    let offer: Offer
    try {
      offer = { peer: from, entries: decodeManifest(body, this.core.ports.hash), commitOp, commitMax, view }
      this.plane.judge(offer)
    } catch (cause) {
      if (!(cause instanceof EngineError)) throw cause
      return this.abandon(cause.message, 'transient')
    }
    session.offer = offer
    this.progressed(session)
    this.host.step({ kind: 'transferStage', stage: 'fetching' })
    this.say('transfer_offered', {
      peer: from,
      commitOp: commitOp.toString(),
      artifacts: offer.entries.length,
      bytes: offer.entries.reduce((sum, { length }) => sum + Number(length), 0),
    })
    this.begin(session)
  }

  chunk(from: ReplicaId, { header, body }: FrameOf<'StateChunk'>): void {
    const session = this.session
    if (session?.offer === undefined || session.peer !== from || session.nonce !== header.nonce) return
    const { sink } = session
    const entry = session.offer.entries[session.whole]
    if (sink === undefined || session.busy || entry === undefined || header.artifact !== session.whole) return
    if (header.offset !== BigInt(session.received) || body.length === 0) return
    if (BigInt(session.received + body.length) > entry.length) return
    const position = session.received
    session.received += body.length
    this.progressed(session)
    this.core.events.group(this.host.group, 'transfer_chunk', 'flow', {
      artifact: session.whole,
      received: session.received,
      bytes: Number(entry.length),
    })
    this.after(
      session,
      () => sink.write(position, body.slice()),
      () => {
        if (BigInt(session.received) < entry.length) return this.ask()
        this.after(
          session,
          () => sink.complete(),
          () => this.artifactWhole(session, entry, true),
          cause => this.refetch(session, cause),
        )
      },
    )
  }

  /** Opens the next artifact, or ends. */
  private begin(session: Session) {
    const offer = session.offer!
    if (session.whole === offer.entries.length) return this.finish(session)
    const entry = offer.entries[session.whole]!
    let sink: ArtifactSink | undefined
    this.after(
      session,
      () => {
        const opened = this.plane.open(offer, session.whole)
        if (!(opened instanceof Promise)) {
          sink = opened
          return undefined
        }
        return opened.then(result => {
          sink = result
        })
      },
      () => {
        if (sink === undefined) return this.artifactWhole(session, entry, false)
        session.sink = sink
        this.ask()
      },
    )
  }

  private artifactWhole(session: Session, { length }: ManifestEntry, fetched: boolean): void {
    this.say('transfer_artifact', { artifact: session.whole, bytes: Number(length), fetched: fetched ? 'yes' : 'no' })
    session.whole++
    session.wholeBytes += Number(length)
    session.received = 0
    session.sink = undefined
    this.progressed(session)
    this.begin(session)
  }

  private refetch(session: Session, cause: EngineError) {
    const { code, message } = cause
    this.say('transfer_refetched', { artifact: session.whole, code, message })
    session.received = 0
    session.sink = undefined
    if (++session.refetches > FAILURES_MAX) return this.abandon('an artifact stays damaged', 'bad')
    this.begin(session)
  }

  private finish(session: Session) {
    this.session = undefined
    this.host.step({ kind: 'transferStage', stage: 'installing' })
    if (this.host.group.transferStage !== 'installing') return this.left(session)
    this.installing = session
    try {
      this.plane.install(session.offer!, () => {
        this.installing = undefined
      })
    } catch (cause) {
      if (!(cause instanceof EngineError)) throw cause
      this.installing = undefined
      this.session = session
      this.abandon(`undecodable: ${cause.message}`, 'bad')
    }
  }

  /** Runs a step that may take time; what follows runs in the pump, unless the session is another one by then. */
  private after(
    session: Session,
    step: () => Promise<void> | undefined,
    next: () => void,
    failed: (cause: EngineError) => void = cause => this.abandon(cause.message, 'transient'),
  ): void {
    const handle = (cause: unknown) => {
      if (!(cause instanceof EngineError)) throw cause
      if (this.session === session) failed(cause)
    }
    let work: Promise<void> | undefined
    try {
      work = step()
    } catch (cause) {
      handle(cause)
      return
    }
    if (work === undefined) {
      next()
      return
    }
    session.busy = true
    const settled = (run: () => void) => {
      session.busy = false
      run()
    }
    this.core.pump.settle(
      work,
      () => settled(() => this.session === session && next()),
      cause => settled(() => handle(cause)),
    )
  }

  /** Sends what the session waits for. */
  private ask(): void {
    const { session } = this
    if (session === undefined) return
    const { hash, replicaLinks } = this.core.ports
    const { cluster, replica, group } = this.host.group.config
    const origin = { cluster, replica, group, view: 0 as View, nonce: session.nonce }
    const entry = session.offer?.entries[session.whole]
    if (entry === undefined) {
      replicaLinks.send(session.peer, sealFrame(hash, 'RequestStateTransfer', origin))
      return
    }
    const missing = Number(entry.length) - session.received
    const length = Math.min(missing, CHUNK_BYTES_MAX, this.core.config.messageBytesMax - 256)
    const fields = { ...origin, offset: BigInt(session.received), length, artifact: session.whole }
    replicaLinks.send(session.peer, sealFrame(hash, 'RequestStateChunk', fields))
  }

  /** The probes of the group stayed unanswered, or it leads: whoever leads says whether it must fetch. */
  private left({ peer }: Session): void {
    this.plane.ended?.()
    this.say('transfer_abandoned', { peer, reason: 'the group went on without it' })
  }

  private progressed(session: Session): void {
    session.idleTicks = 0
    session.stalls = 0
  }

  private abandon(reason: string, failure: Failure): void {
    const peer = this.session!.peer
    this.session = undefined
    this.say('transfer_abandoned', { peer, reason })
    this.abandonAt = this.core.tick + this.plane.delayTicks(failure)
  }

  private say(kind: string, data: Record<string, string | number>): void {
    this.core.events.group(this.host.group, kind, 'fact', data)
  }
}
