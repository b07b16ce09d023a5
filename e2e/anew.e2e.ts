/** What destroys data: a wiped node is refilled by its peers, and a cluster is started anew with another number of nodes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type Page, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'

let running: ConsoleProcess | undefined
test.afterEach(async () => {
  await running?.stop()
  running = undefined
})

const situation = (page: Page) => page.getByTestId('situation')
const ledger = async (page: Page, name: string) =>
  Number(await page.getByTestId(`ledger-${name}`).getAttribute('data-value'))

test('a node is wiped once its name was typed, its peers refill it, and its disk tab says what is gone', async ({
  page,
}) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(situation(page)).toContainText('all 3 nodes agree')
  await page.getByRole('button', { name: 'Start load', exact: true }).click()
  await expect.poll(() => ledger(page, 'acked')).toBeGreaterThan(200)
  await expect(page.getByTestId('wipe-2')).toHaveCount(0)
  await page.getByTestId('kill-2').click()
  await page.getByTestId('wipe-2').click()
  const confirm = page.getByTestId('confirm')
  const log = join(running.directory, 'node-2/streams/0/topics/0/partitions/0/00000000000000000000.log')
  await confirm.getByRole('textbox').fill('node-1')
  await confirm.getByRole('textbox').press('Enter')
  await expect(confirm).toBeVisible()
  expect(existsSync(log)).toBe(true)
  await confirm.getByRole('textbox').fill('node-2')
  await confirm.getByRole('textbox').press('Enter')
  await expect(confirm).toHaveCount(0)
  await expect.poll(() => existsSync(log)).toBe(false)
  await page.getByRole('link', { name: 'Superblocks', exact: true }).click()
  await expect(page.getByTestId('no-slots-2')).toContainText('a wiped one has lost them')
  await page.goto(`${running.origin}/wal/2`)
  await expect(situation(page)).toContainText('No log lies in its directory')
  await page.getByRole('link', { name: 'Cluster', exact: true }).click()
  await page.getByTestId('start-2').click()
  await expect(page.getByTestId('node-2')).toHaveAttribute('data-standing', 'healthy')
  // That it holds the metadata comes first: it says which partitions there are to be filled.
  await expect.poll(() => existsSync(log)).toBe(true)
  for (const rule of ['commit', 'view', 'primary', 'prefix', 'acked'])
    await expect(page.getByTestId(`invariant-${rule}`)).toHaveAttribute('data-verdict', 'holds')
  expect(await ledger(page, 'lost')).toBe(0)

  // a third boot, which finds what the second one left: from nothing to the log that came back
  await page.getByTestId('terminate-2').click()
  await page.getByTestId('start-2').click()
  await expect(page.getByTestId('node-2')).toHaveAttribute('data-standing', 'healthy')
  await page.goto(`${running.origin}/cluster/nodes/2?tab=disk`)
  await expect(page.getByTestId('disk-changes')).toContainText(/\d+ files new/)
  const row = page.locator('[data-path$="partitions/0/00000000000000000000.log"]')
  await expect(row).toHaveAttribute('data-change', 'new')
  await expect(row).toContainText('absent')
  await page.goto(`${running.origin}/cluster/nodes/2?tab=log`)
  await expect(page.getByTestId('log')).toContainText('ready')
})

test('a cluster starts anew with one node and with five; the page that is open goes on', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(situation(page)).toContainText('all 3 nodes agree')
  await running.post('/api/streams', { name: 'orders' })
  await page.goto(`${running.origin}/cluster?side=cluster`)
  // Escape leaves a dialog, focus goes back to what opened it, and a letter pressed in it is no shortcut.
  const opener = page.getByTestId('reset-1')
  // A key, unlike a click, does not wait until a button takes it.
  await expect(opener).toBeEnabled()
  await opener.focus()
  await page.keyboard.press('Enter')
  await expect(page.getByTestId('confirm').getByRole('textbox')).toBeFocused()
  await page.keyboard.press('Tab')
  await page.keyboard.press('l')
  await page.keyboard.press('Escape')
  await expect(opener).toBeFocused()
  await expect(page.getByTestId('confirm')).toHaveCount(0)
  await expect(page.getByTestId('facts')).toHaveCount(0)
  for (const [nodes, words] of [
    [1, 'serves alone'],
    [5, 'all 5 nodes agree'],
  ] as const) {
    await page.getByTestId(`reset-${nodes}`).click()
    const field = page.getByTestId('confirm').getByRole('textbox')
    await field.fill('quorumscope')
    await field.press('Enter')
    await expect(situation(page)).toContainText(words)
    await expect(page.locator('[data-testid^=ring-node-]')).toHaveCount(nodes)
    let streams: unknown
    // Whoever is asked may not have come up yet.
    const told = async () => {
      streams = ((await running!.get('/api/topics')) as { streams?: unknown[] }).streams
      return streams !== undefined
    }
    await expect.poll(told).toBe(true)
    expect(streams).toEqual([])
  }
  await page.getByRole('group', { name: 'Beside the ring' }).getByRole('button', { name: 'Nodes' }).click()
  // The same tab may still act, and who asks for what is gone is told so.
  await page.getByTestId('pause-4').click()
  await expect(page.getByTestId('node-4')).toHaveAttribute('data-state', 'paused')
  const late = await running.post('/api/clusters/current/reset', { nodes: 3, run: 'another' })
  expect([late.status, (late.json as { code: string }).code]).toEqual([409, 'CON_WRONG_STATE'])
})
