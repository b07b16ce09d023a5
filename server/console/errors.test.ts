import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { apiError } from '../../shared/inspection/api.ts'
import { CONSOLE_ERRORS, ConsoleError, type ConsoleErrorCode } from './errors.ts'

const catalogue = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')

it('the catalogue page lists every code with its status and advice, and no other', () => {
  const rows = [...catalogue.matchAll(/^\| `(CON_\w+)` \| (\d+) \| (.+) \|$/gm)].map(([, code, status, advice]) => [
    code,
    Number(status),
    advice,
  ])
  expect(rows).toEqual(Object.entries(CONSOLE_ERRORS).map(([code, [status, advice]]) => [code, status, advice]))
})

it('every error can be sent as it is, with and without what the node said', () => {
  for (const code of Object.keys(CONSOLE_ERRORS) as ConsoleErrorCode[]) {
    expect(apiError.parse(new ConsoleError(code, 'words').toJSON())).toEqual({
      code,
      message: 'words',
      advice: CONSOLE_ERRORS[code][1],
    })
  }
  const origin = { code: 'X', message: 'y' }
  expect(apiError.parse(new ConsoleError('CON_NODE_ERROR', 'words', origin).toJSON()).cause).toEqual(origin)
})
