import { expect, type Locator, type Page, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'

let running: ConsoleProcess | undefined
test.afterEach(async () => {
  await running?.stop()
  running = undefined
})

const ledger = async (page: Page, name: string) =>
  Number(await page.getByTestId(`ledger-${name}`).getAttribute('data-value'))

/** Tab by tab until it has the focus, as somebody without a pointer comes to it. */
async function tabTo(page: Page, what: Locator): Promise<void> {
  await expect(what).toHaveCount(1)
  for (let presses = 0; presses < 150; presses++) {
    if (await what.evaluate(element => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the focus never came to ${what}`)
}
async function command(page: Page, words: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await expect(page.getByRole('combobox')).toBeFocused()
  await page.keyboard.type(words)
  await page.keyboard.press('Enter')
  await expect(page.getByRole('combobox')).toHaveCount(0)
}

test('the main job, by keyboard alone: start, load, look at the chain, kill a backup, nothing lost, start it again', async ({
  page,
}) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('node-0 leads view 0')

  await tabTo(page, page.getByRole('button', { name: 'Start load', exact: true }))
  await page.keyboard.press('Enter')
  await expect.poll(() => ledger(page, 'acked'), { message: 'acknowledged messages' }).toBeGreaterThan(200)
  await expect.poll(() => ledger(page, 'read-back'), { message: 'messages read back' }).toBeGreaterThan(100)

  // the chain of one partition: segments of three nodes, to scale, and its table twin
  await page.keyboard.press('2')
  await expect(page).toHaveURL(/\/partitions$/)
  await tabTo(page, page.locator('a[href^="/partitions/0/0/0"]').first())
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/partitions\/0\/0\/0/)
  await expect(page.getByTestId('situation')).toContainText(/./)
  for (const node of [0, 1, 2]) await expect(page.getByTestId(`segment-${node}-0`).first()).toBeVisible()

  await page.keyboard.press('1')
  const backup = page.getByTestId('node-2')
  await expect(backup).toHaveAttribute('data-standing', 'healthy')
  await tabTo(page, backup.getByRole('button', { name: /^Kill/ }))
  await page.keyboard.press('Enter')
  await expect(backup).toHaveAttribute('data-state', /stopped|crashed/)
  await expect(page.getByTestId('situation')).toContainText('node-2 is down')

  const before = await ledger(page, 'acked')
  await expect.poll(() => ledger(page, 'acked'), { message: 'the load goes on' }).toBeGreaterThan(before + 300)
  expect(await ledger(page, 'lost')).toBe(0)

  await command(page, 'start node-2')
  await expect(backup).toHaveAttribute('data-state', 'running')
  await expect(backup, 'the restarted backup catches up').toHaveAttribute('data-standing', 'healthy')

  await command(page, 'stop load')
  await expect(page.getByTestId('load-verdict')).toHaveAttribute('data-verdict', 'nothing_lost')
  expect(await ledger(page, 'lost')).toBe(0)
  expect(await ledger(page, 'duplicate')).toBe(0)
})
