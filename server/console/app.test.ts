import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EngineError } from '../../shared/bytes/errors.ts'
import { apiError, currentCluster, health } from '../../shared/inspection/api.ts'
import { eventually } from '../testing/eventually.ts'
import { authorization, type TestConsole, testConsole } from './testing/console.ts'
import { METADATA } from './testing/fake-node.ts'

/** Fastify prints its router as a tree, four columns a level; this is every `METHOD /path` in it. */
function routesOf(tree: string): string[] {
  const parts: string[] = []
  return tree.split('\n').flatMap(line => {
    const match = /^(.*?)[└├]── (\S+)(?: \(([^)]+)\))?$/.exec(line)
    if (!match) return []
    const depth = match[1]!.length / 4
    parts.splice(depth, parts.length, match[2]!)
    const methods = match[3]?.split(', ').filter(method => method !== 'HEAD') ?? []
    return methods.map(method => `${method} ${parts.join('').replace(/:(\w+)/g, '{$1}')}`)
  })
}

let it_: TestConsole
beforeEach(async () => {
  it_ = await testConsole()
})
afterEach(async () => {
  expect(it_.errors).toEqual([])
  await it_.close()
})

let keys = 0
const inject = async (method: 'GET' | 'POST', url: string, body?: object, headers: Record<string, string> = {}) => {
  const response = await it_.app.inject({
    method,
    url,
    headers: {
      host: 'localhost',
      authorization,
      ...(method === 'POST' && { 'idempotency-key': `key-${++keys}` }),
      ...headers,
    },
    ...(body && { payload: body }),
  })
  return {
    status: response.statusCode,
    headers: response.headers,
    body: String(response.headers['content-type']).includes('json') ? response.json() : response.body,
  }
}
const failure = async (method: 'GET' | 'POST', url: string, body?: object, headers?: Record<string, string>) => {
  const { status, body: said } = await inject(method, url, body, headers)
  const { code, message, advice } = apiError.parse(said)
  expect(message).not.toBe('')
  expect(advice).not.toBe('')
  return `${status} ${code}`
}

describe('the cluster', () => {
  it('is told with every node, its process and what it last said', async () => {
    await eventually(() => expect(it_.hub.snapshots()).toHaveLength(3))
    const { status, body } = await inject('GET', '/api/clusters/current')
    expect(status).toBe(200)
    const current = currentCluster.parse(body)
    expect(current.nodes.map(node => [node.id, node.state, node.inspection.state])).toEqual([
      [0, 'running', 'connected'],
      [1, 'running', 'connected'],
      [2, 'running', 'connected'],
    ])
    expect(current.nodes[0]!.snapshot?.metadata.role).toBe('primary')
    expect(current.nodes[0]!.snapshotWallUs).not.toBeNull()
  })

  it('keeps the last words of a node that was killed, with its exit', async () => {
    await eventually(() => expect(it_.hub.snapshots()).toHaveLength(3))
    const { body } = await inject('POST', '/api/nodes/0/kill')
    expect(body).toMatchObject({ action: 'kill', repeated: false, command: 'kill -KILL 1000' })
    expect(body.node).toMatchObject({
      state: 'stopped',
      inspection: { state: 'down' },
      exit: { signal: 'SIGKILL', requested: 'kill' },
    })
    expect(body.node.snapshot.metadata.role).toBe('primary')
  })
})

