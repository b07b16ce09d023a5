import { describe, expect, it } from 'vitest'
import { DecodeError } from '../bytes/errors.ts'
import { ReplicaId } from '../bytes/units.ts'
import { Command } from './commands.ts'
import {
  clusterId,
  HandshakeAcceptor,
  type HandshakeConfig,
  HandshakeDialer,
  HandshakeStatus,
  type HandshakeStep,
  handshakeLayout,
  handshakeMac,
  macKey,
} from './handshake.ts'
import { goldenAbsent, goldenFrames, nonZeroGapBytes, throughJson } from './testing/golden.ts'

const SECRET = 'golden-vsr-cluster-shared-secret-0123456789'
const cluster = clusterId('golden')

describe.skipIf(goldenAbsent)('recorded handshakes', () => {
  it('every proof verifies with the shared secret, and both machines make the recorded bytes', () => {
    let count = 0
    for (const file of ['three-replica.jsonl', 'transfer-replica.jsonl', 'checkpoint-replica.jsonl']) {
      const links = new Map<number, Uint8Array[]>()
      for (const frame of goldenFrames(file)) {
        if (frame.command < Command.ReplicaHello || frame.command > Command.ReplicaFinish) continue
        links.set(frame.connection, [...(links.get(frame.connection) ?? []), frame.header])
        expect(nonZeroGapBytes(frame.header, handshakeLayout.gaps), frame.where).toEqual([])
        const json = throughJson(handshakeLayout.toJson(handshakeLayout.decode(frame.header)))
        expect(handshakeLayout.encode(handshakeLayout.fromJson(json)), frame.where).toEqual(frame.header)
      }
      for (const [hello, challenge, finish] of links.values()) {
        const dialerId = handshakeLayout.decode(hello!).replica
        const acceptorId = handshakeLayout.decode(challenge!).replica
        const auth = { current: macKey(SECRET) }
        const base = { cluster, replicaCount: 3, auth }
        const dialer = new HandshakeDialer(
          { ...base, self: dialerId },
          acceptorId,
          handshakeLayout.decode(hello!).nonce,
        )
        const acceptor = new HandshakeAcceptor({ ...base, self: acceptorId }, handshakeLayout.decode(challenge!).nonce)
        expect(dialer.start()).toEqual({ kind: 'wait', send: [hello] })
        expect(acceptor.receive(hello!)).toEqual({ kind: 'wait', send: [challenge] })
        expect(dialer.receive(challenge!)).toEqual({ kind: 'ready', peer: acceptorId, send: [finish] })
        expect(acceptor.receive(finish!)).toEqual({ kind: 'ready', peer: dialerId, send: [] })
        count++
      }
    }
    expect(count).toBe(10)
  })
})

const nonce = (fill: number) => new Uint8Array(32).fill(fill)
const config = (self: number, more: Partial<HandshakeConfig> = {}): HandshakeConfig => ({
  cluster,
  self: ReplicaId(self),
  replicaCount: 3,
  auth: { current: macKey(SECRET) },
  ...more,
})
const without = (self: number): HandshakeConfig => ({ cluster, self: ReplicaId(self), replicaCount: 3 })

/** Runs both ends against each other; the last step of each. */
function meet(dialerConfig: HandshakeConfig, peer: number, acceptorConfig: HandshakeConfig) {
  const dialer = new HandshakeDialer(dialerConfig, ReplicaId(peer), nonce(1))
  const acceptor = new HandshakeAcceptor(acceptorConfig, nonce(2))
  let atDialer: HandshakeStep = dialer.start()
  let atAcceptor: HandshakeStep | undefined
  for (const hello of atDialer.send) atAcceptor = acceptor.receive(hello)
  if (atDialer.kind === 'wait') for (const frame of atAcceptor!.send) atDialer = dialer.receive(frame)
  if (atAcceptor!.kind === 'wait') for (const frame of atDialer.send) atAcceptor = acceptor.receive(frame)
  return { atDialer, atAcceptor: atAcceptor! }
}

