/** Configuration of the consensus groups of a node (spec consensus.md §1.1). */
import type { GroupId } from '../bytes/units.ts'
import type { GroupConfig, Plane } from '../consensus/contract.ts'
import { METADATA_GROUP } from '../protocol/groups.ts'
import type { Core } from './core.ts'

const groupConfig = (
  core: Core,
  cluster: bigint,
  group: GroupId,
  plane: Plane,
  prepareDepth: number,
  incarnation: bigint,
): GroupConfig => ({
  cluster,
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
  groupConfig(
    core,
    core.identity.cluster,
    METADATA_GROUP,
    'metadata',
    core.config.metadata.prepareQueueDepth,
    core.incarnation,
  )

/**
 * The nonce guard of probes is off on partition groups. Their numbers are given out again when a topic is deleted, and a node
 * that lags still has the old partition: it must neither vote in the new one's group nor acknowledge for it. No header has
 * room for an incarnation, so the cluster that frames name is one of this incarnation.
 */
export const partitionGroupConfig = (core: Core, group: GroupId, createdRevision: bigint): GroupConfig =>
  groupConfig(
    core,
    core.identity.cluster ^ (createdRevision << 64n),
    group,
    'partition',
    core.config.partition.prepareQueueDepth,
    0n,
  )
