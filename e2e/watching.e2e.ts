import { expect, type Page, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'
import { writeThrough } from './one-door.ts'
import { save } from './saved.ts'

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
interface Way {
  readonly from: number
  readonly to: number
  readonly heldFrames: {
    readonly number: number
    readonly command: string
    readonly view: number
    readonly sinceWallUs: string
  }[]
}
const leads = (page: Page) => expect(page.getByTestId('situation')).toContainText('node-0 leads view 0')

test('a misrouted write is followed door to door', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await leads(page)
  expect((await running.post('/api/streams', { name: 'orders' })).status).toBe(200)
  expect(
    (await running.post('/api/topics', { stream: 'orders', name: 'eu', partitions: 1, policy: 'eager' })).status,
  ).toBe(200)
  // node-0 leads the group; the client knocks on node-2
  const port = await clientPort(running, 2)
  await expect(async () => writeThrough(port, 'orders', 'eu', 0, 'misrouted')).toPass()

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
  await expect(page.getByTestId('step-accepted')).toContainText(/committed as op \d+ in view 0/)

  // the address is the document: the same forward after a reload
  const url = page.url()
  await page.reload()
  expect(page.url()).toBe(url)
  await expect(page.getByTestId('hops')).toContainText('hop by hop')
  await expect(page.getByTestId('evidence')).toContainText('Committed')

  // an address of a forward that nobody tells of says so; the page shows another one, and which
  await page.goto(`${running.origin}/forwards?outcome=accepted&id=abcdef`)
  await expect(page.getByTestId('forward-gone')).toContainText('abcdef')
  await expect(row).toHaveAttribute('data-outcome', 'accepted')
  await page.getByRole('link', { name: 'Open offset 0' }).click()
  await expect(page.getByTestId('messages')).toContainText('misrouted')
  await page.goBack()
  await page.getByRole('link', { name: 'Show on timeline' }).click()
  await expect(page.getByTestId('event-kind')).toHaveAttribute('data-kind', 'forward_received')
})

test('a message is written by hand and read at its offset; what lacks its acknowledgements waits in the pipeline', async ({
  page,
}) => {
  // A primary that hears no acknowledgement for so long is given up for another: not before this was looked at.
  running = await startConsole([], { settings: { IGGY_CLUSTER_HEARTBEAT_TIMEOUT: '10 m' } })
  await page.goto(running.url)
  await leads(page)
  await running.post('/api/streams', { name: 'orders' })
  await running.post('/api/topics', { stream: 'orders', name: 'eu', partitions: 1, policy: 'eager' })
  await page.goto(`${running.origin}/partitions/0/0/0`)
  await expect(page.getByTestId('segment-0-0').first()).toBeVisible()
  await page.getByRole('textbox', { name: 'Text of a message' }).fill('a brass lamp')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/offset=0/)
  await expect(page.getByTestId('messages')).toContainText('a brass lamp')
  await page.reload()
  await expect(page.getByTestId('messages')).toContainText('a brass lamp')

  expect((await running.post('/api/links/all/all/hold', { name: 'acks', commands: ['PrepareOk'] })).status).toBe(200)
  // Whoever writes next is registered first, by an op of the metadata group.
  const answer = running.post('/api/partitions/0/0/0/messages', { messages: ['one that waits'] })
  await page.goto(`${running.origin}/cluster`)
  const flight = page.getByTestId('in-flight')
  for (let round = 0; round < 2; round++) {
    await expect(flight).toContainText('1 of 32 prepared, 0 of 64 queued')
    await expect(flight.getByTestId('pipeline-slots')).toHaveAccessibleName(
      /^1 of 32 slots taken: op \d+ acknowledged by node-0$/,
    )
    await expect(flight.getByRole('row').nth(1)).toContainText('waits')
    await expect(flight.getByRole('row').nth(1).getByLabel('acknowledged')).toHaveCount(1)
    if (round === 0) await page.reload()
  }
  expect((await running.post('/api/links/all/all/release', { name: 'acks' })).status).toBe(200)
  await expect(flight).toContainText('0 of 32 prepared')
  await answer
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

  // the same address shows the same gates, with what waits at them
  const url = page.url()
  await page.reload()
  expect(page.url()).toBe(url)
  await expect(page.getByTestId('votes-gate')).toHaveAttribute('data-holding', 'true')

  // what nodes believe and what waits at the gates, as files; the frames with every one that the list folds together
  await expect(page.getByTestId('belief-row-2')).toBeVisible()
  const beliefs = JSON.parse(await save(page, 'beliefs', 'JSON')) as { rows: { reporter: number; about: number }[] }
  expect(beliefs.rows.map(row => `${row.reporter} of ${row.about}`)).toEqual(
    [0, 1, 2].flatMap(reporter => [0, 1, 2].map(about => `${reporter} of ${about}`)),
  )
  const votes = JSON.parse(await save(page, 'votes', 'JSON')) as { rows: { voter: number }[] }
  expect(votes.rows.map(row => row.voter)).toEqual([0, 1, 2])
  const frames = (await save(page, 'held frames', 'CSV')).trim().split('\r\n')
  expect(frames[0]).toBe('from,to,hold,command,view,group,sizeBytes,link,frame,sinceUs')
  expect(frames[1]).toMatch(/^[12],[12],votes,StartViewChange,\d+,/)
  await page.goto(`${url}&table=1`)
  await expect(page.getByTestId('ring-table').getByRole('row')).toHaveCount(4)
  expect(JSON.parse(await save(page, 'ring', 'JSON'))).toMatchObject({ source: 'LIVE', rowCount: 3 })
  await page.goto(url)

  // One by hand; the rest by its request, since a view lasts five seconds only: always the frame that waits longest, with
  // its repeats and with what its sender has left behind meanwhile, until one of them makes a primary.
  await letOneGoByHand(page)
  const seen = new Set<string>()
  await expect(async () => {
    for (let last = ''; last !== 'StartView'; seen.add(last)) last = await letNextGo()
    await expect(page.getByTestId('situation')).toContainText(/node-[12] leads view \d+|node-0 is down/, {
      timeout: 2_000,
    })
  }).toPass({ intervals: [0], timeout: 60_000 })
  expect([...seen].sort()).toEqual(['DoViewChange', 'StartView', 'StartViewChange'])
  await expect(page.getByTestId('votes-gate')).toHaveAttribute('data-holding', 'true')

  await page.getByTestId('votes-release').click()
  await expect(page.getByTestId('votes-gate')).toHaveAttribute('data-holding', 'false')
  await expect(held).toHaveCount(0)
})

