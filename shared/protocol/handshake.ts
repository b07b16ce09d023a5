/**
 * The handshake of a replica link (spec consensus.md §2.6): who dials is known, who answers is proven.
 *
 * Replica i dials every peer above i and accepts from those below. Frames are generic headers of 256 bytes, unsealed; the
 * data stands at 128: nonce [32] | MAC [32] | status u8.
 *
 *   without a secret: Hello →, and both ends are ready
 *   with a secret:    Hello(nonce_d) →  ← Challenge(status, nonce_a, mac_a)  Finish(mac_d) →
 *
 * MAC = BLAKE3, keyed with a key derived from the shared secret, over the label, the cluster id (16 bytes), dialer,
 * acceptor, both nonces, the mode (0 plain, 1 TLS), 32 bytes of TLS exporter (zeros when plain), and the direction
 * (1 dialer, 2 acceptor). So neither side can reflect the other's proof, and a proof fits one pair, one connection, one
 * cluster. Signing uses the current secret; a previous one is accepted too, so that a secret can be changed one node at a
 * time.
 *
 * Both machines are pure: the caller passes 32 fresh random bytes in, sends what comes out, and closes on a rejection.
 */
import { blake3 } from '@noble/hashes/blake3.js'
import type { LayoutRecord } from '../bytes/layout.ts'
import { ignored, layout, raw, u8 } from '../bytes/layout.ts'
import { Checksum, type ReplicaId, View } from '../bytes/units.ts'
import { textBytes } from '../bytes/writer.ts'
import { Command } from './commands.ts'
import { HEADER_BYTES, prefix } from './headers.ts'

export const NONCE_BYTES = 32
const MAC_BYTES = 32
const MAC_LABEL = textBytes('apache-iggy replica-auth v1')
const KEY_CONTEXT = textBytes('apache-iggy replica-auth v1 psk->mac-key')

export const handshakeLayout = layout(
  'Handshake',
  HEADER_BYTES,
  { ...prefix, nonce: raw(128, NONCE_BYTES), mac: raw(160, MAC_BYTES), status: u8(192) },
  [ignored(62, 66), ignored(193, 63)],
)
export type HandshakeFrame = LayoutRecord<typeof handshakeLayout>

export const HandshakeStatus = {
  Ok: 0,
  UnknownCommand: 1,
  ClusterMismatch: 2,
  DirectionalRule: 3,
  AuthRequired: 4,
  MacMismatch: 5,
} as const
export type HandshakeStatus = (typeof HandshakeStatus)[keyof typeof HandshakeStatus]
/** A status byte from the wire; any unknown one reads as UnknownCommand. */
const statusOf = (byte: number): HandshakeStatus =>
  byte <= HandshakeStatus.MacMismatch ? (byte as HandshakeStatus) : HandshakeStatus.UnknownCommand

/** Cluster id: the first 16 bytes, little-endian, of BLAKE3 of the name (§1.1). */
export function clusterId(clusterName: string): bigint {
  const digest = blake3(textBytes(clusterName))
  const view = new DataView(digest.buffer, digest.byteOffset, digest.length)
  return view.getBigUint64(0, true) | (view.getBigUint64(8, true) << 64n)
}

export type MacKey = Uint8Array & { readonly macKey: true }

/** The MAC key of a shared secret; derive it once. */
export const macKey = (secret: string): MacKey => blake3(textBytes(secret), { context: KEY_CONTEXT }) as MacKey

export interface MacInput {
  readonly cluster: bigint
  readonly dialer: ReplicaId
  readonly acceptor: ReplicaId
  readonly nonceDialer: Uint8Array
  readonly nonceAcceptor: Uint8Array
  /** 32 bytes of exporter when the link is TLS. */
  readonly tlsExporter?: Uint8Array
  readonly direction: 'dialer' | 'acceptor'
}

