/**
 * What must hold at every moment, whatever fails (spec drills.md §2.5). It sees the wire, the disks and what replicas apply,
 * and decodes by itself what it sees. A violation is recorded and never thrown: the run ends by it, and the engine that is
 * under test has no part in that.
 */
import type { Hash } from '../../bytes/hash.ts'
import type { ReplicaId } from '../../bytes/units.ts'
import { Command } from '../../protocol/commands.ts'
import { METADATA_GROUP, unpackGroup } from '../../protocol/groups.ts'
import type { PrepareHeader } from '../../protocol/headers.ts'
import type { SimulatedDisk } from '../disk.ts'
import { DurableState } from './durable.ts'
import { Licence } from './licence.ts'

export type CheckerName =
  | 'agreement'
  | 'apply-order'
  | 'hash-chain'
  | 'durable-before-send'
  | 'vote-once'
  | 'ack-before-durable'
  | 'ack-persistence'
  | 'apply-before-durable'
  | 'truncation-licence'
  | 'log-view'
  | 'damage-refused'
  | 'client-table'
  | 'applied-twice'
  | 'lost-metadata'
  | 'metadata-answer'
  | 'offset-reuse'
  | 'lost-message'
  | 'index-soundness'
  | 'reservation'
  | 'byte-identity'
  | 'poll'
  | 'wrong-message'
  | 'invented'
  | 'frames-per-commit'
  | 'cold-open'
  | 'boot'
  | 'core-liveness'
  | 'pairing'
  | 'log-cover'
  | 'damage-accepted'
  | 'commit-quorum'
  | 'unelected-primary'
  | 'recovering-votes'
  | 'vote-replaced'
  | 'former-life'
  | 'model-answer'
  | 'stale-answer'
  | 'engine'

export interface Violation {
  readonly checker: CheckerName
  readonly message: string
  readonly node?: number
}

const METADATA = METADATA_GROUP.toString()
/** Of one run; the first says it all. */
const VIOLATIONS_MAX = 8

interface Applied {
  readonly checksum: bigint
  readonly parent: bigint
  readonly view: number
  readonly client: bigint
  readonly request: bigint
  readonly operation: number
}

export class Checker {
  readonly violations: Violation[] = []
  ignore: ReadonlySet<string> = new Set()
  /** Hears of every disk that is gone. */
  diskLost: (node: number) => void = () => {}
  /** The one metadata log that everybody applies, by op. */
  readonly canonical: Applied[] = []
  readonly durable: readonly DurableState[]
  /** Committed ops, over all groups. */
  committed = 0
  pairsCompared = 0
  /** By group and incarnation: what was applied at each op. */
  private readonly partitions = new Map<string, Map<bigint, bigint>>()
  /** Per node: which incarnation of a partition it has; a deleted partition's numbers are given out again. */
  private readonly incarnations: Map<string, string>[]
  private readonly partitionHeads = new Map<string, bigint>()
  private readonly exempt = new Set<string>()
  private readonly rottenNodes = new Set<number>()
  private readonly appliedTo: bigint[]
  /** The same, of all lives on this disk. */
  private readonly everAppliedTo: bigint[]
  /** Per node: metadata ops that it told its primary it holds, by op. */
  private readonly acked: Map<bigint, bigint>[]
  /** By node and group: highest view with a DoViewChange in an earlier life, and in this one. */
  private readonly votedBefore = new Map<string, number>()
  private readonly votedNow = new Map<string, number>()
  private readonly requests = new Map<string, bigint>()
  private readonly licence: Licence
  /** Per node: the log view that its disk is known to name. */
  private readonly logViews: number[]
  private readonly damagedAtStart = new Set<number>()

  readonly hash: Hash

  constructor(disks: readonly SimulatedDisk[], hash: Hash) {
    this.hash = hash
    this.durable = disks.map(disk => new DurableState(disk, hash))
    this.appliedTo = disks.map(() => 0n)
    this.everAppliedTo = disks.map(() => 0n)
    this.acked = disks.map(() => new Map())
    this.incarnations = disks.map(() => new Map())
    this.licence = new Licence(disks.length)
    this.logViews = disks.map(() => 0)
  }

  fail(checker: CheckerName, message: string, node?: number): void {
    if (!this.ignore.has(checker) && this.violations.length < VIOLATIONS_MAX)
      this.violations.push({ checker, message, ...(node !== undefined && { node }) })
  }

