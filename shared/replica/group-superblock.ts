/**
 * The superblock of one group as its host uses it (spec consensus.md §1.4, metadata-storage.md §1.6–1.8): identity check
 * at boot, and writes that carry forward what no writer may lower.
 */
import { DecodeError, EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { Checksum, Offset, Op, type ReplicaId, View } from '../bytes/units.ts'
import { RULES_ON, type Rules } from '../protocol/rules.ts'
import type { Disk } from '../storage/disk.ts'
import type { Pairing } from '../storage/snapshot-store.ts'
import { type SlotReading, SuperblockStore } from '../storage/superblock.ts'
import { acceptForBoot, type VsrState } from '../storage/superblock-record.ts'

export interface ReplicaIdentity {
  readonly cluster: bigint
  readonly replica: ReplicaId
  readonly replicaCount: number
}

export interface PairToWrite {
  readonly view: View
  readonly logView: View
  readonly commitMax: Op
  readonly frontier: Offset
}

interface FieldsToWrite extends PairToWrite {
  readonly reserved: Offset
}

export class GroupSuperblock {
  /** What the newest record says; undefined while none was ever written. */
  recorded: VsrState | undefined
  readonly directory: string
  /** The snapshot that the next write pairs with; every write carries it. Metadata only. */
  pairing: Pairing
  private tail: Promise<unknown> = Promise.resolve()
  private readonly store: SuperblockStore
  private readonly identity: ReplicaIdentity

  private constructor(store: SuperblockStore, identity: ReplicaIdentity, recorded: VsrState | undefined) {
    this.store = store
    this.directory = store.directory
    this.identity = identity
    this.recorded = recorded
    this.pairing = { op: recorded?.checkpointOp ?? Op(0n), checksum: recorded?.checkpointChecksum ?? Checksum(0n) }
  }

  /**
   * Opens the superblock of `directory`, which must exist.
   * @throws EngineError SuperblockUnreadable, SuperblockIdentityMismatch; DecodeError; DiskError. Nothing is written then.
   */
  static async open(
    disk: Disk,
    directory: string,
    hash: Hash,
    identity: ReplicaIdentity,
    rules: Rules = RULES_ON,
  ): Promise<GroupSuperblock> {
    const { store, reading, verdict } = await SuperblockStore.openWithLatest(
      disk,
      directory,
      hash,
      rules.corruptSlotRefuses,
    )
    if (verdict.kind === 'unreadable') throw unreadable(directory, verdict.why, [reading.a, reading.b])
    if (verdict.kind === 'empty') return new GroupSuperblock(store, identity, undefined)
    const winner = reading[verdict.winner]
    const state = accept(winner, verdict.payload)
    checkIdentity(winner, state, identity)
    return new GroupSuperblock(store, identity, state)
  }

  /** Writes the pair. `frontier` is sampled when the write's turn comes; it and the reservation never go down. */
  write(view: View, logView: View, commitMax: Op, frontier: () => Offset): Promise<VsrState> {
    return this.writeWith(() => ({ view, logView, commitMax, frontier: frontier() }))
  }

  /** Writes what `capture` returns when the write's turn comes. A pair below the recorded one is replaced by that one. */
  writeWith(capture: () => PairToWrite): Promise<VsrState> {
    return this.writeNext(last => {
      const wanted = capture()
      const older = last !== undefined && (wanted.view < last.view || wanted.logView < last.logView)
      const { view, logView } = older ? last : wanted
      const frontier = maximum(wanted.frontier, last?.offsetFrontier ?? Offset(0n))
      const commitMax = maximum(wanted.commitMax, last?.commitMax ?? Op(0n))
      return { view, logView, commitMax, frontier, reserved: last?.offsetReserved ?? Offset(0n) }
    })
  }

  /** Writes the two offsets of a partition, lower ones too; the pair is carried forward. */
  writeOffsets(capture: () => { readonly frontier: Offset; readonly reserved: Offset }): Promise<VsrState> {
    return this.writeNext(last => ({
      view: last?.view ?? View(0),
      logView: last?.logView ?? View(0),
      commitMax: last?.commitMax ?? Op(0n),
      ...capture(),
    }))
  }

  /**
   * One write after the other, the note of what was written included: the store alone would take the next capture before
   * `recorded` is moved, and that one would carry forward a pair that is older than what lies on the disk.
   */
  private writeNext(next: (last: VsrState | undefined) => FieldsToWrite): Promise<VsrState> {
    const turn = this.tail.then(() => this.writeNow(next))
    this.tail = turn.catch(() => {})
    return turn
  }

  private async writeNow(next: (last: VsrState | undefined) => FieldsToWrite): Promise<VsrState> {
    this.recorded = await this.store.write(() => {
      const { view, logView, commitMax, frontier, reserved } = next(this.recorded)
      return {
        cluster: this.identity.cluster,
        replicaId: this.identity.replica,
        replicaCount: this.identity.replicaCount,
        view,
        logView,
        commitMax,
        checkpointOp: this.pairing.op,
        checkpointChecksum: this.pairing.checksum,
        offsetFrontier: frontier,
        offsetReserved: maximum(frontier, reserved),
      }
    })
    return this.recorded
  }
}

/** Where the payload starts in a slot file (§1.2). */
const PAYLOAD_AT = 28

function unreadable(directory: string, why: string, slots: readonly SlotReading[]): EngineError {
  const bad = slots.find(slot => slot.class.kind === 'corrupt')
  const failure = bad?.class.kind === 'corrupt' ? bad.class.failure : undefined
  const version = bad?.class.kind === 'corrupt' ? bad.class.version : undefined
  return new EngineError(
    'SuperblockUnreadable',
    `${directory}: ${why}${failure ? ` (${bad!.path}, byte ${failure.position}: ${failure.message})` : ''}`,
    {
      path: bad?.path ?? directory,
      ...(failure && { position: failure.position }),
      ...(failure?.expected !== undefined && { expected: failure.expected }),
      ...(failure?.actual !== undefined && { actual: failure.actual }),
      advice:
        version === undefined
          ? 'inspect both slot files; in a cluster, wipe this directory and let the node rejoin'
          : `version ${version} is of a later build: start that one`,
    },
  )
}

function accept({ path }: SlotReading, payload: Uint8Array): VsrState {
  try {
    return acceptForBoot(payload)
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause
    const { code, context } = cause
    throw new EngineError(
      code,
      `${path}: ${cause.message}`,
      { ...context, path, position: PAYLOAD_AT + cause.position },
      { cause },
    )
  }
}

/** Cluster, then replica, then their number; the position is that of the field in the slot file. */
function checkIdentity({ path }: SlotReading, state: VsrState, identity: ReplicaIdentity): void {
  const fields = [
    { field: 'cluster', at: 0, expected: identity.cluster, actual: state.cluster },
    { field: 'replica', at: 16, expected: identity.replica, actual: state.replicaId },
    { field: 'replica count', at: 17, expected: identity.replicaCount, actual: state.replicaCount },
  ]
  const wrong = fields.find(({ expected, actual }) => expected !== actual)
  if (wrong === undefined) return
  throw new EngineError('SuperblockIdentityMismatch', `${path} was written with another ${wrong.field}`, {
    path,
    position: PAYLOAD_AT + wrong.at,
    expected: `${wrong.field} ${wrong.expected}`,
    actual: `${wrong.field} ${wrong.actual}`,
    advice: 'start the node with the identity that this directory was written under',
  })
}

const maximum = <T extends bigint>(a: T, b: T): T => (a > b ? a : b)
