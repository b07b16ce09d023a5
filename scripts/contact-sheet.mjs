// `npm run contact-sheet`: every screen in both themes, kept under docs/pictures/contact-sheet. The page is the built one and
// its console is what a real console once said: the stream, and the answer to each question, as of one moment (`taken.json.gz`).
// Source, clock, window and fonts are fixed, so two runs give the same pixels: `-- --check` draws anew, keeps nothing, and
// fails where a pixel differs. `-- --take` runs the story of STORY on real nodes and takes a new moment.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join, normalize } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { chromium } from '@playwright/test'
import { ensureBuilt, ensureChromium, main, root } from './lib/prepare.mjs'

const folder = join(root, 'docs/pictures/contact-sheet')
const takenFile = join(folder, 'taken.json.gz')
const page = process.env.QUORUMSCOPE_PAGE ?? join(root, 'dist/app')
const WINDOW = { width: 1440, height: 900 }
const THEMES = ['light', 'dark']
const CELL = 480
/** A busy machine draws a picture in seconds. */
const PATIENCE_MS = 180_000
const SCREENS = [
  ['cluster', '/cluster'],
  ['node', '/cluster/nodes/1'],
  ['load', '/load'],
  ['timeline', '/timeline'],
  ['recoveries', '/recoveries?run=R-1'],
  ['recordings', '/recordings'],
  ['partitions', '/partitions'],
  ['partition', '/partitions/0/0/0?offset=600'],
  ['superblocks', '/superblocks'],
  ['wal', '/wal/1'],
  ['clients', '/clients'],
  ['forwards', '/forwards'],
  ['drills', '/drills'],
  ['drill', '/drills/D03?run=1'],
  ['benchmarks', '/bench'],
  ['settings', '/settings'],
  ['book', '/book/views'],
]
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }
/** As the page asks for it, when it opens (app/data/live.ts). */
const HISTORY_EVENTS = 5_000

/** A path and a body, or milliseconds to wait, or what must have ended, or writes through a node that does not lead. */
const STORY = [
  ['/api/bench/runs', { suite: 'recover', size: 'quick', force: true }],
  { ended: '/api/bench/runs' },
  ['/api/drills/runs', { drill: 'D03', predicted: [0, 2] }],
  { ended: '/api/drills/runs/1' },
  ['/api/load', { action: 'start', settings: { policy: 'eager', segmentSizeBytes: 2 ** 20, ratePerSecond: 100 } }],
  12_000,
  ['/api/nodes/0/kill', {}],
  14_000,
  ['/api/nodes/0/start', {}],
  12_000,
  { through: 0, writes: 12 },
  ['/api/nodes/2/kill', {}],
  8_000,
]
const IS_BUSY = /"state":"(?:running|waiting|cancelling)"/

/** A console with a cluster of its own, and `work` with it; gone with all it made afterwards. */
async function withConsole(work) {
  const directory = mkdtempSync(join(tmpdir(), 'quorumscope-sheet-'))
  const child = spawn(
    process.execPath,
    [join(root, 'dist/server/quorumscope.js'), 'console', '--port', '0', '--data', join(directory, 'lecture-hall')],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  try {
    const [, origin, token] = await new Promise((resolve, reject) => {
      let said = ''
      child.once('exit', status => reject(new Error(`the console ended with ${status}`)))
      child.stdout.on('data', chunk => {
        said += chunk
        const found = /(http:\/\/[^/]+)\/#token=(\S+)/.exec(said)
        if (found) resolve(found)
      })
    })
    // Where this machine keeps its files is nobody's business.
    const plain = text => text.replaceAll(directory, '/data')
    const ask = async (path, body) => {
      const response = await fetch(origin + path, {
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': crypto.randomUUID(),
        },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      })
      return { status: response.status, text: plain(await response.text()) }
    }
    return await work({ ask, stream: async path => plain(await streamOf(origin + path)) })
  } finally {
    if (child.exitCode === null) {
      child.kill('SIGTERM')
      await new Promise(resolve => child.once('exit', resolve))
    }
    rmSync(directory, { recursive: true, force: true })
  }
}