  /** Too many processes have died for the journals of the partitions to live on: their ops may be numbered anew. */
  forgetPartitions(): void {
    for (const node of this.incarnations)
      for (const group of node.keys()) this.exempt.add(this.incarnation(this.incarnations.indexOf(node), group))
  }

  applied(node: number, group: string, header: PrepareHeader): void {
    if (group !== METADATA) {
      this.appliedInPartition(node, group, header)
      return
    }
    const { op, checksum, parent } = header
    const before = this.appliedTo[node]!
    if (op !== before + 1n) this.fail('apply-order', `applies metadata op ${op} after ${before}`, node)
    this.appliedTo[node] = op
    if (op > this.everAppliedTo[node]!) this.everAppliedTo[node] = op
    if (!this.rottenNodes.has(node) && !this.holds(node, op, checksum))
      this.fail('apply-before-durable', `applies metadata op ${op}, which is not on its disk`, node)
    const index = Number(op) - 1
    const known = this.canonical[index]
    if (known !== undefined) {
      this.pairsCompared++
      if (known.checksum !== checksum)
        this.fail(
          'agreement',
          `applies another prepare at metadata op ${op} (view ${header.view}) than was applied before (view ${known.view})`,
          node,
        )
      return
    }
    if (index > this.canonical.length) {
      this.fail('agreement', `applies metadata op ${op}, but nobody has applied op ${this.canonical.length + 1}`, node)
      return
    }
    const previous = this.canonical[index - 1]
    if (previous && previous.checksum !== parent)
      this.fail('hash-chain', `metadata op ${op} does not follow op ${op - 1n} that was applied`, node)
    this.canonical.push({
      checksum,
      parent,
      view: header.view,
      client: header.client,
      request: header.request,
      operation: header.operation,
    })
    this.committed++
    if (header.request === 0n || header.client === 0n) return
    const key = `${header.client} ${header.request}`
    const twice = this.requests.get(key)
    if (twice !== undefined)
      this.fail(
        'applied-twice',
        `request ${header.request} of one client is committed as op ${twice} and as op ${op}`,
        node,
      )
    this.requests.set(key, op)
  }

  /**
   * The last metadata op that this node has applied: in any life on this disk, since a read waits behind a restart until the
   * node is there again (spec consensus.md §7). What rotted away binds it no more.
   */
  appliedBy(node: number): number {
    const [now, ever] = [this.appliedTo[node]!, this.everAppliedTo[node]!]
    return Number(ever > now && !this.rottenNodes.has(node) ? ever : now)
  }

  /** A node has opened a partition. */
  opened(node: number, group: string, createdRevision: string): void {
    this.incarnations[node]!.set(group, createdRevision)
  }

  /**
   * A node has removed a partition, because its topic is gone by a committed op. A boot that does not know yet that this op
   * is committed begins the partition anew, until it applies the op again: its old votes bind it to nothing.
   */
  removed(node: number, group: string): void {
    const key = `${node} ${this.incarnation(node, group)}`
    this.votedBefore.delete(key)
    this.votedNow.delete(key)
  }

  private incarnation(node: number, group: string): string {
    return group === METADATA ? group : `${group} of ${this.incarnations[node]!.get(group) ?? 'none'}`
  }

  /** A node has taken over a state up to this op by other means than applying it. */
  installed(node: number, op: bigint): void {
    if (op > this.appliedTo[node]!) this.appliedTo[node] = op
  }

  private appliedInPartition(node: number, group: string, header: PrepareHeader): void {
    const head = this.partitionHeads.get(group) ?? 0n
    if (header.op > head) {
      this.partitionHeads.set(group, header.op)
      this.committed++
    }
    if (this.exempt.has(this.incarnation(node, group))) return
    const incarnation = this.incarnation(node, group)
    let ops = this.partitions.get(incarnation)
    if (!ops) {
      ops = new Map()
      this.partitions.set(incarnation, ops)
    }
    const known = ops.get(header.op)
    if (known === undefined) ops.set(header.op, header.checksum)
    else {
      this.pairsCompared++
      if (known !== header.checksum)
        this.fail(
          'agreement',
          `group ${name(group)}: applies another prepare at op ${header.op} than was applied before`,
          node,
        )
    }
  }

