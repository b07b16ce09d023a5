/**
 * A deterministic cluster of one group: virtual ticks, a network that delays, drops, doubles, reorders and partitions,
 * journals and superblocks that answer later, crashes and restarts. One seed, one run. Everything that a step leads to is
 * seen by the agreement checker.
 */
import type { Hash } from '../../bytes/hash.ts'
import { Checksum, ClientId, GroupId, Micros, Op, ReplicaId, View } from '../../bytes/units.ts'
import { METADATA_GROUP, packGroup } from '../../protocol/groups.ts'
import type { PrepareHeader, RoutedRequestHeader } from '../../protocol/headers.ts'
import { Operation } from '../../protocol/operations.ts'
import { RULES_ON, type Rules } from '../../protocol/rules.ts'
import type {
  ConsensusGroup,
  GroupConfig,
  GroupEvent,
  GroupNote,
  GroupRestore,
  Plane,
  TimerTicks,
} from '../contract.ts'
import { createGroup } from '../group.ts'
import { AgreementChecker, type Durable } from './checker.ts'
import { Dice } from './dice.ts'
import { MemoryJournal, type TestJournal, WalJournal } from './journal.ts'

/** The defaults, five times as fast. */
export const FAST: TimerTicks = {
  prepare: 5,
  commitMessage: 10,
  normalHeartbeat: 100,
  startViewChangeMessage: 10,
  doViewChangeMessage: 10,
  viewChangeStatus: 100,
  requestStartView: 20,
  repairRetry: 20,
}
export const DEFAULT: TimerTicks = {
  prepare: 25,
  commitMessage: 50,
  normalHeartbeat: 500,
  startViewChangeMessage: 50,
  doViewChangeMessage: 50,
  viewChangeStatus: 500,
  requestStartView: 100,
  repairRetry: 100,
}

export interface NetworkOptions {
  readonly delayMax: number
  /** Out of 1000. */
  readonly drop: number
  readonly duplicate: number
}

export interface ClusterOptions {
  readonly seed: number
  readonly replicas: number
  readonly plane: Plane
  readonly timers?: TimerTicks
  readonly network?: NetworkOptions
  readonly prepareDepth?: number
  readonly requestDepth?: number
  readonly appendDelayMax?: number
  readonly superblockDelayMax?: number
  /** Ops that a partition keeps behind its commit. */
  readonly ring?: number
  /** Whether groups are told which peers are out of reach. */
  readonly linksKnown?: boolean
  readonly firstHeartbeatTicks?: number
  readonly rules?: Rules
  /** Ticks at which each replica starts; absent: at 0. */
  readonly startAt?: readonly (number | undefined)[]
}

interface Message {
  readonly from: ReplicaId
  readonly to: ReplicaId
  readonly frame: Uint8Array
  readonly at: number
  /** Life of the receiver that the connection belonged to. */
  readonly life: number
}

export interface Node {
  readonly replica: ReplicaId
  life: number
  group: ConsensusGroup | undefined
  journal: TestJournal
  durable: Durable & { written: boolean }
  superblock: { view: number; logView: number; due: number } | undefined
  failSuperblock: boolean
  everLived: boolean
  refused: string[]
  cancelled: number[]
  needTransfer: boolean
  unreconcilable: string | undefined
  notes: GroupNote[]
}

const EPOCH = 1_700_000_000_000_000n

export class TestCluster {
  readonly options: ClusterOptions
  readonly checker: AgreementChecker
  readonly random: Dice
  readonly nodes: Node[]
  now = 0
  sent = 0
  private readonly hash: Hash
  private readonly network: NetworkOptions
  private messages: Message[] = []
  /** Frames from the first to the second are lost: `from * 32 + to`. */
  readonly cut = new Set<number>()
  /** Scripted losses of a directed test. */
  filter: ((from: ReplicaId, to: ReplicaId, frame: Uint8Array) => boolean) | undefined
  private tokens = 0
  readonly replies = new Map<number, Op>()
  readonly group: GroupId
  /** Wall clocks may be wrong. */
  readonly skewMicros: bigint[]

