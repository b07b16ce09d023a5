import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { clusterNode, loadState, processState } from '../../shared/inspection/api.ts'
import { benchRun } from '../../shared/inspection/bench.ts'
import { drillVerdict } from '../../shared/inspection/drills.ts'
import { eventGap } from '../../shared/inspection/envelope.ts'
import { forwardChain } from '../../shared/inspection/forwards.ts'
import { linkFault } from '../../shared/inspection/links.ts'
import { journalSnapshot, walEntrySnapshot, walScanSnapshot } from '../../shared/inspection/logs.ts'
import { consumerVerdict, pollStrategy } from '../../shared/inspection/polls.ts'
import {
  batchSnapshot,
  forwardStepName,
  groupSnapshot,
  partitionSnapshot,
  superblockGroup,
  superblockSlot,
  walSnapshot,
} from '../../shared/inspection/snapshots.ts'
import { ExitStatus } from '../../shared/storage/ports.ts'
import { RETRY_WORDS } from '../screens/clients/sessions.ts'
import { DIFFERENCES } from '../screens/partition/compare-pane.tsx'
import { SLOT_STATES } from '../screens/wal/slots.ts'
import { searchSchemas } from '../search.ts'
import { beliefLook, livenessWord, standingLook } from '../ui/states.ts'
import { anchorOf, blocksOf } from './book.ts'
import { OF_SCREEN, TERMS, termsFor } from './terms.ts'

const BOOK = new URL('../../docs/book/', import.meta.url)
const sentences = (words: string): number => words.split(/[.!?](?:\s|$)/).filter(part => part.trim() !== '').length

