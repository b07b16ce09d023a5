import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const PROMISED = [
  1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 19, 20, 21, 22, 23, 24, 25, 27, 28, 30, 31, 32, 33, 37, 44, 45, 46, 48,
  49, 51, 52, 53, 54, 55, 57, 58, 60, 65,
]
const rows = readFileSync(join(root, 'docs/console-features.md'), 'utf8')
  .split('\n')
  .flatMap(line => {
    const cells = line.split(' | ')
    const number = /^\| (\d+)$/.exec(cells[0] ?? '')?.[1]
    return number === undefined
      ? []
      : [{ number: Number(number), test: cells.slice(3).join(' | ').replace(/ \|$/, '') }]
  })

describe('the table of features', () => {
  it('has every row that was promised, once', () => {
    expect(rows.map(row => row.number)).toEqual(PROMISED)
  })

  it('names a test that exists, or says what is missing', () => {
    for (const { number, test } of rows) {
      const named = /^`([^`]+)`: (.+)$/.exec(test)
      if (!named) {
        expect(test, `row ${number}`).toMatch(/^missing: \S/)
        continue
      }
      const [, file, title] = named as unknown as [string, string, string]
      expect(existsSync(join(root, file)), `row ${number}: ${file}`).toBe(true)
      const titles = [
        ...readFileSync(join(root, file), 'utf8').matchAll(/\b(?:it|test)(?:\.each\([^)]*\))?\(\s*(['"`])(.*?)\1,/g),
      ]
      expect(
        titles.map(found => found[2]),
        `row ${number}`,
      ).toContain(title)
    }
  })
})
