/**
 * What a node hands to another one for its client (spec consensus.md §8; design.md §3, Forwarded writes): Register and Logout
 * to the metadata primary, partition writes to the partition's primary. One hop, no retransmission. The origin parks the
 * request by nonce before it sends, and answers its client in every case: with the result, with 57 when the peer is lost or
 * stays silent (the outcome is unknown), with 58 when nothing was sent.
 *
 * The other side answers every forward at once when it refuses it, and otherwise when its op has an outcome.
 */
import { type ClientId, Op, type ReplicaId } from '../bytes/units.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import {
  encodeFrame,
  ForwardOutcome,
  type FrameOf,
  LogoutOutcome,
  RegisterOutcome,
  type ReplicaFrame,
  sealFrame,
} from '../protocol/frames.ts'
import { unpackGroup } from '../protocol/groups.ts'
import { replyLayout, routedRequestLayout } from '../protocol/headers.ts'
import { Operation } from '../protocol/operations.ts'
import { localReply } from '../protocol/replies.ts'
import { frameBody } from '../protocol/seal.ts'
import type { Core } from './core.ts'
import { batchFault, type DeniedAt, type PartitionWrite, write } from './partition-writes.ts'
import type { Parts } from './parts.ts'
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
  readonly result: (frame: ReplicaFrame) => void
  readonly lost: (reason: string) => void
}

export class Forwards {
  private readonly core: Core
  private readonly parts: () => Parts
  private readonly parked = new Map<bigint, Parked>()
  private counter: bigint

  constructor(core: Core, parts: () => Parts) {
    this.core = core
    this.parts = parts
    this.counter = BigInt.asUintN(64, core.incarnation)
  }

  get size(): number {
    return this.parked.size
  }

  // The origin's side.