describe('actions on a node', () => {
  it('are done once for each idempotency key', async () => {
    const headers = { 'idempotency-key': 'the-key' }
    expect((await inject('POST', '/api/nodes/1/kill', undefined, headers)).body.repeated).toBe(false)
    await inject('POST', '/api/nodes/1/start')
    expect((await inject('POST', '/api/nodes/1/kill', undefined, headers)).body.repeated).toBe(true)
    expect(it_.supervisor.calls).toEqual(['kill 1', 'start 1'])
    expect(await failure('POST', '/api/nodes/2/kill', undefined, headers)).toBe('422 CON_KEY_REUSED')
    expect(await failure('POST', '/api/nodes/1/kill', undefined, { 'idempotency-key': '' })).toBe('400 CON_KEY_MISSING')
  })

  it('that failed may be tried again under the same key', async () => {
    const headers = { 'idempotency-key': 'again' }
    expect(await failure('POST', '/api/nodes/1/resume', undefined, headers)).toBe('409 CON_WRONG_STATE')
    await inject('POST', '/api/nodes/1/pause')
    expect((await inject('POST', '/api/nodes/1/resume', undefined, headers)).status).toBe(200)
  })

  it('say what the process said when it would not start', async () => {
    await inject('POST', '/api/nodes/2/terminate')
    it_.supervisor.failure = new EngineError('SuperblockUnreadable', 'slot B of metadata is corrupt')
    const { status, body } = await inject('POST', '/api/nodes/2/start')
    expect([status, body.code, body.cause]).toEqual([
      502,
      'CON_NODE_REFUSED',
      { code: 'SuperblockUnreadable', message: 'slot B of metadata is corrupt' },
    ])
  })

  it('accept an empty body that calls itself JSON', async () => {
    expect((await inject('POST', '/api/nodes/0/pause', undefined, { 'content-type': 'application/json' })).status).toBe(
      200,
    )
  })

  it('are offered as commands, with paths quoted', async () => {
    await inject('POST', '/api/nodes/0/terminate')
    expect((await inject('POST', '/api/nodes/0/wipe')).body.command).toBe("rm -r '/data/node 0'")
    expect((await inject('POST', '/api/nodes/0/start')).body.command).toBe('node quorumscope.js node --replica-id 0')
  })
})

describe('what a node says of itself', () => {
  it('is passed on as it was said', async () => {
    const { body } = await inject('GET', `/api/nodes/1/groups/${METADATA}`)
    expect(body).toMatchObject({ reporter: { node: 1, boot: 'b0' }, group: { group: METADATA, role: 'backup' } })
    expect((await inject('GET', '/api/nodes/1/recovery')).body.steps).toHaveLength(1)
    expect((await inject('GET', '/api/topics')).body).toMatchObject({ streams: [], reportedBy: expect.any(Number) })
  })

  it('is a typed error when the node is down, paused, silent or has no such thing', async () => {
    expect(await failure('GET', '/api/nodes/1/groups/17')).toBe('404 CON_NO_SUCH_THING')
    expect(await failure('GET', '/api/nodes/1/partitions/0/0/0')).toBe('404 CON_NO_SUCH_THING')
    expect(await failure('GET', '/api/nodes/9/wal')).toBe('404 CON_NO_SUCH_NODE')
    await inject('POST', '/api/nodes/1/pause')
    expect(await failure('GET', '/api/nodes/1/wal')).toBe('504 CON_NODE_SILENT')
    await inject('POST', '/api/nodes/1/kill')
    // Its log is in files, which can be read without it; what it had in memory is gone.
    expect(await failure('GET', '/api/nodes/1/recovery')).toBe('503 CON_NODE_DOWN')
    it_.nodes[2]!.close()
    expect(await failure('GET', '/api/nodes/2/recovery')).toBe('503 CON_NODE_DOWN')
  })

  it('a forwarded write is one chain of what both ends say, newest first, and a node that is down is named', async () => {
    const end = (side: 'origin' | 'primary', nonce: string, wallUs: number, steps: readonly string[], more = {}) => ({
      nonce,
      side,
      origin: 1,
      primary: 0,
      group: '0',
      operation: 160,
      client: '7',
      state: 'accepted',
      steps: steps.map((step, index) => ({ step, wallUs: String(wallUs + index), monoUs: index, seq: index })),
      ...more,
    })
    const refusal = { state: 'refused', status: 58 }
    const put = (node: number, forwards: object[]) => {
      it_.nodes[node]!.forwards = {
        parked: 0,
        waiting: 0,
        parkedBytes: 0,
        total: forwards.length,
        forwards: forwards as never,
      }
    }
    // The clock of node 0 is far ahead: the order of the steps does not come from it.
    put(0, [
      end('primary', 'b', 9_000, ['taken', 'refused'], { ...refusal, reason: 'queues_full' }),
      end('primary', 'a', 8_000, ['taken', 'accepted'], { status: 0, reason: 'committed' }),
    ])
    put(1, [
      end('origin', 'b', 200, ['received', 'parked', 'sent', 'answered'], { ...refusal, reason: 'answered' }),
      end('origin', 'a', 100, ['received', 'parked', 'sent', 'answered'], { status: 0 }),
    ])
    await inject('POST', '/api/nodes/2/kill')
    const { body } = await inject('GET', '/api/forwards?limit=10')
    expect(
      body.forwards.map(({ nonce, state, status, reason, matched }: Record<string, unknown>) => [
        nonce,
        state,
        status,
        reason,
        matched,
      ]),
    ).toEqual([
      ['b', 'refused', 58, 'queues_full', true],
      ['a', 'accepted', 0, 'committed', true],
    ])
    expect(body.forwards[0].steps.map(({ step, node }: Record<string, unknown>) => `${step}@${node}`)).toEqual([
      'received@1',
      'parked@1',
      'sent@1',
      'taken@0',
      'refused@0',
      'answered@1',
    ])
    expect(body.nodes).toEqual([
      expect.objectContaining({ node: 0, total: 2 }),
      expect.objectContaining({ node: 1, total: 2 }),
      { node: 2, error: expect.stringContaining('node-2') },
    ])
  })

  it('is refused when it is not what was agreed', async () => {
    it_.nodes[0]!.metadata = { ...it_.nodes[0]!.metadata, view: -1 }
    const { status, body } = await inject('GET', `/api/nodes/0/groups/${METADATA}`)
    expect([status, body.code, body.cause.code]).toEqual([502, 'CON_NODE_ERROR', 'BadAnswer'])
    expect(body.cause.message).toContain('group.view')
  })
})

