/** What happens in a replica, as the inspection stream tells it (design.md §3, Inspection). */
import type { ConsensusGroup, GroupNote, Plane } from '../consensus/contract.ts'
import type { EventDraft, EventSink } from '../inspection/envelope.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import type { LinkMark } from './ports.ts'

type Data = EventDraft['data']

/** Group of what concerns the node as a whole. */
export const NODE_GROUP = 'node'

export class Events {
  private readonly sink: EventSink

  constructor(sink: EventSink) {
    this.sink = sink
  }

  wantsFlow(group: string): boolean {
    return this.sink.wantsFlow(group)
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
    if (cls === 'flow' && !this.sink.wantsFlow(id)) return 0
    return this.sink.emit({ ...about(group, id), kind, class: cls, data, ...extra })
  }

  /** The exact counters of flow, which are kept whether anybody watches or not. */
  count(group: ConsensusGroup, kind: string, by = 1): void {
    this.sink.count(group.config.group.toString(), kind, by)
  }

  /** `link`: the frame that the note is about. */
  note(group: ConsensusGroup, note: GroupNote, link?: LinkMark): void {
    const data: Record<string, string | number | boolean | null> = { ...note.detail }
    if (note.peer !== undefined) data.peer = note.peer
    this.group(group, note.kind, note.class, data, {
      ...(note.op !== undefined && { op: note.op.toString() }),
      ...(link && { link }),
    })
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
    if (cls === 'flow' && !this.sink.wantsFlow(group)) return
    this.sink.emit({ plane: 'partition', group, kind, class: cls, data })
  }
}

function about(group: ConsensusGroup, id: string): Pick<EventDraft, 'plane' | 'group' | 'view' | 'logView' | 'commit'> {
  const plane: Plane = group.config.plane
  const snapshot = group.snapshot()
  return { plane, group: id, view: snapshot.view, logView: snapshot.logView, commit: snapshot.commitMax.toString() }
}
