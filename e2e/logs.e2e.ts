/** Load, WAL, Clients and the way out of a table, on a real cluster: the gap at a kill, an entry to the byte, a retry. */
import { readFileSync } from 'node:fs'
import { expect, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'

let running: ConsoleProcess | undefined
test.afterEach(async () => {
  await running?.stop()
  running = undefined
})

test('the gap at a kill is drawn in the load; entry, session and table are read to the digit', async ({ page }) => {
  running = await startConsole()
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('node-0 leads view 0')
  await page.goto(`${running.origin}/load`)
  await page.getByRole('textbox', { name: 'bytes of a message' }).fill('31')
  await expect(page.getByTestId('load-start')).toHaveAttribute('aria-disabled', 'true')
  await page.getByRole('textbox', { name: 'bytes of a message' }).fill('512')
  await expect(page.getByTestId('load-start')).toBeEnabled()
  await page.getByTestId('load-start').press('Enter')
  const ledger = async (name: string) => Number(await page.getByTestId(`ledger-${name}`).getAttribute('data-value'))
  await expect.poll(() => ledger('acked')).toBeGreaterThan(400)
  // sessions are compared by the nodes that live: what the dead one said last is of no moment
  await page.getByRole('link', { name: 'Clients', exact: true }).click()
  const situation = page.getByTestId('situation')
  await expect(situation).toContainText('the same on node-0, node-1 and node-2')
  expect((await running.post('/api/nodes/0/kill')).status).toBe(200)
  await expect(page.getByTestId('unasked-0')).toContainText('was killed')
  await expect(situation).toContainText('the same on node-1 and node-2')
  await expect(page.getByTestId('connections')).not.toContainText('node-0')
  await page.getByRole('link', { name: 'WAL', exact: true }).click()
  await expect(situation).toContainText('node-0 was killed')
  await expect(page.getByTestId('wal-slots')).toContainText('directory of node-0')
  await page.getByRole('link', { name: 'Load', exact: true }).click()
  // A machine that stops for a second leaves a gap, too; nobody's death is told of that one.
  await expect(
    page
      .getByTestId('load-gaps')
      .getByRole('row', { name: /node-0/ })
      .first(),
  ).toBeVisible()
  await expect(page.locator('.chart-gap').first()).toBeAttached()
  const before = await ledger('acked')
  await expect.poll(() => ledger('acked')).toBeGreaterThan(before)
  expect(await ledger('lost')).toBe(0)

  // an entry of the log: by keyboard to its slot, a field and its bytes show each other, the file verifies
  await page.goto(`${running.origin}/wal/1`)
  await page.getByRole('textbox', { name: 'slot' }).fill('2')
  await expect(page).toHaveURL(/slot=2/)
  await expect(page.getByTestId('wal-entry')).toContainText('header matches its checksum')
  await page.getByRole('list', { name: 'Fields of the entry' }).getByRole('button', { name: /^op / }).press('Enter')
  await expect(page).toHaveURL(/field=op/)
  await expect(page.getByTestId('wal-entry').locator('u.on').first()).toBeVisible()
  await expect(page.getByTestId('chosen-field')).toContainText('op 8 bytes at 176: 2')
  const url = page.url()
  await page.reload()
  expect(page.url()).toBe(url)
  await expect(page.getByTestId('chosen-field')).toContainText('op 8 bytes at 176: 2')
  await page.getByTestId('wal-verify').click()
  await expect(page.getByTestId('wal-scan')).toHaveAttribute('data-end', 'clean')

  // the sessions of the load, the same on both nodes that live; what a retry would get
  await page.goto(`${running.origin}/clients`)
  await expect(page.getByTestId('session-fields')).toContainText('watermark')
  await page.getByRole('textbox', { name: 'Request number that comes again' }).fill('18446744073709551615')
  await expect(page.getByTestId('retry').locator('[data-verdict=new]')).toHaveCount(2)
  await expect(page).toHaveURL(/request=18446744073709551615/)
  await page.reload()
  await expect(page.getByTestId('retry').locator('[data-verdict=new]')).toHaveCount(2)

  // a list as it is filtered, also what is not in sight
  await page.goto(`${running.origin}/partitions?q=0.0.1`)
  // Names come with an answer of their own.
  await expect(page.getByTestId('partition-0.0.1')).toContainText('load/steady/1')
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save partitions as a file' }).click()
  await page.getByRole('menuitem', { name: /^CSV/ }).click()
  const download = await saved
  expect(download.suggestedFilename()).toMatch(/^partitions-\d{8}-\d{6}\.csv$/)
  const lines = readFileSync((await download.path())!, 'utf8').split('\r\n')
  expect(lines[0]).toMatch(/^partition,name,group,primary,nextOffset/)
  expect(lines[1]).toMatch(/^0\.0\.1,load\/steady\/1,"1",/)
  expect(lines).toHaveLength(3)

  // nothing that repeats for ever moves when less motion is asked for
  await page.goto(`${running.origin}/cluster?side=links`)
  await expect(page.getByTestId('situation')).toBeVisible()
  expect(
    await page.evaluate(
      () =>
        document.getAnimations().filter(one => one.effect?.getComputedTiming().iterations === Number.POSITIVE_INFINITY)
          .length,
    ),
  ).toBe(0)
})