/** As the browser tests do it: one message at a time to one door, whoever leads. */
async function writeThrough(port, { writes }) {
  const script = `const { writeThrough } = await import('./e2e/one-door.ts')
    for (let at = 0; at < ${writes}; at++) await writeThrough(${port}, 'load', 'steady', at % 3, 'at the wrong door')`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    cwd: root,
    stdio: 'inherit',
  })
  const status = await new Promise(resolve => child.once('exit', resolve))
  if (status !== 0) throw new Error(`the writes ended with ${status}`)
}

/** What an event stream says in its first second: all that was asked for, and whole messages only. */
async function streamOf(address) {
  const leave = new AbortController()
  setTimeout(() => leave.abort(), 1_500)
  let text = ''
  try {
    const response = await fetch(address, { signal: leave.signal })
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) text += chunk
  } catch (error) {
    if (!leave.signal.aborted) throw error
  }
  return text.slice(0, text.lastIndexOf('\n\n') + 2)
}

/** Runs the story and takes its last moment: both streams that an opening page reads, then every question, once. */
async function take(browser) {
  await withConsole(async ({ ask, stream }) => {
    const must = async (path, body) => {
      const { status, text } = await ask(path, body)
      if (status >= 400) throw new Error(`${path}: ${text}`)
      return text
    }
    while (!/"status":"normal"/.test(await must('/api/clusters/current'))) await sleep(200)
    for (const step of STORY) {
      console.error(JSON.stringify(step))
      if (typeof step === 'number') await sleep(step)
      else if (Array.isArray(step)) await must(...step)
      else if (step.ended) while (IS_BUSY.test(await must(step.ended))) await sleep(300)
      else await writeThrough(JSON.parse(await must('/api/clusters/current')).nodes[step.through].ports.client, step)
    }
    const first = await stream('/api/events')
    const { seq, firstSeq } = JSON.parse(/^event: hello\n(?:id: .*\n)?data: (.*)$/m.exec(first)[1])
    const second = await stream(`/api/events?after=${Math.max(firstSeq - 1, seq - HISTORY_EVENTS)}`)
    const taken = { atMs: Date.now(), streams: [first, second], answers: {} }
    const server = await serve(taken, ask)
    try {
      await draw(browser, taken, `http://127.0.0.1:${server.address().port}`)
    } finally {
      server.close()
      server.closeAllConnections()
    }
    mkdirSync(folder, { recursive: true })
    writeFileSync(takenFile, gzipSync(JSON.stringify(taken), { level: 9 }))
    console.error(`${Object.keys(taken.answers).length} answers taken, in ${takenFile}`)
  })
}

/** The built page, and for a console what was taken; `ask` is who is asked for what was not, which is then taken too. */
function serve(taken, ask) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://page').pathname)
    if (path === '/api/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(taken.streams[request.url.includes('after=') ? 1 : 0])
      return
    }
    if (path.startsWith('/api/')) {
      if (!taken.answers[request.url] && ask) taken.answers[request.url] = await ask(request.url)
      const answer = taken.answers[request.url]
      response.writeHead(answer?.status ?? 404, { 'content-type': 'application/json' })
      response.end(
        answer?.text ?? JSON.stringify({ code: 'CON_NOT_FOUND', message: `${request.url} was not taken.`, advice: '' }),
      )
      if (!answer) console.error(`not taken: ${request.url}`)
      return
    }
    const asset = join(page, path)
    const file = existsSync(asset) && statSync(asset).isFile() ? asset : join(page, 'index.html')
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  })
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server)))
}

async function draw(browser, taken, origin) {
  const pictures = []
  for (const theme of THEMES) {
    const context = await browser.newContext({
      viewport: WINDOW,
      colorScheme: theme,
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
      locale: 'en-GB',
    })
    const tab = await context.newPage()
    tab.setDefaultTimeout(PATIENCE_MS)
    // The clock stands at the moment that was taken; timers run, so that what waits for one is drawn.
    await tab.clock.setFixedTime(new Date(taken.atMs))
    await tab.goto(`${origin}/cluster#token=operator`)
    await tab.locator('[data-testid=situation]').waitFor()
    for (const [name, path] of SCREENS) {
      // Inside the page, so that the stream is read once.
      await tab.evaluate(to => {
        history.pushState({}, '', to)
        dispatchEvent(new PopStateEvent('popstate'))
      }, path)
      await tab.locator('h1').first().waitFor({ state: 'attached' })
      pictures.push({ name: `${name}-${theme}`, png: await settled(tab) })
    }
    await context.close()
  }
  return pictures
}