const ways = async () => ((await running!.get('/api/links')) as { links: Way[] }).links

/** Lets the first frame of a way go, and no other: the one behind it still waits. */
async function letOneGoByHand(page: Page): Promise<void> {
  let way: Way | undefined
  const queue = async () => {
    way = (await ways()).find(one => one.heldFrames.length > 1)
    return way !== undefined
  }
  await expect.poll(queue, { message: 'two frames wait on one way' }).toBe(true)
  const { from, to, heldFrames } = way!
  const [first, second] = heldFrames.map(frame => frame.number)
  await page
    .getByRole('button', { name: new RegExp(`from node-${from} to node-${to} go$`) })
    .first()
    .click()
  const waiting = async () =>
    (await ways()).find(one => one.from === from && one.to === to)!.heldFrames.map(frame => frame.number)
  await expect.poll(waiting).not.toContain(first)
  expect(await waiting()).toContain(second)
}

/** Lets the vote go that waits longest. Returns its name. */
async function letNextGo(): Promise<string> {
  for (;;) {
    const links = await ways()
    const since = (way: Way) => Number(way.heldFrames[0]!.sinceWallUs)
    const [oldest] = links.filter(way => way.heldFrames.length > 0).sort((a, b) => since(a) - since(b))
    if (!oldest) continue
    const { from, to, heldFrames } = oldest
    const newest = Math.max(...heldFrames.map(frame => frame.view))
    const head = heldFrames.find(frame => frame.view === newest)!
    const next = heldFrames.findIndex(frame => frame.view === newest && frame.command !== head.command)
    const count = next === -1 ? heldFrames.length : next
    await running!.post(`/api/links/${from}/${to}/release`, { name: 'votes', count })
    return head.command
  }
}

test('every fault gets a stopwatch, and the ledger says what was lost', async ({ page, browser }) => {
  running = await startConsole()
  await page.goto(running.url)
  await leads(page)
  await page.getByRole('button', { name: 'Start load', exact: true }).click()
  await expect
    .poll(async () => Number(await page.getByTestId('ledger-acked').getAttribute('data-value')))
    .toBeGreaterThan(200)
  await page.goto(`${running.origin}/recoveries`)
  await page.getByTestId('kill-and-time').click()

  const mark = (name: string) => page.getByTestId(`mark-R-1-${name}`)
  const ms = async (name: string) => Number((await mark(name).getAttribute('data-ms')) || 'NaN')
  for (const name of ['noticed', 'elected', 'acknowledged']) await expect(mark(name)).toHaveAttribute('data-ms', /\d/)
  expect(await ms('noticed')).toBeLessThan(await ms('acknowledged'))
  await expect(mark('started')).toHaveAttribute('data-ms', '')

  // It comes back and hears nobody: it has been started, and nothing more may be marked.
  expect((await running.post('/api/links/0/all/cut', { both: true })).status).toBe(200)
  expect((await running.post('/api/nodes/0/start')).status).toBe(200)
  await expect(mark('started')).toHaveAttribute('data-ms', /\d/)
  const heard = () =>
    page.evaluate(() => (window as unknown as { quorumscope: { events(): number } }).quorumscope.events())
  const before = await heard()
  await expect.poll(heard, { message: 'events arrive meanwhile' }).toBeGreaterThan(before + 50)
  for (const name of ['rejoined', 'caughtUp']) await expect(mark(name)).toHaveAttribute('data-ms', '')
  expect((await running.post('/api/links/all/all/heal')).status).toBe(200)
  await expect(mark('caughtUp')).toHaveAttribute('data-ms', /\d/)
  expect(await ms('started')).toBeLessThan(await ms('rejoined'))
  expect(await ms('rejoined')).toBeLessThanOrEqual(await ms('caughtUp'))
  await expect(page.getByTestId('lost')).toHaveAttribute('data-value', '0')

  // kept by the console: after a reload, and for whoever was not there, to the digit
  const marks = (of: Page) =>
    of.locator('[data-testid^="mark-R-1-"]').evaluateAll(all => all.map(item => (item as HTMLElement).dataset.ms))
  const seen = await marks(page)
  await page.reload()
  await expect(page.getByTestId('lane-R-1')).toBeVisible()
  const elsewhere = await (await browser.newContext()).newPage()
  await elsewhere.goto(`${running.origin}/recoveries?run=R-1`)
  await expect.poll(() => marks(elsewhere)).toEqual(seen)
  expect(await marks(page)).toEqual(seen)
  await elsewhere.context().close()

  await page.goto(`${running.origin}/load?table=1`)
  await expect(page.getByTestId('load-seconds').getByRole('row').nth(3)).toContainText(/\d\d:\d\d:\d\d/)
})