  constructor(hash: Hash, options: ClusterOptions) {
    this.hash = hash
    this.options = options
    this.random = new Dice(options.seed * 7919 + 17)
    this.network = options.network ?? { delayMax: 0, drop: 0, duplicate: 0 }
    this.checker = new AgreementChecker(options.replicas)
    this.group = options.plane === 'metadata' ? METADATA_GROUP : packGroup({ stream: 1, topic: 2, partition: 3 })
    this.skewMicros = new Array(options.replicas).fill(0n)
    this.nodes = Array.from({ length: options.replicas }, (_, index) => ({
      replica: ReplicaId(index),
      life: 0,
      group: undefined,
      journal: this.freshJournal(),
      durable: { view: 0, logView: 0, written: false },
      superblock: undefined,
      failSuperblock: false,
      everLived: false,
      refused: [],
      cancelled: [],
      needTransfer: false,
      unreconcilable: undefined,
      notes: [],
    }))
    for (const node of this.nodes)
      if ((options.startAt?.[node.replica] ?? 0) === 0 && this.starts(node)) this.start(node)
  }

  private starts(node: Node): boolean {
    return this.options.startAt === undefined || this.options.startAt[node.replica] !== undefined
  }

  private freshJournal(): TestJournal {
    return this.options.plane === 'metadata'
      ? new WalJournal(this.random, this.options.appendDelayMax ?? 0)
      : new MemoryJournal([], this.options.ring ?? 100_000)
  }

  node(index: number): Node {
    return this.nodes[index]!
  }
  live(): Node[] {
    return this.nodes.filter(node => node.group !== undefined)
  }

  /** Boots a node from what its disks hold (spec consensus.md §7, metadata-storage.md §6.2–6.3). */
  start(node: Node): void {
    const restore = this.recover(node)
    node.life++
    node.group = createGroup(this.config(node), restore, node.journal)
    node.group.setFlowNotes(true)
    node.everLived = true
    this.checker.restarted(node.replica, restore.commitMin, node.durable)
  }

  config(node: Node): GroupConfig {
    const { plane, timers, prepareDepth, requestDepth, firstHeartbeatTicks } = this.options
    return {
      cluster: 0x1234n,
      replica: node.replica,
      replicaCount: this.options.replicas,
      group: this.group,
      plane,
      prepareDepth: prepareDepth ?? 32,
      requestDepth: requestDepth ?? 64,
      probeAttemptsMax: 5,
      repairChunkMax: 128,
      timers: timers ?? FAST,
      rules: this.options.rules ?? RULES_ON,
      hash: this.hash,
      incarnation: plane === 'metadata' ? (BigInt(node.life + 1) << 8n) | BigInt(node.replica) | 1n : 0n,
      ...(firstHeartbeatTicks === undefined ? {} : { firstHeartbeatTicks }),
      ...(this.options.linksKnown ? { linkUp: peer => this.node(peer).group !== undefined } : {}),
    }
  }

  private recover(node: Node): GroupRestore {
    const { journal, durable } = node
    let watermark = 0n
    let head: PrepareHeader | undefined
    if (this.options.plane === 'metadata') {
      for (let op = 1n; op <= journal.highestOp(); op++) {
        const header = journal.header(Op(op))
        if (header === undefined) throw new Error(`replica ${node.replica}: its log has a hole at op ${op}`)
        if (head !== undefined && header.parent !== head.checksum)
          throw new Error(`replica ${node.replica}: its log is broken at op ${op}`)
        if (header.commit > watermark) watermark = header.commit
        head = header
      }
      for (let op = 1n; op <= watermark; op++) {
        const canonical = this.checker.canonical[Number(op) - 1]
        if (canonical !== undefined && canonical.checksum !== journal.header(Op(op))!.checksum)
          throw new Error(`replica ${node.replica}: recovery applies another prepare at op ${op}`)
      }
    }
    const prior = node.everLived && (this.options.plane === 'partition' || head !== undefined || durable.written)
    const solo = this.options.replicas === 1
    const commit = solo ? (head?.op ?? Op(0n)) : Op(watermark)
    return {
      view: View(durable.view),
      logView: View(durable.logView),
      viewDurable: View(durable.view),
      logViewDurable: View(durable.logView),
      headOp: head?.op ?? Op(0n),
      commitMin: commit,
      commitMax: commit,
      lastPrepareChecksum: head?.checksum ?? Checksum(0n),
      lastTimestamp: head?.timestamp ?? Micros(0n),
      join: prior && !solo ? 'probe' : 'init',
    }
  }

