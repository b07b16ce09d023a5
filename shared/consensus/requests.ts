/**
 * From a client's request to a prepare in flight (spec consensus.md §3.1, §3.5). Minting is synchronous with taking the op,
 * so that a second request cannot take the same one while the first is being journaled.
 */
import { Checksum, Micros } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { encodeFrame } from '../protocol/frames.ts'
import { type PrepareHeader, prepareLayout } from '../protocol/headers.ts'
import { sealBody, sealPrepare } from '../protocol/seal.ts'
import { syncPrepareTimer } from './commit.ts'
import type { IncomingRequest, RefuseReason } from './contract.ts'
import { flow, type GroupState, isPrimaryByView, isTransferring, next } from './state.ts'

/** Why no request may enter now, or undefined. */
export function refusal(s: GroupState): RefuseReason | undefined {
  if (s.status !== 'normal') return 'not_normal'
  if (!isPrimaryByView(s) || s.ceded) return 'not_primary'
  if (isTransferring(s)) return 'state_transfer'
  if (s.commitMin !== s.commitMax || s.commitMax < s.recoveryBarrier) return 'not_caught_up'
  return undefined
}

export function onRequest(s: GroupState, request: IncomingRequest): void {
  if (s.flow) {
    const { client, request: number, operation } = request.header
    flow(s, 'request_received', { detail: { client: client.toString(), request: number.toString(), operation } })
  }
  const reason = refusal(s)
  if (reason !== undefined) {
    s.out.push({ kind: 'refuse', token: request.token, reason })
  } else if (!s.pipeline.isFull && s.requestQueue.length === 0) {
    mint(s, request)
  } else if (s.requestQueue.length < s.config.requestDepth) {
    s.requestQueue.push(request)
  } else {
    s.out.push({ kind: 'refuse', token: request.token, reason: 'queues_full' })
  }
}

export function promoteQueued(s: GroupState): void {
  while (s.requestQueue.length > 0 && !s.pipeline.isFull && refusal(s) === undefined) mint(s, s.requestQueue.shift()!)
}

function mint(s: GroupState, { header: request, body, token }: IncomingRequest): void {
  const op = next(s.sequencer)
  const timestamp = Micros(s.nowMicros > s.lastTimestamp ? s.nowMicros : s.lastTimestamp + 1n)
  const unsealed: PrepareHeader = {
    checksum: Checksum(0n),
    checksumBody: Checksum(0n),
    cluster: s.config.cluster,
    size: 0,
    view: s.view,
    release: request.release,
    command: Command.Prepare,
    replica: s.config.replica,
    client: request.client,
    parent: s.chainChecksum,
    requestChecksum: request.requestChecksum,
    op,
    commit: s.commitMax,
    timestamp,
    request: request.request,
    operation: request.operation,
    group: s.config.group,
    userId: request.userId,
    purgeGeneration: s.journal.purgeGeneration?.() ?? 0n,
  }
  const frame = encodeFrame(prepareLayout, unsealed, body)
  // A partition's body is stamped when it is journaled, after this seal; its batch has a checksum of its own (§2.1).
  if (s.config.plane === 'metadata') sealBody(s.config.hash, frame)
  sealPrepare(s.config.hash, frame)
  const header = prepareLayout.decode(frame)

  s.pipeline.push(header, token, 0)
  s.sequencer = op
  s.chain = op
  s.chainChecksum = header.checksum
  s.lastTimestamp = timestamp
  s.inFlight.set(op, { role: 'primary', header, view: s.view })
  s.out.push({ kind: 'append', role: 'primary', header, frame })
  syncPrepareTimer(s)
  if (s.flow) {
    flow(s, 'prepare_queued', {
      op,
      detail: { operation: header.operation, client: header.client.toString(), pipeline: s.pipeline.size },
    })
  }
}

/** Clients that wait for a prepare: its outcome is unknown from now on. */
export function cancelWaiting(s: GroupState): void {
  const tokens = s.pipeline.takeTokens()
  if (tokens.length > 0) s.out.push({ kind: 'cancel', tokens })
}

/** Requests that never became a prepare: surely not admitted. */
export function refuseQueued(s: GroupState): void {
  for (const { token } of s.requestQueue) s.out.push({ kind: 'refuse', token, reason: 'not_primary' })
  s.requestQueue.length = 0
}
