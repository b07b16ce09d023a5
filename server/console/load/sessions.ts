/** The sessions of one lane: at most one for each node, opened when needed, dropped when it ended. */
import type { LoadCluster, LoadSession, LoadTopic } from './ports.ts'

export class Sessions {
  readonly #cluster: LoadCluster
  readonly #topic: LoadTopic
  readonly #open = new Map<number, LoadSession>()
  #opened = 0

  constructor(cluster: LoadCluster, topic: LoadTopic) {
    this.#cluster = cluster
    this.#topic = topic
  }

  /** Sessions opened beyond the first. */
  get reconnects(): number {
    return Math.max(0, this.#opened - 1)
  }

  /** Rejects when the node cannot be reached or refuses the login. */
  async to(node: number): Promise<LoadSession> {
    const known = this.#open.get(node)
    if (known) return known
    const session = await this.#cluster.open(node, this.#topic)
    this.#opened += 1
    this.#open.set(node, session)
    return session
  }

  drop(session: LoadSession): void {
    session.close()
    if (this.#open.get(session.node) === session) this.#open.delete(session.node)
  }

  close(): void {
    for (const session of this.#open.values()) session.close()
    this.#open.clear()
  }
}
