/**
 * What stands in which slot of the log's index, and what that means (spec metadata-storage.md §2.2, §2.3, §3.4): slot = op
 * mod slots, so the log goes round and an entry takes the place of one that a checkpoint has freed. Pure.
 */
import type { WalScanSnapshot } from '../../../shared/inspection/logs.ts'
import type { WalSnapshot } from '../../../shared/inspection/snapshots.ts'

export const SLOT_STATES = [
  'free',
  'freed',
  'writing',
  'prepared',
  'committed',
  'applied',
  'checkpointed',
  'hole',
  'faulty',
] as const
export type SlotState = (typeof SLOT_STATES)[number]

export const SLOT_WORDS: Readonly<Record<SlotState, string>> = {
  free: 'never used, or its entry was truncated',
  freed: 'freed by the last checkpoint',
  writing: 'append under way, not synced: nobody acknowledges it yet',
  prepared: 'durable here, not known to be committed',
  committed: 'committed, not applied here yet',
  applied: 'committed and applied',
  checkpointed: 'covered by the snapshot: its slot may be taken',
  hole: 'between entries that are held, and not held itself: repair must bring it',
  faulty: 'the file does not hold what was written',
}

export interface Slot {
  readonly slot: number
  readonly state: SlotState
  /** The op in it, or, of a hole, an append or a freed slot, the op that belongs or belonged there. */
  readonly op: bigint | undefined
  /** How often the log had gone round when this op came. */
  readonly round: bigint | undefined
}

type Wal = Pick<
  WalSnapshot,
  'slots' | 'snapshotOp' | 'lastOp' | 'appliedOp' | 'commitMax' | 'waitingOps' | 'checkpoint' | 'entries'
>

export function slotsOf(wal: Wal, scan?: WalScanSnapshot): Slot[] {
  const count = BigInt(wal.slots)
  const of = (slot: number, state: SlotState, op?: bigint): Slot => ({
    slot,
    state,
    op,
    round: op === undefined ? undefined : op / count,
  })
  const slots = Array.from({ length: wal.slots }, (_, slot) => of(slot, 'free'))
  const put = (op: bigint, state: SlotState): void => {
    const slot = Number(op % count)
    slots[slot] = of(slot, state, op)
  }
  const freed = wal.checkpoint?.freed
  if (freed) {
    const to = BigInt(freed.toOp)
    const from = BigInt(freed.fromOp)
    for (let op = to - from >= count ? to - count + 1n : from; op <= to; op++) put(op, 'freed')
  }
  const [last, floor] = [BigInt(wal.lastOp), BigInt(wal.snapshotOp)]
  for (let op = last - floor > count ? last - count + 1n : floor + 1n; op <= last; op++) put(op, 'hole')
  const limits = {
    paired: BigInt(wal.checkpoint?.pairedOp ?? wal.snapshotOp),
    applied: BigInt(wal.appliedOp),
    committed: BigInt(wal.commitMax),
  }
  for (const entry of wal.entries) {
    const op = BigInt(entry.op)
    put(op, isFaulty(entry, scan) ? 'faulty' : stateOf(op, limits))
  }
  for (const op of wal.waitingOps) put(BigInt(op), 'writing')
  return slots
}

function stateOf(op: bigint, limits: { paired: bigint; applied: bigint; committed: bigint }): SlotState {
  if (op <= limits.paired) return 'checkpointed'
  if (op <= limits.applied) return 'applied'
  return op <= limits.committed ? 'committed' : 'prepared'
}

/** A scan stops at the first thing that is wrong: that entry is faulty, and nothing behind it was judged. */
function isFaulty(entry: Wal['entries'][number], scan: WalScanSnapshot | undefined): boolean {
  const problem = scan?.problem
  return problem !== undefined && problem.positionBytes === entry.positionBytes
}

/** One line of the ring's table: a slot with something in it, or missing from it; with its entry, where one is held. */
export interface LogRow {
  readonly op: bigint
  readonly slot: number
  readonly round: bigint
  readonly state: SlotState
  readonly entry: Wal['entries'][number] | undefined
}

/** What the ring draws and a checkpoint has not freed, newest first. */
export function logRows(slots: readonly Slot[], entries: Wal['entries']): LogRow[] {
  const byOp = new Map(entries.map(entry => [BigInt(entry.op), entry]))
  return slots
    .flatMap(({ slot, state, op, round }): LogRow[] =>
      op === undefined || round === undefined || state === 'freed'
        ? []
        : [{ op, slot, round, state, entry: byOp.get(op) }],
    )
    .sort((a, b) => (a.op < b.op ? 1 : -1))
}

/** Entries whose header was never sealed, so that nothing proves it. */
export const unsealedHeaders = (entries: Wal['entries']): number =>
  entries.filter(entry => /^0+$/.test(entry.checksum)).length

/** Entries that follow each other by op and not by checksum. */
export function brokenParents(entries: Wal['entries']): Set<string> {
  const byOp = [...entries].sort((a, b) => (BigInt(a.op) < BigInt(b.op) ? -1 : 1))
  const broken = new Set<string>()
  for (let at = 1; at < byOp.length; at++) {
    const [before, entry] = [byOp[at - 1]!, byOp[at]!]
    const sealed = !/^0+$/.test(before.checksum) && !/^0+$/.test(entry.checksum)
    if (sealed && BigInt(before.op) + 1n === BigInt(entry.op) && before.checksum !== entry.parent) broken.add(entry.op)
  }
  return broken
}

export const countStates = (slots: readonly Slot[]): ReadonlyMap<SlotState, number> => {
  const counts = new Map<SlotState, number>()
  for (const { state } of slots) counts.set(state, (counts.get(state) ?? 0) + 1)
  return counts
}