describe('bad requests', () => {
  it('are refused with the place of the fault', async () => {
    for (const url of [
      '/api/nodes/x/wal',
      '/api/nodes/-1/wal',
      '/api/nodes/0x0/wal',
      '/api/nodes/0e0/wal',
      '/api/nodes/%/wal',
      '/api/nodes/0/groups/0x1',
      '/api/nodes/0/groups/01',
      '/api/nodes/0/partitions/0/5000/0',
    ]) {
      expect(await failure('GET', url)).toBe('400 CON_BAD_REQUEST')
    }
    expect(await failure('GET', '/api/nodes/0/partitions/0/0/0/segments/0/bytes?length=65537')).toBe(
      '400 CON_BAD_REQUEST',
    )
    const { body } = await inject('POST', '/api/load', { action: 'start', settings: { ratePerSecond: 0 } })
    expect(body.message).toContain('body.settings.ratePerSecond')
  })

  it('with a body of another type, of too many bytes, or no JSON, are refused', async () => {
    const post = (payload: string, type: string) =>
      it_.app.inject({
        method: 'POST',
        url: '/api/load',
        payload,
        headers: { host: 'localhost', authorization, 'content-type': type },
      })
    expect((await post('action=stop', 'application/x-www-form-urlencoded')).json().code).toBe('CON_BAD_REQUEST')
    expect((await post('{', 'application/json')).json().code).toBe('CON_BAD_REQUEST')
    expect((await post(JSON.stringify({ a: 'x'.repeat(70_000) }), 'application/json')).json().code).toBe(
      'CON_TOO_LARGE',
    )
  })

  it('for names that no URL could reach are refused', async () => {
    for (const name of ['', 'a\u0000b', 'line\nbreak', 'x'.repeat(256)]) {
      expect(await failure('POST', '/api/streams', { name })).toBe('400 CON_BAD_REQUEST')
    }
  })

  it('to nowhere are told so', async () => {
    expect(await failure('GET', '/api/nothing')).toBe('404 CON_NOT_FOUND')
    expect(await failure('POST', '/cluster')).toBe('404 CON_NOT_FOUND')
  })
})

describe('access', () => {
  it('is checked on every route, unknown ones and the page included', async () => {
    for (const url of ['/api/clusters/current', '/healthz', '/metrics', '/', '/nowhere', '/api/events']) {
      expect(await failure('GET', url, undefined, { host: 'evil.example' })).toBe('403 CON_BAD_HOST')
      expect(await failure('GET', url, undefined, { origin: 'http://evil.example' })).toBe('403 CON_BAD_ORIGIN')
    }
    for (const spec of it_.routes.specs.filter(spec => spec.method === 'POST')) {
      const url = spec.path.replace(':id', '0').replace(':group', '1')
      expect(await failure('POST', url, undefined, { authorization: '' })).toBe('401 CON_TOKEN_MISSING')
      expect(await failure('POST', url, undefined, { authorization: 'Bearer no' })).toBe('401 CON_TOKEN_WRONG')
    }
    expect(it_.supervisor.calls).toEqual([])
  })

  it('comes with headers that keep other sites out of the page', async () => {
    const { headers } = await inject('GET', '/healthz')
    expect(headers['content-security-policy']).toContain("default-src 'self'")
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect((await inject('GET', '/api/load')).headers['cache-control']).toBe('no-store')
  })
})

