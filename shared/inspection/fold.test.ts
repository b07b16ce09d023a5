import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StreamMessage } from './api.ts'
import { CONSOLE_NODE, type EventEnvelope, type EventGap } from './envelope.ts'
import { fold } from './fold.ts'
import { eventOf, foldAll, METADATA, metadataOf, settled, snapshotOf, T0, usOf } from './testing/made-up.ts'
import { readRecorded } from './testing/recorded.ts'
import { EMPTY_VIEW, FACTS_MAX, TRAFFIC_MAX } from './view.ts'

const batch = (...data: (EventEnvelope | EventGap)[]): StreamMessage => ({ event: 'batch', data })
const gap = (node: number, boot: string, fromSeq: number, toSeq: number): EventGap => ({
  v: 1,
  node,
  boot,
  kind: 'gap',
  fromSeq,
  toSeq,
  reason: 'ring_overflow',
})

describe('a stream recorded from a real cluster', () => {
  const recorded = readRecorded('kill-backup-then-primary').map(entry => entry.message)

  it('ends with every replica in view 1 behind node-1, nothing missing', () => {
    const view = foldAll(fold, recorded)
    expect([...view.groups.keys()].sort()).toEqual(['0', METADATA])
    for (const group of view.groups.values()) {
      expect(
        [...group.replicas.values()]
          .map(({ node, status, role, view }) => ({ node, status, role, view }))
          .sort((a, b) => a.node - b.node),
      ).toEqual([
        { node: 0, status: 'normal', role: 'backup', view: 1 },
        { node: 1, status: 'normal', role: 'primary', view: 1 },
        { node: 2, status: 'normal', role: 'backup', view: 1 },
      ])
    }
    expect(view.groups.get('0')!.replicas.get(1)).toMatchObject({
      op: 59n,
      commitMin: 59n,
      offsets: { next: 118n, visible: 118n, persisted: 0n },
    })
    for (const node of view.nodes.values()) expect(node.needsSnapshot).toBe(false)
    expect(view.nodes.get(0)!.oldBoots).toHaveLength(1)
    expect(view.gapCount).toBe(0)
  })

  it('tells its facts in words, in order of arrival', () => {
    const facts = foldAll(fold, recorded).facts
    const said = (about: number, kind: string) =>
      facts.filter(fact => fact.about === about && fact.kind === kind).map(fact => fact.words)
    expect(said(0, 'process_exited')).toEqual(['node-0 is down: killed by SIGKILL'])
    expect(said(1, 'view_started')).toEqual(['Leads view 1 from op 29', 'Leads view 1 from op 8'])
    expect(said(2, 'probe_started')[0]).toBe('Recovering: asks the others for the current view')
    expect(facts.map(fact => fact.words).join()).not.toContain('?')
    const sequences = facts.map(fact => fact.consoleSeq!)
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b))
    expect(facts.map(fact => fact.kind)).not.toContain('forward_sent')
  })

  it('folds to the same view however its batches are split', () => {
    const whole = foldAll(fold, recorded)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 20 }), sizes => {
        let turn = 0
        const split = recorded.flatMap(message => {
          if (message.event !== 'batch') return [message]
          const parts: StreamMessage[] = []
          for (let at = 0; at < message.data.length; ) {
            const size = sizes[turn++ % sizes.length]!
            parts.push({ event: 'batch', data: message.data.slice(at, at + size) })
            at += size
          }
          return parts
        })
        expect(foldAll(fold, split)).toEqual(whole)
      }),
      { numRuns: 30 },
    )
  })

  it('folds to the same state when a reader comes late and starts with the snapshots of that moment', () => {
    const view = foldAll(fold, recorded)
    const lastSnapshots = [0, 1, 2].map(
      node => recorded.findLast(message => message.event === 'snapshot' && message.data.node === node)!,
    )
    const late = foldAll(fold, [recorded[0]!, ...lastSnapshots])
    for (const [id, group] of view.groups) {
      for (const [node, cell] of group.replicas)
        expect(late.groups.get(id)!.replicas.get(node)).toMatchObject({
          status: cell.status,
          view: cell.view,
          role: cell.role,
        })
    }
  })

  it('changes nothing when the stream is repeated from an earlier point', () => {
    const view = foldAll(fold, recorded)
    const again = foldAll(
      fold,
      recorded.filter(message => message.event === 'batch'),
      view,
    )
    expect(again.facts).toEqual(view.facts)
    expect(again.groups).toEqual(view.groups)
    expect(again.eventCount).toBe(view.eventCount)
  })
})

