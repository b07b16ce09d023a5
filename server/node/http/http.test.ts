/** The parts of the HTTP API that need no node (spec wire.md §7). */
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { createHash } from '../../../shared/bytes/hash.ts'
import { ClientError } from '../../../shared/client/errors.ts'
import { createTokenBody, parseJson, readBody, sendBody, writeJson } from './bodies.ts'
import { type HttpError, protocolError } from './errors.ts'
import { HttpServer } from './http-server.ts'
import { Jwt, ownKey, sharedKey } from './jwt.ts'
import { LocalConnections } from './local-connections.ts'
import { redirectTo } from './redirect.ts'

describe('MF-14 the address that a write at a backup is sent on to', () => {
  const ports = { tcp: 1, quic: 0, http: 3001, websocket: 0 }

  test('has an IPv6 address in brackets, https with TLS, and keeps path and query', () => {
    const path = '/streams/a%2Fb/topics?x=1&y=%20'
    expect(redirectTo({ ip: '10.0.0.7', ports }, false, path)).toBe(`http://10.0.0.7:3001${path}`)
    expect(redirectTo({ ip: '2001:db8::7', ports }, false, path)).toBe(`http://[2001:db8::7]:3001${path}`)
    expect(redirectTo({ ip: 'node-1.example', ports }, true, path)).toBe(`https://node-1.example:3001${path}`)
    expect(new URL(redirectTo({ ip: '::1', ports }, true, path)!).pathname).toBe('/streams/a%2Fb/topics')
  })

  test('is none while nobody leads, or the primary serves no HTTP', () => {
    expect(redirectTo(undefined, false, '/x')).toBeUndefined()
    expect(redirectTo({ ip: '10.0.0.7', ports: { ...ports, http: 0 } }, false, '/x')).toBeUndefined()
  })
})

describe('a bearer', () => {
  test('of one node is good at another with the same secret, and nowhere else', async () => {
    const { token, bearer } = await new Jwt(sharedKey('s'.repeat(32)), 60).issue(7)
    expect(await new Jwt(sharedKey('s'.repeat(32)), 60).verify(token)).toEqual(bearer)
    expect(bearer.userId).toBe(7)
    expect(await new Jwt(ownKey(), 60).verify(token)).toBeUndefined()
    expect(await new Jwt(sharedKey('t'.repeat(32)), 60).verify(token)).toBeUndefined()
  })

  test('that is changed, expired, unsigned, of another party or without an end is refused', async () => {
    const key = ownKey()
    const jwt = new Jwt(key, 60)
    const { token } = await jwt.issue(0)
    const [head, , signature] = token.split('.')
    const claims = Buffer.from(JSON.stringify({ sub: '0', jti: 'x', exp: 9e9 })).toString('base64url')
    expect(await jwt.verify(`${head}.${claims}.${signature}`)).toBeUndefined()
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url')
    expect(await jwt.verify(`${none}.${claims}.`)).toBeUndefined()
    expect(await jwt.verify((await new Jwt(key, -60).issue(0)).token)).toBeUndefined()
    const signed = (issuer: string, expires: boolean) => {
      const draft = new SignJWT().setProtectedHeader({ alg: 'HS256' }).setJti('x').setSubject('0')
      draft.setIssuer(issuer).setAudience('iggy.apache.org')
      return (expires ? draft.setExpirationTime('1m') : draft).sign(key)
    }
    expect(await jwt.verify(await signed('iggy.apache.org', true))).toMatchObject({ userId: 0, id: 'x' })
    expect(await jwt.verify(await signed('elsewhere', true))).toBeUndefined()
    expect(await jwt.verify(await signed('iggy.apache.org', false))).toBeUndefined()
  })
})

