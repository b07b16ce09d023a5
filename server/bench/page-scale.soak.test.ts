/**
 * The page before what a cluster grows to: 10,000 segments in one partition, a segment of 1 GiB, 2,000 partitions live. One
 * solo node and its console, as built; a real Chromium. Counts of what is drawn and asked, never times: those are printed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium, type Page } from '@playwright/test'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { currentCluster } from '../../shared/inspection/api.ts'
import { writeChain } from './chain-files.ts'
import { type ConsoleProcess, startConsole } from './harness.ts'

const SEGMENTS = 10_000
const GIB = 2 ** 30
const GIB_SHAPE = { segments: 1, messagesPerBatch: 10, payloadBytes: 60 * 1024 }
const PARTITIONS = 2_000
const TOPIC_MAX = 1_000
/** A machine that does other things too needs minutes for files that are made at once. */
const PATIENCE_MS = 300_000

let directory: string
let server: ConsoleProcess
let browser: Browser
let page: Page

const node = async () => currentCluster.parse(await server.get('/api/clusters/current')).nodes[0]!
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (!(await holds().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`never: ${what}`)
    await sleep(500)
  }
}
async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  const done = await work()
  console.info(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return done
}
const open = (path: string) => page.goto(server.url + path)
const drawnRows = (table: string) => page.locator(`[data-testid=${table}] tbody tr:not(.spacer)`).count()

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'quorumscope-scale-'))
  server = await startConsole(
    [join(import.meta.dirname, '../../dist/server/quorumscope.js'), 'console', '--nodes', '1'],
    directory,
  )
  await until('a settled node', async () => (await node()).snapshot?.metadata.status === 'normal')
  await server.post('/api/streams', { name: 'scale' })
  await server.post('/api/topics', { stream: 'scale', name: 'chain', partitions: 1, segmentSizeBytes: 2 ** 20 })
  await server.post('/api/topics', { stream: 'scale', name: 'gib', partitions: 1 })
  await until('two partitions', async () => (await node()).snapshot?.groups.length === 2)
  await server.post('/api/nodes/0/terminate')
  await until('a node that has ended', async () => (await node()).state !== 'running')
  const hash = await createHash()
  const at = (topic: number) => join(directory, `node-0/streams/0/topics/${topic}/partitions/0`)
  await timed(`${SEGMENTS} segments written`, async () =>
    writeChain(at(0), hash, { segments: SEGMENTS, batchesPerSegment: 1, messagesPerBatch: 2, payloadBytes: 64 }),
  )
  // Of a header of 64 bytes and ten messages with theirs.
  const batchBytes = 64 + GIB_SHAPE.messagesPerBatch * (48 + GIB_SHAPE.payloadBytes)
  await timed('1 GiB written', async () =>
    writeChain(at(1), hash, { ...GIB_SHAPE, batchesPerSegment: Math.floor(GIB / batchBytes) }),
  )
  await timed('booted on both', async () => {
    await server.post('/api/nodes/0/start')
    await until('a node that serves both', async () => (await node()).snapshot?.groups.length === 2)
  })
  browser = await chromium.launch({
    ...(process.env.PLAYWRIGHT_CHROMIUM_PATH && { executablePath: process.env.PLAYWRIGHT_CHROMIUM_PATH }),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.setDefaultTimeout(PATIENCE_MS)
  await page.goto(`${server.url}/#token=${server.token}`)
  await page.getByTestId('situation').waitFor()
}, PATIENCE_MS * 3)
afterAll(async () => {
  await browser?.close()
  await server?.end()
  rmSync(directory, { recursive: true, force: true })
})

