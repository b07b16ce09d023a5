/**
 * What must hold of the partitions (spec drills.md §2.5): every index entry proves a batch and every count is a recount (8),
 * what a boot makes of a directory is what a second reading of it gives (13), no offset is minted above the reservation (7),
 * no messages leave a directory before its record accounts for them, and replicas hold equal bytes (12).
 */
import type { Hash } from '../../bytes/hash.ts'
import { Command } from '../../protocol/commands.ts'
import { type PartitionKey, unpackGroup } from '../../protocol/groups.ts'
import { Operation } from '../../protocol/operations.ts'
import type { ReplicaInspection } from '../../replica/contract.ts'
import type { DiskCall, SimulatedDisk } from '../disk.ts'
import type { WorldFact } from '../world.ts'
import type { Checker, CheckerName } from './checker.ts'
import { brokenChain, type ReadBatch, readAnchorFile, readBatch, readSegment } from './segments.ts'

export type PartitionView = NonNullable<ReturnType<ReplicaInspection['partition']>>
type SegmentView = PartitionView['segments'][number]

/** What is known of one log file: as far as it was read, it is sound. */
interface Known {
  bytes: number
  indexBytes: number
  end: bigint
  readonly batches: Map<number, ReadBatch>
}

const INDEX_ENTRY = 24
const logOf = (directory: string, start: bigint) => `${directory}/${start.toString().padStart(20, '0')}.log`
const indexOf = (directory: string, start: bigint) => logOf(directory, start).replace('.log', '.index')

/** What the checker may look at. */
export interface PartitionWorld {
  readonly checker: Checker
  readonly hash: Hash
  readonly disks: readonly SimulatedDisk[]
  /** What a running node says of its partitions. */
  partitions(node: number): PartitionView[]
  partition(node: number, group: string): PartitionView | undefined
  /** Disk calls of this node fail in this run, or its disk is damaged. */
  troubled(node: number): boolean
  nowMs(): number
}

/** A poll that began before the segments of its partition were replaced may find them gone; it has ended by then. */
const REPLACED_MS = 5_000
const REPLACING: ReadonlySet<string> = new Set([
  'partition_purged',
  'transfer_installed',
  'tail_set_aside',
  'segment_removed',
  'chain_quarantined',
  'partition_materialised',
])

export class PartitionChecker {
  private readonly world: PartitionWorld
  private readonly checker: Checker
  private readonly disks: readonly SimulatedDisk[]
  private readonly hash: Hash
  /** By node and group: when its segments were last replaced. */
  private readonly replaced = new Map<string, number>()
  private readonly known: Map<string, Known>[]
  /** Per node: directories that were damaged since its boot: nothing is asked of them until the next one has looked. */
  private readonly damagedDirectories: Set<string>[]
  /** By node and group: the highest op that was sent on in this life, and the highest that was asked for by repair. */
  private readonly sentOps: Map<bigint, bigint>[]
  private readonly repairedOps: Map<bigint, bigint>[]
  /** By node and group: the purge that was applied last; a batch minted behind an earlier one does nothing. */
  private readonly purged = new Map<string, bigint>()

  constructor(world: PartitionWorld) {
    const { checker, disks, hash } = world
    this.world = world
    this.checker = checker
    this.disks = disks
    this.hash = hash
    this.known = disks.map(() => new Map())
    this.damagedDirectories = disks.map(() => new Set())
    this.sentOps = disks.map(() => new Map())
    this.repairedOps = disks.map(() => new Map())
  }

  counted(node: number, group: string, kind: string): void {
    if (kind !== 'persisted') return
    const view = this.world.partition(node, group)
    if (view && !this.isDamaged(node, view)) this.persisted(node, view)
  }

  fact({ kind, node, group, data }: WorldFact): void {
    if (kind === 'partition_purged') this.purged.set(`${node} ${group}`, BigInt(String(data.generation)))
    if (REPLACING.has(kind)) {
      this.replaced.set(`${node} ${group}`, this.world.nowMs())
      const key = /^\d+$/.test(group) ? unpackGroup(BigInt(group) as never) : undefined
      if (key) this.forget(node, directoryOf(key))
    }
    if (kind !== 'read_fault' || this.world.troubled(node)) return
    const since = this.world.nowMs() - (this.replaced.get(`${node} ${group}`) ?? Number.NEGATIVE_INFINITY)
    if (since > REPLACED_MS)
      this.checker.fail('poll', `a poll cannot read what a healthy disk holds: ${data.code}: ${data.message}`, node)
  }