describe('an event', () => {
  it('changes what it names, on its own reporter only', () => {
    const before = foldAll(fold, settled())
    const after = fold(before, batch(eventOf(1, 1, 'view_change_started', { view: 1, logView: 0 })))
    expect(after.groups.get(METADATA)!.replicas.get(1)).toMatchObject({
      status: 'view_change',
      view: 1,
      primary: 1,
      viewDurable: 0,
      source: 'event',
    })
    expect(after.groups.get(METADATA)!.replicas.get(0)).toBe(before.groups.get(METADATA)!.replicas.get(0))
    const durable = fold(after, batch(eventOf(1, 2, 'superblock_durable', { view: 1, data: { view: 1, logView: 0 } })))
    expect(durable.groups.get(METADATA)!.replicas.get(1)).toMatchObject({ viewDurable: 1, logViewDurable: 0 })
  })

  it('does not take a voter’s op for its own', () => {
    const view = foldAll(fold, [
      ...settled(),
      batch(eventOf(1, 1, 'do_view_change_received', { op: '99', data: { peer: 2 } })),
    ])
    expect(view.groups.get(METADATA)!.replicas.get(1)!.op).toBe(10n)
    expect(
      fold(view, batch(eventOf(1, 2, 'prepare_queued', { class: 'flow', op: '99' })))
        .groups.get(METADATA)!
        .replicas.get(1)!.op,
    ).toBe(99n)
  })

  it('that a snapshot includes already changes no state, and is still told', () => {
    const view = foldAll(fold, [
      ...settled(),
      snapshotOf(1, { seq: 5, metadata: { status: 'normal', view: 2 } }),
      batch(eventOf(1, 5, 'view_change_started', { view: 1 })),
    ])
    expect(view.groups.get(METADATA)!.replicas.get(1)).toMatchObject({ status: 'normal', view: 2 })
    expect(view.facts.map(fact => fact.kind)).toEqual(['view_change_started'])
  })

  it('leaves what it does not touch the very same object', () => {
    const before = foldAll(fold, [...settled(), snapshotOf(0, { groups: [{}] })])
    const after = fold(before, batch(eventOf(0, 1, 'op_committed', { class: 'flow', op: '11', commit: '11' })))
    expect(after.groups.get('7')).toBe(before.groups.get('7'))
    expect(after.nodes.get(1)).toBe(before.nodes.get(1))
    expect(after.facts).toBe(before.facts)
  })
})

describe('a snapshot', () => {
  it('G48 that arrives late never overwrites a newer one', () => {
    const view = foldAll(fold, [
      ...settled(),
      snapshotOf(1, { seq: 9, atMs: T0 + 20, metadata: { op: '20' } }),
      snapshotOf(1, { seq: 3, atMs: T0 + 30, metadata: { op: '12' } }),
    ])
    expect(view.groups.get(METADATA)!.replicas.get(1)!.op).toBe(20n)
    expect(view.nodes.get(1)!.snapshot!.reporter.seq).toBe(9)
  })

  it('older than an event keeps what the event said', () => {
    const view = foldAll(fold, [
      ...settled(),
      batch(eventOf(1, 7, 'view_adopted', { view: 3 })),
      snapshotOf(1, { seq: 6, metadata: { view: 2 } }),
    ])
    expect(view.groups.get(METADATA)!.replicas.get(1)!.view).toBe(3)
    expect(
      fold(view, snapshotOf(1, { seq: 7, metadata: { view: 4 } }))
        .groups.get(METADATA)!
        .replicas.get(1)!.view,
    ).toBe(4)
  })

  it('of a new life ends what the old one said, and the old life cannot come back', () => {
    const grown = foldAll(fold, [...settled(), snapshotOf(1, { groups: [{}] })])
    const reborn = fold(grown, snapshotOf(1, { boot: 'second', metadata: { status: 'recovering' } }))
    expect(reborn.groups.has('7')).toBe(false)
    const late = foldAll(
      fold,
      [snapshotOf(1, { seq: 99, atMs: T0 + 99 }), batch(eventOf(1, 100, 'view_started', { view: 9 }))],
      reborn,
    )
    expect(late.groups.get(METADATA)!.replicas.get(1)).toMatchObject({ status: 'recovering', boot: 'second' })
    expect(late.facts.at(-1)!.kind).toBe('view_started')
  })
})

