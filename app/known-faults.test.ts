/** Faults that other consoles had (known-faults F): one test each, where no other file has it. */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer as createBackend } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { createServer, type ViteDevServer } from 'vite'
import { afterEach, describe, expect, it } from 'vitest'
import { createStreamBody, createTopicBody } from '../shared/inspection/api.ts'
import { livenessOf } from '../shared/inspection/belief.ts'
import { EMPTY_VIEW } from '../shared/inspection/view.ts'
import { byGroup, METADATA } from './names.ts'
import { ChainTable } from './screens/partition/chain-table.tsx'
import { parseSearch, readSearch, writeSearch } from './search.ts'
import { DataTable } from './ui/data-table.tsx'
import { asText } from './ui/fields.ts'
import { bytes, grouped, timestamp, visible } from './ui/format.ts'
import { Hex } from './ui/hex.tsx'

const MAX = '18446744073709551615'
const app = fileURLToPath(new URL('.', import.meta.url))
const sources = (folder = app): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? sources(path) : /\.tsx?$/.test(path) && !path.includes('.test.') ? [path] : []
  })

const table = (rows: readonly string[]) =>
  renderToStaticMarkup(
    createElement(DataTable<string>, {
      name: 'things',
      rows,
      rowKey: row => row,
      empty: 'none',
      columns: [{ id: 'name', head: 'Name', data: row => row }],
    }),
  )

