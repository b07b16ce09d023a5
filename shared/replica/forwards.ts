/**
 * What a node hands to another one for its client (spec consensus.md §8; design.md §3, Forwarded writes): Register and Logout
 * to the metadata primary, partition writes to the partition's primary. One hop, no retransmission. The origin parks the
 * request by nonce before it sends, and answers its client in every case: with the result, with 57 when the peer is lost or
 * stays silent (the outcome is unknown), with 58 when nothing was sent.
 *
 * The other side answers every forward at once when it refuses it, and otherwise when its op has an outcome; for writes that
 * side is in forwarded-write.ts.
 */
import { type ClientId, Op, type ReplicaId } from '../bytes/units.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { encodeFrame, ForwardOutcome, type FrameOf, type ReplicaFrame, sealFrame } from '../protocol/frames.ts'
import { routedRequestLayout } from '../protocol/headers.ts'
import { localReply } from '../protocol/replies.ts'
import type { Core } from './core.ts'
import { ForwardLog, type ForwardTrace } from './forward-log.ts'
import { LOGOUT_OUTCOME, logoutResult, REGISTER_OUTCOME, registerResult } from './forward-outcomes.ts'
import { takeWrite } from './forwarded-write.ts'
import { AUTO_COMMIT, type DeniedAt, type PartitionWrite } from './partition-writes.ts'
import type { Parts } from './parts.ts'
import type { LinkMark } from './ports.ts'
import { routedRequest } from './routed-request.ts'
import { type LogoutResult, logoutHere, type RegisterResult, registerHere } from './sessions.ts'

/** Ticks until a forward without a result counts as unknown: 4.5 s, behind the 4 s after which its primary answers. */
export const FORWARD_TICKS = 450
/** Forwards of this node that may wait at once; one more is refused, since a slow primary must not fill its memory. */
export const PARKED_FORWARDS_MAX = 4096

interface Parked {
  readonly to: ReplicaId
  readonly client: ClientId
  readonly deadline: number
  readonly result: (frame: ReplicaFrame, mark: LinkMark) => void
  readonly lost: (reason: string) => void
}

export class Forwards {
  readonly log: ForwardLog
  private readonly core: Core
  private readonly parts: () => Parts
  private readonly parked = new Map<bigint, Parked>()
  private counter: bigint

  constructor(core: Core, parts: () => Parts) {
    this.core = core
    this.parts = parts
    this.log = new ForwardLog(core.ports.clock)
    this.counter = BigInt.asUintN(64, core.incarnation)
  }

  get size(): number {
    return this.parked.size
  }

  /** False when it could not be sent: the caller refuses it. */
  write(request: PartitionWrite, to: ReplicaId, at: DeniedAt): boolean {
    const { self, events, identity } = this.core
    const nonce = this.nextNonce()
    const { key, group, operation, transport } = request
    const trace = this.log.begin({
      nonce: nonce.toString(16),
      side: 'origin',
      origin: self,
      primary: to,
      group: group.toString(),
      key: { ...key },
      operation,
      client: transport === AUTO_COMMIT ? 'auto' : transport.toString(),
      request: request.request.toString(),
    })
    const note = (kind: string, data: Record<string, string | number>, cause?: number, link?: LinkMark) =>
      events.node(kind, { nonce: nonce.toString(16), ...data }, cause, link)
    const cause = note('forward_received', { group: group.toString(), to, operation })
    trace.step('received', cause)
    const header = routedRequest(
      {
        cluster: identity.cluster,
        replica: self,
        client: transport as ClientId,
        session: request.session,
        request: request.request,
        requestChecksum: request.requestChecksum,
        operation,
        userId: request.userId,
        group,
        nonce,
        origin: self + 1,
        incarnation: request.incarnation,
      },
      request.body,
    )
    const unsent = (reason: string): false => {
      trace.step('unsent', note('forward_unsent', { to, reason }, cause))
      trace.end('refused', ErrorCode.TransientNotAccepted, reason)
      return false
    }
    if (this.parked.size >= PARKED_FORWARDS_MAX) return unsent('too many forwards wait for their result')
    this.parked.set(nonce, {
      to,
      client: header.client,
      deadline: this.core.tick + FORWARD_TICKS,
      result: (frame, mark) =>
        this.answerWrite(frame as FrameOf<'ForwardRequestResult'>, request, at, trace, cause, mark),
      lost: reason => {
        trace.step('lost', note('forward_lost', { reason, status: ErrorCode.TransientNotCommitted }, cause))
        trace.end('unknown', ErrorCode.TransientNotCommitted, reason)
        request.answer.denied(ErrorCode.TransientNotCommitted, reason, at)
      },
    })
    trace.step('parked', note('forward_parked', { waiting: this.parked.size }, cause))
    const { replicaLinks } = this.core.ports
    if (!replicaLinks.send(to, encodeFrame(routedRequestLayout, header, request.body))) {
      this.parked.delete(nonce)
      return unsent('the primary cannot be reached')
    }
    const link = replicaLinks.lastSent?.(to)
    trace.step('sent', note('forward_sent', { to }, cause, link), link)
    return true
  }

  register(client: ClientId, userId: number, settle: (result: RegisterResult) => void): void {
    const nonce = this.nextNonce()
    this.toMetadataPrimary(
      nonce,
      client,
      sealFrame(this.core.ports.hash, 'ForwardRegister', { ...this.sender(), client, nonce, userId }),
      frame => settle(registerResult(frame as FrameOf<'ForwardRegisterResult'>)),
      sent => settle({ kind: sent ? 'unknown' : 'not_primary' }),
    )
  }