  /** A process is started on this disk. */
  starting(node: number): void {
    if (this.durable[node]!.superblock('metadata') === 'corrupt') this.damagedAtStart.add(node)
    else this.damagedAtStart.delete(node)
  }

  /** What the log of a solo node holds is committed, also when the life that wrote it did not come to apply it. */
  private committedAlone(commitMin: bigint): void {
    const log = this.durable[0]!.log()
    for (let op = BigInt(this.canonical.length) + 1n; op <= commitMin; op++) {
      const entry = log.get(op)
      if (entry) this.canonical.push(entry)
    }
  }

  /** A boot has ended; `commitMin` is where its replay came to. */
  booted(node: number, commitMin: bigint): void {
    if (this.damagedAtStart.has(node))
      this.fail('damage-refused', 'boots beside a superblock slot that does not verify', node)
    const superblock = this.durable[node]!.superblock('metadata')
    this.logViews[node] = superblock === undefined || superblock === 'corrupt' ? 0 : superblock.logView
    if (this.durable.length === 1) this.committedAlone(commitMin)
    if (commitMin > BigInt(this.canonical.length))
      this.fail('agreement', `boots with metadata op ${commitMin} applied, nobody has applied it before`, node)
    const log = this.durable[node]!.log()
    for (const [op, entry] of log) {
      const known = this.canonical[Number(op) - 1]
      if (op > commitMin || !known) continue
      this.pairsCompared++
      if (known.checksum !== entry.checksum)
        this.fail('agreement', `boots with another prepare at metadata op ${op} than was applied`, node)
    }
    this.appliedTo[node] = commitMin
  }

  /** The disk of this node was damaged: what it held is not asked for any more. */
  rotted(node: number): void {
    this.rottenNodes.add(node)
    this.durable[node]!.forget()
  }

  isRotten(node: number): boolean {
    return this.rottenNodes.has(node)
  }

  /** A life has ended and its disk is what it is now: what was acknowledged and committed must be in it. */
  ended(node: number): void {
    for (const [key, view] of this.votedNow) {
      if (!key.startsWith(`${node} `)) continue
      this.votedBefore.set(key, Math.max(view, this.votedBefore.get(key) ?? -1))
      this.votedNow.delete(key)
    }
    this.held(node)
  }

  /** What was acknowledged and is committed must be on the disk. */
  held(node: number): void {
    if (this.rottenNodes.has(node)) return
    const durable = this.durable[node]!
    const floor = durable.coveredTo()
    const log = durable.log()
    for (const [op, checksum] of this.acked[node]!) {
      if (op <= floor || this.canonical[Number(op) - 1]?.checksum !== checksum) continue
      if (log.get(op)?.checksum !== checksum)
        this.fail(
          'ack-persistence',
          `has acknowledged metadata op ${op}, which is committed, and its disk does not hold it`,
          node,
        )
    }
  }

  /** The disk of this node is gone, by the will of the world. */
  wiped(node: number): void {
    this.diskLost(node)
    this.acked[node]!.clear()
    this.rottenNodes.delete(node)
    this.appliedTo[node] = 0n
    this.everAppliedTo[node] = 0n
    for (const key of [...this.votedBefore.keys()]) if (key.startsWith(`${node} `)) this.votedBefore.delete(key)
    this.durable[node]!.forget()
  }

