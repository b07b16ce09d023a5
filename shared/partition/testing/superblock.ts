/** The superblock of a partition on the test's disk, in its real format; `backedOff` is for the test to set. */
import { Checksum, Offset, Op, ReplicaId, View } from '../../bytes/units.ts'
import type { Disk } from '../../storage/disk.ts'
import { SuperblockStore } from '../../storage/superblock.ts'
import { decodeVsrState, type VsrState } from '../../storage/superblock-record.ts'
import { larger, type OffsetRecord, type OffsetSuperblock } from '../reservation.ts'
import { DIRECTORY, hash } from './harness.ts'

export class TestSuperblock implements OffsetSuperblock {
  private readonly store: SuperblockStore
  private state: VsrState
  writes = 0
  off = false

  private constructor(store: SuperblockStore, state: VsrState) {
    this.store = store
    this.state = state
  }

  static async open(disk: Disk, replicaCount = 1): Promise<TestSuperblock> {
    await disk.makeDirectory(DIRECTORY)
    const { store, verdict } = await SuperblockStore.openWithLatest(disk, DIRECTORY, hash)
    if (verdict.kind === 'unreadable') throw new Error(verdict.why)
    const fresh: VsrState = {
      cluster: 9n,
      replicaId: ReplicaId(0),
      replicaCount,
      view: View(3),
      logView: View(2),
      commitMax: Op(0n),
      checkpointOp: Op(0n),
      checkpointChecksum: Checksum(0n),
      offsetFrontier: Offset(0n),
      offsetReserved: Offset(0n),
    }
    return new TestSuperblock(store, verdict.kind === 'present' ? decodeVsrState(verdict.payload).state : fresh)
  }

  /** One whose record says this, written unless it says nothing. */
  static async saying(disk: Disk, frontier: bigint, reserved: bigint, replicaCount = 1): Promise<TestSuperblock> {
    const superblock = await TestSuperblock.open(disk, replicaCount)
    if (frontier > 0n || reserved > 0n) await superblock.write(() => ({ frontier, reserved }))
    superblock.writes = 0
    return superblock
  }

  recorded(): OffsetRecord {
    return { frontier: this.state.offsetFrontier, reserved: this.state.offsetReserved }
  }

  backedOff(): boolean {
    return this.off
  }

  async write(claim: (recorded: OffsetRecord) => OffsetRecord): Promise<void> {
    try {
      this.state = await this.store.write(() => {
        const { frontier, reserved } = claim(this.recorded())
        return {
          ...this.state,
          offsetFrontier: Offset(frontier),
          offsetReserved: Offset(larger(reserved, frontier)),
        }
      })
      this.writes++
    } catch (error) {
      this.off = true
      throw error
    }
  }
}
