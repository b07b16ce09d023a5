/**
 * The past is shown as it was: after a kill under load, stepped back by keyboard, nothing of now is left on the page.
 */
import { expect, type Page, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'

let running: ConsoleProcess | undefined
let again: ConsoleProcess | undefined
test.afterEach(async () => {
  await again?.stop()
  await running?.stop()
  ;[running, again] = [undefined, undefined]
})

const ledger = async (page: Page, name: string) =>
  Number(await page.getByTestId(`ledger-${name}`).getAttribute('data-value'))
const situation = (page: Page) => page.getByTestId('situation')
const mainText = async (page: Page) => (await page.getByRole('main').textContent()) ?? ''

/** The moment that is shown; 0 while that is now. */
const asOfMs = (page: Page): Promise<number> =>
  page.getByTestId('as-of').evaluateAll(([shown]) => Number((shown as HTMLElement | undefined)?.dataset.atMs ?? 0))

/** Presses a key that leads to another moment, and waits until that one is drawn. */
async function stepped(page: Page, key: string): Promise<void> {
  // Two events of one moment are two places.
  const place = () =>
    page
      .getByTestId('as-of')
      .evaluateAll(all => all.map(one => JSON.stringify({ ...(one as HTMLElement).dataset })).join())
  const before = await place()
  await page.keyboard.press(key)
  await expect.poll(place, { intervals: [20, 20, 50] }).not.toBe(before)
}

/** The address follows what is shown at a pace of its own. */
const addressed = (page: Page): Promise<void> =>
  expect
    .poll(
      () =>
        page.evaluate(() => {
          const shown = document.querySelector<HTMLElement>('[data-testid=as-of]')?.dataset.address
          return [new URL(location.href).searchParams.get('at') === shown, shown]
        }),
      { message: 'the address names the moment that is shown' },
    )
    .toEqual([true, expect.any(String)])

async function eventsArrive(page: Page, count: number): Promise<void> {
  const arrived = () =>
    page.evaluate(() => (window as unknown as { quorumscope: { events(): number } }).quorumscope.events())
  const had = await arrived()
  await expect.poll(arrived, { message: 'events arrive meanwhile' }).toBeGreaterThan(had + count)
}

/** Text of the screen while nobody leads or died yet; without the ages, which are by the moment that is shown. */
const screenOf = async (page: Page, path: string): Promise<string> => {
  await page.getByRole('link', { name: path, exact: true }).first().click()
  await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0)
  return mainText(page)
}

test('the primary of both planes dies under load; the page goes back to the moment before, and stays there', async ({
  page,
}) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(situation(page)).toContainText('all 3 nodes agree')
  await page.getByRole('button', { name: 'Start load', exact: true }).click()
  await expect.poll(() => ledger(page, 'acked'), { message: 'acknowledged messages' }).toBeGreaterThan(100)
  const before = await ledger(page, 'sent')

  // node-0 leads the metadata group and every partition: one kill takes both planes
  await page.getByTestId('node-0').getByRole('button', { name: /^Kill/ }).click()
  await expect(situation(page)).toContainText(/leads view [1-9]/)
  const after = await ledger(page, 'acked')
  await expect.poll(() => ledger(page, 'acked'), { message: 'the load goes on' }).toBeGreaterThan(after + 100)
  expect(await ledger(page, 'lost')).toBe(0)
  await page.getByRole('link', { name: 'Recoveries' }).click()
  for (const name of ['noticed', 'elected', 'acknowledged'])
    await expect(page.getByTestId(`mark-R-1-${name}`)).toHaveAttribute('data-ms', /\d/)
  await expect(page.getByTestId('lost')).toHaveAttribute('data-value', '0')

  // back by keyboard: change by change until the death, then tick by tick until before it
  await page.getByRole('link', { name: 'Cluster', exact: true }).click()
  await expect(page.getByTestId('node-0')).toBeVisible()
  const down = page.locator('[data-testid=node-0][data-state=stopped]')
  do await stepped(page, '[')
  while (await down.count())
  await stepped(page, ']')
  await expect(down).toHaveCount(1)
  const deathMs = await asOfMs(page)
  // The process is drawn as gone by the supervisor's word, which comes some ticks before the event that says so.
  do await stepped(page, '{')
  while (await down.count())
  await expect(page.getByTestId('as-of')).toContainText('as of')
  await expect(page.getByTestId('as-of-note')).toContainText('As of')
  expect(await asOfMs(page)).toBeLessThanOrEqual(deathMs)

  // that moment's values: node-0 leads view 0, the ledger is of then, nothing of view 1 is anywhere
  await expect(situation(page)).toContainText('node-0 leads view 0')
  const sentThen = await ledger(page, 'sent')
  expect(sentThen).toBeGreaterThanOrEqual(before - 400)
  expect(sentThen).toBeLessThan(after)
  expect(await mainText(page)).not.toMatch(/view 1\b|\bv1\b/)
  await expect(page.getByRole('button', { name: /^Kill node-1/ })).toHaveAttribute('aria-disabled', 'true')

  // the present moves on; what is shown does not move with it
  const asking = () =>
    page.evaluate(() => (window as unknown as { quorumscope: { asking(): number } }).quorumscope.asking())
  await expect.poll(asking, { message: 'what was kept has been read' }).toBe(0)
  await addressed(page)
  const still = await mainText(page)
  const url = page.url()
  await eventsArrive(page, 20)
  expect(await mainText(page)).toBe(still)

  // other screens are of that moment, too
  for (const name of ['Superblocks', 'Partitions', 'Timeline'])
    expect(await screenOf(page, name), name).not.toMatch(/leads view 1\b|\bv1\b|StartView 1\b/)
  await screenOf(page, 'Recoveries')
  await expect(page.getByTestId('lane-R-1')).toHaveCount(0)

  // a reload and a shared address show the same
  await page.goto(url)
  await expect(page.getByTestId('as-of')).toBeVisible()
  await expect.poll(() => mainText(page)).toBe(still)

  // and back to now
  await page.keyboard.press('g')
  await expect(situation(page)).toContainText(/leads view [1-9]/)
  await expect(page).not.toHaveURL(/at=/)
})