  diskCall(node: number, call: DiskCall, path: string): void {
    if (call === 'unlink' && path.endsWith('.log')) this.unlinking(node, path)
  }

  /** The world has damaged files in this directory. */
  damaged(node: number, directory: string): void {
    this.damagedDirectories[node]!.add(directory)
  }

  booted(node: number): void {
    this.damagedDirectories[node]!.clear()
    for (const view of this.world.partitions(node)) this.opened(node, view)
  }

  private isDamaged(node: number, { directory }: PartitionView): boolean {
    return this.damagedDirectories[node]!.has(directory)
  }

  /** The segments of a directory are others now: what was read of them says nothing any more. */
  private forget(node: number, directory: string): void {
    for (const path of this.known[node]!.keys()) if (path.startsWith(`${directory}/`)) this.known[node]!.delete(path)
  }

  ended(node: number): void {
    this.known[node]!.clear()
    this.sentOps[node]!.clear()
    this.repairedOps[node]!.clear()
  }

  /** A flush round has moved the cursors of this partition. */
  private persisted(node: number, view: PartitionView): void {
    for (let index = view.segments.length - 1; index >= 0; index--) {
      const segment = view.segments[index]!
      const known = this.known[node]!.get(logOf(view.directory, BigInt(segment.startOffset)))
      if (known?.bytes === segment.sizeBytes && known.indexBytes === segment.indexBytes) break
      if (!this.sound(node, view, segment, 'index-soundness')) break
    }
  }

  /** A boot has opened this partition: bounds, counts and next offset, read a second time (checker 13). */
  private opened(node: number, view: PartitionView): void {
    for (const segment of view.segments) if (!this.sound(node, view, segment, 'cold-open')) return
    this.chained(node, view)
    const record = this.checker.durable[node]!.superblock(view.directory)
    if (record === 'corrupt') return
    const { offsetFrontier: frontier, offsetReserved: reserved } = record ?? { offsetFrontier: 0n, offsetReserved: 0n }
    const tail = view.segments.at(-1)!
    const tailStart = BigInt(tail.startOffset)
    const sized = view.segments.findLast(segment => !segment.empty)
    const planted =
      (this.disks.length === 1 && frontier < tailStart && tailStart <= reserved) ||
      this.anchor(node, view.directory, tailStart) !== undefined
    const data = sized ? BigInt(sized.endOffset) + 1n : planted ? 0n : tailStart
    let next = data > frontier ? data : frontier
    if (tail.empty && tailStart > next) next = tailStart
    const says = BigInt(view.group.offsets?.next ?? 0)
    if (says !== next)
      this.checker.fail(
        'cold-open',
        `${view.directory} goes on at offset ${says}, its bytes and its record say ${next}`,
        node,
      )
  }

  /** A frame leaves `from`: a batch in it that was minted or taken live lies below the durable reservation (checker 7). */
  sent(from: number, frame: Uint8Array): void {
    const bytes = new DataView(frame.buffer, frame.byteOffset, frame.length)
    const raise = (ops: Map<bigint, bigint>, group: bigint, op: bigint) => {
      if (op > (ops.get(group) ?? 0n)) ops.set(group, op)
    }
    if (frame[60] === Command.RequestPrepares) {
      raise(this.repairedOps[from]!, bytes.getBigUint64(160, true), bytes.getBigUint64(152, true))
      return
    }
    if (frame[60] !== Command.Prepare || frame[208] !== Operation.SendMessages) return
    const group = bytes.getBigUint64(216, true)
    const op = bytes.getBigUint64(176, true)
    if (op <= (this.sentOps[from]!.get(group) ?? 0n)) return
    raise(this.sentOps[from]!, group, op)
    if (op <= (this.repairedOps[from]!.get(group) ?? 0n)) return
    if (bytes.getBigUint64(228, true) < (this.purged.get(`${from} ${group}`) ?? 0n)) return
    const last = bytes.getBigUint64(256 + 8, true) + BigInt(bytes.getUint32(256 + 48, true)) - 1n
    this.reservedAbove(from, unpackGroup(group as never), last)
  }

  /** A solo node has confirmed an offset. */
  confirmed(key: PartitionKey, offset: bigint): void {
    if (this.disks.length === 1) this.reservedAbove(0, key, offset)
  }