describe('a gap', () => {
  it('marks the node until a snapshot covers it', () => {
    const view = foldAll(fold, [...settled(), batch(gap(1, 'b1', 1, 50))])
    expect(view.nodes.get(1)!.needsSnapshot).toBe(true)
    expect(view.nodes.get(0)!.needsSnapshot).toBe(false)
    expect(view.facts.at(-1)).toMatchObject({
      kind: 'gap',
      words: '50 events are missing (ring overflow)',
      tone: 'bad',
    })
    const early = fold(view, snapshotOf(1, { seq: 49 }))
    expect(early.nodes.get(1)!.needsSnapshot).toBe(true)
    const events = fold(early, batch(eventOf(1, 51, 'view_adopted', { view: 1 })))
    expect(events.nodes.get(1)!.needsSnapshot).toBe(true)
    expect(fold(events, snapshotOf(1, { seq: 50 })).nodes.get(1)!.needsSnapshot).toBe(false)
  })

  it('of the console marks every node until a snapshot that was asked for after it', () => {
    const missed: EventGap = { ...gap(CONSOLE_NODE, 'r', 5, 80), reason: 'slow_reader' }
    const view = foldAll(fold, [...settled(), { event: 'gap', data: missed }])
    expect([...view.nodes.values()].map(node => node.needsSnapshot)).toEqual([true, true, true])
    expect(view.seq).toBe(80)
    const partly = foldAll(
      fold,
      [snapshotOf(0, { consoleSeq: 79, atMs: T0 + 1 }), snapshotOf(1, { consoleSeq: 80, atMs: T0 + 1 })],
      view,
    )
    expect([...partly.nodes.values()].map(node => node.needsSnapshot)).toEqual([true, false, true])
  })
})

describe('whatever nodes say', () => {
  const data = fc.dictionary(
    fc.string(),
    fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.bigInt({ min: 0n }).map(String)),
  )
  const kind = fc.oneof(
    fc.string(),
    fc.constantFrom(
      'constructor',
      '__proto__',
      'view_started',
      'truncated',
      'segment_rolled',
      'persisted',
      'superblock_durable',
      'op_committed',
    ),
  )
  const event = fc.record({
    node: fc.nat({ max: 4 }).map(node => (node === 4 ? CONSOLE_NODE : node)),
    boot: fc.constantFrom('b0', 'b1', 'b2', 'x'),
    seq: fc.integer({ min: 1, max: 30 }),
    plane: fc.constantFrom('node' as const, 'metadata' as const, 'partition' as const),
    group: fc.constantFrom('node', METADATA, '7', 'nonsense'),
    kind,
    class: fc.constantFrom('fact' as const, 'flow' as const),
    view: fc.nat(),
    op: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map(String),
    commit: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map(String),
    data,
  })

  it('never throws, in any order, and splits alike', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), fc.nat({ max: 40 }), (events, at) => {
        const items = events.map(changes => ({ ...eventOf(changes.node, changes.seq, changes.kind), ...changes }))
        const start = foldAll(fold, [...settled(), snapshotOf(0, { groups: [{}] })])
        const whole = fold(start, batch(...items))
        expect(foldAll(fold, [batch(...items.slice(0, at)), batch(...items.slice(at))], start)).toEqual(whole)
        for (const fact of [...whole.facts, ...whole.traffic]) expect(typeof fact.words).toBe('string')
      }),
    )
  })

  it('a message of a later console is let pass', () => {
    expect(fold(EMPTY_VIEW, { event: 'something_new', data: {} } as unknown as StreamMessage)).toBe(EMPTY_VIEW)
  })

  it('G45 costs a bounded amount of memory, and traffic pushes out no view change', () => {
    let view = foldAll(fold, [...settled(), batch(eventOf(0, 1, 'view_started', { view: 3 }))])
    for (let i = 0; i < 5; i++)
      view = fold(view, batch(...Array.from({ length: 400 }, (_, n) => eventOf(0, 2 + i * 400 + n, 'forward_sent'))))
    expect(view.traffic).toHaveLength(TRAFFIC_MAX)
    expect(view.facts.map(fact => fact.kind)).toEqual(['view_started'])
    for (let i = 0; i < 5; i++)
      view = fold(
        view,
        batch(...Array.from({ length: 400 }, (_, n) => eventOf(0, 3000 + i * 400 + n, 'repair_started'))),
      )
    expect(view.facts).toHaveLength(FACTS_MAX)
    expect(view.facts.length + view.factsDropped).toBe(1 + 5 * 400)
    for (let op = 0; op < 100; op++) {
      view = fold(
        view,
        snapshotOf(0, {
          seq: 6000 + op,
          atMs: T0 + op * 700,
          metadata: metadataOf({ role: 'primary', commitMax: String(op + 10) }),
        }),
      )
    }
    expect(view.groups.get(METADATA)!.commitMarks.length).toBeLessThanOrEqual(16)
    expect(usOf(T0)).toMatch(/^\d+$/)
  })
})
