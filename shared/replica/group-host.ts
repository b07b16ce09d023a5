/**
 * Carries out the actions of one consensus group (spec consensus.md §0). The group is pure: it says what to do, in order,
 * and the next event is fed only after the last action of the previous one. An action that leads to an event at once (a
 * journal append in memory) therefore queues it here.
 */

import type { Op, ReplicaId, View } from '../bytes/units.ts'
import type { ConsensusGroup, GroupAction, GroupEvent, RefuseReason, RequestToken } from '../consensus/contract.ts'
import type { Clock } from '../storage/ports.ts'
import type { Events } from './events.ts'
import { frameNames, toldFrame } from './frame-group.ts'
import type { LinkMark, ReplicaLinks } from './ports.ts'

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
  startOver?(): void
  unreconcilable(op: Op, message: string): void
}

/** How often a group learns whether its flow is wanted. */
const WATCH_TICKS = 20

export class GroupHost {
  private readonly told: ConsensusGroup
  private readonly hooks: GroupHooks
  private readonly links: ReplicaLinks
  private readonly events: Events
  private readonly name: string
  private readonly nowTick: () => number
  private askedAt = Number.NEGATIVE_INFINITY
  /** Whether everything that happens here is told, until somebody is asked again. */
  private flows = false
  /** The last tick that the group knows of, and how many behind it may be left out: nothing happens in them. */
  private toldTick: number
  private quiet = 0
  /** The tick at which the commit last moved. */
  movedTick: number
  private readonly queue: { readonly event: GroupEvent; readonly mark: LinkMark | undefined }[] = []
  private stepping = false

  constructor(group: ConsensusGroup, hooks: GroupHooks, links: ReplicaLinks, events: Events, nowTick: () => number) {
    this.told = group
    this.hooks = hooks
    this.links = links
    this.events = events
    this.name = group.config.group.toString()
    this.nowTick = nowTick
    this.toldTick = nowTick()
    this.movedTick = this.toldTick
  }

  /** As of now: an idle group is told of the time that passed only when something happens, or when somebody asks. */
  get group(): ConsensusGroup {
    this.catchUp()
    return this.told
  }

  /** As of the last event: all but its timers is as it is now. */
  get standing(): ConsensusGroup {
    return this.told
  }

  tick(clock: Clock): void {
    const now = this.nowTick()
    if (now <= this.toldTick + this.quiet) return
    this.step({ kind: 'tick', nowMicros: clock.nowMicros() })
    this.toldTick = now
    this.quiet = this.told.quietTicks()
  }

  /** `mark`: of the frame that the event is. */
  step(event: GroupEvent, mark?: LinkMark): void {
    this.queue.push({ event, mark })
    if (this.stepping) return
    this.stepping = true
    this.catchUp()
    this.quiet = 0
    // Asked now and then only: there are thousands of groups.
    const now = this.nowTick()
    if (now - this.askedAt >= WATCH_TICKS) {
      this.askedAt = now
      this.flows = this.events.wantsFlow(this.name)
      this.told.setFlowNotes(this.flows)
    }
    try {
      for (let at = 0; at < this.queue.length; at++) {
        const { event, mark } = this.queue[at]!
        const received = mark && event.kind === 'frame' ? toldFrame(event.bytes)?.received : undefined
        const commit = this.flows ? this.told.snapshot().commitMax : undefined
        const actions = this.told.step(event)
        if (commit !== undefined && event.kind === 'frame' && !actions.some(action => tells(action, received)))
          this.received(event, mark, commit)
        for (const action of actions) {
          if (action.kind === 'note')
            this.events.note(this.told, action.note, action.note.kind === received ? mark : undefined)
          else this.run(action)
        }
      }
    } finally {
      this.queue.length = 0
      this.stepping = false
    }
  }

  private catchUp(): void {
    // A tick in which something happens is still to come in this pass.
    const ticks = Math.min(this.nowTick() - this.toldTick, this.quiet)
    if (ticks <= 0) return
    this.told.step({ kind: 'slept', ticks })
    this.toldTick += ticks
    this.quiet -= ticks
  }

  private run(action: Exclude<GroupAction, { kind: 'note' }>): void {
    switch (action.kind) {
      case 'append':
        this.hooks.append(action)
        break
      case 'send':
        this.send(action.to, action.frame)
        break
      case 'apply':
        this.movedTick = this.nowTick()
        this.events.applied(this.told, action.header)
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
        this.movedTick = this.nowTick()
        this.hooks.commitFloor(action.floor)
        break
      case 'startOver':
        this.hooks.startOver?.()
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
    }
  }

  /** @param before the commit point that was known before the frame came: a heartbeat that moves it is more than one */
  private received(event: Extract<GroupEvent, { kind: 'frame' }>, mark: LinkMark | undefined, before: Op): void {
    const names = frameNames(event.bytes)
    const beat = isBeat(names) && this.told.snapshot().commitMax === before
    const kind = beat ? 'heartbeat_received' : 'frame_received'
    this.events.frame(this.told, kind, { ...names, peer: event.from }, mark)
  }

  private send(to: ReplicaId, frame: Uint8Array): void {
    // A frame that does not leave is a lost frame: timers repair it.
    if (!this.links.send(to, frame)) {
      this.events.dropped(this.told, to)
      return
    }
    const kind = toldFrame(frame)?.sent
    if (kind === undefined && !this.flows) return
    // Where links count their frames, both ends of a vote can be told apart from its repeats.
    const link = this.links.lastSent?.(to)
    if (kind === undefined) {
      const names = frameNames(frame)
      this.events.frame(this.told, isBeat(names) ? 'heartbeat_sent' : 'frame_sent', { ...names, peer: to }, link)
    } else this.events.group(this.told, kind, 'fact', { peer: to }, link ? { link } : {})
  }
}

const isBeat = ({ command }: { readonly command: string }): boolean => command === 'Commit'
const tells = (action: GroupAction, kind: string | undefined): boolean =>
  kind !== undefined && action.kind === 'note' && action.note.kind === kind
