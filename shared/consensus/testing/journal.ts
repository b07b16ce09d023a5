/**
 * Journals of the test cluster. The metadata one is a queue of appends and truncations that land in order, later; what has
 * landed survives a crash, what has not may or may not. The partition one is memory with a ring of applied entries, and
 * segments that survive: one message per op, its offset stamped into the body by whoever mints it.
 */
import { Op } from '../../bytes/units.ts'
import type { PrepareHeader } from '../../protocol/headers.ts'
import type { GroupAction, GroupEvent, GroupJournal } from '../contract.ts'
import type { Dice } from './dice.ts'

type Append = Extract<GroupAction, { kind: 'append' }>
interface Entry {
  readonly header: PrepareHeader
  readonly frame: Uint8Array
}

/** Entries are kept in any order; both ends are asked rarely. */
function bounds(entries: ReadonlyMap<bigint, Entry>): { oldest: Op; highest: Op } {
  let oldest = 0n
  let highest = 0n
  for (const op of entries.keys()) {
    if (op > highest) highest = op
    if (oldest === 0n || op < oldest) oldest = op
  }
  return { oldest: Op(oldest), highest: Op(highest) }
}

type WalStep = { kind: 'append'; entry: Entry; cancelled: boolean } | { kind: 'truncate'; fromOp: Op }

export interface TestJournal extends GroupJournal {
  append(action: Append): void
  truncate(fromOp: Op): void
  applied(op: Op): void
  setFloor(floor: Op): void
  /** Events that became due. */
  tick(): GroupEvent[]
  /** What the next life finds. `random` decides about what had not landed. */
  afterCrash(random: Dice): TestJournal
  failNext: number
  /** Answers that are held back until released: appends that stay in flight. */
  hold: boolean
}

export class WalJournal implements TestJournal {
  readonly entries = new Map<bigint, Entry>()
  private readonly durable: Map<bigint, Entry>
  private queue: { step: WalStep; due: number }[] = []
  private now = 0
  private readonly random: Dice
  private readonly delayMax: number
  failNext = 0
  hold = false

  constructor(random: Dice, delayMax: number, durable = new Map<bigint, Entry>()) {
    this.random = random
    this.delayMax = delayMax
    this.durable = durable
    for (const [op, entry] of durable) this.entries.set(op, entry)
  }

  header(op: Op) {
    return this.entries.get(op)?.header
  }
  frame(op: Op) {
    return this.entries.get(op)?.frame
  }
  highestOp() {
    return bounds(this.entries).highest
  }
  oldestOp() {
    return bounds(this.entries).oldest
  }
  private floor = Op(0n)
  floorOp() {
    return this.floor
  }
  /** As a checkpoint would: entries below `op` are gone, covered by a snapshot. */
  drainBelow(op: Op) {
    this.floor = Op(op - 1n)
    for (const held of [...this.entries.keys()]) if (held < op) this.entries.delete(held)
  }
  mayAcknowledge() {
    return true
  }
  append({ header, frame }: Append) {
    if (this.entries.has(header.op)) throw new Error(`op ${header.op} is appended over a held one`)
    if (this.queue.some(({ step }) => step.kind === 'append' && !step.cancelled && step.entry.header.op === header.op))
      throw new Error(`op ${header.op} is appended twice`)
    this.push({ kind: 'append', entry: { header, frame }, cancelled: false })
  }
  truncate(fromOp: Op) {
    for (const op of [...this.entries.keys()]) if (op >= fromOp) this.entries.delete(op)
    for (const { step } of this.queue)
      if (step.kind === 'append' && step.entry.header.op >= fromOp) step.cancelled = true
    this.push({ kind: 'truncate', fromOp })
  }
  applied() {}
  setFloor() {}

  private push(step: WalStep) {
    const last = this.queue[this.queue.length - 1]?.due ?? 0
    this.queue.push({ step, due: Math.max(last, this.now + this.random.upTo(this.delayMax)) })
  }

  tick(): GroupEvent[] {
    this.now++
    const events: GroupEvent[] = []
    while (!this.hold && this.queue.length > 0 && this.queue[0]!.due <= this.now) {
      const { step } = this.queue.shift()!
      if (step.kind === 'append' && this.failNext > 0) {
        this.failNext--
        const { op, checksum } = step.entry.header
        events.push({ kind: 'appendFailed', op, checksum })
        continue
      }
      land(this.durable, step)
      if (step.kind !== 'append') continue
      if (!step.cancelled) this.entries.set(step.entry.header.op, step.entry)
      // A host may report an append that was truncated while it was under way; it must not matter.
      if (!step.cancelled || this.random.upTo(1) === 0) events.push({ kind: 'appended', header: step.entry.header })
    }
    return events
  }

