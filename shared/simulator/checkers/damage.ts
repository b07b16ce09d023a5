/**
 * Damage in the middle of a metadata log is no torn tail: an entry that verifies behind it was synced after what is damaged,
 * so a boot that cuts there drops what was durable and must refuse instead (spec metadata-storage.md §2.4).
 */

import { decodeLog, type LogEntry } from './decode.ts'
import type { Watch, WatchWorld } from './watch.ts'

const LOG_PATH = 'metadata/journal.wal'

interface Found {
  readonly position: number
  readonly survivor: LogEntry
}

export class Damage implements Watch {
  private readonly world: WatchWorld
  private readonly found: (Found | undefined)[]

  constructor(world: WatchWorld) {
    this.world = world
    this.found = world.disks.map(() => undefined)
  }

  starting(node: number): void {
    this.found[node] = this.look(node)
  }

  booted(node: number): void {
    const found = this.found[node]
    this.found[node] = undefined
    if (!found) return
    const { position, survivor } = found
    this.world.checker.fail(
      'damage-accepted',
      `boots from a log that is damaged at byte ${position}, in front of op ${survivor.op} at byte ${survivor.position}`,
      node,
    )
  }

  private look(node: number): Found | undefined {
    const { hash, disks } = this.world
    const content = disks[node]!.durable(LOG_PATH)?.content
    if (!content) return undefined
    const { bytes, size } = content
    const { end } = decodeLog(hash, bytes, size)
    for (let at = end + 1; at + 256 <= size; at++) {
      if (bytes[at + 60] !== 6) continue
      const [survivor] = decodeLog(hash, bytes, size, at, 1).entries
      if (survivor) return { position: end, survivor }
    }
    return undefined
  }
}
