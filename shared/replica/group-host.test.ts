import { describe, expect, it } from 'vitest'
import { ReplicaId } from '../bytes/units.ts'
import type { ConsensusGroup, GroupAction } from '../consensus/contract.ts'
import type { EventDraft } from '../inspection/envelope.ts'
import { Command } from '../protocol/commands.ts'
import { prepareLayout, prepareOkLayout } from '../protocol/headers.ts'
import { Events } from './events.ts'
import { type GroupHooks, GroupHost } from './group-host.ts'
import type { LinkMark } from './ports.ts'

const OP = 41n
const OP_AT: Readonly<Record<number, number>> = {
  [Command.Prepare]: prepareLayout.fields.op.at,
  [Command.PrepareOk]: prepareOkLayout.fields.op.at,
}
const frameOf = (command: number): Uint8Array => {
  const bytes = new Uint8Array(256)
  bytes[60] = command
  new DataView(bytes.buffer).setBigUint64(OP_AT[command] ?? 248, OP, true)
  return bytes
}
const OUT: LinkMark = { id: '1>2#a', ordinal: 7, dir: 'out' }
const IN: LinkMark = { id: '2>1#a', ordinal: 4, dir: 'in' }

/** A host whose group answers the next event with `actions`; returns what it told, of flow too where it `flows`. */
function told(
  actions: GroupAction[],
  feed: { command: number; mark?: LinkMark },
  { connected = true, flows = false, moves = false } = {},
): EventDraft[] {
  const drafts: EventDraft[] = []
  let asked = 0
  let commitMax = 9n
  const group = {
    config: { plane: 'metadata', group: 0n },
    step: () => {
      if (moves) commitMax += 1n
      return actions
    },
    setFlowNotes: () => {},
    quietTicks: () => 0,
    snapshot: () => ({ view: 3, logView: 2, commitMax }),
  } as unknown as ConsensusGroup
  // Whoever asked once is not asked again for each event: a sample of a sample would be another one than it says.
  const wantsFlow = () => flows && asked++ === 0
  const sink = { emit: (draft: EventDraft) => drafts.push(draft), wantsFlow, count: () => {} }
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
    expect(told([send(Command.StartView)], { command: Command.Commit }, { connected: false })).toEqual([])
    expect(told([send(Command.Commit), send(Command.Prepare)], { command: Command.Commit })).toEqual([])
  })
})

describe('the frames of everyday traffic, while their group is watched', () => {
  const kinds = (drafts: readonly EventDraft[]) =>
    drafts.map(draft => [draft.kind, draft.class, draft.data.command, draft.op, draft.link])

  it('are told at both ends, each with its op and its place on its connection', () => {
    expect(kinds(told([send(Command.Prepare)], { command: Command.Prepare, mark: IN }, { flows: true }))).toEqual([
      ['frame_received', 'flow', 'Prepare', OP.toString(), IN],
      ['frame_sent', 'flow', 'Prepare', OP.toString(), OUT],
    ])
  })

  it('tell a heartbeat as one, but for one that moves the commit point of who took it', () => {
    const feed = { command: Command.Commit, mark: IN }
    expect(kinds(told([send(Command.Commit)], feed, { flows: true }))).toEqual([
      ['heartbeat_received', 'flow', 'Commit', undefined, IN],
      ['heartbeat_sent', 'flow', 'Commit', undefined, OUT],
    ])
    expect(kinds(told([], feed, { flows: true, moves: true }))).toEqual([
      ['frame_received', 'flow', 'Commit', undefined, IN],
    ])
  })

  it('are told once where an event of their own tells of them', () => {
    const acked: GroupAction = { kind: 'note', note: { kind: 'prepare_acked', class: 'flow', peer: ReplicaId(2) } }
    const drafts = told([acked], { command: Command.PrepareOk, mark: IN }, { flows: true })
    expect(drafts.map(draft => [draft.kind, draft.link])).toEqual([['prepare_acked', IN]])
    // One that came too late to count is told of all the same.
    expect(kinds(told([], { command: Command.PrepareOk, mark: IN }, { flows: true }))).toEqual([
      ['frame_received', 'flow', 'PrepareOk', OP.toString(), IN],
    ])
  })
})