describe('bodies', () => {
  test('whole numbers of 64 and 128 bits are bare numbers, in both directions, to the last digit', () => {
    const most = 0xffff_ffff_ffff_ffffn
    expect(readBody(createTokenBody, parseJson(`{"name":"t","expiry":${most}}`)).expiry).toBe(most)
    expect(writeJson({ base_offset: most, text: 'x', nothing: null })).toBe(
      `{"base_offset":${most},"text":"x","nothing":null}`,
    )
    const id = (1n << 128n) - 1n
    const body = `{"partitioning":{"kind":"balanced","value":""},"messages":[{"id":${id},"payload":"aGk="}]}`
    expect(readBody(sendBody, parseJson(body)).messages[0]).toEqual({ id, payload: new Uint8Array([104, 105]) })
  })

  test.each([
    ['{"name":"t","expiry":18446744073709551616}', 'expiry'],
    ['{"name":"t","expiry":-1}', 'expiry'],
    ['{"name":"t","expiry":1.5}', 'expiry'],
    ['{"name":"","expiry":1}', 'name'],
  ])('%s is refused, and the field is named', (text, field) => {
    let refused: HttpError | undefined
    try {
      readBody(createTokenBody, parseJson(text))
    } catch (error) {
      refused = error as HttpError
    }
    expect(refused).toMatchObject({ status: 400, body: { field } })
  })

  test('a partitioning reads as the protocol has it', () => {
    const read = (kind: string, value: string) =>
      readBody(sendBody, { partitioning: { kind, value }, messages: [{ payload: '' }] }).partitioning
    expect(read('partition_id', 'AgAAAA==')).toEqual({ kind: 'partition', partition: 2 })
    expect(read('messages_key', 'aGk=')).toEqual({ kind: 'key', key: new Uint8Array([104, 105]) })
    expect(() => read('partition_id', 'AgA=')).toThrow()
    expect(() => read('messages_key', '')).toThrow()
  })
})

test('each code of the protocol has its status', () => {
  const statusOf = (code: number) => protocolError(code).status
  expect([1009, 2010, 3007, 20].map(statusOf)).toEqual([404, 404, 404, 404])
  expect([40, 77, 78, 53].map(statusOf)).toEqual([401, 401, 401, 401])
  expect([41, 57, 58, new ClientError(12_001, 'unknown').status, 42, 51].map(statusOf)).toEqual([
    403, 503, 503, 504, 400, 400,
  ])
  expect(protocolError(1009).body).toMatchObject({ id: 1009, code: 'stream_id_not_found', field: null })
})

test('with a certificate the port speaks TLS; what is asked without a bearer is told nothing of who leads', async () => {
  const pem = (name: string) => readFileSync(new URL(`./testing/localhost-${name}.pem`, import.meta.url), 'utf8')
  const ports = { tcp: 1, quic: 0, http: 2, websocket: 0 }
  const server = new HttpServer({
    config: {
      listen: { host: '127.0.0.1', port: 0 },
      tls: { cert: pem('cert'), key: pem('key') },
      bodyBytesMax: 100,
      jwt: { key: ownKey(), lifetimeS: 60 },
    },
    sessionsMax: 2,
    hash: await createHash(),
    connections: new LocalConnections({ send: () => {}, close: () => {} }),
    leadership: () => ({ view: 3, isSelf: false, primary: { replica: 1 as never, name: 'n', ip: '::1', ports } }),
  })
  const port = await server.listen()
  const ask = (path: string, options: { method?: string; body?: string } = {}) =>
    new Promise<{ status: number; text: string; headers: Record<string, unknown> }>((resolve, reject) => {
      const headers = options.body === undefined ? {} : { 'content-type': 'application/json' }
      const settings = { host: '127.0.0.1', port, path, ca: pem('cert'), method: options.method ?? 'GET', headers }
      const asked = request(settings, answer => {
        let text = ''
        answer.on('data', chunk => {
          text += String(chunk)
        })
        answer.on('end', () => resolve({ status: answer.statusCode!, text, headers: answer.headers }))
      })
      asked.on('error', reject)
      asked.end(options.body)
    })
  try {
    expect(await ask('/ping')).toMatchObject({ status: 200, text: 'pong' })
    const anonymous = await ask('/personal-access-tokens', { method: 'POST', body: '{"name":"x","expiry":0}' })
    expect([anonymous.status, anonymous.headers.location]).toEqual([401, undefined])
    const large = await ask('/users/login', { method: 'POST', body: JSON.stringify({ username: 'u'.repeat(200) }) })
    expect([large.status, large.headers.connection]).toEqual([413, 'close'])
    expect(await ask('/users/login', { method: 'POST', body: '{' })).toMatchObject({ status: 400 })
    expect(await ask('/nowhere')).toMatchObject({ status: 404 })
    expect(await ask('/stats')).toMatchObject({ status: 501 })
  } finally {
    server.close()
  }
})
