import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type Page, test } from '@playwright/test'
import { nodeClientPorts } from '../server/console/client-ports.ts'
import { ROOT } from '../server/console/serve.ts'
import { createHash } from '../shared/bytes/hash.ts'
import { Client } from '../shared/client/client.ts'
import { type ConsoleProcess, startConsole } from './console-process.ts'

/** Runs when anybody takes it for markup: as an image, or as a script in an address. */
const HOSTILE = '<img src=x onerror="window.ran=1">'
const ODD_NAMES = ['a/b', '%2F', '..', 'a\u202eb', '__proto__', '=1+1']
/** As they are written: what draws nothing becomes an escape. */
const SHOWN_NAMES = ['a/b', '%2F', '..', 'a\\u202eb', '__proto__', '=1+1']
const PAYLOADS = [HOSTILE, '', 'null', new Uint8Array([0xff, 0x00]), Uint8Array.from({ length: 256 }, (_, at) => at)]
const text = (words: string) => ({ kind: 2, bytes: new TextEncoder().encode(words) })

let running: ConsoleProcess
test.beforeAll(async () => {
  running = await startConsole()
})
test.afterAll(() => running.stop())

/** Nothing of what came from outside is an element, and none of it ran. */
async function isText(page: Page, where: string): Promise<void> {
  const found = await page.evaluate(() => ({
    images: document.querySelectorAll('img, iframe, object, embed').length,
    handlers: document.querySelectorAll('[onerror], [onload]').length,
    ran: (window as unknown as { ran?: number }).ran,
  }))
  expect(found, where).toEqual({ images: 0, handlers: 0, ran: undefined })
}

