/**
 * The superblock of one group as its host uses it (spec consensus.md §1.4, metadata-storage.md §1.6–1.8): identity check
 * at boot, and writes that carry forward what no writer may lower.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { Checksum, Offset, Op, type ReplicaId, type View } from '../bytes/units.ts'
import type { Disk } from '../storage/disk.ts'
import { SuperblockStore } from '../storage/superblock.ts'
import { acceptForBoot, type VsrState } from '../storage/superblock-record.ts'

export interface ReplicaIdentity {
  readonly cluster: bigint
  readonly replica: ReplicaId
  readonly replicaCount: number
}

export class GroupSuperblock {
  /** What the newest record says; undefined while none was ever written. */
  recorded: VsrState | undefined
  readonly directory: string
  private readonly store: SuperblockStore
  private readonly identity: ReplicaIdentity

  private constructor(store: SuperblockStore, identity: ReplicaIdentity, recorded: VsrState | undefined) {
    this.store = store
    this.directory = store.directory
    this.identity = identity
    this.recorded = recorded
  }

  /**
   * Opens the superblock of `directory`, which must exist.
   * @throws EngineError SuperblockUnreadable, SuperblockIdentityMismatch; DecodeError; DiskError. Nothing is written then.
   */
  static async open(disk: Disk, directory: string, hash: Hash, identity: ReplicaIdentity): Promise<GroupSuperblock> {
    const { store, verdict } = await SuperblockStore.openWithLatest(disk, directory, hash)
    if (verdict.kind === 'unreadable') {
      throw new EngineError('SuperblockUnreadable', `${directory}: ${verdict.why}`, {
        path: directory,
        advice: 'inspect both slot files; in a cluster, wipe this directory and let the node rejoin',
      })
    }
    if (verdict.kind === 'empty') return new GroupSuperblock(store, identity, undefined)
    const state = acceptForBoot(verdict.payload)
    const same =
      state.cluster === identity.cluster &&
      state.replicaId === identity.replica &&
      state.replicaCount === identity.replicaCount
    if (!same) {
      throw new EngineError('SuperblockIdentityMismatch', `${directory} belongs to another replica or cluster`, {
        path: directory,
        expected: `cluster ${identity.cluster}, replica ${identity.replica} of ${identity.replicaCount}`,
        actual: `cluster ${state.cluster}, replica ${state.replicaId} of ${state.replicaCount}`,
        advice: 'start the node with the identity that this directory was written under',
      })
    }
    return new GroupSuperblock(store, identity, state)
  }

  /** Writes the pair. `frontier` is sampled when the write's turn comes; it and the reservation never go down. */
  async write(view: View, logView: View, commitMax: Op, frontier: () => Offset): Promise<VsrState> {
    const written = await this.store.write(() => {
      const last = this.recorded
      const offsetFrontier = maximum(frontier(), last?.offsetFrontier ?? Offset(0n))
      return {
        cluster: this.identity.cluster,
        replicaId: this.identity.replica,
        replicaCount: this.identity.replicaCount,
        view,
        logView,
        commitMax: maximum(commitMax, last?.commitMax ?? Op(0n)),
        checkpointOp: last?.checkpointOp ?? Op(0n),
        checkpointChecksum: last?.checkpointChecksum ?? Checksum(0n),
        offsetFrontier,
        offsetReserved: maximum(offsetFrontier, last?.offsetReserved ?? Offset(0n)),
      }
    })
    this.recorded = written
    return written
  }
}

const maximum = <T extends bigint>(a: T, b: T): T => (a > b ? a : b)
