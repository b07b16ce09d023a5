import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { contrast, distance, parseHex, SIGHTS, seenBy } from './colour.testing.ts'

const css = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8')

function block(opening: string): Map<string, string> {
  const start = css.indexOf(opening)
  expect(start, `${opening} stands in tokens.css`).toBeGreaterThanOrEqual(0)
  const body = css.slice(css.indexOf('{', start) + 1, css.indexOf('}', start))
  return new Map(
    [...body.matchAll(/(--[\w-]+):\s*([^;]+);/g)].map(match => [match[1]!, match[2]!.replace(/\s+/g, ' ').trim()]),
  )
}
const light = block(':root {')
const darkBySystem = block(':root:not([data-theme="light"])')
const darkByChoice = block(':root[data-theme="dark"]')

const STATES = ['primary', 'backup', 'change', 'recover', 'danger', 'ok'] as const
const themes = [
  { name: 'light', tokens: light, apart: 14 },
  { name: 'dark', tokens: new Map([...light, ...darkByChoice]), apart: 16 },
] as const

it('keeps the two dark blocks equal', () => {
  expect(Object.fromEntries(darkBySystem)).toEqual(Object.fromEntries(darkByChoice))
})

describe.each(themes)('$name theme', ({ tokens, apart }) => {
  const colour = (name: string) => parseHex(tokens.get(name) ?? '')
  const grounds = ['--ground-0', '--ground-1', '--ground-2', '--ground-3', '--ground-4']

  it('reads every ink at 4.5 to 1 on every ground and wash', () => {
    for (const ink of ['--ink-1', '--ink-2', '--ink-3']) {
      for (const ground of [...grounds, ...STATES.map(state => `--s-${state}-wash`)]) {
        expect(contrast(colour(ink), colour(ground)), `${ink} on ${ground}`).toBeGreaterThanOrEqual(4.5)
      }
    }
    expect(contrast(colour('--ink-invert'), colour('--ground-invert'))).toBeGreaterThanOrEqual(4.5)
  })

  it('shows every state fill at 3 to 1 on panes, and every state line at 4.5 to 1 on panes and its wash', () => {
    for (const state of STATES) {
      for (const ground of ['--ground-1', '--ground-2', '--ground-3']) {
        expect(contrast(colour(`--s-${state}`), colour(ground)), `${state} fill on ${ground}`).toBeGreaterThanOrEqual(3)
        expect(
          contrast(colour(`--s-${state}-line`), colour(ground)),
          `${state} line on ${ground}`,
        ).toBeGreaterThanOrEqual(4.5)
      }
      expect(
        contrast(colour(`--s-${state}-line`), colour(`--s-${state}-wash`)),
        `${state} line on its wash`,
      ).toBeGreaterThanOrEqual(4.5)
    }
  })

  it('draws meaning-bearing edges, focus and selection at 3 to 1', () => {
    for (const ground of grounds) {
      expect(contrast(colour('--line-3'), colour(ground)), `line-3 on ${ground}`).toBeGreaterThanOrEqual(3)
      expect(contrast(colour('--focus'), colour(ground)), `focus on ${ground}`).toBeGreaterThanOrEqual(3)
      expect(contrast(colour('--select'), colour(ground)), `select on ${ground}`).toBeGreaterThanOrEqual(3)
    }
  })

  it.each(Object.entries(SIGHTS))('keeps the six states apart for %s sight', (_name, sight) => {
    for (const one of STATES) {
      for (const other of STATES) {
        if (one >= other) continue
        const seen = distance(seenBy(colour(`--s-${one}`), sight), seenBy(colour(`--s-${other}`), sight))
        expect(seen, `${one} and ${other}`).toBeGreaterThanOrEqual(apart)
      }
    }
  })
})

it('uses no colour outside the tokens', () => {
  for (const sheet of ['base.css', 'app.css']) {
    const text = readFileSync(new URL(`./${sheet}`, import.meta.url), 'utf8')
    expect(text.match(/#[0-9a-f]{3,8}\b|rgba?\(/gi) ?? [], sheet).toEqual([])
  }
})
