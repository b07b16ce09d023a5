import { describe, expect, it } from 'vitest'
import type { RingEvent } from '../data/ring.ts'
import { matchMessages, relatedTo } from './messages.ts'

let ordinal = 0
const event = (node: number, wallMs: number, kind: string, over: Partial<RingEvent> = {}): RingEvent => ({
  ordinal: ordinal++,
  node,
  boot: `b${node}`,
  seq: ordinal,
  wallMs,
  receivedMs: undefined,
  plane: 'metadata',
  group: '0',
  kind,
  fact: true,
  gap: false,
  view: 1,
  logView: undefined,
  op: undefined,
  commit: undefined,
  cause: undefined,
  link: undefined,
  data: {},
  ...over,
})
const mark = (id: string, at: number, dir: 'in' | 'out') => ({ link: { id, ordinal: at, dir } })

describe('the two ends of a message', () => {
  it('joins the same frame of the same connection, and no other', () => {
    const sent = event(2, 10, 'forward_sent', mark('2>0#a', 4, 'out'))
    const other = event(2, 11, 'forward_sent', mark('2>0#a', 5, 'out'))
    const taken = event(0, 12, 'forward_taken', mark('2>0#a', 4, 'in'))
    const reborn = event(0, 13, 'forward_taken', mark('2>0#b', 5, 'in'))
    const messages = matchMessages([sent, other, taken, reborn])
    expect(messages.filter(item => item.by === 'frame')).toMatchObject([{ sent, received: taken, from: 2, to: 0 }])
    expect(messages.filter(item => item.by === 'alone').map(item => item.sent ?? item.received)).toEqual([
      other,
      reborn,
    ])
  })

  it('names everyday frames by their command, and a prepare that is acknowledged by its acknowledgement', () => {
    const sent = event(0, 10, 'frame_sent', { ...mark('0>1#a', 1, 'out'), data: { command: 'Prepare', peer: 1 } })
    const taken = event(1, 11, 'frame_received', { ...mark('0>1#a', 1, 'in'), data: { command: 'Prepare', peer: 0 } })
    const ok = event(1, 12, 'frame_sent', { ...mark('1>0#a', 9, 'out'), data: { command: 'PrepareOk', peer: 0 } })
    const acked = event(0, 13, 'prepare_acked', { ...mark('1>0#a', 9, 'in'), data: { peer: 1 } })
    expect(matchMessages([sent, taken, ok, acked])).toMatchObject([
      { name: 'Prepare', from: 0, to: 1, by: 'frame', sent, received: taken },
      { name: 'PrepareOk', from: 1, to: 0, by: 'frame', sent: ok, received: acked },
    ])
  })

  it('G42 knows nothing of kinds that are names of the language', () => {
    for (const kind of ['constructor', 'toString', '__proto__'])
      expect(matchMessages([event(1, 10, kind, mark('0>1#a', 1, 'in')), event(1, 10, kind)])).toMatchObject([
        { name: kind, by: 'alone' },
      ])
  })

  it('says what the link did with a frame, also when it came late', () => {
    const held = event(255, 10, 'link_frame_held', {
      ...mark('1>2#c', 7, 'out'),
      data: { from: 1, to: 2, command: 'DoViewChange' },
    })
    expect(matchMessages([held])).toMatchObject([{ from: 1, to: 2, name: 'DoViewChange', by: 'alone', fate: 'held' }])
    const released = { ...held, ordinal: held.ordinal + 1, kind: 'link_frame_released' }
    expect(matchMessages([held, released])).toMatchObject([{ fate: 'released' }])
  })

  it('concludes a vote from its receiver: the last moment the sender could have sent it, of that view and group', () => {
    const wrongView = event(1, 15, 'superblock_durable', { view: 2 })
    const durable = event(1, 10, 'superblock_durable')
    const wrongGroup = event(1, 16, 'superblock_durable', { group: '9' })
    const counted = event(2, 20, 'start_view_change_received', { data: { view: 1, peer: 1 } })
    const later = event(1, 60, 'superblock_durable')
    expect(matchMessages([durable, wrongView, wrongGroup, counted, later])).toMatchObject([
      { sent: durable, received: counted, by: 'concluded', name: 'StartViewChange', from: 1, to: 2 },
    ])
    const old = { ...durable, wallMs: -5_000 }
    expect(matchMessages([old, counted])).toMatchObject([{ sent: undefined, by: 'alone' }])
  })
})

describe('cause and effect', () => {
  it('keeps apart what the node says, what the frame shows, and what is a guess', () => {
    const first = event(2, 1, 'forward_received', { group: 'node' })
    const sent = event(2, 2, 'forward_sent', { ...mark('2>0#a', 1, 'out'), group: 'node', cause: first.seq })
    const taken = event(0, 3, 'forward_taken', { ...mark('2>0#a', 1, 'in'), group: 'node' })
    const all = [first, sent, taken]
    const related = relatedTo(sent, all, matchMessages(all))
    expect(related.causes).toEqual([{ event: first, by: 'told' }])
    expect(related.effects).toEqual([{ event: taken, by: 'frame' }])
    const due = event(1, 5, 'superblock_due')
    const durable = event(1, 6, 'superblock_durable')
    const other = event(1, 7, 'superblock_due', { view: 3 })
    expect(relatedTo(durable, [due, durable, other], []).causes).toEqual([{ event: due, by: 'guess' }])
    expect(relatedTo(durable, [due, durable, other], []).effects).toEqual([])
  })
})
