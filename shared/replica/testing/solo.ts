/** A solo replica on a memory disk whose wall clock the test sets, answering frames one by one. */
import type { EngineError } from '../../bytes/errors.ts'
import { createHash, type Hash } from '../../bytes/hash.ts'
import { Micros, ReplicaId } from '../../bytes/units.ts'
import type { EventDraft } from '../../inspection/envelope.ts'
import { clusterId } from '../../protocol/handshake.ts'
import type { Disk } from '../../storage/disk.ts'
import { MemoryDisk } from '../../storage/memory-disk.ts'
import { bootReplica } from '../boot.ts'
import type { Replica, ReplicaConfig } from '../contract.ts'
import { DEFAULT_SETTINGS } from '../default-settings.ts'
import type { ConnectionId } from '../ports.ts'

export const hash: Hash = await createHash()

const breathe = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

export const soloConfig = (overrides: Partial<ReplicaConfig> = {}): ReplicaConfig => ({
  clusterEnabled: false,
  clusterName: 'golden',
  clusterId: clusterId('golden'),
  replica: ReplicaId(0),
  nodes: [
    {
      replica: ReplicaId(0),
      name: 'iggy-node',
      ip: '127.0.0.1',
      ports: { tcp: 22_000, quic: 0, http: 22_100, websocket: 0 },
    },
  ],
  ...DEFAULT_SETTINGS,
  ...overrides,
})

/** Thrown where the process would end. */
export class ProcessEnded extends Error {
  readonly status: number
  readonly error: EngineError

  constructor(status: number, error: EngineError) {
    super(`${error.code}: ${error.message}`)
    this.status = status
    this.error = error
  }
}

export class Solo {
  readonly disk: Disk
  readonly facts: EventDraft[] = []
  wallMicros = 1_700_000_000_000_000n
  private replica!: Replica
  private readonly answers = new Map<ConnectionId, Uint8Array[]>()
  private readonly closed = new Set<ConnectionId>()
  private drawn = 0

  private constructor(disk: Disk) {
    this.disk = disk
  }

  /** @throws ProcessEnded when the boot is refused. */
  static async boot(disk: Disk = new MemoryDisk(), overrides: Partial<ReplicaConfig> = {}): Promise<Solo> {
    const solo = new Solo(disk)
    solo.replica = await bootReplica(soloConfig(overrides), solo.ports())
    return solo
  }

  get inspect(): Replica['inspect'] {
    return this.replica.inspect
  }

  connect(connection: ConnectionId): void {
    this.replica.clientConnected(connection, `127.0.0.1:${50_000 + connection}`)
  }

  send(connection: ConnectionId, frame: Uint8Array): void {
    this.replica.clientFrame(connection, new Uint8Array(frame))
  }

  /** The client closes its end. */
  hangUp(connection: ConnectionId): void {
    this.replica.clientClosed(connection)
  }

  isClosed(connection: ConnectionId): boolean {
    return this.closed.has(connection)
  }

  /** Sends one frame and waits for the one that answers it; undefined when the connection was closed instead. */
  async exchange(connection: ConnectionId, frame: Uint8Array): Promise<Uint8Array | undefined> {
    this.send(connection, frame)
    return this.answer(connection)
  }

  /** The next answer on a connection; ticks pass while it is awaited. */
  async answer(connection: ConnectionId): Promise<Uint8Array | undefined> {
    for (let turn = 0; turn < 5_000; turn++) {
      const answer = this.answers.get(connection)?.shift()
      if (answer) return answer
      if (this.closed.has(connection)) return undefined
      await breathe()
      if (turn % 10 === 9) this.replica.tick()
    }
    throw new Error('no answer came')
  }

  /** Lets ticks and completions run until `condition` holds. */
  async settle(condition: () => boolean): Promise<void> {
    for (let turn = 0; !condition(); turn++) {
      if (turn > 5_000) throw new Error('it did not settle')
      await breathe()
      this.replica.tick()
    }
  }

  async stop(): Promise<void> {
    let stopped = false
    const done = this.replica.stop().then(() => {
      stopped = true
    })
    await this.settle(() => stopped)
    await done
  }

  private ports() {
    return {
      disk: this.disk,
      clock: { nowMicros: () => Micros(this.wallMicros), monoMicros: () => 0 },
      entropy: { u64: () => 7n, bytes: (length: number) => new Uint8Array(length).fill(this.drawn++) },
      scheduler: { yield: breathe },
      hash,
      halt: {
        fatal: (status: number, error: EngineError): never => {
          throw new ProcessEnded(status, error)
        },
      },
      passwords: {
        hash: async (password: string) => `test$${password}`,
        verify: async (stored: string, password: string) => stored === `test$${password}`,
      },
      replicaLinks: { send: () => false, isConnected: () => false },
      clientLinks: {
        send: (connection: ConnectionId, frame: Uint8Array) => {
          const waiting = this.answers.get(connection) ?? []
          waiting.push(new Uint8Array(frame))
          this.answers.set(connection, waiting)
        },
        close: (connection: ConnectionId) => {
          this.closed.add(connection)
        },
      },
      sink: {
        emit: (draft: EventDraft) => this.facts.push(draft),
        wantsFlow: () => false,
        count: () => {},
      },
    }
  }
}