  private reservedAbove(node: number, key: PartitionKey | undefined, last: bigint): void {
    if (!key) return
    const directory = directoryOf(key)
    const record = this.checker.durable[node]!.superblock(directory)
    if (record === 'corrupt') return
    const reserved = record?.offsetReserved ?? 0n
    this.checker.pairsCompared++
    if (reserved <= last)
      this.checker.fail(
        'reservation',
        `${directory}: gives out offset ${last}, its disk reserves up to ${reserved}`,
        node,
      )
  }

  /** A file is about to be unlinked: the record must account for the messages in it, unless later ones stay (spec partition.md §4.1, §4.4). */
  private unlinking(node: number, path: string): void {
    const match = /^(streams\/0\/topics\/\d+\/partitions\/(\d+))\/(\d{20})\.log$/.exec(path)
    if (!match) return
    const [, directory, partition, name] = match as unknown as [string, string, string, string]
    if (this.damagedDirectories[node]!.has(directory)) return
    const disk = this.disks[node]!
    const content = disk.live(path)
    if (!content || content.size === 0) return
    const laterStays = disk
      .paths()
      .some(
        other =>
          other.startsWith(`${directory}/`) && other.endsWith('.log') && other > path && disk.live(other)!.size > 0,
      )
    if (laterStays) return
    const { end } = readSegment(this.hash, content.bytes, content.size, BigInt(name), Number(partition), false)
    const record = this.checker.durable[node]!.superblock(directory)
    if (record === 'corrupt' || record === undefined) return
    // A reservation below what was there is a reset: the offset space begins anew.
    const reset = record.offsetReserved < end
    this.checker.pairsCompared++
    if (record.offsetFrontier < end && !reset)
      this.checker.fail(
        'cold-open',
        `${path} goes, the last that speaks for the offsets up to ${end - 1n}, and the record knows of ${record.offsetFrontier}`,
        node,
      )
  }

  /** At rest (checkers 12 and 13): equal bytes everywhere, and what each disk holds is what its node says. */
  settled(core: readonly number[]): void {
    const byDirectory = new Map<string, Map<number, PartitionView>>()
    for (const node of core) {
      for (const view of this.world.partitions(node)) {
        if (this.isDamaged(node, view)) continue
        const views = byDirectory.get(view.directory) ?? new Map<number, PartitionView>()
        byDirectory.set(view.directory, views.set(node, view))
      }
    }
    for (const views of byDirectory.values()) this.compare(views)
  }

  private compare(views: ReadonlyMap<number, PartitionView>): void {
    for (const [node, view] of views) {
      this.forget(node, view.directory)
      for (const segment of view.segments) if (!this.sound(node, view, segment, 'cold-open')) return
      this.chained(node, view)
      this.durably(node, view)
    }
    const [first, ...others] = [...views]
    if (first) for (const other of others) this.identical(first, other)
  }

  private identical([a, viewA]: [number, PartitionView], [b, viewB]: [number, PartitionView]): void {
    const sized = (view: PartitionView) => view.segments.filter(segment => !segment.empty)
    const [segmentsA, segmentsB] = [sized(viewA), sized(viewB)]
    const end = (segments: SegmentView[]) => BigInt(segments.at(-1)?.endOffset ?? -1) + 1n
    const from = [segmentsA, segmentsB]
      .map(segments => BigInt(segments[0]?.startOffset ?? 0))
      .reduce((x, y) => {
        // The greater of two bigints.
        if (x > y) return x
        return y
      })
    const [endA, endB] = [end(segmentsA), end(segmentsB)]
    const both = ({ startOffset }: SegmentView) =>
      BigInt(startOffset) >= from && BigInt(startOffset) < endA && BigInt(startOffset) < endB
    const [inA, inB] = [segmentsA.filter(both), segmentsB.filter(both)]
    const { directory } = viewA
    const names = (segments: SegmentView[]) => segments.map(({ startOffset }) => startOffset).join(', ')
    if (names(inA) !== names(inB)) {
      this.checker.fail(
        'byte-identity',
        `${directory}: the segments that both hold start at ${names(inA)} on node ${a} and at ${names(inB)} on node ${b}`,
      )
      return
    }
    for (const [index, segment] of inA.entries()) {
      const path = logOf(directory, BigInt(segment.startOffset))
      const [left, right] = [this.disks[a]!.live(path)!.bytes, this.disks[b]!.live(path)!.bytes]
      const other = inB[index]!
      const length = Math.min(segment.sizeBytes, other.sizeBytes)
      this.checker.pairsCompared++
      let at = 0
      while (at < length && left[at] === right[at]) at++
      const sealed = segment.sealed && other.sealed && segment.sizeBytes !== other.sizeBytes
      if (at < length || sealed)
        this.checker.fail('byte-identity', `${path} differs between nodes ${a} and ${b} from byte ${at} on`)
    }
  }