describe('what other consoles got wrong', () => {
  it('G41 every digit of a big integer survives: in cells, in payloads, in addresses, in keys of questions', () => {
    expect(grouped(MAX)).toBe('18,446,744,073,709,551,615')
    expect(grouped(BigInt(MAX))).toBe('18,446,744,073,709,551,615')
    expect(bytes(MAX)).toBe('18,446,744,073,709,551,615 B')
    expect(timestamp('1764000000000001')).toMatch(/\.000001$/)
    const payload = '{"id":73314510714175488,"n":23958446825181076828,"f":1.10}'
    expect(asText(new TextEncoder().encode(payload), 100)).toBe(payload)
    const search = parseSearch('partition', readSearch(`?offset=${MAX}&batch=0`))
    expect(writeSearch(search)).toBe(`?offset=${MAX}&batch=0`)
    // A bigint in a key of a question would throw in the library that writes it as JSON.
    for (const file of sources().filter(path => path.includes('/data/')))
      expect(readFileSync(file, 'utf8'), file).not.toMatch(/queryKey: \[[^\]]*(BigInt\(|\dn\b)/)
  })

  it('G42 nothing from outside becomes markup: no screen writes HTML, and names are shown with what they hide', () => {
    for (const file of sources())
      expect(readFileSync(file, 'utf8'), file).not.toMatch(/dangerouslySetInnerHTML|innerHTML\s*=|document\.write/)
    const hostile = '<img src=x onerror=alert(1)>'
    expect(table([hostile])).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(table([hostile])).not.toContain('<img')
    expect(visible('a\u202eb\u0000c')).toBe('a\\u202eb\\u0000c')
    expect(createStreamBody.safeParse({ name: 'a\u0000b' }).success).toBe(false)
    expect(createTopicBody.safeParse({ stream: 's', name: 'a\u0000', partitions: 1 }).success).toBe(false)
    for (const name of ['a/b', '%2F', '..', '\u200f', hostile, '__proto__'])
      expect(readSearch(writeSearch({ q: name }))).toEqual({ q: name })
    expect(
      [new Uint8Array(), new TextEncoder().encode('null'), new Uint8Array([0xff, 0x00])].map(one => asText(one)),
    ).toEqual(['empty', 'null', '2 bytes, binary'])
    expect(asText(new TextEncoder().encode('a\u202eb'))).toBe('a\\u202eb')
  })

  it('G43 a huge payload costs a line of text and a bounded page of bytes, and says how much there is', () => {
    const line = new Uint8Array(5_000_000).fill(0x61)
    expect(asText(line).length).toBeLessThan(60)
    const html = renderToStaticMarkup(
      createElement(Hex, {
        bytes: line.subarray(0, 1_000_000),
        positionBytes: 0,
        fields: [],
        selected: undefined,
        onSelect: () => {},
        name: 'big',
      }),
    )
    expect(html.match(/class="hx/g)!.length).toBeLessThanOrEqual(400)
    expect(html).toContain('1,000,000 bytes')
  })

  it('G44 two thousand rows are not two thousand elements', () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`)
    const drawn = (html: string) => html.match(/<tr/g)!.length
    expect(drawn(table(names(20)))).toBe(21)
    expect(drawn(table(names(2_000)))).toBeLessThan(120)
    expect(table(names(2_000))).toContain('2,000 rows')
  })

  it('G44 a partition of ten thousand segments is a table of as many rows as are in sight', () => {
    const segments = Array.from({ length: 10_000 }, (_, at) => ({
      startOffset: String(at),
      endOffset: String(at),
      empty: false,
      sealed: true,
      sizeBytes: 1,
      maxSizeBytes: 1,
      startTimestamp: '0',
      endTimestamp: '0',
      indexEntries: 1,
      indexBytes: 24,
    }))
    const html = renderToStaticMarkup(
      createElement(ChainTable, {
        nodes: [{ id: 0, look: {} as never, partition: { segments } as never, batches: undefined, stale: false }],
        chosen: 0,
        segment: '9999',
        onSegment: () => {},
      }),
    )
    expect(html.match(/<tr/g)!.length).toBeLessThan(120)
    expect(html).toContain('10,000 rows')
  })

  it('G47 order is by number, and a row is found by what it is and not by where it stands', () => {
    const group = (partition: number) => ((1n << 32n) | BigInt(partition)).toString()
    expect([10, 2, 1, 100, 9].map(group).sort(byGroup)).toEqual([1, 2, 9, 10, 100].map(group))
    expect(['100', '4294967296', METADATA, '9', '10'].sort(byGroup)).toEqual([METADATA, '9', '10', '100', '4294967296'])
    const at = (rows: string[]) =>
      renderToStaticMarkup(
        createElement(DataTable<string>, {
          name: 'n',
          rows,
          rowKey: row => row,
          selected: 'two',
          onSelect: () => {},
          empty: '',
          columns: [{ id: 'c', head: 'c', data: row => row }],
        }),
      )
    for (const rows of [
      ['one', 'two', 'ten'],
      ['ten', 'one', 'two'],
    ])
      expect(at(rows)).toMatch(/aria-selected="true"[^>]*><td><button[^>]*>two</)
  })

  it('G48 a node that hangs is not drawn as one that died, nor either as a live one', () => {
    const node = (state: string, inspection: string, heardMs: number) =>
      ({
        id: 0,
        process: { state, inspection: { state: inspection, heardWallUs: null, error: null } },
        heardMs,
        boot: 'b',
        oldBoots: [],
        seq: 1,
        missing: undefined,
        needsSnapshot: false,
        snapshot: undefined,
      }) as never
    const now = 1_000_000
    const found = [
      livenessOf(node('running', 'connected', now), now),
      livenessOf(node('running', 'silent', now - 60_000), now),
      livenessOf(node('paused', 'silent', now - 60_000), now),
      livenessOf(node('stopped', 'down', now - 60_000), now),
    ]
    expect(new Set(found).size).toBe(4)
    expect(EMPTY_VIEW.nodes.size).toBe(0)
  })
})

describe('the dev server', () => {
  let server: ViteDevServer | undefined
  afterEach(() => server?.close())

  it('G50 outlives a console that is away, resets its connections and comes back', async () => {
    let dies = true
    const backend = createBackend((request, response) => {
      if (dies) request.socket.destroy()
      else response.end('{"ok":true}')
    })
    await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
    const { port } = backend.address() as AddressInfo
    process.env.QUORUMSCOPE_CONSOLE = `http://127.0.0.1:${port}`
    server = await createServer({
      configFile: join(app, '../vite.config.ts'),
      server: { port: 0, hmr: false, watch: null },
      optimizeDeps: { noDiscovery: true },
      logLevel: 'silent',
    })
    await server.listen()
    const { port: own } = server.httpServer!.address() as AddressInfo
    const ask = () => fetch(`http://127.0.0.1:${own}/api/health`)
    for (let round = 0; round < 10; round++) {
      const answer = await ask()
      expect(answer.status).toBe(503)
      expect(await answer.json()).toMatchObject({ code: 'CON_UNREACHABLE' })
    }
    dies = false
    expect((await ask()).status).toBe(200)
    await new Promise(resolve => backend.close(resolve))
    expect((await ask()).status).toBe(503)
  })
})
