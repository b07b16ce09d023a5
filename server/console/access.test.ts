import { describe, expect, it } from 'vitest'
import { type AccessRules, checkAccess, hostName, mayNameHost } from './access.ts'
import type { ConsoleError } from './errors.ts'
import { isReadOnly } from './serve.ts'

const rules: AccessRules = { host: '127.0.0.1', token: 'secret-token', readOnly: false }

const codeOf = (
  method: string,
  headers: Record<string, string>,
  changes: Partial<AccessRules> = {},
  url = '/api/load',
): string => {
  try {
    checkAccess({ method, url, headers }, { ...rules, ...changes })
    return 'ok'
  } catch (error) {
    return (error as ConsoleError).code
  }
}
const host = 'localhost:4600'
const authorization = 'Bearer secret-token'

describe('a foreign name that resolves to this machine', () => {
  it('is refused on every route, reading included', () => {
    for (const name of [
      'evil.example',
      'evil.example:4600',
      'localhost.evil.example',
      '127.0.0.1.evil.example:4600',
      '192.168.0.7:4600',
      '',
      'a@localhost',
    ]) {
      expect(codeOf('GET', { host: name })).toBe('CON_BAD_HOST')
      expect(codeOf('POST', { host: name, authorization })).toBe('CON_BAD_HOST')
    }
    expect(codeOf('GET', {})).toBe('CON_BAD_HOST')
  })

  it('is told apart from the names of this console', () => {
    for (const name of ['localhost', 'LOCALHOST:4600', '127.0.0.1:1', '127.8.9.1:4600', '[::1]:4600']) {
      expect(codeOf('GET', { host: name })).toBe('ok')
    }
    expect(mayNameHost('box.lan:4600', 'box.lan')).toBe(true)
    expect(mayNameHost('192.168.0.7:4600', '0.0.0.0')).toBe(true)
    expect(mayNameHost('evil.example:4600', '0.0.0.0')).toBe(false)
    expect(hostName('[::1]:80')).toBe('::1')
    expect(hostName('a b')).toBeUndefined()
  })
})

describe('a page of another site', () => {
  it('is refused whatever it carries', () => {
    for (const origin of [
      'http://evil.example',
      'https://localhost:4600',
      'http://localhost:4601',
      'http://127.0.0.1:4600',
      'null',
      'file://',
    ]) {
      expect(codeOf('POST', { host, origin, authorization })).toBe('CON_BAD_ORIGIN')
      expect(codeOf('GET', { host, origin })).toBe('CON_BAD_ORIGIN')
    }
    expect(codeOf('POST', { host, origin: `http://${host}`, authorization })).toBe('ok')
  })

  it('may not read by a script or an image either, but may link to the page', () => {
    for (const site of ['cross-site', 'same-site']) {
      expect(codeOf('GET', { host, 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' })).toBe('CON_BAD_ORIGIN')
      expect(codeOf('GET', { host, 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' })).toBe('CON_BAD_ORIGIN')
      expect(codeOf('GET', { host, 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' }, {}, '/cluster')).toBe('ok')
      expect(
        codeOf('POST', { host, 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', authorization }, {}, '/cluster'),
      ).toBe('CON_BAD_ORIGIN')
    }
    expect(codeOf('GET', { host, 'sec-fetch-site': 'same-origin' })).toBe('ok')
    expect(codeOf('GET', { host, 'sec-fetch-site': 'none' })).toBe('ok')
  })
})

describe('a request that changes something', () => {
  it('needs the token of this run', () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      expect(codeOf(method, { host })).toBe('CON_TOKEN_MISSING')
      expect(codeOf(method, { host, authorization: 'Basic secret-token' })).toBe('CON_TOKEN_MISSING')
      expect(codeOf(method, { host, authorization: 'Bearer ' })).toBe('CON_TOKEN_MISSING')
      expect(codeOf(method, { host, authorization: 'Bearer secret-toke' })).toBe('CON_TOKEN_WRONG')
      expect(codeOf(method, { host, authorization: 'bearer secret-token' })).toBe('ok')
    }
    expect(codeOf('GET', { host })).toBe('ok')
    expect(codeOf('HEAD', { host })).toBe('ok')
  })

  it('is refused by a read-only console, with or without the token', () => {
    expect(codeOf('POST', { host, authorization }, { readOnly: true })).toBe('CON_READ_ONLY')
    expect(codeOf('POST', { host }, { readOnly: true })).toBe('CON_READ_ONLY')
    expect(codeOf('GET', { host }, { readOnly: true })).toBe('ok')
  })
})

it('a console that others can reach is read-only unless it is told otherwise', () => {
  expect(isReadOnly('127.0.0.1', undefined)).toBe(false)
  expect(isReadOnly('localhost', undefined)).toBe(false)
  expect(isReadOnly('0.0.0.0', undefined)).toBe(true)
  expect(isReadOnly('192.168.0.7', undefined)).toBe(true)
  expect(isReadOnly('0.0.0.0', false)).toBe(false)
  expect(isReadOnly('127.0.0.1', true)).toBe(true)
})
