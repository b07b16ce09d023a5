import { describe, expect, it } from 'vitest'
import { ReplicaId } from '../bytes/units.ts'
import type { ConsensusGroup, GroupAction } from '../consensus/contract.ts'
import type { EventDraft } from '../inspection/envelope.ts'
import { Command } from '../protocol/commands.ts'
import { Events } from './events.ts'
import { type GroupHooks, GroupHost } from './group-host.ts'
import type { LinkMark } from './ports.ts'

const frameOf = (command: number): Uint8Array => {
  const bytes = new Uint8Array(256)
  bytes[60] = command
  return bytes
}
const OUT: LinkMark = { id: '1>2#a', ordinal: 7, dir: 'out' }
const IN: LinkMark = { id: '2>1#a', ordinal: 4, dir: 'in' }

/** A host whose group answers the next event with `actions`; returns what it told. */
function told(actions: GroupAction[], feed: { command: number; mark?: LinkMark }, connected = true): EventDraft[] {
  const drafts: EventDraft[] = []
  const group = {
    config: { plane: 'metadata', group: 0n },
    step: () => actions,
    setFlowNotes: () => {},
    quietTicks: () => 0,
    snapshot: () => ({ view: 3, logView: 2, commitMax: 9n }),
  } as unknown as ConsensusGroup
  const sink = { emit: (draft: EventDraft) => drafts.push(draft), wantsFlow: () => false, count: () => {} }
  const links = { send: () => connected, isConnected: () => connected, lastSent: () => OUT }
  const host = new GroupHost(group, {} as GroupHooks, links, new Events(sink), () => 0)
  const bytes = frameOf(feed.command)
  host.step({ kind: 'frame', from: ReplicaId(2), bytes, nowMicros: 0n as never }, feed.mark)
  return drafts
}
const note = (kind: 'start_view_change_received' | 'view_change_started'): GroupAction => ({
  kind: 'note',
  note: { kind, class: 'fact', peer: ReplicaId(2) },
})
const send = (command: number): GroupAction => ({ kind: 'send', to: ReplicaId(2), frame: frameOf(command) })

describe('the frames of a view change', () => {
  it('are marked at their receiver, on the one note that tells of them', () => {
    const drafts = told([note('start_view_change_received'), note('view_change_started')], {
      command: Command.StartViewChange,
      mark: IN,
    })
    expect(drafts.map(draft => [draft.kind, draft.link])).toEqual([
      ['start_view_change_received', IN],
      ['view_change_started', undefined],
    ])
    expect(told([note('start_view_change_received')], { command: Command.Commit, mark: IN })[0]!.link).toBeUndefined()
  })

  it('are told by their sender, each with the place that it took on its connection', () => {
    const drafts = told([send(Command.StartViewChange), send(Command.DoViewChange), send(Command.StartView)], {
      command: Command.Commit,
    })
    expect(drafts.map(draft => [draft.kind, draft.view, draft.data.peer, draft.link])).toEqual([
      ['start_view_change_sent', 3, 2, OUT],
      ['do_view_change_sent', 3, 2, OUT],
      ['start_view_sent', 3, 2, OUT],
    ])
  })

  it('are not told when they did not leave; nor is any other frame', () => {
    expect(told([send(Command.StartView)], { command: Command.Commit }, false)).toEqual([])
    expect(told([send(Command.Commit), send(Command.Prepare)], { command: Command.Commit })).toEqual([])
  })
})