/** Every value of the interface that the page shows as a verdict or a state, under the prefix of its terms. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  batch: batchSnapshot.shape.verdict.options,
  flusher: partitionSnapshot.shape.flusher.shape.state.options,
  consumer: consumerVerdict.options,
  poll: pollStrategy.options,
  difference: Object.keys(DIFFERENCES),
  'wal-slot': SLOT_STATES,
  'wal-entry': [...walEntrySnapshot.shape.identity.options, ...walEntrySnapshot.shape.body.options],
  'wal-parent': walEntrySnapshot.shape.parent.options,
  'wal-scan': walScanSnapshot.shape.end.options,
  checkpoint: walSnapshot.shape.checkpoint.unwrap().shape.phase.options,
  journal: journalSnapshot.shape.entries.element.shape.state.options,
  retry: Object.keys(RETRY_WORDS),
  'forward-step': forwardStepName.options,
  standing: Object.keys(standingLook),
  belief: Object.keys(beliefLook),
  heard: [...Object.keys(livenessWord), ...clusterNode.shape.inspection.shape.state.options],
  gap: eventGap.shape.reason.options,
  link: linkFault.options.map(option => option.shape.fault.value),
  exit: Object.values(ExitStatus).map(String),
  'load-state': loadState.shape.state.options,
  bench: benchRun.shape.state.options,
  boot: bootVerdicts(),
  refusal: unionOf('shared/partition/refused.ts', 'RefusalCode'),
  'no-primary': unionOf('shared/inspection/belief.ts', 'NoPrimaryReason'),
  reader: kindsOf('app/screens/partition/consumers.ts', 'Standing'),
  chain: unionInside('app/geometry/difference.ts', 'ChainDifference'),
  role: groupSnapshot.shape.role.options,
  status: groupSnapshot.shape.status.options,
  transfer: groupSnapshot.shape.transferStage.options,
  superblock: superblockGroup.shape.verdict.options,
  slot: superblockSlot.shape.state.options,
  load: loadState.shape.verdict.shape.kind.options,
  drill: drillVerdict.options,
  forward: forwardChain.shape.state.options,
  process: processState.options,
}

/* Values that are types only are read from their source: a new one can't come without being seen here. */
function source(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
}
function quoted(text: string): string[] {
  return [...text.matchAll(/'([^']+)'/g)].map(match => match[1]!)
}
/** `export type Name = | 'a' | 'b'`, with comments between. */
function unionOf(path: string, name: string): string[] {
  const body = new RegExp(`export type ${name} =((?:\\s*(?:/\\*\\*[^/]*\\*/|\\| '[^']+'))+)`).exec(source(path))?.[1]
  return quoted((body ?? '').replace(/\/\*\*[^/]*\*\//g, ''))
}
/** `export type Name = | { readonly kind: 'a'; … }`. */
function kindsOf(path: string, name: string): string[] {
  const after = source(path).split(`export type ${name} =`)[1] ?? ''
  return [...after.split('\n\n')[0]!.matchAll(/kind: '([^']+)'/g)].map(match => match[1]!)
}
function unionInside(path: string, name: string): string[] {
  return quoted(/readonly kind: ([^\n]+)/.exec(source(path).split(`export interface ${name} {`)[1] ?? '')?.[1] ?? '')
}
/** The arguments of a call whose bracket opens at `open`, as they are written. */
function argumentsAt(text: string, open: number): string[] {
  const parts: string[] = []
  let [depth, from] = [0, open + 1]
  for (let at = open; at < text.length; at++) {
    const char = text[at]!
    if ('([{'.includes(char)) depth++
    if (')]}'.includes(char)) depth--
    if (depth === 0 || (depth === 1 && char === ',')) {
      parts.push(text.slice(from, at).trim())
      from = at + 1
    }
    if (depth === 0) break
  }
  return parts
}
/** Whatever a step of a boot is judged as, wherever one is told. */
function bootVerdicts(): string[] {
  const found: string[] = []
  for (const folder of ['shared/partition', 'shared/replica'])
    for (const name of readdirSync(new URL(`../../${folder}/`, import.meta.url))) {
      if (!name.endsWith('.ts') || name.includes('.test.')) continue
      const text = source(`${folder}/${name}`)
      for (const { 1: call, index } of text.matchAll(/\blog\.(step|fact)\(/g)) {
        const word = argumentsAt(text, text.indexOf('(', index))[call === 'step' ? 2 : 3] ?? ''
        if (/^'[^']+'$/.test(word)) found.push(word.slice(1, -1))
      }
      for (const [, verdicts] of text.matchAll(/step: '[^']+',[^}]*?verdict: ([^,\n]+)/g))
        found.push(...quoted(verdicts!))
    }
  return [
    ...new Set(found),
    ...['whole', 'torn_tail', 'valid', 'legacy', 'segments'],
    ...kindsIn('shared/partition/recovery-index.ts'),
    ...walScanSnapshot.shape.end.options,
    ...unionOfReturn('shared/storage/snapshot-store.ts', 'checkPairing'),
  ]
}
function kindsIn(path: string): string[] {
  return [...new Set([...source(path).matchAll(/\| ?\{\s*readonly kind: '([^']+)'/g)].map(match => match[1]!))]
}
function unionOfReturn(path: string, name: string): string[] {
  return quoted(/\): ([^{]+) \{/.exec(source(path).split(`function ${name}`)[1] ?? '')?.[1] ?? '')
}

describe('the words of the page', () => {
  it('no list of values is empty, and those that are read from sources have all that they should', () => {
    for (const [prefix, values] of Object.entries(VALUES))
      expect({ prefix, some: values.length > 1 }).toEqual({ prefix, some: true })
    expect(VALUES.refusal).toContain('IncarnationAhead')
    expect(VALUES.reader).toEqual(['behind', 'at_end', 'below_earliest', 'beyond'])
    expect(VALUES.boot).toEqual(
      expect.arrayContaining(['torn tail cut', 'index-floor', 'intact', 'opened', 'cut', 'newer', 'gap']),
    )
  })
  it('no term is of a value that the interface has not', () => {
    for (const key of Object.keys(TERMS)) {
      const [prefix, value] = [key.slice(0, key.indexOf('.')), key.slice(key.indexOf('.') + 1)]
      if (key.includes('.')) expect({ key, known: VALUES[prefix]?.includes(value) }).toEqual({ key, known: true })
    }
  })
  it('every screen of the page has its words', () => {
    const paths = [...source('app/router.tsx').matchAll(/path: '([^']+)',\n {2}(?:validateSearch|component)/g)].map(
      match => match[1]!,
    )
    expect(paths.length).toBeGreaterThan(15)
    for (const path of paths) if (path !== '/book/$page') expect(Object.keys(OF_SCREEN)).toContain(path)
  })
  it('every state and every verdict of the interface has its term', () => {
    for (const [prefix, values] of Object.entries(VALUES))
      for (const value of values) expect(Object.keys(TERMS)).toContain(`${prefix}.${value}`)
  })
  it('every term is two sentences, and nothing more', () => {
    for (const [key, { words }] of Object.entries(TERMS))
      expect({ key, sentences: sentences(words), end: words.at(-1) }).toEqual({ key, sentences: 2, end: '.' })
  })
  it('every term leads to a heading of the book that is there', () => {
    for (const [key, { read }] of Object.entries(TERMS)) {
      const [page, anchor] = read.split('#') as [string, string]
      const path = new URL(`${page}.md`, BOOK)
      expect({ key, there: existsSync(path) }).toEqual({ key, there: true })
      const anchors = blocksOf(readFileSync(path, 'utf8')).flatMap(block =>
        block.is === 'heading' ? anchorOf(block.text) : [],
      )
      expect({ key, anchors }).toEqual({ key, anchors: expect.arrayContaining([anchor]) })
    }
  })
  it('every heading of the book is led to by a term, but for those of its pages', () => {
    const led = new Set(Object.values(TERMS).map(({ read }) => read))
    for (const name of readdirSync(BOOK)) {
      for (const block of blocksOf(readFileSync(new URL(name, BOOK), 'utf8')))
        if (block.is === 'heading' && block.level === 2)
          expect([...led]).toContain(`${name.replace('.md', '')}#${anchorOf(block.text)}`)
    }
  })
  it('screens name terms that there are, and every term is listed once', () => {
    expect(Object.keys(searchSchemas).length).toBeGreaterThan(5)
    for (const screen of Object.keys(OF_SCREEN)) {
      const { here, others } = termsFor(screen)
      expect(here.filter(key => !(key in TERMS))).toEqual([])
      expect(here.length).toBeGreaterThan(0)
      expect(new Set([...here, ...others]).size).toBe(Object.keys(TERMS).length)
    }
  })
})
