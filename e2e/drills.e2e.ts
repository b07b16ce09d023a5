import { expect, type Page, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'
import { saveJson } from './saved.ts'

let running: ConsoleProcess
test.beforeAll(async () => {
  // Of the cluster that it watches, drills need nothing.
  running = await startConsole(['--nodes', '1'])
})
test.afterAll(() => running.stop())

/** Opens the replay where the verdict was decided, and goes a step back and forth. */
async function replay(page: Page, decisive: string): Promise<void> {
  await page.getByRole('button', { name: 'Replay the decisive moment' }).click()
  const row = page.getByTestId('replay-decisive')
  await expect(row).toContainText(decisive)
  await expect(row).toHaveAttribute('data-now', 'true')
  const where = page.getByTestId('replay-at')
  const there = await where.textContent()
  await page.getByRole('button', { name: 'Previous moment' }).click()
  await expect(row).toHaveAttribute('data-now', 'false')
  await expect(where).not.toHaveText(there!)
  await page.getByRole('button', { name: 'Next moment' }).click()
  await expect(where).toHaveText(there!)
}

test('D09, D19 and D22 are run and read by clicking, their evidence opens, and the decisive moment is replayed', async ({
  page,
}) => {
  await page.goto(running.url)
  await page.getByRole('link', { name: 'Drills' }).click()
  // what was run so far, why that says little yet, and where to begin
  await expect(page.getByTestId('situation')).toContainText(
    /None of 25 drills was run since this console started.*the live cluster is left alone.*Open D01/,
  )
  for (const [id, title, decisive, found] of [
    ['D09', 'Newest slot rots', 'with slot a rotten the boot refuses', 'SuperblockUnreadable'],
    ['D19', 'The second crash', 'a segment is named after the first offset behind the hole', '.log'],
    ['D22', 'Knocking on the wrong door', 'the write at door 1 is acknowledged', '"baseOffset": "1"'],
  ] as const) {
    await page.getByRole('link', { name: 'Drills' }).click()
    await page.getByRole('link', { name: `${id} ${title}` }).click()
    await page.getByTestId('drill-run').click()
    await expect(page.getByTestId('verdict')).toHaveAttribute('data-verdict', 'pass')
    await page.getByRole('button', { name: decisive }).first().click()
    await expect(page.getByTestId('evidence-open')).toContainText(found)
    await replay(page, decisive)
    expect(new URL(page.url()).searchParams.get('at')).toBe('decisive')
  }
})

test('D03 is predicted, run and read by clicking, and its evidence opens', async ({ page }) => {
  await page.goto(running.url)
  await page.getByRole('link', { name: 'Drills' }).click()
  await page.getByRole('link', { name: 'D03 The index is a rumour' }).click()
  await expect(page.getByTestId('drill-predict')).toBeVisible()
  await page.getByRole('checkbox', { name: 'The index loses one entry' }).check()
  await page.getByRole('checkbox', { name: 'The node refuses to boot' }).check()
  await expect(page).toHaveURL(/predict=0(,|%2C)1/)
  await page.getByTestId('drill-run').click()

  await expect(page.getByTestId('verdict')).toHaveAttribute('data-verdict', 'pass')
  const said = page.getByTestId('drill-said').getByRole('listitem')
  await expect(said.nth(0)).toContainText('right')
  await expect(said.nth(1)).toContainText('it was not so')
  await expect(page.getByTestId('drill-why')).toBeVisible()

  await page
    .getByRole('button', { name: /the index is cut back to what the log proves/ })
    .first()
    .click()
  const evidence = page.getByTestId('evidence-open')
  await expect(evidence).toContainText('events index_floored of node 2 about partition 0/0/0')
  await expect(evidence).toContainText('"count": 1')

  // the address is the document
  const url = page.url()
  expect(url).toMatch(/run=\d+/)
  await page.reload()
  expect(page.url()).toBe(url)
  await expect(evidence).toContainText('"count": 1')
  await replay(page, 'the index is cut back to what the log proves')
  // with the files as they were then: one entry of 24 bytes is gone from the index
  const files = page.getByTestId('replay-files')
  await expect(files).toContainText('Files of node-2')
  await expect(page.getByTestId('replay-nodes').getByRole('row', { name: /node-0 metadata/ })).toContainText('primary')
  await expect(files.getByRole('row', { name: /\.index/ })).toContainText('−24')
  const ledger = page.getByTestId('replay-ledger')
  await expect(ledger).toContainText('s/t/0: 30 acknowledged, 0 of them read back')
  await page.getByRole('button', { name: 'Last moment' }).click()
  await expect(ledger).toContainText('s/t/0: 30 acknowledged, 30 of them read back')
  await page.goto(`${running.origin}/drills`)
  await expect(page.getByTestId('drill-D03')).toContainText('Pass')
  await expect(page.getByTestId('situation')).toContainText(/ended as they must.*The last was D03.*was not run yet/)
})

test('D18 is run by keyboard, and with its rule off it fails as it should', async ({ page }) => {
  await page.goto(running.url)
  await page.goto(`${running.origin}/drills/D18?seed=5`)
  await expect(page.getByTestId('drill-run')).toHaveAttribute('aria-disabled', 'false')
  await page.keyboard.press('r')
  await expect(page.getByTestId('verdict')).toHaveAttribute('data-verdict', 'pass')
  await expect(page.getByTestId('verdict')).toContainText('seed 5')
  await page.getByRole('button', { name: 'the first new offset lies above the reservation' }).first().click()
  await expect(page.getByTestId('evidence-open')).toContainText('"baseOffset": "65537"')
  await replay(page, 'the first new offset lies above the reservation')

  await page.getByRole('button', { name: 'Break the rule' }).click()
  await page.getByTestId('drill-run').click()
  await expect(page.getByTestId('verdict')).toContainText('Fail, as it should')
  await expect(page.getByTestId('drill-runs').getByRole('row')).toHaveCount(3)
  await replay(page, 'without a reservation on disk no offset is given out: unreserved: ok at 0')

  // the two are laid side by side
  await page.getByRole('button', { name: /Compare with run/ }).click()
  const differing = page.getByTestId('drill-compare').getByRole('row', { name: 'the first new offset' })
  await expect(differing).toContainText('ok at 1')
  await expect(differing).toContainText('ok at 65537')

  // and are files: what differs, and the runs
  const differ = await saveJson(page, 'findings that differ')
  expect(differ.rows.find(row => row.finding === 'the first new offset lies above the reservation')).toBeDefined()
  expect((await saveJson(page, 'runs')).rows).toMatchObject([
    { drill: 'D18', verdict: 'fail', asExpected: true, broken: true, seed: '5' },
    { drill: 'D18', verdict: 'pass', asExpected: true, broken: false, seed: '5' },
  ])
})

test('many seeds are run with one click, seen on their way and cancelled', async ({ page }) => {
  await page.goto(running.url)
  await page.goto(`${running.origin}/drills/D19`)
  await page.getByRole('button', { name: 'Run 100 seeds' }).click()
  await expect(page.getByTestId('sweep-words')).toContainText(/^[1-9]\d* of 100 seeds/)
  await page.getByRole('button', { name: 'Cancel the run' }).click()
  await expect(page.getByTestId('verdict')).toContainText('Cancelled')
  expect(await running.get('/api/drills')).toMatchObject({ active: null })
})

test('a run ends when its page is closed', async ({ page }) => {
  await page.goto(running.url)
  await page.goto(`${running.origin}/drills/D03?present=1`)
  await expect(page.getByTestId('drill-run')).toHaveAttribute('aria-disabled', 'false')
  await page.keyboard.press('n')
  await expect(page.getByTestId('drill-now')).toContainText('Step 1 of')
  await page.close()
  await expect.poll(() => running.get('/api/drills')).toMatchObject({ active: null })
})

test('a run that goes step by step is cancelled on the way, and says nothing', async ({ page }) => {
  await page.goto(running.url)
  await page.goto(`${running.origin}/drills/D03?present=1`)
  await expect(page.getByTestId('drill-run')).toHaveAttribute('aria-disabled', 'false')
  await page.keyboard.press('n')
  await expect(page.getByTestId('drill-now')).toContainText('Step 1 of')
  await page.keyboard.press('n')
  await expect(page.getByTestId('drill-now')).toContainText('Step 2 of')
  const library = await page.context().newPage()
  await library.goto(`${running.origin}/drills`)
  await expect(library.getByTestId('situation')).toContainText('D03 The index is a rumour waits for you')
  await library.close()
  await page.getByRole('button', { name: 'Cancel the run' }).click()
  await expect(page.getByTestId('verdict')).toContainText('Cancelled')
  await expect(page.getByTestId('verdict')).toHaveAttribute('data-verdict', 'unknown')
  expect(await running.get('/api/drills')).toMatchObject({ active: null })
})

test('a narrow window holds both screens without scrolling sideways', async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 700 })
  for (const path of ['/drills', '/drills/D03?run=1&item=v0&at=decisive']) {
    await page.goto(running.origin + path)
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
  }
})

