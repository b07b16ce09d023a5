import AxeBuilder from '@axe-core/playwright'
import { expect, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
const ROUTES = [
  '/cluster',
  '/cluster?side=links',
  '/cluster/nodes/0',
  '/partitions',
  '/partitions/0/0/0',
  '/superblocks',
  '/forwards',
  '/recoveries',
  '/settings',
]

let running: ConsoleProcess
test.beforeAll(async () => {
  running = await startConsole()
})
test.afterAll(() => running.stop())

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds nothing on any route, live, ${colorScheme}`, async ({ browser }) => {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1440, height: 900 } })
    const page = await context.newPage()
    await page.goto(running.url)
    const start = page.getByRole('button', { name: 'Start load' })
    await start.or(page.getByRole('button', { name: 'Stop load' })).waitFor()
    if (await start.isVisible()) await start.click()
    await expect(page.getByTestId('group-0.0.0')).toBeVisible()
    for (const route of ROUTES) {
      await page.goto(running.origin + route)
      await page.getByRole('main').waitFor()
      await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0)
      const { violations } = await new AxeBuilder({ page }).withTags(TAGS).analyze()
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.target.join(' ')).join(', ')}`)
      expect({ route, found }).toEqual({ route, found: [] })
    }
    await context.close()
  })
}
