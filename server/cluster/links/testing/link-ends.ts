/** Two ends of a link through a proxy, on real sockets: what node 0 and node 1 would be, without the nodes. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { Command } from '../../../../shared/protocol/commands.ts'
import { METADATA_GROUP } from '../../../../shared/protocol/groups.ts'
import { commitLayout, HEADER_BYTES, prefix, prepareLayout } from '../../../../shared/protocol/headers.ts'
import { FrameSplitter } from '../../../../shared/protocol/splitter.ts'
import { chooseFreePorts } from '../../free-ports.ts'
import { ClusterLinks, type LinkEvent } from '../cluster-links.ts'
import { commandOf } from '../frame-note.ts'

/** A frame of `command`, told apart by `op`; only what a proxy reads of it is filled. */
export function frame(command: number, op = 0, bodyBytes = 0): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + bodyBytes)
  bytes.fill(op & 0xff, HEADER_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint32(prefix.size.at, bytes.length, true)
  view.setUint8(prefix.command.at, command)
  const places =
    command === Command.Commit
      ? { op: commitLayout.fields.commit, group: commitLayout.fields.group }
      : prepareLayout.fields
  view.setBigUint64(places.op.at, BigInt(op), true)
  view.setBigUint64(places.group.at, METADATA_GROUP, true)
  return bytes
}

export const commit = (op: number): Uint8Array => frame(Command.Commit, op)
export const prepare = (op: number, bodyBytes = 1_000): Uint8Array => frame(Command.Prepare, op, bodyBytes)

export function hello(tag: number): Uint8Array {
  const bytes = frame(Command.ReplicaHello)
  new DataView(bytes.buffer).setUint32(196, tag, true)
  return bytes
}

/** `Command op`, for reading in a test. */
export function told(bytes: Uint8Array): string {
  const command = commandOf(bytes)
  const at = command === Command.Commit ? commitLayout.fields.commit.at : prepareLayout.fields.op.at
  const op = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at, true)
  const name = Object.entries(Command).find(([, value]) => value === command)?.[0] ?? command
  return `${name} ${op}`
}

export class End {
  readonly socket: Socket
  readonly frames: Uint8Array[] = []

  constructor(socket: Socket) {
    this.socket = socket
    const splitter = new FrameSplitter()
    socket.on('data', chunk => splitter.push(chunk, whole => this.frames.push(whole)))
    socket.on('error', () => socket.destroy())
  }

  get told(): string[] {
    return this.frames.map(told)
  }
}

export class Link {
  readonly links: ClusterLinks
  readonly events: LinkEvent[] = []
  readonly server: Server
  readonly accepted: End[] = []
  private readonly ends: End[] = []

  private constructor(links: ClusterLinks, server: Server) {
    this.links = links
    this.server = server
    links.onEvent(event => this.events.push(event))
    server.on('connection', socket => this.accepted.push(new End(socket)))
  }

  static async open(): Promise<Link> {
    const server = createServer({ noDelay: true })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const [proxyPort] = await chooseFreePorts('127.0.0.1', 1)
    const links = new ClusterLinks({
      host: '127.0.0.1',
      nodes: 2,
      ports: [{ from: 0, to: 1, port: proxyPort! }],
      target: () => port,
    })
    links.follow(1, true)
    return new Link(links, server)
  }

  /** Node 0 dials and says Hello; resolves when both ends have it. */
  async dial(tag = 0xab): Promise<{ zero: End; one: End }> {
    const before = this.accepted.length
    const zero = await this.connect()
    zero.socket.write(hello(tag))
    await until(() => this.accepted.length > before && this.accepted[before]!.frames.length === 1)
    return { zero, one: this.accepted[before]! }
  }

  async connect(): Promise<End> {
    const { port } = this.links.ports[0]!
    for (;;) {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true })
      const up = await new Promise<boolean>(resolve => {
        socket.once('connect', () => resolve(true))
        socket.once('error', () => resolve(false))
      })
      if (!up) continue
      const end = new End(socket)
      this.ends.push(end)
      return end
    }
  }

  async close(): Promise<void> {
    this.links.close()
    for (const { socket } of [...this.ends, ...this.accepted]) socket.destroy()
    await new Promise(resolve => this.server.close(resolve))
  }
}

export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`never came true: ${condition}`)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}
