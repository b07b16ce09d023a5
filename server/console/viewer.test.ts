/** A viewer's token on every route that there is: a new one that changes something can't be forgotten. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { VIEWER_PREFIX } from '../../shared/inspection/api.ts'
import { type TestConsole, TOKEN, testConsole } from './testing/console.ts'

const VIEWER = `${VIEWER_PREFIX}class-of-today`
let open: TestConsole
/** Asked of the server as it adds them, not of our own list. */
let served: { method: string; url: string }[]
beforeEach(async () => {
  served = []
  open = await testConsole({
    access: { host: '127.0.0.1', token: TOKEN, viewerToken: VIEWER, readOnly: false },
    onRoute: route => served.push(route),
  })
})
afterEach(() => open.close())

const ask = async (method: string, url: string, token: string) => {
  const answer = await open.app.inject({
    method: method as 'POST',
    url: url
      .replace(/:(from|to|id|s|t|p|run)\b/g, '0')
      .replace(/:\w+/g, 'x')
      .replace('*', ''),
    headers: { host: 'localhost', authorization: `Bearer ${token}`, 'idempotency-key': `${method}${url}` },
  })
  return `${answer.statusCode} ${answer.json().code ?? ''}`
}

it('changes nothing through any route, and says so', async () => {
  const changing = served.filter(route => route.method !== 'GET' && route.method !== 'HEAD')
  expect(changing.length).toBeGreaterThan(10)
  // Routes that do not go through our list would be missing in the OpenAPI document, too.
  expect(changing.length).toBe(open.routes.specs.filter(spec => spec.method !== 'GET').length)
  for (const { method, url } of changing)
    expect({ url, said: await ask(method, url, VIEWER) }).toEqual({ url, said: '403 CON_VIEWER_ONLY' })
  expect(open.supervisor.calls).toEqual([])
})

it('reads everything that anybody may read', async () => {
  expect(await ask('GET', '/api/clusters/current', VIEWER)).toBe('200 ')
})

it('the operator acts where the viewer may not', async () => {
  expect(await ask('POST', '/api/nodes/:id/kill', TOKEN)).toBe('200 ')
  expect(await ask('POST', '/api/nodes/:id/kill', 'viewer.of-another-run')).toBe('401 CON_TOKEN_WRONG')
})