test('steps go by event and tick; a moment moves on at a speed; a bookmark keeps it', async ({ page }) => {
  running = await startConsole(['--nodes', '1'])
  await page.goto(running.url)
  await expect(situation(page)).toContainText('serves alone')
  await page.getByRole('button', { name: 'Start load', exact: true }).click()
  await expect.poll(() => ledger(page, 'acked')).toBeGreaterThan(100)
  // paused, nothing moves, whatever arrives
  await page.keyboard.press(' ')
  await expect(page.getByTestId('live-age')).toContainText('paused')
  const still = await mainText(page)
  await eventsArrive(page, 20)
  expect(await mainText(page)).toBe(still)

  const at = () => asOfMs(page)
  await stepped(page, ',')
  let last = await at()
  for (const key of ['{', ',']) {
    await stepped(page, key)
    const here = await at()
    expect(here).toBeLessThan(last)
    if (key === '{') expect(last - here).toBeCloseTo(10, 3)
    last = here
  }
  await page.keyboard.press('b')
  await page.keyboard.press('p')
  // Where it was paused is near: it may have come there and gone live before anybody looked.
  const movedOn = async () => {
    const here = await at()
    return here === 0 || here > last + 20
  }
  await expect.poll(movedOn, { message: 'it moves on by itself' }).toBe(true)
  await page.keyboard.press('p')
  await page.getByRole('button', { name: 'Bookmarks' }).click()
  await page.getByTestId('bookmark').getByRole('button').first().click()
  await expect.poll(at).toBe(last)
})

