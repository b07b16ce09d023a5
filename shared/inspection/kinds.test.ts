import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { eventEnvelope } from './envelope.ts'
import { EVENT_KINDS, kindSpec, wordsOf } from './kinds.ts'
import { eventOf } from './testing/made-up.ts'
import { readRecorded } from './testing/recorded.ts'

const ENVELOPE_FIELDS = ['op', 'view', 'logView', 'commit', 'node']

describe('the registry of kinds', () => {
  it('names in its words only fields that the kind carries', () => {
    for (const [kind, spec] of Object.entries(EVENT_KINDS)) {
      const carried = new Set([...ENVELOPE_FIELDS, ...spec.fields.map(field => field.replace('?', ''))])
      for (const [, name] of spec.words.matchAll(/\{(\w+)\}/g))
        expect([kind, name, carried.has(name!)]).toEqual([kind, name, true])
    }
  })

  it('puts what may be absent in brackets, so that no question mark is ever read', () => {
    for (const [kind, spec] of Object.entries(EVENT_KINDS)) {
      const optional = new Set([
        'op',
        'commit',
        ...spec.fields.filter(field => field.endsWith('?')).map(field => field.slice(0, -1)),
      ])
      const bare = spec.words.replace(/\[[^\]]*\]/g, '')
      const risky = [...bare.matchAll(/\{(\w+)\}/g)]
        .map(match => match[1]!)
        .filter(name => optional.has(name) && !spec.fields.includes(name))
      // Kinds that are about one op always carry it.
      const aboutOneOp =
        /^(checkpoint_|transfer_install|prepare_|op_committed|commit_advanced|merge_undecided|truncated)/.test(kind)
      expect([kind, aboutOneOp ? [] : risky]).toEqual([kind, []])
    }
  })

  it('knows every kind that a real cluster sent, with its class and its fields', () => {
    const items = readRecorded('kill-backup-then-primary').flatMap(({ message }) =>
      message.event === 'batch' ? message.data : [],
    )
    const seen = new Set<string>()
    for (const item of items) {
      const event = eventEnvelope.parse(item)
      const spec = kindSpec(event.kind)
      expect([event.kind, spec?.class]).toEqual([event.kind, event.class])
      for (const field of spec!.fields.filter(name => !name.endsWith('?')))
        expect([event.kind, field in event.data]).toEqual([event.kind, true])
      expect(wordsOf(event)).not.toMatch(/[?{}[\]]/)
      seen.add(event.kind)
    }
    expect(seen.size).toBeGreaterThan(25)
  })
})

/** Kinds as their senders name them: in front of the class, or to a method that stands for one. */
const SENT = /'([a-z_]+)',\s*'(fact|flow)'|\.(?:node|fact|emit|say|tell)\(\s*'([a-z_]+)'/g

describe('the senders', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const sources = ['shared/replica', 'shared/partition', 'shared/metadata', 'server/node', 'server/console']
    .flatMap(directory => readdirSync(`${root}${directory}`, { recursive: true }).map(name => `${directory}/${name}`))
    .filter(path => path.endsWith('.ts') && !path.endsWith('.test.ts'))

  it('send no kind that the registry does not know, so that a purge or a removal has words, tone and family', () => {
    const sent = sources.flatMap(path =>
      [...readFileSync(root + path, 'utf8').matchAll(SENT)].map(([, kind, cls = 'fact', fact]) => ({
        path,
        kind: kind ?? fact!,
        cls,
      })),
    )
    expect(sent.length).toBeGreaterThan(80)
    expect(sent.filter(({ kind, cls }) => kindSpec(kind)?.class !== cls)).toEqual([])
  })
})

describe('words', () => {
  it('leave out what is not known', () => {
    expect(wordsOf(eventOf(0, 1, 'view_started', { view: 7, op: '12' }))).toBe('Leads view 7 from op 12')
    expect(wordsOf(eventOf(0, 1, 'view_started', { view: 7 }))).toBe('Leads view 7')
    expect(wordsOf(eventOf(255, 1, 'process_exited', { data: { node: 2 } }))).toBe('node-2 is down')
  })

  it('of an unknown kind are its name and its first fields', () => {
    expect(wordsOf(eventOf(0, 1, 'brand_new_thing', { data: { a: 1, b: null } }))).toBe('brand new thing: a 1, b null')
    expect(wordsOf(eventOf(0, 1, 'constructor'))).toBe('constructor')
  })

  it('take text from nodes as text, braces and all', () => {
    expect(
      wordsOf(eventOf(0, 1, 'view_change_started', { data: { oldView: 0, newView: 1, reason: '{op}[x]<img>' } })),
    ).toBe('View change 0 to 1: {op}[x]<img>')
  })
})
