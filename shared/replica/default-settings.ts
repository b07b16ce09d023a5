/**
 * The settings of a node whose configuration names none (spec consensus.md §4, metadata-storage.md §8.3): what the dry run
 * of a boot, the simulated world and the tests start from. A node process takes its own from its configuration.
 */
import { RULES_ON } from '../protocol/rules.ts'
import type { ReplicaConfig } from './contract.ts'

export const DEFAULT_SETTINGS = {
  root: { username: 'iggy', password: 'iggy' },
  timers: {
    prepare: 25,
    commitMessage: 50,
    normalHeartbeat: 500,
    startViewChangeMessage: 50,
    doViewChangeMessage: 50,
    viewChangeStatus: 500,
    requestStartView: 100,
    repairRetry: 100,
  },
  probeAttemptsMax: 5,
  repairChunkMax: 128,
  metadata: { prepareQueueDepth: 32, journalSlots: 1024, clientsTableMax: 8192 },
  partition: { prepareQueueDepth: 32, evictedRingCapacity: 4096, evictedRingBytesMax: 16 * 1024 * 1024 },
  validateChecksum: true,
  messageBytesMax: 64 * 1024 * 1024,
  rules: RULES_ON,
} as const satisfies Partial<ReplicaConfig>
