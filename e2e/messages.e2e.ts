/** Messages as a client gets them, what consumers have stored, and where the logs of three nodes first differ. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type Page, test } from '@playwright/test'
import { nodeClientPorts } from '../server/console/client-ports.ts'
import { ROOT } from '../server/console/serve.ts'
import { createHash } from '../shared/bytes/hash.ts'
import { Client } from '../shared/client/client.ts'
import { type ConsoleProcess, startConsole } from './console-process.ts'

let running: ConsoleProcess
let client: Client
test.beforeEach(async () => {
  running = await startConsole()
})
test.afterEach(async () => {
  client?.close()
  await running.stop()
})

const NUMBERS = '{"id":73314510714175488,"n":23958446825181076828,"f":1.10}'
const LONG = 100_000
const PAYLOADS = ['a brass lamp', '', 'null', NUMBERS, new Uint8Array([0xff, 0x00]), 'x'.repeat(LONG)]

async function topicOf(name: string): Promise<void> {
  await expect.poll(async () => (await running.post('/api/streams', { name: 'shop' })).status).not.toBe(503)
  const made = await running.post('/api/topics', { stream: 'shop', name, partitions: 1, policy: 'eager' })
  expect(made.status).toBe(200)
}
async function connect(): Promise<Client> {
  const { nodes } = (await running.get('/api/clusters/current')) as { nodes: { ports: { client: number } }[] }
  client = new Client(nodeClientPorts, {
    endpoints: nodes.map(node => ({ host: '127.0.0.1', port: node.ports.client })),
    hash: await createHash(),
    credentials: ROOT,
    budgetMs: 20_000,
  })
  return client
}
const send = (payload: string | Uint8Array) =>
  client.sendMessages('shop', 'orders', { kind: 'partition', partition: 0 }, [{ payload }])
/** What `shows` finds is found again after a reload, at the same address. */
async function stays(page: Page, shows: () => Promise<void>): Promise<void> {
  await shows()
  const url = page.url()
  await page.reload()
  await shows()
  expect(page.url()).toBe(url)
}

