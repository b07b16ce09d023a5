import { expect, type Page, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'
import { writeThrough } from './one-door.ts'

let running: ConsoleProcess | undefined
test.afterEach(async () => {
  await running?.stop()
  running = undefined
})

const clientPort = async (from: ConsoleProcess, node: number): Promise<number> => {
  const cluster = (await from.get('/api/clusters/current')) as {
    nodes: { id: number; ports: { client: number } | null }[]
  }
  return cluster.nodes.find(item => item.id === node)!.ports!.client
}
const leads = (page: Page) => expect(page.getByTestId('situation')).toContainText('node-0 leads view 0')

test('a misrouted write is followed door to door', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await leads(page)
  expect((await running.post('/api/streams', { name: 'orders' })).status).toBe(200)
  expect((await running.post('/api/topics', { stream: 'orders', name: 'eu', partitions: 1 })).status).toBe(200)
  // node-0 leads the group; the client knocks on node-2
  const port = await clientPort(running, 2)
  await expect(async () => writeThrough(port, 'orders', 'eu', 0, 'misrouted')).toPass({ timeout: 15_000 })

  await page.goto(`${running.origin}/forwards`)
  const row = page.getByTestId('forward').first()
  await expect(row).toHaveAttribute('data-outcome', 'accepted')
  await expect(row).toHaveAttribute('data-from', '2')
  await expect(row).toHaveAttribute('data-to', '0')
  await row.click()
  await expect(page).toHaveURL(/id=[0-9a-f]+/)
  for (const step of ['received', 'parked', 'sent', 'taken', 'accepted', 'answered'])
    await expect(page.getByTestId(`step-${step}`)).toHaveCount(1)
  await expect(page.getByTestId('evidence')).toContainText('Committed')

  // the address is the document: the same forward after a reload
  const url = page.url()
  await page.reload()
  expect(page.url()).toBe(url)
  await expect(page.getByTestId('hops')).toContainText('hop by hop')
  await expect(page.getByTestId('evidence')).toContainText('Committed')
})

test('the votes of an election are held at the links and let go one by one', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await leads(page)
  await page.goto(`${running.origin}/cluster?side=links`)
  await page.getByTestId('votes-hold').click()
  await expect(page.getByTestId('votes-gate')).toHaveAttribute('data-holding', 'true')
  expect((await running.post('/api/nodes/0/kill')).status).toBe(200)

  const held = page.getByTestId('held-frame')
  await expect(held.first()).toHaveAttribute('data-command', 'StartViewChange')
  await expect(page.getByTestId('ring-way-2-1')).not.toHaveAttribute('data-held', '0')
  await expect(page.getByTestId('situation')).toContainText('No primary')

  // one frame at a time, until a vote of the second kind waits at a gate
  const let1 = page.getByTestId('release-one')
  const step = async (command: string) =>
    expect(async () => {
      const one = held.filter({ has: let1 })
      const commands = await one.evaluateAll(rows => rows.map(row => row.getAttribute('data-command')))
      if (commands.includes(command)) return
      await let1.first().click({ timeout: 1_000 })
      throw new Error(`no ${command} yet`)
    }).toPass({ intervals: [60], timeout: 25_000 })
  await step('DoViewChange')
  await expect(page.getByTestId('situation')).toContainText('No primary')

  await page.getByTestId('votes-release').click()
  await expect(page.getByTestId('situation')).toContainText(/node-[12] leads view \d+|node-0 is down/)
  await expect(page.getByTestId('votes-gate')).toHaveAttribute('data-holding', 'false')
  await expect(held).toHaveCount(0)
})

test('every fault gets a stopwatch, and the ledger says what was lost', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await leads(page)
  await page.getByRole('button', { name: 'Start load' }).click()
  await expect
    .poll(async () => Number(await page.getByTestId('ledger-acked').getAttribute('data-value')))
    .toBeGreaterThan(200)
  await page.goto(`${running.origin}/recoveries`)
  await page.getByTestId('kill-and-time').click()

  const mark = (name: string) => page.getByTestId(`mark-R-1-${name}`)
  const ms = async (name: string) => Number((await mark(name).getAttribute('data-ms')) || 'NaN')
  for (const name of ['noticed', 'elected', 'acknowledged'])
    await expect(mark(name)).toHaveAttribute('data-ms', /\d/, { timeout: 30_000 })
  expect(await ms('noticed')).toBeLessThan(await ms('acknowledged'))
  await expect(mark('started')).toHaveAttribute('data-ms', '')

  expect((await running.post('/api/nodes/0/start')).status).toBe(200)
  await expect(mark('caughtUp')).toHaveAttribute('data-ms', /\d/, { timeout: 30_000 })
  expect(await ms('started')).toBeLessThanOrEqual(await ms('caughtUp'))
  await expect(page.getByTestId('lost')).toHaveAttribute('data-value', '0')

  // kept in the tab
  await page.reload()
  await expect(mark('caughtUp')).toHaveAttribute('data-ms', /\d/)
  await expect(page.getByTestId('lane-R-1')).toBeVisible()
})