it('a read-only console changes nothing and shows everything', async () => {
  const readOnly = await testConsole({ readOnly: true })
  try {
    for (const spec of readOnly.routes.specs.filter(spec => spec.method === 'POST')) {
      const url = spec.path.replace(':id', '0').replace(':group', '1')
      const response = await readOnly.app.inject({
        method: 'POST',
        url,
        headers: { host: 'localhost', authorization, 'idempotency-key': 'k' },
      })
      expect([response.statusCode, response.json().code]).toEqual([403, 'CON_READ_ONLY'])
    }
    expect(readOnly.supervisor.calls).toEqual([])
    const current = await readOnly.app.inject({ url: '/api/clusters/current', headers: { host: 'localhost' } })
    expect(current.json().readOnly).toBe(true)
  } finally {
    await readOnly.close()
  }
})

describe('about the console', () => {
  it('/healthz answers with what it sees', async () => {
    const said = health.parse((await inject('GET', '/healthz')).body)
    expect(said).toMatchObject({ ok: true, readOnly: false })
    expect(said.nodes).toHaveLength(3)
  })

  it('/metrics is Prometheus text, with hostile labels escaped', async () => {
    it_.nodes[0]!.metadata = { ...it_.nodes[0]!.metadata, view: 7 }
    await eventually(async () =>
      expect((await inject('GET', '/metrics')).body).toContain('quorumscope_metadata_view{node="0"} 7'),
    )
    const lines = String((await inject('GET', '/metrics')).body)
      .trimEnd()
      .split('\n')
    for (const line of lines)
      expect(line).toMatch(/^(# (HELP|TYPE) \S+ .+|[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? -?[0-9.e+-]+)$/)
  })

  it('the OpenAPI document describes every route, and nothing else', async () => {
    const document = (await inject('GET', '/api/openapi.json')).body
    const described = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
    )
    // Fastify's own list of routes, independent of what the document was made from.
    const served = routesOf(it_.app.printRoutes({ commonPrefix: false }))
    expect(served.length).toBeGreaterThan(20)
    expect(described.sort()).toEqual(served.sort())
    for (const methods of Object.values(
      document.paths as Record<
        string,
        Record<string, { parameters: { in: string; name: string }[]; responses: object }>
      >,
    )) {
      for (const operation of Object.values(methods)) expect(operation.responses).toHaveProperty('200')
    }
    const kill = document.paths['/api/nodes/{id}/kill'].post
    expect(kill.parameters.map((p: { name: string }) => p.name)).toEqual(['id', 'Idempotency-Key'])
    expect(kill.security).toEqual([{ token: [] }])
  })
})

describe('the page', () => {
  it('is asked for to be built when it is not', async () => {
    expect(await failure('GET', '/')).toBe('503 CON_NOT_BUILT')
    expect(await failure('GET', '/cluster')).toBe('503 CON_NOT_BUILT')
  })

  it('answers every address of its own, its assets, and nothing outside', async () => {
    const root = mkdtempSync(join(tmpdir(), 'quorumscope-page-'))
    const page = join(root, 'app')
    mkdirSync(join(page, 'assets'), { recursive: true })
    writeFileSync(join(page, 'index.html'), '<title>page</title>')
    writeFileSync(join(page, 'assets/x-1.js'), 'x')
    writeFileSync(join(root, 'secret.txt'), 'secret')
    symlinkSync(join(root, 'secret.txt'), join(page, 'link.txt'))
    const served = await testConsole({ page })
    const get = async (url: string) => {
      const response = await served.app.inject({ url, headers: { host: 'localhost' } })
      return { status: response.statusCode, text: response.body, cache: response.headers['cache-control'] }
    }
    try {
      for (const url of ['/', '/cluster', '/partitions/0/0/1?seg=5', '/superblocks']) {
        expect(await get(url)).toMatchObject({ status: 200, text: '<title>page</title>', cache: 'no-cache' })
      }
      expect(await get('/assets/x-1.js')).toMatchObject({
        status: 200,
        text: 'x',
        cache: expect.stringContaining('immutable'),
      })
      for (const url of [
        '/assets/gone-2.js',
        '/../secret.txt',
        '/%2e%2e/secret.txt',
        '/assets/..%2f..%2fsecret.txt',
        '/link.txt',
        '/api/nothing',
      ]) {
        const { status, text } = await get(url)
        expect([url, status]).toEqual([url, 404])
        expect(text).not.toContain('secret"')
      }
    } finally {
      await served.close()
      rmSync(root, { recursive: true })
    }
  })
})
