/** What a boot finds on a disk that somebody damaged, shown for what it is: an index ahead of its log, a slot nobody trusts. */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type Page, test } from '@playwright/test'
import { METADATA_GROUP } from '../shared/protocol/groups.ts'
import { type ConsoleProcess, startConsole } from './console-process.ts'
import { writeThrough } from './one-door.ts'

const METADATA = METADATA_GROUP.toString()

let running: ConsoleProcess | undefined
test.afterEach(async () => {
  await running?.stop()
  running = undefined
})

const act = async (path: string, body = {}) => {
  const { status, json } = await running!.post(path, body)
  expect([path, status, status === 200 ? '' : json]).toEqual([path, 200, ''])
}
const situation = (page: Page) => page.getByTestId('situation')

/** What `shows` finds is found again after a reload, at the same address. */
async function stays(page: Page, shows: () => Promise<void>): Promise<void> {
  await shows()
  const url = page.url()
  await page.reload()
  await shows()
  expect(page.url()).toBe(url)
}

test('an index is floored to a log that was cut; a corrupt slot is explained, and its node is drawn as refused', async ({
  page,
}) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(situation(page)).toContainText('all 3 nodes agree')
  const { nodes } = (await running.get('/api/clusters/current')) as {
    nodes: { dataDirectory: string; ports: { client: number } }[]
  }
  await act('/api/streams', { name: 'shop' })
  await act('/api/topics', { stream: 'shop', name: 'orders', partitions: 1, policy: 'eager' })
  const indexOf2 = async () =>
    (
      (await running!.get('/api/nodes/2/partitions/0/0/0/segments/0/index')) as {
        entries?: { positionBytes: number }[]
      }
    ).entries ?? []
  const write = () => writeThrough(nodes[0]!.ports.client, 'shop', 'orders', 0, 'x').then(() => 'served', String)
  // What is flushed together has one entry: the second message waits until the first one is on the disk of the backup.
  await expect.poll(write).toBe('served')
  await expect.poll(async () => (await indexOf2()).length).toBe(1)
  await write()
  await expect.poll(async () => (await indexOf2()).length).toBe(2)
  const cutAt = (await indexOf2())[1]!.positionBytes

  // An election writes superblocks; node-0 stays down and node-2 is alone, so that nobody brings back what is cut.
  await act('/api/nodes/0/kill')
  await expect(situation(page)).toContainText(/leads view [1-9]/)
  await act('/api/nodes/2/kill')
  await act('/api/links/all/2/cut', { both: true })
  const { dataDirectory } = nodes[2]!
  truncateSync(join(dataDirectory, 'streams/0/topics/0/partitions/0/00000000000000000000.log'), cutAt + 10)
  await act('/api/nodes/2/start')
  await page.goto(`${running.origin}/cluster/nodes/2?tab=boot`)
  await stays(page, async () => {
    const steps = page.getByTestId('boot-steps').getByRole('row')
    await expect(steps.filter({ hasText: 'index-floor' })).toContainText('dropped 1')
    await expect(steps.filter({ hasText: 'torn tail cut' })).toContainText('bytes 10')
  })
  await page.goto(`${running.origin}/partitions/0/0/0?node=2&seg=0&offset=0`)
  await stays(page, async () => {
    await expect(page.getByTestId('lookup')).toContainText('valid to the end of the log')
    await expect(page.getByTestId('index').getByRole('row')).toHaveCount(2)
    await expect(page.getByTestId('index-shown')).toHaveText('Shown 1 of 1 in this window.')
  })

  // One bit of a slot that holds the view
  await act('/api/nodes/2/terminate')
  const slot = join(dataDirectory, 'metadata/superblock.a')
  const bytes = readFileSync(slot)
  bytes[40]! ^= 1
  writeFileSync(slot, bytes)
  await running.post('/api/nodes/2/start')
  await page.goto(`${running.origin}/cluster`)
  await stays(page, async () => {
    const card = page.getByTestId('node-2')
    await expect(card).toHaveAttribute('data-state', 'refused')
    await expect(card).toContainText('Refused to boot')
    await expect(page.getByTestId('ring-node-2')).toHaveAccessibleName(/Refused to boot/)
    await expect(page.getByTestId('ring-node-2')).toContainText('damaged')
    await expect(page.getByTestId('ring-node-0')).toHaveAccessibleName(/Stopped|Crashed/)
  })
  await page.goto(`${running.origin}/superblocks`)
  await page.getByTestId('slots-metadata-2').click()
  await expect(page).toHaveURL(/node=2/)
  await stays(page, async () => {
    await expect(situation(page)).toContainText('Slot A of metadata on node-2 is unreadable')
    await expect(page.getByTestId('why')).toContainText('Why it refuses')
    await expect(page.getByTestId('slot-a')).toContainText('nothing in it is trusted')
    await expect(page.getByTestId('slot-a')).toContainText('which byte differs, it cannot tell')
    await expect(page.getByTestId('slots-metadata-2').getByLabel('Refused to boot')).toBeVisible()
  })
  // laid beside another node's record, by its address alone
  await page.goto(`${running.origin}/superblocks?compare=2,1&group=${METADATA}`)
  await expect(page.getByTestId('slots-metadata-2')).toHaveAttribute('aria-selected', 'true')
  await expect(page.getByTestId('diff').getByRole('columnheader')).toHaveText([
    'Field',
    /node-2 B/,
    /node-1 [AB]/,
    'change',
  ])

  // Its log is read from its directory, and so is the tail that the next boot would cut.
  const log = join(dataDirectory, 'metadata/journal.wal')
  await page.goto(`${running.origin}/wal/2`)
  await expect(situation(page)).toContainText('node-2 refuses to boot')
  await expect(page.getByTestId('wal-scan')).toHaveAttribute('data-end', 'clean')
  truncateSync(log, statSync(log).size - 5)
  await stays(page, async () => {
    await expect(situation(page)).toContainText('The file is torn')
    await expect(page.getByTestId('wal-entry')).toContainText('no process holds it in memory')
    await expect(page.getByTestId('wal-slots')).toContainText('directory of node-2')
  })
})
