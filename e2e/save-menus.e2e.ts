/** Every table is a file, too: what its save menu gives has its rows, and something in every column. */
import { expect, type Page, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'
import { saveJson } from './saved.ts'

let running: ConsoleProcess | undefined
test.afterEach(async () => {
  await running?.stop()
  running = undefined
})

/** Screens and the tables that each of them has on a cluster of three under load. */
const SCREENS: readonly (readonly [path: string, ...names: string[]])[] = [
  ['/load', 'partitions of the load', 'connections of the load'],
  ['/cluster/nodes/0?tab=boot', 'groups of node-0', 'boot steps'],
  ['/cluster/nodes/0?tab=wal', 'log of node-0'],
  ['/cluster/nodes/0?tab=clients', 'connections of node-0', 'client table of node-0'],
  ['/drills', 'drills'],
  ['/recordings', 'recordings'],
]
/** Columns in which nothing need stand while all is well. */
const MAY_BE_EMPTY = /refusal|problem|error|gap|lost|last|cause|advice|path|note|held|sampled|transfer|repair/i

/** What the file of a table lacks: rows, or something in a column. */
async function lackedBy(page: Page, name: string): Promise<string[]> {
  const { table, columns, rows, rowCount, source } = await saveJson(page, name)
  expect([table, source, rowCount]).toEqual([name, 'LIVE', rows.length])
  if (rowCount === 0) return ['rows']
  const isBare = (column: string) => rows.every(row => row[column] === null || row[column] === '')
  return columns.filter(column => isBare(column) && !MAY_BE_EMPTY.test(column))
}

test('tables of nodes, load, drills and recordings are saved, with something in every column', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('all 3 nodes agree')
  await page.getByRole('button', { name: 'Start load', exact: true }).click()
  await expect
    .poll(async () => Number(await page.getByTestId('ledger-acked').getAttribute('data-value')))
    .toBeGreaterThan(50)
  for (const [path, ...names] of SCREENS) {
    await page.goto(running.origin + path)
    // A screen that has just been opened has not heard all that its tables tell.
    for (const name of names) await expect.poll(() => lackedBy(page, name), { message: name }).toEqual([])
  }
})

test('the votes that a node has counted are a file of their own', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('all 3 nodes agree')
  // The last vote is held: the two that are left go on counting, and stay where they are.
  for (const [from, to] of [
    [1, 2],
    [2, 1],
  ] as const)
    expect(
      (await running.post(`/api/links/${from}/${to}/hold`, { name: 'votes', commands: ['DoViewChange', 'StartView'] }))
        .status,
    ).toBe(200)
  expect((await running.post('/api/nodes/0/kill')).status).toBe(200)
  await page.goto(`${running.origin}/cluster/nodes/1`)
  await expect(page.getByRole('button', { name: 'Save votes as a file' })).toBeVisible()
  await expect
    .poll(async () => (await saveJson(page, 'votes')).rows, { intervals: [100] })
    .toEqual(
      expect.arrayContaining([
        expect.objectContaining({ group: 'metadata', voter: 1, startViewChange: true }),
        expect.objectContaining({ group: 'metadata', voter: 2, startViewChange: true }),
      ]),
    )
})