it('10,000 segments of one partition: as many columns as the pane has room for, any of them found, listed as far as it is in sight', async () => {
  await timed('the newest segments drawn', async () => {
    await open('/partitions/0/0/0')
    await page.locator('.seg-bar').first().waitFor()
  })
  expect(await page.locator('.seg-bar').count()).toBeLessThan(100)
  await expect.poll(() => page.getByText(/^9,9\d\d older, /).count(), { timeout: PATIENCE_MS }).toBe(1)
  // An offset in the middle brings its segment into the picture, and its batch under the lens.
  await timed('an offset in the middle found', async () => {
    await page.getByLabel('Offset to find').fill('10001')
    await page.getByLabel('Offset to find').press('Enter')
    await page.getByTestId('segment-0-10000').waitFor()
    await page.getByTestId('batch-0').waitFor()
  })
  expect(await page.getByText(/^[\d,]+ newer, /).count()).toBe(1)
  expect(await page.locator('.seg-bar').count()).toBeLessThan(100)
  await timed('listed', async () => {
    await page.getByTestId('chain').getByRole('button', { name: 'Table' }).click()
    await page.getByTestId('chain-table').waitFor()
  })
  expect(await drawnRows('chain-table')).toBeLessThan(60)
  expect(await page.getByTestId('chain-table').getAttribute('aria-rowcount')).toBe(String(SEGMENTS + 1))
})

it('a segment of 1 GiB: its last batch to the byte, a window anywhere in it, and never more than a page of bytes', async () => {
  await timed('the end of a gigabyte drawn', async () => {
    await open('/partitions/0/1/0?offset=17300')
    await page.locator('.batch-mark').first().waitFor()
    await page.locator('.hex .hx').first().waitFor()
  })
  expect(await page.locator('.batch-mark').count()).toBeLessThan(400)
  expect(await page.locator('.hx').count()).toBeLessThanOrEqual(400)
  const asked: number[] = []
  page.on('response', async response => {
    if (response.url().includes('/bytes?')) asked.push((await response.body()).length)
  })
  await timed('a batch in the middle to the byte', async () => {
    await page.getByLabel('Offset to find').fill('8700')
    await page.getByLabel('Offset to find').press('Enter')
    await page.getByTestId('batch').getByRole('heading', { name: 'Batch 8,700' }).waitFor()
    await page.locator('.hex .hx').first().waitFor()
  })
  // The address of a row is its place in the file: half a gigabyte in.
  const address = Number.parseInt((await page.locator('.hx .addr').first().textContent())!, 16)
  expect(address).toBeGreaterThan(GIB / 3)
  expect(Math.max(...asked)).toBeLessThan(64 * 1024)
  await timed('the whole segment under the lens', () =>
    page.getByRole('button', { name: 'Whole segment' }).click({ timeout: PATIENCE_MS }),
  )
  await expect.poll(() => page.locator('.batch-mark').count(), { timeout: PATIENCE_MS }).toBeLessThan(600)
})

it('2,000 partitions live: as many rows and questions as are in sight, and one found by its number', async () => {
  for (let topic = 0; topic * TOPIC_MAX < PARTITIONS; topic++)
    await server.post('/api/topics', { stream: 'scale', name: `many-${topic}`, partitions: TOPIC_MAX })
  await timed('2,000 partitions there', () =>
    until('all partitions', async () => (await node()).snapshot?.groups.length === PARTITIONS + 2),
  )
  const questions = new Set<string>()
  page.on('request', request => {
    if (request.url().includes('/partitions/')) questions.add(request.url())
  })
  await timed('listed', async () => {
    await open('/partitions')
    await page
      .getByText(`${(PARTITIONS + 2).toLocaleString('en-US')} partitions`)
      .first()
      .waitFor()
    await page.locator('[data-testid^=partition-]').first().waitFor()
  })
  await sleep(6_000)
  const rows = await page.locator('[data-testid^=partition-0]').count()
  expect(rows).toBeLessThan(60)
  expect(questions.size).toBeLessThanOrEqual(rows + 30)
  await timed('one found', async () => {
    await page.getByLabel('Find partitions by name or number').fill('0.3.777')
    await page.getByTestId('partition-0.3.777').waitFor()
  })
  await open('/cluster')
  await page.getByTestId('group-metadata').waitFor()
  expect(await page.locator('[data-testid^=group-]').count()).toBeLessThan(60)
})