describe('replica handshake', () => {
  it('meets with and without a secret', () => {
    const ready = (peer: number) => ({ kind: 'ready', peer })
    expect(meet(config(0), 2, config(2))).toMatchObject({ atDialer: ready(2), atAcceptor: ready(0) })
    expect(meet(without(0), 2, without(2))).toMatchObject({ atDialer: ready(2), atAcceptor: ready(0) })
    const tlsExporter = nonce(9)
    expect(meet(config(1, { tlsExporter }), 2, config(2, { tlsExporter }))).toMatchObject({ atAcceptor: ready(1) })
  })

  it('accepts the previous secret while it signs with the current one', () => {
    const old = { auth: { current: macKey('old') } }
    const changed = { auth: { current: macKey('new'), previous: macKey('old') } }
    expect(meet(config(0, changed), 1, config(1, changed)).atAcceptor.kind).toBe('ready')
    // The changed acceptor signs with a secret that the old dialer does not know.
    expect(meet(config(0, old), 1, config(1, changed)).atDialer).toMatchObject({ status: HandshakeStatus.MacMismatch })
    // The changed dialer takes the old acceptor's proof, but signs anew, which the old acceptor cannot verify.
    const toOld = meet(config(0, changed), 1, config(1, old))
    expect(toOld.atDialer.kind).toBe('ready')
    expect(toOld.atAcceptor).toMatchObject({ kind: 'rejected', status: HandshakeStatus.MacMismatch })
  })

  it.each([
    ['another cluster', config(0, { cluster: clusterId('other') }), config(1), HandshakeStatus.ClusterMismatch],
    ['a peer that must not dial here', config(2), config(1), HandshakeStatus.DirectionalRule],
    ['a peer outside the cluster', config(0, { self: ReplicaId(9) }), config(1), HandshakeStatus.DirectionalRule],
  ])('refuses %s and says why', (_, dialer, acceptor, status) => {
    const { atDialer, atAcceptor } = meet(dialer, acceptor.self, acceptor)
    expect(atAcceptor).toMatchObject({ kind: 'rejected', status, byPeer: false })
    expect(atDialer).toMatchObject({ kind: 'rejected', status, byPeer: true })
  })

  it('refuses a peer without a nonce where a secret is needed, silently, because it no longer reads', () => {
    const { atAcceptor } = meet(without(0), 1, config(1))
    expect(atAcceptor).toEqual({ kind: 'rejected', status: HandshakeStatus.AuthRequired, byPeer: false, send: [] })
  })

  it('refuses every other first frame', () => {
    const frame = handshakeLayout.decode(new HandshakeDialer(config(0), ReplicaId(1), nonce(1)).start().send[0]!)
    const acceptor = new HandshakeAcceptor(config(1), nonce(2))
    const step = acceptor.receive(handshakeLayout.encode({ ...frame, command: Command.Commit }))
    expect(step).toMatchObject({ kind: 'rejected', status: HandshakeStatus.UnknownCommand })
    expect(() => acceptor.receive(new Uint8Array(256))).toThrow('ended')
    expect(() => new HandshakeAcceptor(config(1), nonce(2)).receive(new Uint8Array(255))).toThrow(DecodeError)
  })

  it('a proof does not pass in the other direction, for another pair, or on another connection', () => {
    const key = macKey(SECRET)
    const input = {
      cluster,
      dialer: ReplicaId(0),
      acceptor: ReplicaId(1),
      nonceDialer: nonce(1),
      nonceAcceptor: nonce(2),
      direction: 'dialer' as const,
    }
    const mac = handshakeMac(key, input)
    for (const other of [
      { direction: 'acceptor' as const },
      { acceptor: ReplicaId(2) },
      { nonceAcceptor: nonce(3) },
      { cluster: 1n },
      { tlsExporter: nonce(0) },
    ]) {
      expect(handshakeMac(key, { ...input, ...other })).not.toEqual(mac)
    }
  })

  it('an unknown status reads as an unknown command', () => {
    const dialer = new HandshakeDialer(config(0), ReplicaId(1), nonce(1))
    const hello = handshakeLayout.decode(dialer.start().send[0]!)
    const challenge = handshakeLayout.encode({
      ...hello,
      command: Command.ReplicaChallenge,
      replica: ReplicaId(1),
      status: 77,
    })
    expect(dialer.receive(challenge)).toMatchObject({ status: HandshakeStatus.UnknownCommand, byPeer: true })
  })
})
