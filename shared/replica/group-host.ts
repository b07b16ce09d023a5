/**
 * Carries out the actions of one consensus group (spec consensus.md §0). The group is pure: it says what to do, in order,
 * and the next event is fed only after the last action of the previous one. An action that leads to an event at once (a
 * journal append in memory) therefore queues it here.
 */

import type { Micros, Op, ReplicaId, View } from '../bytes/units.ts'
import type { ConsensusGroup, GroupAction, GroupEvent, RefuseReason, RequestToken } from '../consensus/contract.ts'
import type { Events } from './events.ts'
import type { ReplicaLinks } from './ports.ts'

export interface GroupHooks {
  append(action: Extract<GroupAction, { kind: 'append' }>): void
  apply(action: Extract<GroupAction, { kind: 'apply' }>): void
  truncate(fromOp: Op): void
  persistSuperblock(view: View, logView: View, commitMax: Op): void
  refuse(token: RequestToken, reason: RefuseReason): void
  cancel(tokens: readonly RequestToken[]): void
  commitFloor(floor: Op): void
  needTransfer(peer: ReplicaId): void
  /** Partition groups only. */
  jump?(base: bigint): void
  unreconcilable(op: Op, message: string): void
}

/** How often a group learns whether its flow is wanted. */
const WATCH_TICKS = 20

export class GroupHost {
  readonly group: ConsensusGroup
  private readonly hooks: GroupHooks
  private readonly links: ReplicaLinks
  private readonly events: Events
  private readonly name: string
  private ticks = 0
  private readonly queue: GroupEvent[] = []
  private stepping = false

  constructor(group: ConsensusGroup, hooks: GroupHooks, links: ReplicaLinks, events: Events) {
    this.group = group
    this.hooks = hooks
    this.links = links
    this.events = events
    this.name = group.config.group.toString()
  }

  tick(nowMicros: Micros): void {
    // Asked now and then only: thousands of groups tick a hundred times a second.
    if (this.ticks++ % WATCH_TICKS === 0) this.group.setFlowNotes(this.events.wantsFlow(this.name))
    this.step({ kind: 'tick', nowMicros })
  }

  step(event: GroupEvent): void {
    this.queue.push(event)
    if (this.stepping) return
    this.stepping = true
    try {
      for (let at = 0; at < this.queue.length; at++) {
        for (const action of this.group.step(this.queue[at]!)) this.run(action)
      }
    } finally {
      this.queue.length = 0
      this.stepping = false
    }
  }

  private run(action: GroupAction): void {
    switch (action.kind) {
      case 'append':
        this.hooks.append(action)
        break
      case 'send':
        // A frame that does not leave is a lost frame: timers repair it.
        if (!this.links.send(action.to, action.frame)) this.events.dropped(this.group, action.to)
        break
      case 'apply':
        this.events.applied(this.group, action.header)
        this.hooks.apply(action)
        break
      case 'truncate':
        this.hooks.truncate(action.fromOp)
        break
      case 'persistSuperblock':
        this.hooks.persistSuperblock(action.view, action.logView, action.commitMax)
        break
      case 'refuse':
        this.hooks.refuse(action.token, action.reason)
        break
      case 'cancel':
        this.hooks.cancel(action.tokens)
        break
      case 'commitFloor':
        this.hooks.commitFloor(action.floor)
        break
      case 'jump':
        this.hooks.jump?.(action.base)
        break
      case 'needTransfer':
        this.hooks.needTransfer(action.peer)
        break
      case 'unreconcilable':
        this.hooks.unreconcilable(action.op, action.message)
        break
      case 'note':
        this.events.note(this.group, action.note)
        break
    }
  }
}