test('messages are polled by offset, time, first, last and next, by keyboard; bytes come before what they may mean', async ({
  page,
}) => {
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('leads view')
  await topicOf('orders')
  await topicOf('empty')
  await connect()
  for (const payload of PAYLOADS) await expect(async () => send(payload)).toPass()
  await expect
    .poll(async () => JSON.stringify(await running.get('/api/nodes/0/partitions/0/0/0/messages?strategy=last&count=1')))
    .toContain(`"payloadBytes":${LONG}`)
  const words = page.getByTestId('polled-words')
  const offsets = () => page.getByTestId('polled').locator('tbody tr > :first-child').allTextContents()

  await page.goto(`${running.origin}/partitions/0/1/0?pane=poll`)
  await stays(page, async () => {
    await expect(words).toHaveText('node-0 knows of no committed message in this partition.')
    await expect(page.getByTestId('no-messages')).toContainText('No message yet')
  })

  await page.goto(`${running.origin}/partitions/0/0/0`)
  await page.getByRole('group', { name: 'Below the chain' }).getByRole('button', { name: 'Poll' }).press('Enter')
  const by = page.getByRole('group', { name: 'Poll by' })
  await expect.poll(offsets).toEqual(['0', '1', '2', '3', '4', '5'])
  await by.getByRole('button', { name: 'Last' }).press('Space')
  await page.getByLabel('How many messages').fill('2')
  await page.getByLabel('How many messages').press('Enter')
  await stays(page, () => expect.poll(offsets).toEqual(['4', '5']))
  await page.getByRole('button', { name: 'Before these' }).press('Enter')
  await expect.poll(offsets).toEqual(['2', '3'])
  await by.getByRole('button', { name: 'First' }).press('Enter')
  await page.getByRole('button', { name: 'Poll', exact: true }).last().press('Enter')
  await stays(page, () => expect.poll(offsets).toEqual(['0', '1']))
  await by.getByRole('button', { name: 'Offset' }).press('Enter')
  await page.getByLabel('Offset to poll from').fill('18446744073709551615')
  await page.keyboard.press('Enter')
  await stays(page, () => expect(words).toContainText('18,446,744,073,709,551,615 is beyond what node-0 knows'))
  await page.getByLabel('Offset to poll from').fill('3')
  await page.keyboard.press('Enter')
  await expect.poll(offsets).toEqual(['3', '4'])
  const when = (await page.getByTestId('polled').locator('tbody tr').nth(1).locator('td').nth(4).textContent())!
  await by.getByRole('button', { name: 'Time' }).press('Enter')
  await page.getByLabel('Time to poll from').fill(when)
  await page.keyboard.press('Enter')
  await stays(page, () => expect.poll(offsets).toEqual(['4', '5']))
  await page.getByLabel('Time to poll from').fill('2099-01-01 00:00')
  await page.keyboard.press('Enter')
  await expect(words).toContainText('has no message of 2099-01-01 00:00:00.000000 or later')

  // One message: its bytes first, then its text, every digit of it.
  await page.goto(`${running.origin}/partitions/0/0/0?pane=poll&by=first`)
  const message = page.getByTestId('message')
  await page.getByTestId('polled').getByRole('button', { name: '3', exact: true }).press('Enter')
  await expect(page).toHaveURL(/msg=3/)
  await stays(page, async () => {
    await expect(message.locator('.hx').first()).toContainText('7b 22 69 64')
    await expect(page.getByTestId('lookup')).toContainText('3 resolves to entry')
  })
  await message.getByRole('button', { name: 'Decoded' }).press('Enter')
  await stays(page, () => expect(page.getByTestId('payload-text')).toHaveText(NUMBERS))
  for (const [offset, shown] of [
    [1, 'Empty: not a byte of text.'],
    [2, 'null'],
    [4, '2 bytes that are no text of UTF-8'],
  ] as const) {
    await page.goto(`${running.origin}/partitions/0/0/0?pane=poll&msg=${offset}&tab=decoded`)
    await expect(message).toContainText(shown)
  }
  await page.goto(`${running.origin}/partitions/0/0/0?pane=poll&msg=5`)
  await expect(page.getByTestId('payload-cut')).toHaveText('The first 4,096 of 100,000 bytes are shown.')
  const saved = page.waitForEvent('download')
  await message.getByRole('link', { name: 'Save 100,000 bytes' }).click()
  expect(readFileSync((await (await saved).path())!, 'utf8')).toBe(PAYLOADS[5])
  await page.goto(`${running.origin}/partitions/0/0/0?pane=poll&msg=99`)
  await stays(page, () => expect(page.getByTestId('no-message')).toContainText('No message at offset 99'))

  // What is stored for a consumer decides what comes next; a poll from here stores nothing.
  await page.goto(`${running.origin}/partitions/0/0/0?pane=poll&by=next&consumer=7&msg=3`)
  await expect(words).toContainText('Nothing is stored for consumer 7')
  await expect.poll(offsets).toEqual(['0', '1', '2', '3', '4', '5'])
  await page.getByRole('button', { name: 'Read up to here, consumer 7: store 3' }).press('Enter')
  await expect(page.getByText('Stored 3 for consumer 7.').first()).toBeVisible()
  await page.getByRole('button', { name: 'Poll', exact: true }).last().press('Enter')
  await stays(page, async () => {
    await expect.poll(offsets).toEqual(['4', '5'])
    await expect(words).toContainText('Consumer 7 has read up to 3')
  })
  await page.goto(`${running.origin}/partitions/0/0/0?pane=consumers`)
  const row = page.getByTestId('consumers-table').locator('tbody tr')
  await stays(page, async () => {
    await expect(row).toHaveText(/^consumer 73332 offsets behind$/)
  })

  // A node that is down cannot be polled, and says so; what it has stored is still in its files.
  expect((await running.post('/api/nodes/2/terminate')).status).toBe(200)
  await expect(row).toHaveText(/^consumer 7333/)
  await page.goto(`${running.origin}/partitions/0/0/0?pane=poll&node=2`)
  await stays(page, () => expect(page.getByTestId('poll')).toContainText('CON_NODE_DOWN'))
  await page.goto(`${running.origin}/partitions/0/0/0?pane=poll&node=1`)
  await expect.poll(offsets).toHaveLength(6)

  // The node that is down is looked through: what the others hold stays in sight, and nothing is made up of its own.
  await page.goto(`${running.origin}/partitions/0/0/0?node=2&offset=3`)
  await expect(page.getByTestId('chain')).toContainText('no report: nothing is said of its files')
  await expect(page.getByTestId('segment-0-0')).toBeVisible()
  await expect(page.getByTestId('lookup')).toContainText('The index of node-2 has not said what it knows of 3')
  await expect(page.getByTestId('not-asked')).toBeVisible()

  // Purged while it is shown: the chain begins anew, and what the address names is said to be gone.
  await page.goto(`${running.origin}/partitions/0/0/0?node=1&offset=3`)
  await expect(page.getByTestId('floor-mark')).toContainText('the floor of 3')
  await expect(page.getByTestId('scan-mark')).toContainText('a read scans')
  await expect(page.getByTestId('retention')).toContainText('every segment; never purged')
  await client.purgeTopic('shop', 'orders')
  await expect(page.getByTestId('no-messages')).toContainText('Purged, and no message since.')
  await stays(page, async () => {
    await expect(page.getByTestId('retention')).toContainText('purged 1 time')
    await expect(page.getByTestId('figures')).toContainText('node-1, next offset0')
    await expect(page.getByTestId('lookup')).toContainText('3 is beyond the end: the next message of node-1 gets 0')
  })
  await page.goto(`${running.origin}/partitions/0/0/0?node=1&seg=700&pane=consumers`)
  await stays(page, async () => {
    await expect(page.getByTestId('gone')).toContainText('node-1 has no segment 700')
    // The node that is down has not heard of the purge: its file still says what it said.
    await expect(row).toHaveText(/^consumer 7nonenone3/)
  })
  // A kind that is asked for by name is found, though its family is not shown at first.
  await page.goto(`${running.origin}/timeline?group=all&q=kind:purge&table=1`)
  await expect(page.getByTestId('event-row')).toHaveCount(2)
  await expect(page.getByTestId('event-row').first()).toContainText('every message and stored offset is gone, purge 1')

  // Deleted while it is shown: nothing of it is told as if it were there.
  await page.goto(`${running.origin}/partitions/0/0/0?pane=poll&node=1`)
  await client.deleteTopic('shop', 'orders')
  await expect(page.getByTestId('no-partition')).toContainText('No node reports partition 0.0.0')
  expect(await running.get('/api/nodes/1/partitions/0/0/0/messages')).toMatchObject({ code: 'CON_NO_SUCH_THING' })
})