  crash(index: number): void {
    const node = this.node(index)
    if (node.group === undefined) return
    node.group = undefined
    node.journal = node.journal.afterCrash(this.random)
    if (node.superblock !== undefined && this.random.upTo(1) === 0) this.landSuperblock(node)
    node.superblock = undefined
    // A connection dies with its process; what was under way to it is gone.
    this.messages = this.messages.filter(message => message.to !== index)
  }

  restart(index: number): void {
    if (this.node(index).group === undefined) this.start(this.node(index))
  }

  private landSuperblock(node: Node): void {
    const { view, logView } = node.superblock!
    node.durable = { view, logView, written: true }
    node.superblock = undefined
  }

  isolate(index: number): void {
    for (const other of this.nodes) this.cutLink(index, other.replica)
  }
  cutLink(a: number, b: number): void {
    this.cut.add(a * 32 + b)
    this.cut.add(b * 32 + a)
  }
  heal(): void {
    this.cut.clear()
  }

  /** Offers a request to a node; answers its token. */
  request(index: number, operation: number = Operation.CreateStream): number {
    const node = this.node(index)
    const token = ++this.tokens
    if (node.group === undefined) return token
    const body = new Uint8Array(16)
    new DataView(body.buffer).setBigUint64(8, BigInt(token), true)
    const header: RoutedRequestHeader = {
      checksum: Checksum(0n),
      checksumBody: Checksum(0n),
      cluster: 0x1234n,
      size: 256 + body.length,
      view: View(0),
      release: 0,
      command: 5,
      replica: ReplicaId(0),
      client: ClientId(BigInt(token)),
      requestChecksum: Checksum(0n),
      timestamp: Micros(0n),
      request: 1n,
      operation: this.options.plane === 'partition' ? Operation.SendMessages : operation,
      session: 1n,
      userId: 7,
      code: 0,
      nonce: 0n,
      origin: 0,
      encrypted: 0,
      incarnation: 0n,
      group: GroupId(0n),
    }
    this.step(node, { kind: 'request', request: { header, body, token }, nowMicros: this.clock(node) })
    return token
  }

  clock(node: Node): Micros {
    return Micros(EPOCH + BigInt(this.now) * 10_000n + this.skewMicros[node.replica]!)
  }

  /** The node that would take a request now. */
  primary(): Node | undefined {
    return this.live().find(node => node.group!.isCaughtUpPrimary())
  }

  step(node: Node, event: GroupEvent): void {
    const group = node.group!
    const actions = group.step(event)
    for (const action of actions) {
      if (node.group !== group) return
      switch (action.kind) {
        case 'append':
          node.journal.append(action)
          break
        case 'send':
          this.checker.sent(node.replica, action.frame, node.durable, group, node.journal)
          this.send(node.replica, action.to, action.frame)
          break
        case 'apply':
          if (node.journal.header(action.op)?.checksum !== action.header.checksum)
            throw new Error(`replica ${node.replica}: applies op ${action.op}, which its journal does not hold`)
          node.journal.applied(action.op)
          this.checker.applied(node.replica, action.op, action.header)
          if (action.token !== undefined) {
            this.checker.replied(node.replica, action.op, action.header)
            this.replies.set(action.token, action.op)
          }
          break
        case 'truncate':
          node.journal.truncate(action.fromOp)
          break
        case 'persistSuperblock':
          if (node.superblock !== undefined) throw new Error(`replica ${node.replica}: two superblock writes at once`)
          node.superblock = {
            view: action.view,
            logView: action.logView,
            due: this.now + this.random.upTo(this.options.superblockDelayMax ?? 0),
          }
          break
        case 'refuse':
          node.refused.push(action.reason)
          break
        case 'cancel':
          node.cancelled.push(...action.tokens)
          break
        case 'commitFloor':
          node.journal.setFloor(action.floor)
          this.checker.floor(node.replica, action.floor)
          break
        case 'needTransfer':
          node.needTransfer = true
          break
        case 'startOver':
          this.crash(node.replica)
          this.start(node)
          return
        case 'unreconcilable':
          node.unreconcilable = action.message
          break
        case 'note':
          node.notes.push(action.note)
          break
      }
    }
    this.checker.observed(node.replica, group)
    if (this.options.plane === 'partition') for (const due of node.journal.tick()) this.step(node, due)
  }

