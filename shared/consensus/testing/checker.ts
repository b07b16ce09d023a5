/**
 * What must hold at every moment, whatever fails (spec drills.md §2.5, checkers 1–3). Throws at the first violation, with
 * what it saw.
 */

import type { Op, ReplicaId } from '../../bytes/units.ts'
import { Command } from '../../protocol/commands.ts'
import type { PrepareHeader } from '../../protocol/headers.ts'
import type { ConsensusGroup } from '../contract.ts'
import type { TestJournal } from './journal.ts'

export interface Durable {
  view: number
  logView: number
}

export class AgreementChecker {
  /** The one log that everybody applies, by op. */
  readonly canonical: PrepareHeader[] = []
  private readonly appliedTo: bigint[]
  private readonly lastView: number[]
  /** Highest view in which an earlier life, and this one, sent a DoViewChange. */
  private readonly votedBefore: number[]
  private readonly votedNow: number[]
  private readonly acked = new Map<string, bigint>()
  elections = 0

  constructor(replicas: number) {
    this.appliedTo = new Array(replicas).fill(0n)
    this.lastView = new Array(replicas).fill(0)
    this.votedBefore = new Array(replicas).fill(-1)
    this.votedNow = new Array(replicas).fill(-1)
  }

  private fail(replica: number, message: string): never {
    throw new Error(`replica ${replica}: ${message}`)
  }

  applied(replica: ReplicaId, op: Op, header: PrepareHeader) {
    if (op !== this.appliedTo[replica]! + 1n) this.fail(replica, `applies op ${op} after ${this.appliedTo[replica]}`)
    this.appliedTo[replica] = op
    const index = Number(op) - 1
    const canonical = this.canonical[index]
    if (canonical === undefined) {
      const parent = this.canonical[index - 1]
      if (index > this.canonical.length) this.fail(replica, `commits op ${op} beyond a hole`)
      if (parent !== undefined && parent.checksum !== header.parent) this.fail(replica, `op ${op} breaks the chain`)
      this.canonical.push(header)
    } else if (canonical.checksum !== header.checksum) {
      this.fail(
        replica,
        `applies another prepare at op ${op} than the group did (view ${header.view}, ${canonical.view})`,
      )
    }
  }

  floor(replica: ReplicaId, op: Op) {
    if (op < this.appliedTo[replica]!) this.fail(replica, `its floor ${op} goes back`)
    this.appliedTo[replica] = op
  }

  restarted(replica: ReplicaId, commitMin: Op, durable: Durable) {
    this.appliedTo[replica] = commitMin
    this.lastView[replica] = durable.view
    this.votedBefore[replica] = Math.max(this.votedBefore[replica]!, this.votedNow[replica]!)
    this.votedNow[replica] = -1
  }

  /** A client was told that its request is at this op. */
  replied(replica: ReplicaId, op: Op, header: PrepareHeader) {
    const canonical = this.canonical[Number(op) - 1]
    if (canonical?.checksum !== header.checksum) this.fail(replica, `answers for op ${op}, which is another one`)
    this.acked.set(header.checksum.toString(), op)
  }

  get ackedCount() {
    return this.acked.size
  }

  /** Reads the frame by its offsets (spec consensus.md §2.5), not by the engine's codec. */
  sent(replica: ReplicaId, frame: Uint8Array, durable: Durable, group: ConsensusGroup, journal: TestJournal) {
    const bytes = new DataView(frame.buffer, frame.byteOffset, frame.length)
    const view = bytes.getUint32(52, true)
    switch (frame[60]) {
      case Command.StartViewChange:
      case Command.Commit:
        break
      case Command.StartView:
        if (durable.logView < view) this.fail(replica, `starts view ${view} before its log view is durable`)
        break
      case Command.DoViewChange:
        if (bytes.getUint32(152, true) > durable.logView)
          this.fail(replica, 'votes with a log view that is not durable')
        if (view <= this.votedBefore[replica]!) this.fail(replica, `votes again in view ${view} after a restart`)
        this.votedNow[replica] = Math.max(this.votedNow[replica]!, view)
        break
      case Command.PrepareOk: {
        const op = bytes.getBigUint64(160, true)
        if (durable.logView !== view) this.fail(replica, `acknowledges in view ${view} with another log view`)
        if (journal.header(op as Op)?.checksum !== bytes.getBigUint64(144, true))
          this.fail(replica, `acknowledges op ${op}, which it does not hold`)
        for (let at = group.commitMin + 1n; at < op; at++)
          if (journal.header(at as Op) === undefined)
            this.fail(replica, `acknowledges op ${op} above the missing ${at}`)
        break
      }
      default:
        return
    }
    if (view > durable.view) this.fail(replica, `speaks for view ${view}, durable is ${durable.view}`)
  }

  /** Once a tick; the cheap part of it after every step. */
  inspected(replica: ReplicaId, group: ConsensusGroup) {
    const { view, logView, op, commitMax } = group.snapshot()
    if (logView > view) this.fail(replica, `log view ${logView} is above view ${view}`)
    if (logView === view && op < group.commitMin) this.fail(replica, `head ${op} is below its commit ${commitMax}`)
  }

  observed(replica: ReplicaId, group: ConsensusGroup) {
    const { view, commitMin, commitMax } = group
    if (commitMin > commitMax) this.fail(replica, `commit_min ${commitMin} is above commit_max ${commitMax}`)
    if (view < this.lastView[replica]!) this.fail(replica, `view ${view} goes back from ${this.lastView[replica]}`)
    if (view > this.lastView[replica]!) this.elections = Math.max(this.elections, view)
    this.lastView[replica] = view
    if (commitMin !== this.appliedTo[replica]) this.fail(replica, `commit_min ${commitMin} is not what was applied`)
  }
}
