/** A client of a solo replica that speaks frame by frame, under an id and request numbers of its own choice. */
import { expect } from 'vitest'
import { ClientId } from '../../bytes/units.ts'
import { type Codec, encodeBody } from '../../protocol/codec.ts'
import { ClientCommands } from '../../protocol/command-codes.ts'
import { Operation } from '../../protocol/operations.ts'
import { readServerFrame } from '../../protocol/replies.ts'
import { requestFrame } from '../../protocol/requests.ts'
import { PROTOCOL_VERSION, passwordLogin } from '../../protocol/session.ts'
import type { Solo } from './solo.ts'

let connections = 1_000

export class Peer {
  readonly client: ClientId
  session = 0n
  request = 0n
  private readonly solo: Solo
  private readonly connection: number

  private constructor(solo: Solo, client: bigint) {
    connections++
    this.solo = solo
    this.client = ClientId(client)
    this.connection = connections
    solo.connect(this.connection)
  }

  static async login(solo: Solo, client: bigint): Promise<Peer> {
    const peer = new Peer(solo, client)
    const frame = await peer.register()
    expect(readServerFrame(frame)).toMatchObject({ kind: 'reply', code: 0 })
    peer.session = new DataView(frame.buffer, frame.byteOffset).getBigUint64(176, true)
    return peer
  }

  /** The answer to a login, whatever it is. */
  static async tryLogin(solo: Solo, client: bigint) {
    return readServerFrame(await new Peer(solo, client).register())
  }

  private register(): Promise<Uint8Array> {
    const body = encodeBody(passwordLogin, {
      protocol: PROTOCOL_VERSION,
      sdkName: 't',
      sdkVersion: '1',
      username: 'iggy',
      password: 'iggy',
      context: '',
    })
    return this.frame(Operation.Register, body, 0n)
  }

  /** The whole answer to one request under this number. */
  async frame(operation: number, body: Uint8Array, request: bigint): Promise<Uint8Array> {
    const fields = { client: this.client, session: request === 0n ? 0n : this.session, request, operation, code: 0 }
    return (await this.solo.exchange(this.connection, requestFrame(fields, body)))!
  }

  async call<Q>(command: { operation: number; request: Codec<Q> }, value: Q) {
    this.request++
    return readServerFrame(await this.frame(command.operation, encodeBody(command.request, value), this.request))
  }

  createStream(name: string) {
    return this.call(ClientCommands.createStream, { name, options: [] })
  }

  hangUp(): void {
    this.solo.hangUp(this.connection)
  }
}
