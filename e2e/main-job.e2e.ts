import { expect, type Page, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'

let running: ConsoleProcess | undefined
test.afterEach(async () => {
  await running?.stop()
  running = undefined
})

const ledger = async (page: Page, name: string) =>
  Number(await page.getByTestId(`ledger-${name}`).getAttribute('data-value'))

test('the main job: start, load, look at the chain, kill a backup, nothing lost, start it again', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('node-0 leads view 0')

  await page.getByRole('button', { name: 'Start load' }).click()
  await expect.poll(() => ledger(page, 'acked'), { message: 'acknowledged messages' }).toBeGreaterThan(200)
  await expect.poll(() => ledger(page, 'read-back'), { message: 'messages read back' }).toBeGreaterThan(100)

  // the chain of one partition: segments of three nodes, to scale, and its table twin
  await page.goto(`${running.origin}/partitions/0/0/0`)
  await expect(page.getByTestId('situation')).toContainText(/./)
  for (const node of [0, 1, 2]) await expect(page.getByTestId(`segment-${node}-0`).first()).toBeVisible()

  await page.goto(`${running.origin}/cluster`)
  const backup = page.getByTestId('node-2')
  await expect(backup).toHaveAttribute('data-standing', 'healthy')
  await backup.getByRole('button', { name: /^Kill/ }).click()
  await expect(backup).toHaveAttribute('data-state', /stopped|crashed/)
  await expect(page.getByTestId('situation')).toContainText('node-2 is down')

  const before = await ledger(page, 'acked')
  await expect.poll(() => ledger(page, 'acked'), { message: 'the load goes on' }).toBeGreaterThan(before + 300)
  expect(await ledger(page, 'lost')).toBe(0)

  await backup.getByRole('button', { name: /^Start/ }).click()
  await expect(backup).toHaveAttribute('data-state', 'running')
  await expect(backup, 'the restarted backup catches up').toHaveAttribute('data-standing', 'healthy', {
    timeout: 30_000,
  })

  await page.getByRole('button', { name: 'Stop load' }).click()
  await expect(page.getByTestId('load-verdict')).toHaveAttribute('data-verdict', 'nothing_lost', {
    timeout: 30_000,
  })
  expect(await ledger(page, 'lost')).toBe(0)
  expect(await ledger(page, 'duplicate')).toBe(0)
})
