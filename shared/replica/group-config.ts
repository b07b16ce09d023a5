/** Configuration of the consensus groups of a node (spec consensus.md §1.1). */
import type { GroupId } from '../bytes/units.ts'
import type { GroupConfig, Plane } from '../consensus/contract.ts'
import { METADATA_GROUP } from '../protocol/groups.ts'
import type { Core } from './core.ts'

const groupConfig = (
  core: Core,
  group: GroupId,
  plane: Plane,
  prepareDepth: number,
  incarnation: bigint,
): GroupConfig => ({
  cluster: core.identity.cluster,
  replica: core.self,
  replicaCount: core.identity.replicaCount,
  group,
  plane,
  prepareDepth,
  requestDepth: 2 * prepareDepth,
  probeAttemptsMax: core.config.probeAttemptsMax,
  repairChunkMax: core.config.repairChunkMax,
  timers: core.config.timers,
  rules: core.config.rules,
  hash: core.ports.hash,
  incarnation,
  linkUp: peer => core.ports.replicaLinks.isConnected(peer),
})

export const metadataGroupConfig = (core: Core): GroupConfig =>
  groupConfig(core, METADATA_GROUP, 'metadata', core.config.metadata.prepareQueueDepth, core.incarnation)

/** The nonce guard of probes is off on partition groups. */
export const partitionGroupConfig = (core: Core, group: GroupId): GroupConfig =>
  groupConfig(core, group, 'partition', core.config.partition.prepareQueueDepth, 0n)