export function handshakeMac(key: MacKey, input: MacInput): Uint8Array {
  const message = new Uint8Array(MAC_LABEL.length + 16 + 2 + 2 * NONCE_BYTES + 1 + 32 + 1)
  const view = new DataView(message.buffer)
  let at = MAC_LABEL.length
  message.set(MAC_LABEL)
  view.setBigUint64(at, input.cluster & 0xffff_ffff_ffff_ffffn, true)
  view.setBigUint64(at + 8, input.cluster >> 64n, true)
  at += 16
  message[at++] = input.dialer
  message[at++] = input.acceptor
  message.set(input.nonceDialer, at)
  at += NONCE_BYTES
  message.set(input.nonceAcceptor, at)
  at += NONCE_BYTES
  message[at++] = input.tlsExporter ? 1 : 0
  if (input.tlsExporter) message.set(input.tlsExporter, at)
  at += 32
  message[at] = input.direction === 'dialer' ? 1 : 2
  return blake3(message, { key })
}

/** Compares in a time that does not depend on where the bytes differ. */
function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= a[index]! ^ b[index]!
  return difference === 0
}

const isZero = (bytes: Uint8Array): boolean => bytes.every(byte => byte === 0)

export interface HandshakeConfig {
  readonly cluster: bigint
  readonly self: ReplicaId
  readonly replicaCount: number
  /** Absent: authentication is off. */
  readonly auth?: { readonly current: MacKey; readonly previous?: MacKey }
  readonly tlsExporter?: Uint8Array
}

export type HandshakeStep =
  /** Send these frames; more is to come from the peer. */
  | { readonly kind: 'wait'; readonly send: readonly Uint8Array[] }
  /** Send these frames; the link is up. */
  | { readonly kind: 'ready'; readonly peer: ReplicaId; readonly send: readonly Uint8Array[] }
  /** Send these frames, then close. `byPeer`: the peer said so. */
  | {
      readonly kind: 'rejected'
      readonly status: Exclude<HandshakeStatus, 0>
      readonly byPeer: boolean
      readonly send: readonly Uint8Array[]
    }

const ZERO_32 = new Uint8Array(32)

function handshakeFrame(
  config: HandshakeConfig,
  command: number,
  data: { readonly nonce?: Uint8Array; readonly mac?: Uint8Array; readonly status?: number },
): Uint8Array {
  return handshakeLayout.encode({
    checksum: Checksum(0n),
    checksumBody: Checksum(0n),
    cluster: config.cluster,
    size: HEADER_BYTES,
    view: View(0),
    release: 0,
    command,
    replica: config.self,
    nonce: data.nonce ?? ZERO_32,
    mac: data.mac ?? ZERO_32,
    status: data.status ?? 0,
  })
}

const rejected = (
  status: Exclude<HandshakeStatus, 0>,
  send: readonly Uint8Array[] = [],
  byPeer = false,
): HandshakeStep => ({ kind: 'rejected', status, byPeer, send })

function macsMatch(config: HandshakeConfig, input: MacInput, mac: Uint8Array): boolean {
  const { auth } = config
  if (!auth) return false
  // Both keys are tried whatever the first says, for the sake of constant time.
  const current = equalBytes(handshakeMac(auth.current, input), mac)
  const previous = auth.previous ? equalBytes(handshakeMac(auth.previous, input), mac) : false
  return current || previous
}

/** The end that dials `peer` (peer > self). */
export class HandshakeDialer {
  private readonly config: HandshakeConfig
  private readonly peer: ReplicaId
  private readonly nonce: Uint8Array
  private finished = false

  /** `nonce`: 32 fresh random bytes; unused when authentication is off. */
  constructor(config: HandshakeConfig, peer: ReplicaId, nonce: Uint8Array) {
    this.config = config
    this.peer = peer
    this.nonce = nonce
  }

  start(): HandshakeStep {
    if (this.config.auth)
      return { kind: 'wait', send: [handshakeFrame(this.config, Command.ReplicaHello, { nonce: this.nonce })] }
    this.finished = true
    return { kind: 'ready', peer: this.peer, send: [handshakeFrame(this.config, Command.ReplicaHello, {})] }
  }

