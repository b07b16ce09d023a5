/** The parts of a running replica, as its request handlers see them. */
import type { AutoCommits } from './auto-commits.ts'
import type { ClientDoor } from './client-door.ts'
import type { Core } from './core.ts'
import type { Forwards } from './forwards.ts'
import type { MetadataHost } from './metadata-host.ts'
import type { Partitions } from './partitions.ts'
import type { Placement } from './placement.ts'
import type { ReadBarrier } from './read-barrier.ts'

export interface Parts {
  readonly core: Core
  readonly metadata: MetadataHost
  readonly partitions: Partitions
  readonly door: ClientDoor
  readonly forwards: Forwards
  readonly placement: Placement
  readonly autoCommits: AutoCommits
  readonly readBarrier: ReadBarrier
}