test('by hand a node is killed and a byte of its log turned; surgery waits for its process to be gone, and is taken back', async ({
  page,
}) => {
  await page.goto(running.url)
  await page.goto(`${running.origin}/drills/D03`)
  await page.getByRole('button', { name: 'Run by hand' }).click()
  const surgery = page.getByTestId('drill-surgery')
  const operate = surgery.getByRole('button', { name: 'Operate' })
  await surgery.getByRole('combobox', { name: 'Node' }).selectOption('node-2')
  await expect(surgery).toContainText('node-2 has a process; its files are its own')
  await expect(operate).toHaveAttribute('aria-disabled', 'true')
  await page.getByRole('button', { name: 'Send a message' }).click()
  await page.getByRole('button', { name: 'Let it come to rest' }).click()
  await page.getByRole('button', { name: 'Kill node-2' }).click()
  await expect(page.getByRole('button', { name: 'Start node-2' })).toBeVisible()

  // the address is resolved before anything is cut
  await surgery.getByRole('button', { name: 'Where is it?' }).click()
  await expect(page.getByTestId('free-place')).toContainText(/Byte \d+ of \d+ in .*\.log/)
  await operate.click()
  const cut = surgery.getByRole('row', { name: /node-2 .*\.log flip/ })
  await expect(cut).toBeVisible()
  await surgery.getByRole('button', { name: 'Take back the last edit of node-2' }).click()
  await expect(cut.first()).toContainText('flip, taken back')

  await page.getByRole('button', { name: 'Start node-2' }).click()
  await page.getByRole('button', { name: 'Let it come to rest' }).click()
  await page.getByRole('button', { name: 'Read all' }).click()
  await expect(page.getByTestId('drill-steps')).toContainText('reads s/t/0 from first')
  await page.getByRole('button', { name: 'End the run' }).click()
  // Nothing was asked, so nothing is passed; but all that was done came to what it should.
  await expect(page.getByTestId('verdict')).toContainText(/By hand.* (\d+) of \1 findings hold/)
})

test('from a kill of the live cluster: the nearest seed, and the script that shows it again', async ({
  page,
  context,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('node-0 serves alone in view 0')
  expect(await running.post('/api/nodes/0/kill')).toMatchObject({ status: 200 })
  await page.getByRole('link', { name: 'Drills' }).click()
  const kill = page.getByTestId('drill-kill')
  await expect(kill).toContainText('node-0, the primary of metadata, was killed in view 0')
  await kill.getByRole('button', { name: 'Find the nearest seed' }).click()
  await expect(page.getByTestId('nearest')).toContainText(/Of \d+ seeds the nearest is \d+/)
  await kill.getByRole('button', { name: 'Copy script' }).click()
  const script = await page.evaluate(() => navigator.clipboard.readText())
  expect(JSON.parse(script)).toMatchObject({ title: 'node-0 is killed in view 0', cluster: { nodes: 1 } })
})