  /** The next whole frame of the peer. @throws DecodeError when it is cut; Error after the handshake has ended. */
  receive(frame: Uint8Array): HandshakeStep {
    if (this.finished || !this.config.auth) throw new Error('the handshake has ended')
    this.finished = true
    const { config, peer } = this
    const challenge = handshakeLayout.decode(frame)
    if (challenge.command !== Command.ReplicaChallenge || challenge.size !== HEADER_BYTES) {
      return rejected(HandshakeStatus.UnknownCommand)
    }
    const status = statusOf(challenge.status)
    if (status !== HandshakeStatus.Ok) return rejected(status, [], true)
    if (challenge.cluster !== config.cluster) return rejected(HandshakeStatus.ClusterMismatch)
    if (challenge.replica !== peer) return rejected(HandshakeStatus.DirectionalRule)
    const input: MacInput = {
      cluster: config.cluster,
      dialer: config.self,
      acceptor: peer,
      nonceDialer: this.nonce,
      nonceAcceptor: challenge.nonce,
      direction: 'acceptor',
      ...(config.tlsExporter && { tlsExporter: config.tlsExporter }),
    }
    if (!macsMatch(config, input, challenge.mac)) return rejected(HandshakeStatus.MacMismatch)
    const mac = handshakeMac(this.config.auth!.current, { ...input, direction: 'dialer' })
    return { kind: 'ready', peer, send: [handshakeFrame(config, Command.ReplicaFinish, { mac })] }
  }
}

/** The end that accepts a connection. */
export class HandshakeAcceptor {
  private readonly config: HandshakeConfig
  private readonly nonce: Uint8Array
  private state: 'hello' | 'finish' | 'ended' = 'hello'
  private peer: ReplicaId | undefined
  private nonceDialer: Uint8Array = ZERO_32

  /** `nonce`: 32 fresh random bytes; unused when authentication is off. */
  constructor(config: HandshakeConfig, nonce: Uint8Array) {
    this.config = config
    this.nonce = nonce
  }

  /** The next whole frame of the peer. @throws DecodeError when it is cut; Error after the handshake has ended. */
  receive(frame: Uint8Array): HandshakeStep {
    if (this.state === 'hello') return this.hello(handshakeLayout.decode(frame))
    if (this.state === 'finish') return this.finish(handshakeLayout.decode(frame))
    throw new Error('the handshake has ended')
  }

  private hello(hello: HandshakeFrame): HandshakeStep {
    const { config } = this
    this.state = 'ended'
    // A reason is told only to a peer that is still reading: one that sent a nonce waits for a challenge.
    const reject = (status: Exclude<HandshakeStatus, 0>): HandshakeStep =>
      rejected(
        status,
        config.auth && !isZero(hello.nonce) ? [handshakeFrame(config, Command.ReplicaChallenge, { status })] : [],
      )
    if (hello.command !== Command.ReplicaHello || hello.size !== HEADER_BYTES)
      return reject(HandshakeStatus.UnknownCommand)
    if (hello.cluster !== config.cluster) return reject(HandshakeStatus.ClusterMismatch)
    if (!(hello.replica < config.replicaCount && hello.replica < config.self))
      return reject(HandshakeStatus.DirectionalRule)
    if (!config.auth) return { kind: 'ready', peer: hello.replica, send: [] }
    if (isZero(hello.nonce)) return reject(HandshakeStatus.AuthRequired)
    this.state = 'finish'
    this.peer = hello.replica
    this.nonceDialer = hello.nonce
    const mac = handshakeMac(config.auth.current, this.macInput(hello.replica, 'acceptor'))
    return { kind: 'wait', send: [handshakeFrame(config, Command.ReplicaChallenge, { nonce: this.nonce, mac })] }
  }

  private finish(finish: HandshakeFrame): HandshakeStep {
    this.state = 'ended'
    const peer = this.peer!
    if (finish.command !== Command.ReplicaFinish || finish.size !== HEADER_BYTES)
      return rejected(HandshakeStatus.UnknownCommand)
    if (!macsMatch(this.config, this.macInput(peer, 'dialer'), finish.mac)) return rejected(HandshakeStatus.MacMismatch)
    return { kind: 'ready', peer, send: [] }
  }

  private macInput(dialer: ReplicaId, direction: MacInput['direction']): MacInput {
    const { config } = this
    return {
      cluster: config.cluster,
      dialer,
      acceptor: config.self,
      nonceDialer: this.nonceDialer,
      nonceAcceptor: this.nonce,
      direction,
      ...(config.tlsExporter && { tlsExporter: config.tlsExporter }),
    }
  }
}