test('a console that restarts shows the gap, and two tabs that kill the same node cause one kill', async ({
  browser,
}) => {
  running = await startConsole()
  const pages = await Promise.all([browser.newPage(), browser.newPage()])
  for (const page of pages) {
    await page.goto(running.url)
    await expect(situation(page)).toContainText('all 3 nodes agree')
  }
  const buttons = await Promise.all(pages.map(page => page.getByTestId('kill-2').elementHandle()))
  await Promise.all(buttons.map(button => button!.evaluate(element => (element as HTMLElement).click())))
  for (const page of pages) await expect(page.getByTestId('node-2')).toHaveAttribute('data-state', /stopped|crashed/)
  const [page] = pages as [Page, Page]
  await page.keyboard.press('l')
  await expect(page.getByTestId('facts')).toContainText(/killed|SIGKILL/i)
  expect(await exits(running)).toEqual([2])

  // the console is killed and starts anew beside its nodes, on the same port: the page finds it again by itself
  const { origin, directory } = running
  running.child.kill('SIGKILL')
  await expect(page.getByTestId('source')).toContainText('disconnected')
  again = await startConsole(['--port', new URL(origin).port], { directory })
  await expect(page.getByTestId('source')).toContainText(/of 3 nodes/)
  // Log and strip are of the last that happened: what is looked for there is looked for at once.
  await expect(page.getByTestId('facts')).toContainText(/events are missing \(console restarted\)/)
  // When a hole ended is known once there is something behind it.
  await eventsArrive(page, 3)

  // a moment while no console ran says that nothing is known of it, and shows what was known before
  await page.keyboard.press(' ')
  await expect(page.getByTestId('live-age')).toContainText('paused')
  const gap = (await page.locator('.timebar .fact[title^="gap"]').last().boundingBox())!
  const strip = (await page.locator('.timebar .stripbox').boundingBox())!
  await page.mouse.click(gap.x + gap.width / 2 - 6, strip.y + strip.height / 2)
  await expect(page.getByTestId('hole')).toContainText('History is missing: the console was started anew')
  await expect(page.getByTestId('node-2')).toHaveAttribute('data-state', /stopped|crashed/)
  await page.keyboard.press('g')
  await expect(page.getByTestId('hole')).toHaveCount(0)
  await expect(situation(page)).toContainText('all 3 nodes agree')

  const { recordings } = (await again.get('/api/recordings')) as { recordings: { id: string; active: boolean }[] }
  expect(recordings).toHaveLength(2)

  // what the killed console had recorded opens on the same screens, read-only
  const old = recordings.find(item => !item.active)!
  await page.goto(`${again.origin}/cluster?rec=${old.id}`)
  await expect(page.getByTestId('recording-note')).toHaveAttribute('data-loading', 'false')
  await expect(page.getByTestId('source')).toContainText('RECORDING')
  await expect(page.getByTestId('node-0')).toHaveAttribute('data-state', 'running')
  await expect(page.getByRole('button', { name: /^Kill node-0/ })).toHaveAttribute('aria-disabled', 'true')
})

/** The nodes whose processes ended, as the recording has it, one for each end. */
async function exits(from: ConsoleProcess): Promise<number[]> {
  const text = await (await fetch(`${from.origin}/api/recordings/current/lines`)).text()
  const lines = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { event: string; data: unknown })
  const events = lines.flatMap(line =>
    line.event === 'batch' ? (line.data as { kind: string; data: { node: number } }[]) : [],
  )
  return events.filter(event => event.kind === 'process_exited').map(event => event.data.node)
}

test('a bundle is taken away, opens elsewhere with the same picture, and a damaged one is refused', async ({
  page,
}) => {
  running = await startConsole(['--nodes', '1'])
  await page.goto(running.url)
  await expect(situation(page)).toContainText('serves alone')
  expect((await running.post('/api/nodes/0/kill')).status).toBe(200)
  await expect(situation(page)).toContainText('No node runs')
  await page.getByRole('link', { name: 'Recordings' }).click()
  const row = page.getByTestId('recording').first()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    row.getByRole('link', { name: 'Bundle' }).click(),
  ])
  const path = await download.path()
  const file = page.locator('input[type=file]')
  await file.setInputFiles({ name: 'cut.zip', mimeType: 'application/zip', buffer: Buffer.from('PK\x03\x04 cut') })
  await expect(page.getByTestId('file-refused')).toHaveAttribute('data-code', 'CON_RECORDING_DAMAGED')
  await file.setInputFiles({
    name: 'x.zip',
    mimeType: 'application/zip',
    buffer: Buffer.from('hello there, not a zip'),
  })
  await expect(page.getByTestId('file-refused')).toHaveAttribute('data-code', 'CON_RECORDING_FOREIGN')
  await file.setInputFiles(path)
  await expect(page).toHaveURL(/rec=file-[0-9a-f]{12}/)
  for (let round = 0; round < 2; round++) {
    await expect(page.getByTestId('recording-note')).toHaveAttribute('data-loading', 'false')
    await expect(situation(page)).toContainText('No node runs')
    await expect(page.getByTestId('node-0')).toHaveAttribute('data-state', /stopped/)
    if (round === 0) await page.reload()
  }
  await page.keyboard.press('g')
  await expect(page.getByTestId('source')).toContainText('LIVE')
})