  afterCrash(random: Dice): TestJournal {
    const landed = random.upTo(this.queue.length)
    for (const { step } of this.queue.slice(0, landed)) land(this.durable, step)
    return new WalJournal(this.random, this.delayMax, this.durable)
  }
}

function land(durable: Map<bigint, Entry>, step: WalStep) {
  if (step.kind === 'append') durable.set(step.entry.header.op, step.entry)
  else for (const op of [...durable.keys()]) if (op >= step.fromOp) durable.delete(op)
}

/** Where the offset sits in a frame of the test: the first bytes of the body. */
const OFFSET_AT = 256

export class MemoryJournal implements TestJournal {
  private readonly entries = new Map<bigint, Entry>()
  private readonly events: GroupEvent[] = []
  /** Offsets on disk, by payload. Survives. */
  readonly disk: string[]
  private readonly ring: number
  private appliedOp = 0n
  private next: bigint
  private readonly recovered: bigint
  failNext = 0
  hold = false

  constructor(disk: string[], ring: number) {
    this.disk = disk
    this.ring = ring
    this.next = BigInt(disk.length)
    this.recovered = this.next
  }

  header(op: Op) {
    return this.entries.get(op)?.header
  }
  frame(op: Op) {
    return this.entries.get(op)?.frame
  }
  highestOp() {
    return bounds(this.entries).highest
  }
  oldestOp() {
    return bounds(this.entries).oldest
  }
  floorOp() {
    return Op(0n)
  }
  mayAcknowledge() {
    return true
  }
  heldFrontier() {
    const committed = BigInt(this.disk.length)
    return { held: this.next, committed, reserved: this.next }
  }
  connectsAbove(floor: Op, _toOp: Op) {
    const lowest = this.offsets(floor)[0]
    return lowest !== undefined && lowest <= this.recovered
  }
  joinsDisk(floor: Op, _toOp: Op, whole: boolean): 'joins' | 'not_yet' | 'no' {
    const offsets = this.offsets(floor)
    if (offsets.length === 0) return whole && this.recovered === 0n ? 'joins' : 'not_yet'
    if (offsets[0]! > this.recovered) return 'no'
    return whole || offsets.at(-1)! + 1n >= this.recovered ? 'joins' : 'not_yet'
  }
  /** Of the entries above `floor` that are not applied, ascending. */
  private offsets(floor: Op): bigint[] {
    const found: bigint[] = []
    for (const [op, { frame }] of this.entries)
      if (op > floor && op > this.appliedOp) found.push(new DataView(frame.buffer).getBigUint64(OFFSET_AT, true))
    return found.sort((a, b) => Number(a - b))
  }
  append({ role, header, frame }: Append) {
    if (this.entries.has(header.op)) throw new Error(`op ${header.op} is appended over a held one`)
    const stored = frame.slice()
    const view = new DataView(stored.buffer)
    if (role === 'primary') view.setBigUint64(OFFSET_AT, this.next, true)
    const offset = view.getBigUint64(OFFSET_AT, true)
    if (this.failNext > 0 || (role === 'backup' && offset !== this.next)) {
      if (this.failNext > 0) this.failNext--
      this.events.push({ kind: 'appendFailed', op: header.op, checksum: header.checksum })
      return
    }
    if (offset + 1n > this.next) this.next = offset + 1n
    this.entries.set(header.op, { header, frame: stored })
    this.events.push({ kind: 'appended', header })
  }
  truncate(fromOp: Op) {
    if (fromOp <= this.appliedOp) throw new Error(`op ${fromOp} is applied and truncated`)
    for (const [op, { frame }] of [...this.entries]) {
      if (op < fromOp) continue
      this.entries.delete(op)
      const offset = new DataView(frame.buffer).getBigUint64(OFFSET_AT, true)
      if (offset < this.next) this.next = offset < BigInt(this.disk.length) ? BigInt(this.disk.length) : offset
    }
  }
  applied(op: Op) {
    this.appliedOp = op
    const { frame, header } = this.entries.get(op)!
    const offset = Number(new DataView(frame.buffer).getBigUint64(OFFSET_AT, true))
    const payload = header.checksum.toString(16)
    const before = this.disk[offset]
    if (before !== undefined && before !== payload) throw new Error(`offset ${offset} is confirmed for two payloads`)
    if (before === undefined && offset !== this.disk.length) throw new Error(`offset ${offset} leaves a hole`)
    this.disk[offset] = payload
    for (const held of [...this.entries.keys()]) if (held + BigInt(this.ring) <= op) this.entries.delete(held)
  }
  setFloor(floor: Op) {
    this.appliedOp = floor
  }
  tick(): GroupEvent[] {
    return this.hold ? [] : this.events.splice(0)
  }
  afterCrash(): TestJournal {
    return new MemoryJournal(this.disk, this.ring)
  }
}