  logout(client: ClientId, session: bigint, request: bigint, settle: (result: LogoutResult) => void): void {
    const nonce = this.nextNonce()
    this.toMetadataPrimary(
      nonce,
      client,
      sealFrame(this.core.ports.hash, 'ForwardLogout', { ...this.sender(), client, nonce, session, request }),
      frame => settle(logoutResult(frame as FrameOf<'ForwardLogoutResult'>)),
      sent => settle({ kind: sent ? 'unknown' : 'not_primary' }),
    )
  }

  /** What waits for this peer has an unknown outcome now. */
  peerLost(peer: ReplicaId): void {
    for (const [nonce, parked] of this.parked)
      if (parked.to === peer) this.lose(nonce, 'the connection to the primary was lost')
  }

  /** Deadlines are handed out in order, so the first one that lies ahead ends the walk. */
  tick(): void {
    for (const [nonce, parked] of this.parked) {
      if (parked.deadline > this.core.tick) break
      this.lose(nonce, 'the primary did not answer in time')
    }
  }

  /** A forward or a result from a peer. */
  frame(from: ReplicaId, frame: ReplicaFrame, mark: LinkMark) {
    switch (frame.kind) {
      case 'Request':
        takeWrite(this.parts(), from, frame, mark)
        break
      case 'ForwardRegister':
        this.takeRegister(from, frame)
        break
      case 'ForwardLogout':
        this.takeLogout(from, frame)
        break
      case 'ForwardRequestResult':
      case 'ForwardRegisterResult':
      case 'ForwardLogoutResult': {
        const { nonce, client } = frame.header
        const parked = this.parked.get(nonce)
        // Another client's nonce leaves the parked request untouched; a result that nobody waits for is dropped.
        if (!parked || parked.client !== client || parked.to !== from) return
        this.parked.delete(nonce)
        parked.result(frame, mark)
        break
      }
    }
  }

  private toMetadataPrimary(
    nonce: bigint,
    client: ClientId,
    frame: Uint8Array,
    result: (frame: ReplicaFrame) => void,
    failed: (sent: boolean) => void,
  ) {
    const { group } = this.parts().metadata
    const to = group.primary()
    const reachable = group.snapshot().status === 'normal' && to !== this.core.self
    if (!reachable || this.parked.size >= PARKED_FORWARDS_MAX) return failed(false)
    this.parked.set(nonce, {
      to,
      client,
      deadline: this.core.tick + FORWARD_TICKS,
      result,
      lost: () => failed(true),
    })
    if (this.core.ports.replicaLinks.send(to, frame)) return
    this.parked.delete(nonce)
    failed(false)
  }

  private lose(nonce: bigint, reason: string) {
    const parked = this.parked.get(nonce)
    this.parked.delete(nonce)
    parked?.lost(reason)
  }

  private answerWrite(
    { header, body }: FrameOf<'ForwardRequestResult'>,
    request: PartitionWrite,
    at: DeniedAt,
    trace: ForwardTrace,
    cause: number,
    mark: LinkMark,
  ) {
    const { outcome } = header
    const committed = outcome === ForwardOutcome.Reply && header.status === 0
    const status = outcome === ForwardOutcome.NotPrimary ? ErrorCode.TransientNotAccepted : header.status
    const data = { nonce: header.nonce.toString(16), outcome, status }
    trace.step('answered', this.core.events.node('forward_answered', data, cause, mark), mark)
    if (committed) {
      trace.end('accepted', 0, 'committed')
      trace.place(header.op, body)
      const echoed = routedRequest(
        {
          cluster: header.cluster,
          replica: header.replica,
          client: header.client,
          session: request.session,
          request: header.request,
          requestChecksum: request.requestChecksum,
          operation: header.operation,
          userId: request.userId,
          group: header.group,
        },
        body,
      )
      request.answer.committed(
        localReply({ ...echoed, view: header.view }, { op: header.op, commit: header.commit }, body),
      )
      return
    }
    const unknown = status === ErrorCode.TransientNotCommitted
    trace.end(unknown ? 'unknown' : 'refused', status, 'answered by the primary')
    request.answer.denied(status, 'refused by the primary', { ...at, commit: header.commit })
  }

  private takeRegister(from: ReplicaId, { header }: FrameOf<'ForwardRegister'>): void {
    const { client, nonce, userId } = header
    registerHere(this.parts(), client, userId, result => {
      const bound = result.kind === 'bound'
      const fields = {
        ...this.sender(),
        nonce,
        client,
        epoch: bound ? result.session : 0n,
        watermark: bound ? result.watermark : 0n,
        outcome: REGISTER_OUTCOME[result.kind],
      }
      this.core.ports.replicaLinks.send(from, sealFrame(this.core.ports.hash, 'ForwardRegisterResult', fields))
    })
  }

  private takeLogout(from: ReplicaId, { header }: FrameOf<'ForwardLogout'>): void {
    const { client, nonce, session, request } = header
    logoutHere(this.parts(), client, session, request, result => {
      const commit = result.kind === 'done' ? Op(result.commit) : Op(0n)
      const fields = { ...this.sender(), nonce, client, commit, outcome: LOGOUT_OUTCOME[result.kind] }
      this.core.ports.replicaLinks.send(from, sealFrame(this.core.ports.hash, 'ForwardLogoutResult', fields))
    })
  }

  private sender() {
    return { cluster: this.core.identity.cluster, view: this.parts().metadata.group.view, replica: this.core.self }
  }

  /** `replica << 64 | counter`; the counter skips 0 and starts elsewhere in every life. */
  private nextNonce(): bigint {
    this.counter = BigInt.asUintN(64, this.counter + 1n) || 1n
    return (BigInt(this.core.self) << 64n) | this.counter
  }
}
