/** What happens in a replica, as the inspection stream tells it (design.md §3, Inspection). */
import type { ConsensusGroup, GroupNote, Plane } from '../consensus/contract.ts'
import type { EventDraft, EventSink } from '../inspection/envelope.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import type { LinkMark } from './ports.ts'

type Data = EventDraft['data']

/** Group of what concerns the node as a whole. */
export const NODE_GROUP = 'node'

/** What is told of a frame at either end. */
export interface TracedFrame {
  readonly command: string
  readonly peer: number
  readonly op: bigint | undefined
}

type FrameKind = 'frame_sent' | 'frame_received' | 'heartbeat_sent' | 'heartbeat_received'

export class Events {
  private readonly sink: EventSink

  constructor(sink: EventSink) {
    this.sink = sink
  }

  wantsFlow(group: string): boolean {
    return this.sink.wantsFlow(group)
  }

  private takesFlow(): boolean {
    return this.sink.takesFlow?.() !== false
  }

  /**
   * A fact of the node: boot, refusal, forward, session. Returns its sequence number, for `cause`; `link` is
   * the frame that it belongs to.
   */
  node(kind: string, data: Data, cause?: number, link?: LinkMark): number {
    this.sink.count(NODE_GROUP, kind)
    return this.sink.emit({
      plane: 'node',
      group: NODE_GROUP,
      kind,
      class: 'fact',
      data,
      ...(cause !== undefined && { cause }),
      ...(link && { link }),
    })
  }

  /** Something one group did. Facts always leave; of flow only the count does, unless somebody watches. */
  group(
    group: ConsensusGroup,
    kind: string,
    cls: 'fact' | 'flow',
    data: Data,
    extra: Partial<EventDraft> = {},
  ): number {
    const id = group.config.group.toString()
    this.sink.count(id, kind)
    if (cls === 'flow' && !(this.sink.wantsFlow(id) && this.takesFlow())) return 0
    return this.sink.emit({ ...about(group, id), kind, class: cls, data, ...extra })
  }

  /** The exact counters of flow, which are kept whether anybody watches or not. */
  count(group: ConsensusGroup, kind: string, by = 1): void {
    this.sink.count(group.config.group.toString(), kind, by)
  }

  /**
   * `link`: the frame that the note is about. A note of flow comes only while its group is told to speak of flow, so it is
   * not asked for again: that would be a sample of a sample. Nor is it counted, since most of its kind are never made.
   */
  note(group: ConsensusGroup, note: GroupNote, link?: LinkMark): void {
    const data: Record<string, string | number | boolean | null> = { ...note.detail }
    if (note.peer !== undefined) data.peer = note.peer
    const extra = { ...(note.op !== undefined && { op: note.op.toString() }), ...(link && { link }) }
    if (note.class === 'flow') this.flow(group, note.kind, data, extra)
    else this.group(group, note.kind, note.class, data, extra)
  }

  /** A frame of everyday traffic at one of its ends; like a note of flow, told only while the group's flow is. */
  frame(group: ConsensusGroup, kind: FrameKind, frame: TracedFrame, link?: LinkMark): void {
    const { command, peer, op } = frame
    this.flow(group, kind, { command, peer }, { ...(op !== undefined && { op: op.toString() }), ...(link && { link }) })
  }

  private flow(group: ConsensusGroup, kind: string, data: Data, extra: Partial<EventDraft>): void {
    if (!this.takesFlow()) return
    this.sink.emit({ ...about(group, group.config.group.toString()), kind, class: 'flow', data, ...extra })
  }

  /** What this node applies, for whoever checks that all nodes apply the same. */
  applied(group: ConsensusGroup, header: PrepareHeader): void {
    this.sink.applied?.(group.config.group.toString(), header)
  }

  /** A frame that no link took. */
  dropped(group: ConsensusGroup, peer: number): void {
    this.group(group, 'frame_dropped', 'flow', { peer })
  }

  /** A fact of a partition that has no group, because it was refused. */
  partition(group: string, kind: string, cls: 'fact' | 'flow', data: Data): void {
    this.sink.count(group, kind)
    if (cls === 'flow' && !(this.sink.wantsFlow(group) && this.takesFlow())) return
    this.sink.emit({ plane: 'partition', group, kind, class: cls, data })
  }
}

function about(group: ConsensusGroup, id: string): Pick<EventDraft, 'plane' | 'group' | 'view' | 'logView' | 'commit'> {
  const plane: Plane = group.config.plane
  const snapshot = group.snapshot()
  return { plane, group: id, view: snapshot.view, logView: snapshot.logView, commit: snapshot.commitMax.toString() }
}