/** Drawn to the end: nothing loads, and two frames in a row are the same. */
async function settled(tab) {
  await tab.waitForFunction(() => document.querySelector('[role=status][aria-label^=Loading]') === null)
  await tab.evaluate(() => document.fonts.ready)
  let last = Buffer.alloc(0)
  for (let round = 0; round < 40; round++) {
    const now = await tab.screenshot({ animations: 'disabled', caret: 'hide', timeout: PATIENCE_MS })
    if (now.equals(last)) return now
    last = now
    await tab.waitForTimeout(500)
  }
  throw new Error(`${tab.url()} never stands still`)
}

const hashOf = bytes => createHash('sha256').update(bytes).digest('hex')

/** All pictures on one sheet, a row for each screen. */
async function sheetOf(browser, pictures) {
  const tab = await browser.newPage({ viewport: { width: CELL * THEMES.length + 36, height: 600 } })
  const cells = pictures.map(({ name, png }) => [name, `data:image/png;base64,${png.toString('base64')}`])
  const rows = SCREENS.map(([name]) =>
    THEMES.map(theme => {
      const [label, source] = cells.find(([cell]) => cell === `${name}-${theme}`)
      return `<figure><img width="${CELL}" src="${source}"><figcaption>${label}</figcaption></figure>`
    }).join(''),
  )
  await tab.setContent(
    `<style>body{margin:12px;background:#888;font:12px sans-serif;display:grid;grid-template-columns:repeat(${THEMES.length},${CELL}px);gap:12px}figure{margin:0}img{display:block}figcaption{padding:2px 4px;background:#fff}</style>${rows.join('')}`,
  )
  const sheet = await tab.screenshot({ fullPage: true, timeout: PATIENCE_MS })
  await tab.close()
  return sheet
}

/** Draws all and keeps the sheet, or with `check` compares; how many pictures differ. */
async function drawSheet(browser, check) {
  const taken = JSON.parse(gunzipSync(readFileSync(takenFile)))
  const server = await serve(taken)
  let differs = 0
  try {
    const pictures = await draw(browser, taken, `http://127.0.0.1:${server.address().port}`)
    const all = [...pictures, { name: 'sheet', png: await sheetOf(browser, pictures) }]
    const listing = join(folder, 'pixels.json')
    const known = existsSync(listing) ? JSON.parse(readFileSync(listing, 'utf8')) : {}
    const now = Object.fromEntries(all.map(({ name, png }) => [name, hashOf(png)]))
    for (const { name, png } of all) {
      if (check && known[name] !== now[name]) {
        differs += 1
        console.error(`${name} differs`)
      }
      if (!check && name === 'sheet') writeFileSync(join(folder, 'sheet.png'), png)
      if (process.env.QUORUMSCOPE_PICTURES) writeFileSync(join(process.env.QUORUMSCOPE_PICTURES, `${name}.png`), png)
    }
    if (!check) writeFileSync(listing, `${JSON.stringify(now, undefined, 2)}\n`)
    console.error(`${all.length} pictures ${check ? `compared, ${differs} differ` : `drawn, in ${folder}`}`)
  } finally {
    server.close()
    server.closeAllConnections()
  }
  return differs
}

await main(async () => {
  if (process.env.QUORUMSCOPE_PAGE === undefined) ensureBuilt()
  const executablePath = ensureChromium()
  const browser = await chromium.launch({
    ...(executablePath && { executablePath }),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--font-render-hinting=none',
      '--force-device-scale-factor=1',
      // What changes is drawn with all around it, or the edge of a corner depends on what changed before.
      '--disable-partial-raster',
      '--disable-lcd-text',
    ],
  })
  try {
    if (process.argv.includes('--take')) await take(browser)
    process.exitCode = (await drawSheet(browser, process.argv.includes('--check'))) === 0 ? 0 : 1
  } finally {
    await browser.close()
  }
})