  sent(from: ReplicaId, frame: Uint8Array): void {
    const at = GROUP_AT[frame[60]!]
    if (at === undefined) return
    const bytes = new DataView(frame.buffer, frame.byteOffset, frame.length)
    const group = bytes.getBigUint64(at, true)
    const view = bytes.getUint32(52, true)
    const durable = this.durable[from]!.superblock(directoryOf(group))
    if (durable === 'corrupt') return
    const [viewDurable, logViewDurable] = durable ? [durable.view, durable.logView] : [0, 0]
    const say = (what: string) =>
      `${what} for view ${view} of ${name(group.toString())}, its disk has (${viewDurable}, ${logViewDurable})`
    if (view > viewDurable) this.fail('durable-before-send', say(`sends ${COMMANDS[frame[60]!]}`), from)
    if (group === METADATA_GROUP && logViewDurable !== this.logViews[from]) this.namesLogView(from, logViewDurable)
    switch (frame[60]) {
      case Command.StartView:
      case Command.Commit:
        if (logViewDurable < view) this.fail('durable-before-send', say(`leads with ${COMMANDS[frame[60]!]}`), from)
        if (frame[60] === Command.StartView) {
          const wrong = this.licence.began(this.incarnation(from, group.toString()), frame)
          if (wrong !== undefined) this.fail('truncation-licence', `${name(group.toString())}: ${wrong}`, from)
        }
        break
      case Command.DoViewChange: {
        if (bytes.getUint32(152, true) > logViewDurable)
          this.fail('durable-before-send', say('votes with a newer log view'), from)
        this.licence.voted(this.incarnation(from, group.toString()), frame)
        const key = `${from} ${this.incarnation(from, group.toString())}`
        const before = this.votedBefore.get(key) ?? -1
        if (view <= before)
          this.fail('vote-once', say(`has voted in view ${before} in an earlier life and votes`), from)
        this.votedNow.set(key, Math.max(view, this.votedNow.get(key) ?? -1))
        break
      }
      case Command.PrepareOk: {
        if (logViewDurable !== view) this.fail('durable-before-send', say('acknowledges'), from)
        if (group !== METADATA_GROUP || this.rottenNodes.has(from)) break
        const op = bytes.getBigUint64(160, true)
        const checksum = bytes.getBigUint64(144, true)
        if (!this.holds(from, op, checksum))
          this.fail('ack-before-durable', `acknowledges metadata op ${op}, which is not on its disk`, from)
        this.acked[from]!.set(op, checksum)
        break
      }
    }
  }

  /** The highest metadata op of which the node has ever said that it holds it, or has counted itself as a holder: who leads tells nobody. */
  highestAcked(node: number): bigint {
    let highest = this.everAppliedTo[node]!
    for (const op of this.acked[node]!.keys()) if (op > highest) highest = op
    return highest
  }

  /**
   * The disk of a node names a log view: it says that the log of that view is its log. Whoever led that view holds all that
   * was committed before it, or a later election would take its log for the whole one (spec consensus.md §5.5).
   */
  private namesLogView(node: number, logView: number): void {
    this.logViews[node] = logView
    if (logView % this.durable.length !== node || this.rottenNodes.has(node)) return
    for (const [index, { checksum }] of this.canonical.entries())
      if (!this.holds(node, BigInt(index + 1), checksum)) {
        this.fail(
          'log-view',
          `its disk names log view ${logView}, which it leads, and lacks metadata op ${index + 1}`,
          node,
        )
        return
      }
  }

  /** Whether a loss of power right now would leave this metadata op on the disk of the node, in its log or in its snapshot. */
  private holds(node: number, op: bigint, checksum: bigint): boolean {
    const durable = this.durable[node]!
    if (durable.log().get(op)?.checksum === checksum) return true
    const superblock = durable.superblock('metadata')
    return superblock !== undefined && superblock !== 'corrupt' && op <= superblock.checkpointOp
  }
}

/** Where a view-scoped frame names its group (spec consensus.md §2.5). */
const GROUP_AT: Readonly<Record<number, number>> = {
  [Command.PrepareOk]: 200,
  [Command.Commit]: 168,
  [Command.StartViewChange]: 128,
  [Command.DoViewChange]: 144,
  [Command.StartView]: 144,
}
const COMMANDS: Readonly<Record<number, string>> = {
  [Command.PrepareOk]: 'PrepareOk',
  [Command.Commit]: 'Commit',
  [Command.StartViewChange]: 'StartViewChange',
  [Command.DoViewChange]: 'DoViewChange',
  [Command.StartView]: 'StartView',
}

const directories = new Map<bigint, string>()

function directoryOf(group: bigint): string {
  let directory = directories.get(group)
  if (directory === undefined) {
    const key = group === METADATA_GROUP ? undefined : unpackGroup(group as never)
    directory = key ? `streams/${key.stream}/topics/${key.topic}/partitions/${key.partition}` : 'metadata'
    directories.set(group, directory)
  }
  return directory
}

export function name(group: string): string {
  if (group === METADATA) return 'metadata'
  const key = unpackGroup(BigInt(group) as never)
  return key ? `${key.stream}/${key.topic}/${key.partition}` : group
}
