import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { loadState, processState } from '../../shared/inspection/api.ts'
import { drillVerdict } from '../../shared/inspection/drills.ts'
import { forwardChain } from '../../shared/inspection/forwards.ts'
import { groupSnapshot, superblockGroup, superblockSlot } from '../../shared/inspection/snapshots.ts'
import { searchSchemas } from '../search.ts'
import { anchorOf, blocksOf } from './book.ts'
import { OF_SCREEN, TERMS, termsFor } from './terms.ts'

const BOOK = new URL('../../docs/book/', import.meta.url)
const sentences = (words: string): number => words.split(/[.!?](?:\s|$)/).filter(part => part.trim() !== '').length

/** Every value of the interface that the page shows as a verdict or a state, under the prefix of its terms. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
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

describe('the words of the page', () => {
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