  /** False when it could not be sent: the caller refuses it. */
  write(request: PartitionWrite, to: ReplicaId, at: DeniedAt): boolean {
    const { identity, self } = this.core
    const nonce = this.nextNonce()
    const header = routedRequest(
      {
        cluster: identity.cluster,
        replica: self,
        client: request.transport as ClientId,
        session: request.session,
        request: request.request,
        requestChecksum: request.requestChecksum,
        operation: Operation.SendMessages,
        userId: request.userId,
        group: request.group,
        nonce,
        origin: self + 1,
      },
      request.batch,
    )
    const cause = this.note('forward_received', nonce, { group: request.group.toString(), to })
    const parked: Parked = {
      to,
      client: header.client,
      deadline: this.core.tick + FORWARD_TICKS,
      result: frame => this.answerWrite(frame as FrameOf<'ForwardRequestResult'>, request, at, cause),
      lost: reason => {
        this.note('forward_lost', nonce, { reason, status: ErrorCode.TransientNotCommitted }, cause)
        request.answer.denied(ErrorCode.TransientNotCommitted, reason, at)
      },
    }
    const sent = this.send(nonce, parked, encodeFrame(routedRequestLayout, header, request.batch))
    this.note(sent ? 'forward_sent' : 'forward_unsent', nonce, { to }, cause)
    return sent
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

  tick(): void {
    for (const [nonce, parked] of this.parked) {
      if (parked.deadline > this.core.tick) break
      this.lose(nonce, 'the primary did not answer in time')
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
    const parked: Parked = {
      to,
      client,
      deadline: this.core.tick + FORWARD_TICKS,
      result,
      lost: () => failed(true),
    }
    if (!reachable || !this.send(nonce, parked, frame)) failed(false)
  }

  private send(nonce: bigint, parked: Parked, frame: Uint8Array): boolean {
    if (this.parked.size >= PARKED_FORWARDS_MAX) return false
    this.parked.set(nonce, parked)
    if (this.core.ports.replicaLinks.send(parked.to, frame)) return true
    this.parked.delete(nonce)
    return false
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
    cause: number,
  ) {
    const { outcome, status } = header
    this.note('forward_answered', header.nonce, { outcome, status }, cause)
    if (outcome === ForwardOutcome.Reply && status === 0) {
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
    const code = outcome === ForwardOutcome.NotPrimary ? ErrorCode.TransientNotAccepted : status
    request.answer.denied(code, 'refused by the primary', { ...at, commit: header.commit })
  }

  // The primary's side.

  /** A forward or a result from a peer. */
  frame(from: ReplicaId, frame: ReplicaFrame) {
    switch (frame.kind) {
      case 'Request':
        this.takeWrite(from, frame)
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
        parked.result(frame)
        break
      }
    }
  }

  private takeWrite(from: ReplicaId, { header, body }: FrameOf<'Request'>) {
    const parts = this.parts()
    const { hash } = this.core.ports
    const cause = this.note('forward_taken', header.nonce, { from, group: header.group.toString() })
    const result = (
      outcome: number,
      status: number,
      op: bigint,
      commit: bigint,
      reply: Uint8Array = new Uint8Array(0),
    ) => {
      const refused = outcome !== ForwardOutcome.Reply
      this.note(refused ? 'forward_refused' : 'forward_accepted', header.nonce, { outcome, status }, cause)
      const { nonce, client, operation, request, group } = header
      const fields = { ...this.sender(), nonce, client, status, operation, op, commit, request, group, outcome }
      this.core.ports.replicaLinks.send(from, sealFrame(hash, 'ForwardRequestResult', fields, reply))
    }
    const rejected = (status: number) => result(ForwardOutcome.Rejected, status, 0n, 0n)
    if (header.nonce === 0n || header.origin !== from + 1) return
    if (header.operation !== Operation.SendMessages) return rejected(ErrorCode.FeatureUnavailable)
    // This node encrypts nothing: a payload that is encrypted already would lie beside plain ones (terminal, not transient).
    if (header.encrypted !== 0) return rejected(ErrorCode.FeatureUnavailable)
    if (!this.core.machine.state.users.get(header.userId)) return rejected(ErrorCode.Unauthorized)
    const fault = batchFault(hash, body)
    if (fault !== undefined) return rejected(fault)
    const key = unpackGroup(header.group)
    if (!key) return rejected(ErrorCode.ResourceNotFound)
    write(parts, {
      key,
      group: header.group,
      transport: header.client,
      session: header.session,
      request: header.request,
      requestChecksum: header.requestChecksum,
      userId: header.userId,
      batch: body,
      forwarded: true,
      answer: {
        committed: frame => {
          const reply = replyLayout.decode(frame)
          result(ForwardOutcome.Reply, 0, reply.op, reply.commit, frameBody(frame))
        },
        denied: (status, _reason, at) => result(ForwardOutcome.Transient, status, 0n, at.commit),
      },
    })
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

  private note(kind: string, nonce: bigint, data: Record<string, string | number>, cause?: number): number {
    return this.core.events.node(kind, { nonce: nonce.toString(16), ...data }, cause)
  }
}

const REGISTER_OUTCOME: Record<RegisterResult['kind'], number> = {
  bound: RegisterOutcome.Ok,
  not_primary: RegisterOutcome.NotPrimary,
  not_caught_up: RegisterOutcome.NotCaughtUp,
  full: RegisterOutcome.PipelineFull,
  busy: RegisterOutcome.InProgress,
  unknown: RegisterOutcome.Canceled,
  other_user: RegisterOutcome.ClientIdOwnedByAnotherUser,
}
const LOGOUT_OUTCOME: Record<LogoutResult['kind'], number> = {
  done: LogoutOutcome.Ok,
  not_primary: LogoutOutcome.NotPrimary,
  full: LogoutOutcome.PipelineFull,
  busy: LogoutOutcome.InProgress,
  unknown: LogoutOutcome.Canceled,
}

type RegisterFailure = Exclude<RegisterResult['kind'], 'bound'>
type LogoutFailure = Exclude<LogoutResult['kind'], 'done'>

const keyOf = <K extends string>(outcomes: Record<K, number>, outcome: number): K =>
  (Object.keys(outcomes) as K[]).find(key => outcomes[key] === outcome)!

function registerResult({ header }: FrameOf<'ForwardRegisterResult'>): RegisterResult {
  if (header.outcome === RegisterOutcome.Ok) {
    return { kind: 'bound', session: header.epoch, watermark: header.watermark }
  }
  return { kind: keyOf(REGISTER_OUTCOME, header.outcome) as RegisterFailure }
}

function logoutResult({ header }: FrameOf<'ForwardLogoutResult'>): LogoutResult {
  if (header.outcome === LogoutOutcome.Ok) return { kind: 'done', commit: header.commit }
  return { kind: keyOf(LOGOUT_OUTCOME, header.outcome) as LogoutFailure }
}