test('G42 hostile names, keys, payloads, addresses and file names are text on every screen, live', async ({ page }) => {
  page.on('dialog', () => {
    throw new Error('a script ran')
  })
  const errors: string[] = []
  page.on('pageerror', error => errors.push(error.message))
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('leads view')

  // Made through the console, as the page makes them; a name that no address could reach is refused there.
  expect((await running.post('/api/streams', { name: HOSTILE })).status).toBe(200)
  for (const name of [HOSTILE, ...ODD_NAMES])
    expect(
      (await running.post('/api/topics', { stream: HOSTILE, name, partitions: 1, policy: 'eager' })).status,
      name,
    ).toBe(200)
  for (const name of ['a\u0000b', '']) expect((await running.post('/api/streams', { name })).status).toBe(400)

  const { nodes } = (await running.get('/api/clusters/current')) as {
    nodes: { dataDirectory: string; ports: { client: number } }[]
  }
  const client = new Client(nodeClientPorts, {
    endpoints: nodes.map(node => ({ host: '127.0.0.1', port: node.ports.client })),
    hash: await createHash(),
    credentials: ROOT,
    budgetMs: 20_000,
  })
  await client.connect()
  await client.sendMessages(
    HOSTILE,
    HOSTILE,
    { kind: 'partition', partition: 0 },
    PAYLOADS.map(payload => ({ payload, userHeaders: [{ key: text(HOSTILE), value: text(HOSTILE) }] })),
  )
  client.close()

  // A load under a hostile name: its words go to the load screen, to facts and to the log.
  expect(
    (
      await running.post('/api/load', {
        action: 'start',
        settings: { stream: HOSTILE, topic: `${HOSTILE}2`, partitions: 1 },
      })
    ).status,
  ).toBe(200)
  await page.goto(`${running.origin}/load`)
  await expect(page.getByTestId('situation')).toContainText(`${HOSTILE}/${HOSTILE}2`)
  await isText(page, 'load')

  await page.goto(`${running.origin}/partitions`)
  for (const name of [HOSTILE, ...SHOWN_NAMES])
    await expect(page.getByRole('cell', { name: `${HOSTILE}/${name}/0`, exact: true })).toBeVisible()
  await isText(page, 'partitions')
  await page.getByLabel('Find partitions by name or number').fill(`${HOSTILE}\u202e none`)
  await expect(page.getByText(`“${HOSTILE}\\u202e none”`)).toBeVisible()
  await isText(page, 'partitions, nothing found')

  // The messages of the batch, once it is on the disk of the node that is looked through.
  await page.goto(`${running.origin}/partitions/0/0/0?offset=0&tab=messages`)
  await expect(page.locator('.crumbs')).toContainText(`${HOSTILE}/${HOSTILE}`)
  const messages = page.getByTestId('messages')
  await expect(messages).toBeVisible()
  await expect(messages.locator('.payload')).toHaveText([
    HOSTILE,
    'empty',
    'null',
    '2 bytes, binary',
    '256 bytes, binary',
  ])
  await isText(page, 'messages')
  await page.goto(`${running.origin}/partitions/0/0/0?offset=0`)
  await expect(page.getByTestId('batch')).toContainText('onerror')
  await isText(page, 'bytes')

  // The same messages as a client gets them, and a file that has a hostile name where numbers of consumers are expected.
  const folder = join(nodes[0]!.dataDirectory, 'streams/0/topics/0/partitions/0/offsets/consumers')
  writeFileSync(join(folder, HOSTILE), 'x')
  await page.goto(`${running.origin}/partitions/0/0/0?pane=poll&by=first&msg=0&tab=decoded`)
  await expect(page.getByTestId('polled').locator('.payload')).toHaveText([
    HOSTILE,
    'empty',
    'null',
    '2 bytes, binary',
    '256 bytes, binary',
  ])
  await expect(page.getByTestId('payload-text')).toHaveText(HOSTILE)
  await expect(page.getByTestId('message').locator('dd').filter({ hasText: HOSTILE })).toHaveCount(2)
  await isText(page, 'polled')
  await page.goto(
    `${running.origin}/partitions/0/0/0?pane=poll&by=next&consumer=${encodeURIComponent(`${HOSTILE}\u202e`)}`,
  )
  await expect(page.getByTestId('polled-words')).toContainText(`consumer ${HOSTILE}\\u202e`)
  await isText(page, 'consumer')
  await page.goto(`${running.origin}/partitions/0/0/0?pane=consumers`)
  await expect(page.getByTestId('consumers-table')).toContainText(`consumer ${HOSTILE}`)
  await expect(page.getByTestId('consumers-table')).toContainText('no number: never read')
  await isText(page, 'file of a consumer')

  // What is typed into an address is named in a note, as text.
  const asked = encodeURIComponent(HOSTILE)
  await page.goto(`${running.origin}/cluster?side=${asked}`)
  await expect(page.getByTestId('address-note')).toContainText(HOSTILE)
  await isText(page, 'address')
  // It goes with the screen that it concerns.
  await page.getByRole('link', { name: 'Forwards' }).click()
  await expect(page.getByRole('heading', { name: 'Forwarded writes' })).toBeVisible()
  await expect(page.getByTestId('address-note')).toHaveCount(0)
  await page.goto(`${running.origin}/cluster/nodes/${asked}`)
  await expect(page.getByText(`“${HOSTILE}”`)).toBeVisible()
  await isText(page, 'node')
  for (const route of [
    '/cluster',
    '/clients',
    '/wal/0',
    '/timeline?group=all',
    '/forwards',
    '/cluster/nodes/0?tab=wal',
  ]) {
    await page.goto(running.origin + route)
    await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)
    await isText(page, route)
  }

  await page.goto(`${running.origin}/recordings`)
  await page
    .getByLabel('Bundle', { exact: true })
    .setInputFiles({ name: `${HOSTILE}\u202e.zip`, mimeType: 'application/zip', buffer: Buffer.from('no zip') })
  await expect(page.getByTestId('file-refused')).toContainText(`${HOSTILE}\\u202e.zip is not opened`)
  await isText(page, 'file name')
  expect(errors).toEqual([])
})
