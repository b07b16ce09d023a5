/** Many partitions: what a screen asks and draws does not grow with them, and a node that hangs holds up only its own cells. */
import { expect, type Page, type Request, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'

let running: ConsoleProcess | undefined
test.afterEach(async () => {
  await running?.stop()
  running = undefined
})

const MANY = 240
/** The screens that tell of every group, and of one. */
const ADDRESSES = [
  '/cluster',
  '/cluster/nodes/1',
  '/timeline',
  '/partitions',
  '/partitions/0/0/0?tab=messages',
  '/superblocks',
  '/forwards',
]
/** To the cluster and to each of three nodes, a few kinds each. */
const QUESTIONS_MAX = 20
/** Nothing new is asked for so long: what follows from the first answers has been asked by then. */
const QUIET_MS = 1_500

const act = async (path: string, body = {}) => {
  const { status, json } = await running!.post(path, body)
  expect([path, status, status === 200 ? '' : json]).toEqual([path, 200, ''])
}

interface Look {
  readonly asked: ReadonlySet<string>
  readonly rows: number
  readonly elements: number
}

/** What a screen asks from the moment it is opened, until it asks nothing new; and the rows and elements it has then. */
async function look(page: Page, address: string): Promise<Look> {
  const asked = new Set<string>()
  let newestMs = Date.now()
  const note = (request: Request): void => {
    const { pathname } = new URL(request.url())
    if (!pathname.startsWith('/api/') || asked.has(pathname)) return
    asked.add(pathname)
    newestMs = Date.now()
  }
  // What the screen before was still asking is not this one's.
  await page.goto('about:blank')
  page.on('request', note)
  await page.goto(running!.origin + address)
  await expect(page.locator('h1').first()).toBeAttached()
  await expect.poll(() => Date.now() - newestMs).toBeGreaterThan(QUIET_MS)
  page.off('request', note)
  return { asked, rows: await page.locator('tr').count(), elements: await page.locator('*').count() }
}

test('G44 with 240 partitions a screen asks and draws no more than is in sight', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('all 3 nodes agree')
  await act('/api/streams', { name: 'shop' })
  await act('/api/topics', { stream: 'shop', name: 'parts', partitions: MANY })
  await page.goto(`${running.origin}/partitions`)
  await expect(page.locator('.screen-head')).toContainText(`${MANY} partitions`)
  for (const address of ADDRESSES) {
    const { asked, rows, elements } = await look(page, address)
    // The list of partitions asks the size of each log in sight. One question for each partition would be far more.
    const most = QUESTIONS_MAX + (address === '/partitions' ? rows : 0)
    expect(asked.size, `${address} asks ${[...asked].join(', ')}`).toBeLessThanOrEqual(most)
    expect(rows, `rows of ${address}`).toBeLessThan(MANY)
    expect(elements, `elements of ${address}`).toBeLessThan(6_000)
  }

  // It hangs, and nobody said so to the console.
  const { pid } = (await running.get('/api/nodes/2')) as { pid: number }
  process.kill(pid, 'SIGSTOP')
  try {
    await page.goto(`${running.origin}/superblocks`)
    await expect(page.getByTestId('slots-metadata-0')).toBeVisible()
    await expect(page.getByTestId('slots-metadata-1')).toBeVisible()
    await expect(
      page.getByTestId('unasked-2').or(page.getByText('node-2 did not show its slots')).first(),
    ).toBeVisible()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
})
