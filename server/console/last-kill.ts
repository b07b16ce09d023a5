/** Follows the events of the cluster for its last kill: who led before, who leads since and how soon, and whether it came back. */

import type { SeenKill } from '../../shared/drills/nearest.ts'
import { CONSOLE_NODE, type EventEnvelope, type EventGap, isGap } from '../../shared/inspection/envelope.ts'
import { METADATA_GROUP } from '../../shared/protocol/groups.ts'
import type { EventLog } from './event-log.ts'
import type { Hub } from './hub.ts'

/** A batch without one of these is not read. */
const WANTED = /"kind":"(process_exited|process_started|view_started)"/

export interface Leadership {
  readonly view: number
  readonly primary: number | null
}

/** What the node in the highest view says. */
export function leadershipOf(hub: Pick<Hub, 'replicaCount' | 'snapshotOf'>): Leadership {
  let best: Leadership = { view: 0, primary: null }
  for (let node = 0; node < hub.replicaCount; node++) {
    const metadata = hub.snapshotOf(node)?.metadata
    if (metadata && (best.primary === null || metadata.view > best.view))
      best = { view: metadata.view, primary: metadata.primary }
  }
  return best
}

export class LastKill {
  readonly #nodes: number
  readonly #leadership: () => Leadership
  readonly #stop: () => void
  #seen: SeenKill | undefined
  #atMs = 0

  /** @param leadership what the nodes say of the metadata group, until an event says more */
  constructor(log: EventLog, nodes: number, leadership: () => Leadership) {
    this.#nodes = nodes
    this.#leadership = leadership
    this.#stop = log.onBatch(({ json }) => {
      if (!WANTED.test(json)) return
      for (const item of JSON.parse(json) as (EventEnvelope | EventGap)[]) if (!isGap(item)) this.#take(item)
    })
  }

  get seen(): SeenKill | undefined {
    return this.#seen
  }

  close(): void {
    this.#stop()
  }

  #take({ kind, node, group, view, data, wallUs }: EventEnvelope): void {
    const atMs = Number(wallUs) / 1_000
    const kill = this.#seen
    if (kind === 'process_exited' && node === CONSOLE_NODE && data.requested === 'kill') {
      this.#atMs = Number(data.atWallMs ?? atMs)
      this.#seen = {
        nodes: this.#nodes,
        node: Number(data.node),
        ...this.#leadership(),
        leader: null,
        newView: null,
        electedAfterMs: null,
        backAfterMs: null,
      }
    } else if (!kill) return
    else if (kind === 'process_started' && node === CONSOLE_NODE && Number(data.node) === kill.node)
      this.#seen = { ...kill, backAfterMs: Math.round(atMs - this.#atMs) }
    else if (
      kind === 'view_started' &&
      group === METADATA_GROUP.toString() &&
      kill.leader === null &&
      atMs >= this.#atMs
    ) {
      const newView = Number(data.view ?? view)
      this.#seen = { ...kill, leader: node, newView, electedAfterMs: Math.round(atMs - this.#atMs) }
    }
  }
}