  /** A second recovery of what is on the disk now, damage searched for byte by byte. */
  private chained(node: number, { directory, segments }: PartitionView): void {
    const disk = this.disks[node]!
    const partition = partitionOf(directory)
    const read = segments.map(({ startOffset }) => {
      const start = BigInt(startOffset)
      const content = disk.live(logOf(directory, start))
      return readSegment(this.hash, content?.bytes ?? new Uint8Array(), content?.size ?? 0, start, partition, false)
    })
    const why = brokenChain(read, start => this.anchor(node, directory, start))
    if (why !== undefined) this.checker.fail('cold-open', `${directory}: ${why}`, node)
  }

  /** An eager topic promises that what it persisted survives a loss of power right now. */
  private durably(node: number, { directory, segments, settings }: PartitionView): void {
    if (!settings.enforceFsync || settings.messagesRequiredToSave !== 1) return
    for (const { startOffset, sizeBytes } of segments) {
      const path = logOf(directory, BigInt(startOffset))
      const size = this.disks[node]!.durable(path)?.content.size ?? 0
      if (size < sizeBytes)
        this.checker.fail(
          'cold-open',
          `${path}: ${size} bytes would survive a loss of power, ${sizeBytes} are persisted`,
          node,
        )
    }
  }

  private anchor(node: number, directory: string, start: bigint) {
    const path = logOf(directory, start).replace('.log', '.anchor')
    return readAnchorFile(this.hash, this.disks[node]!.peek(path))
  }

  /** Whether the files of a segment are what the node says of it; reads only what is new. */
  private sound(node: number, { directory }: PartitionView, segment: SegmentView, checker: CheckerName): boolean {
    const disk = this.disks[node]!
    const start = BigInt(segment.startOffset)
    const path = logOf(directory, start)
    const fail = (message: string): false => {
      this.checker.fail(checker, `${path}: ${message}`, node)
      return false
    }
    let known = this.known[node]!.get(path)
    if (!known || known.bytes > segment.sizeBytes || known.indexBytes > segment.indexBytes) {
      known = { bytes: 0, indexBytes: 0, end: start, batches: new Map() }
      this.known[node]!.set(path, known)
    }
    const log = disk.live(path)
    if ((log?.size ?? 0) < segment.sizeBytes)
      return fail(`has ${log?.size ?? 0} bytes, ${segment.sizeBytes} count as persisted`)
    while (known.bytes < segment.sizeBytes) {
      const batch = readBatch(this.hash, log!.bytes, segment.sizeBytes, known.bytes, partitionOf(directory))
      if (!batch) return fail(`no whole batch at byte ${known.bytes} of ${segment.sizeBytes} persisted ones`)
      if (batch.base !== known.end)
        return fail(`offset ${batch.base} at byte ${known.bytes}, ${known.end} belongs there`)
      known.batches.set(batch.position, batch)
      known.bytes += batch.bytes
      known.end = batch.base + BigInt(batch.count)
    }
    const end = segment.empty ? start : BigInt(segment.endOffset) + 1n
    if (known.end !== end) return fail(`counts ${end - start} messages, ${known.end - start} are in it`)
    const index = disk.live(indexOf(directory, start))
    if ((index?.size ?? 0) < segment.indexBytes)
      return fail(`its index has ${index?.size ?? 0} bytes, ${segment.indexBytes} count as persisted`)
    for (; known.indexBytes < segment.indexBytes; known.indexBytes += INDEX_ENTRY) {
      const view = new DataView(index!.bytes.buffer, index!.bytes.byteOffset + known.indexBytes, INDEX_ENTRY)
      const batch = known.batches.get(Number(view.getBigUint64(16, true)))
      if (batch?.base !== view.getBigUint64(0, true) || batch.timestamp !== view.getBigUint64(8, true))
        return fail(`index entry ${known.indexBytes / INDEX_ENTRY} names no batch`)
    }
    this.checker.pairsCompared++
    return true
  }
}

const directoryOf = ({ stream, topic, partition }: PartitionKey): string =>
  `streams/${stream}/topics/${topic}/partitions/${partition}`
const partitionOf = (directory: string): number => Number(directory.slice(directory.lastIndexOf('/') + 1))
