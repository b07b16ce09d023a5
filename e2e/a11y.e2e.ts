import { expect, type Page, test } from '@playwright/test'
import { axeFinds, withAxe } from './axe.ts'
import { type ConsoleProcess, startConsole } from './console-process.ts'

/** Every route, with what has a geometry of its own on it. Those that watch the load come first: it runs for them. */
const ROUTES = [
  '/load',
  '/cluster',
  '/cluster?side=links',
  '/cluster?side=cluster',
  '/cluster/nodes/0',
  '/load?table=1',
  '/cluster/nodes/0?tab=boot',
  '/cluster/nodes/0?tab=disk',
  '/cluster/nodes/0?tab=log',
  '/cluster/nodes/0?tab=clients',
  '/timeline',
  '/timeline?table=1',
  '/partitions',
  '/partitions/0/0/0',
  '/partitions/0/0/0?table=1',
  '/partitions/0/0/0?pane=poll&by=first&msg=0',
  '/partitions/0/0/0?pane=poll&by=next&consumer=7&msg=0&tab=decoded',
  '/partitions/0/0/0?pane=consumers',
  '/partitions/0/0/0?pane=compare',
  '/superblocks',
  '/superblocks?only=unreadable',
  '/superblocks?group=0&compare=1,2&field=view',
  '/wal/0',
  '/wal/0?op=2&field=op',
  '/wal/0?slot=1000',
  '/wal/1?group=0',
  '/clients',
  '/clients?sort=slot&request=4&q=zz',
  '/forwards',
  '/forwards?outcome=unknown&id=1',
  '/recoveries',
  '/recoveries?run=R-1',
  '/recordings',
  '/bench',
  '/settings',
  '/drills',
  '/drills/D03?run=new',
  '/drills/D18?item=v0&all=1',
]
const pathOf = (route: string) => route.split('?')[0]
/** One of each screen: where it has nothing to show, or is cut off, what an address selects on it is not there. */
const SCREENS = ROUTES.filter((route, at) => ROUTES.findIndex(other => pathOf(other) === pathOf(route)) === at)
const BOOK = ['views', 'logs', 'disk', 'forwards', 'processes', 'verdicts'].map(page => `/book/${page}`)
/** Addresses that name nothing, or what the page does not know. */
const WRONG = [
  '/no-such-screen',
  '/cluster/nodes/9',
  '/partitions/9/9/9',
  '/cluster?side=nowhere',
  '/superblocks?group=0&compare=0',
  '/wal/9',
  '/forwards?outcome=maybe',
  '/book/nothing',
]
const WIDE = { width: 1440, height: 900 }
/** WCAG 1.4.10, and 1440 by 900 at 200 %. */
const NARROW = [
  { width: 320, height: 800 },
  { width: 720, height: 450 },
]

let running: ConsoleProcess
test.beforeEach(async ({ page }) => {
  // Some forty routes, twice each: longer than any other test where the machine is slow.
  test.setTimeout(1_800_000)
  running = await startConsole()
  await withAxe(page)
  await page.setViewportSize(WIDE)
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('leads view')
})
test.afterEach(() => running.stop())

/** As a link does, inside of the page: what it has fetched it keeps, axe too. */
async function go(page: Page, route: string): Promise<void> {
  await page.evaluate(to => {
    history.pushState({}, '', to)
    dispatchEvent(new PopStateEvent('popstate'))
  }, route)
  const state = () =>
    page.evaluate(() => ({
      titles: document.querySelectorAll('h1').length,
      loading: [...document.querySelectorAll('[role=status][aria-label^=Loading]')].map(item => item.ariaLabel),
    }))
  await expect.poll(state, { message: `${route} is drawn to its end` }).toEqual({ titles: 1, loading: [] })
}

/** A chart hears of a new width and draws itself anew: on a slow machine not within the same look. */
const REDRAWN_MS = 5_000

/** What makes the page wider than its window and stays, if anything does. */
async function sidewise(page: Page): Promise<string[]> {
  let wider: string[] = []
  const untilMs = Date.now() + REDRAWN_MS
  do wider = await widerNow(page)
  while (wider.length > 0 && Date.now() < untilMs)
  return wider
}
const widerNow = (page: Page) =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    return [...document.querySelectorAll('body *')]
      .filter(item => item.getBoundingClientRect().right > clientWidth)
      .map(
        item =>
          `${item.tagName}.${item.getAttribute('class')} in ${item.closest('[aria-label],[data-testid]')?.outerHTML.slice(0, 80)}`,
      )
      .slice(0, 8)
  })

/** Both themes, one after the other on the same page; the next route begins with the theme that this one ended with. */
let theme: 'light' | 'dark' = 'light'
async function look(page: Page, route: string): Promise<void> {
  await go(page, route)
  const found: string[] = []
  for (const second of [false, true]) {
    if (second) theme = theme === 'light' ? 'dark' : 'light'
    await page.emulateMedia({ colorScheme: theme })
    for (const line of await axeFinds(page)) found.push(`${theme}: ${line}`)
  }
  expect.soft({ route, found }).toEqual({ route, found: [] })
}

test('axe finds nothing on any route, live, in both themes; 320 px and 200 % scroll nothing sidewise', async ({
  page,
}) => {
  await page.getByRole('button', { name: 'Start load', exact: true }).click()
  await expect(page.getByTestId('group-0.0.0')).toBeVisible()
  for (const [index, route] of [...ROUTES, ...BOOK].entries()) {
    // Screens of what has happened are looked at when the cluster has time for it.
    if (index === 3) {
      expect((await running.post('/api/load', { action: 'stop' })).status).toBe(200)
      expect((await running.post('/api/nodes/0/kill')).status).toBe(200)
      expect((await running.post('/api/nodes/0/start')).status).toBe(200)
      expect((await running.post('/api/drills/runs', { drill: 'D18' })).status).toBe(200)
    }
    await look(page, route)
    const wider: string[] = []
    for (const size of NARROW) {
      await page.setViewportSize(size)
      wider.push(...(await sidewise(page)).map(item => `${size.width} px: ${item}`))
    }
    await page.setViewportSize(WIDE)
    expect.soft({ route, wider }).toEqual({ route, wider: [] })
  }
})

test('axe finds nothing on any route that has nothing to show yet, is addressed wrongly, or has lost its console', async ({
  page,
}) => {
  for (const route of [...SCREENS, ...WRONG]) await look(page, route)
  running.child.kill('SIGTERM')
  await go(page, '/cluster')
  await expect(page.getByTestId('situation')).toContainText('Disconnected')
  for (const route of SCREENS) await look(page, route)
})