  send(from: ReplicaId, to: ReplicaId, frame: Uint8Array): void {
    this.sent++
    if (this.filter?.(from, to, frame) === false) return
    const { drop, duplicate, delayMax } = this.network
    if (drop > 0 && this.random.chance(drop)) return
    const copies = duplicate > 0 && this.random.chance(duplicate) ? 2 : 1
    for (let copy = 0; copy < copies; copy++) {
      const at = this.now + (delayMax === 0 ? 0 : this.random.upTo(delayMax))
      this.messages.push({ from, to, frame: frame.slice(), at, life: this.node(to).life })
    }
  }

  private deliver(): void {
    // With no delay, a frame leads to others in the same tick; the bound catches a storm.
    for (let round = 0; round < 1000; round++) {
      const due = this.messages.filter(message => message.at <= this.now)
      if (due.length === 0) return
      this.messages = this.messages.filter(message => message.at > this.now)
      for (const { from, to, frame, life } of due) {
        const node = this.node(to)
        if (node.group === undefined || node.life !== life || this.cut.has(from * 32 + to)) continue
        this.step(node, { kind: 'frame', from, bytes: frame, nowMicros: this.clock(node) })
      }
    }
    throw new Error('a storm of frames within one tick')
  }

  tick(): void {
    this.now++
    for (const node of this.nodes) {
      if (this.options.startAt?.[node.replica] === this.now && !node.everLived) this.start(node)
    }
    for (const node of this.live()) {
      for (const event of node.journal.tick()) if (node.group !== undefined) this.step(node, event)
      if (node.group !== undefined && node.superblock !== undefined && node.superblock.due <= this.now) {
        if (node.failSuperblock) {
          node.superblock = undefined
          this.step(node, { kind: 'superblockFailed' })
        } else {
          const { view, logView } = node.superblock
          this.landSuperblock(node)
          this.step(node, { kind: 'superblockWritten', view: View(view), logView: View(logView) })
        }
      }
      if (node.group === undefined) continue
      this.step(node, { kind: 'tick', nowMicros: this.clock(node) })
      this.checker.inspected(node.replica, node.group)
    }
    this.deliver()
  }

  run(ticks: number): void {
    for (let count = 0; count < ticks; count++) this.tick()
  }

  /** Runs until it holds; throws when it does not within the bound. */
  until(what: string, condition: () => boolean, ticks = 3000): void {
    for (let count = 0; count < ticks; count++) {
      if (condition()) return
      this.tick()
    }
    if (!condition()) throw new Error(`not reached in ${ticks} ticks: ${what}\n${this.status()}`)
  }

  /** All live replicas Normal in one view, with one log, everything applied. */
  converged(): boolean {
    const snapshots = this.live().map(node => node.group!.snapshot())
    const first = snapshots[0]
    return (
      first !== undefined &&
      this.primary() !== undefined &&
      snapshots.every(
        s =>
          s.status === 'normal' &&
          s.view === first.view &&
          s.logView === s.view &&
          s.commitMin === first.commitMin &&
          s.commitMin === s.op &&
          s.commitMin === BigInt(this.checker.canonical.length) &&
          s.pipeline.length === 0,
      )
    )
  }

  countNotes(kind: GroupNote['kind'], node?: Node): number {
    return (node === undefined ? this.nodes : [node]).reduce(
      (sum, { notes }) => sum + notes.filter(note => note.kind === kind).length,
      0,
    )
  }

  status(): string {
    return this.nodes
      .map(({ replica, group, needTransfer, durable }) => {
        if (group === undefined) return `${replica}: down (${durable.view}, ${durable.logView})`
        const s = group.snapshot()
        const timers = s.timers.filter(timer => timer.ticking).map(timer => `${timer.name}:${timer.remaining}`)
        return `${replica}: ${s.status} ${s.role} view ${s.view}/${s.logView} durable ${s.viewDurable}/${s.logViewDurable} op ${s.op} commit ${s.commitMin}/${s.commitMax} held ${this.node(replica).journal.highestOp()} pipeline ${s.pipeline.length} votes ${s.votes.startViewChange}|${s.votes.doViewChange.map(v => v.replica)} parked ${s.votes.parked} transfer ${needTransfer} repair ${s.repair?.peer}->${s.repair?.toOp} [${timers}]`
      })
      .join('\n')
  }
}
