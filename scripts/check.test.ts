import { describe, expect, it } from 'vitest'
// @ts-expect-error plain JavaScript without declarations
import { breaches, checkAll } from './check.mjs'

describe('house rules', () => {
  it('hold in the whole tree', () => {
    expect(checkAll()).toEqual([])
  })

  it.each([
    ['an arrow against the table', 'shared/consensus/x.ts', "import { a } from '../partition/a.ts'\n"],
    ['an arrow hidden in a dynamic import', 'shared/protocol/x.ts', "const a = import('../storage/a.ts')\n"],
    ['a Node module in the engine', 'shared/partition/x.ts', "import { open } from 'node:fs'\n"],
    ['a package in the engine', 'shared/replica/x.ts', "import pino from 'pino'\n"],
    ['the server in the page', 'app/x.tsx', "import { a } from '../server/a.ts'\n"],
    ['the engine in a screen', 'app/screens/x.tsx', "import { a } from '../../shared/replica/a.ts'\n"],
    ['the clock in the engine', 'shared/consensus/x.ts', 'const t = Date.now()\n'],
    ['chance in the engine', 'shared/consensus/x.ts', 'const t = Math.random()\n'],
    ['a way around both', 'shared/consensus/x.ts', 'const t = globalThis\n'],
    ['an unknown room', 'shared/attic/x.ts', "import { a } from '../bytes/a.ts'\n"],
    ['values of storage in inspection', 'shared/inspection/x.ts', "import { a } from '../storage/a.ts'\n"],
    ['a barrel', 'shared/bytes/index.ts', 'export const a = 1\n'],
    ['a focused test', 'shared/bytes/a.test.ts', "it.only('a', () => {})\n"],
  ])('refuse %s', (_, file, text) => {
    expect(breaches(file, text)).toHaveLength(1)
  })

  it.each([
    ['an allowed arrow', 'shared/consensus/x.ts', "import { a } from '../storage/a.ts'\n"],
    ['a type of storage in inspection', 'shared/inspection/x.ts', "import type { a } from '../storage/a.ts'\n"],
    [
      'the words in comments and strings',
      'shared/bytes/x.ts',
      "// Date.now() and setTimeout\nexport const a = 'Math.random()'\n",
    ],
    ['a source adapter of the page', 'app/data/sources/sim.ts', "import { a } from '../../../shared/simulator/a.ts'\n"],
    ['Node in a test', 'shared/bytes/a.test.ts', "import { readFileSync } from 'node:fs'\n"],
  ])('accept %s', (_, file, text) => {
    expect(breaches(file, text)).toEqual([])
  })
})