test('the logs of three nodes are compared to the byte: alike, one behind, and one with a byte that nobody wrote', async ({
  page,
}) => {
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('leads view')
  await topicOf('orders')
  await connect()
  for (let number = 0; number < 8; number++) await expect(async () => send(`order ${number}`)).toPass()
  const sizes = async () =>
    Promise.all(
      [0, 1, 2].map(async node => {
        const said = (await running.get(`/api/nodes/${node}/partitions/0/0/0`)) as {
          segments?: { sizeBytes: number }[]
        }
        // A node that is behind does not have it yet.
        return said.segments?.[0]?.sizeBytes ?? 0
      }),
    )
  await expect.poll(async () => new Set(await sizes()).size === 1 && (await sizes())[0]! > 0).toBe(true)
  const { nodes } = (await running.get('/api/clusters/current')) as { nodes: { dataDirectory: string }[] }

  await page.goto(`${running.origin}/partitions/0/0/0?pane=compare`)
  const compared = page.getByTestId('compared')
  await stays(page, () => expect(compared).toContainText(/No difference in 8 batches, .* All end at the same byte/))

  // One byte of the third batch of node-2, while it runs: its payload, so that every field of the batch is as it was.
  const { batches } = (await running.get('/api/nodes/2/partitions/0/0/0/segments/0/batches')) as {
    batches: { positionBytes: number }[]
  }
  const log = join(nodes[2]!.dataDirectory, 'streams/0/topics/0/partitions/0/00000000000000000000.log')
  const wrong = batches[2]!.positionBytes + 256 + 48 + 1
  const bytes = readFileSync(log)
  bytes[wrong]! ^= 0x20
  writeFileSync(log, bytes)
  await page.getByRole('button', { name: 'Again' }).press('Enter')
  await stays(page, async () => {
    await expect(compared).toContainText(`First difference at byte ${wrong.toLocaleString('en-US')}`)
    await expect(page.getByTestId('differs-2')).toContainText('checksum differs')
    await expect(page.getByTestId('differs-0')).toContainText('checksums agree')
    await expect(page.getByTestId('byte-rows').locator('.hx')).toHaveCount(3)
    await expect(page.getByTestId('byte-rows').locator('u.bad')).toHaveText(['72', '72', '52'])
  })
  // From there to the bytes of that copy.
  await page.getByTestId('differs-2').getByRole('button', { name: 'node-2' }).press('Enter')
  await stays(page, async () => {
    await expect(page.getByTestId('batch')).toContainText('checksum differs')
    await expect(page.getByTestId('batch').getByRole('heading', { name: 'Batch 2' })).toBeVisible()
  })
  expect((await running.post('/api/nodes/1/kill')).status).toBe(200)
  await expect(page.getByText('node-1 cannot be asked: nothing is said of its log.')).toBeVisible()
})
