import { expect, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'

let running: ConsoleProcess | undefined
test.afterEach(async () => {
  await running?.stop()
  running = undefined
})

test('an election is read in space and time, by keyboard, and its address keeps the event', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('node-0 leads view 0')
  expect((await running.post('/api/nodes/0/kill')).status).toBe(200)
  await page.goto(`${running.origin}/timeline`)

  // the lanes: the killed node is down, one of the others came to lead
  const bar = (state: string) => page.locator(`[data-testid=bar][data-state=${state}]`)
  await expect(bar('down').and(page.locator('[data-node="0"]')).last()).toBeAttached({ timeout: 30_000 })
  await expect(page.locator('[data-testid=mark][data-kind=view_adopted]').last()).toBeAttached({ timeout: 30_000 })
  await expect(bar('primary').and(page.locator('[data-node="1"]')).last()).toBeAttached()

  // the frames of the election, between the two that are left: both ends name the same one
  for (const name of ['StartViewChange', 'DoViewChange', 'StartView'])
    await expect(page.locator(`[data-testid=message][data-name=${name}][data-by=frame]`).first()).toBeAttached()
  await expect(page.getByTestId('cut').first()).toContainText(/[\d,]+ ms hidden/)

  // what is, which event made it so, and what comes next
  const situation = page.getByTestId('situation')
  await expect(situation).toContainText('node-0 is down')
  await expect(situation).toContainText(/Why.*node-1.*view 1.*\d\d:\d\d:\d\d/)
  await expect(situation).toContainText('Start node-0')

  // a search narrows what the arrows visit
  await page.getByTestId('find').fill('kind:vote')
  await expect(page.locator('[data-testid=mark][data-found=false]').first()).toBeAttached()
  const diagram = page.getByTestId('diagram')
  await diagram.focus()
  await page.keyboard.press('End')
  await expect(page.getByTestId('event-kind')).toHaveAttribute('data-kind', /_view_change_received$/)
  await expect(page.getByTestId('spoken')).toContainText('counted from node-')
  const last = page.url()
  await page.keyboard.press('ArrowUp')
  await expect.poll(() => page.url()).not.toBe(last)
  await expect(page.getByTestId('event-kind')).toHaveAttribute('data-kind', /_view_change_received$/)
  await expect(page.getByTestId('event-message')).toHaveAttribute('data-by', 'frame')

  // the address is the document
  const url = page.url()
  const told = await page.getByTestId('spoken').textContent()
  await page.reload()
  await expect(page.getByTestId('event-kind')).toHaveAttribute('data-kind', /_view_change_received$/)
  expect(page.url()).toBe(url)
  expect((await page.getByTestId('spoken').textContent())?.split(', event')[0]).toBe(told?.split(', event')[0])

  // a stretch of it, in the address as well
  const marks = page.getByTestId('mark')
  const all = await marks.count()
  await page.getByRole('button', { name: 'From here' }).click()
  await expect(page).toHaveURL(/[?&]from=\d+/)
  await expect.poll(() => marks.count()).toBeLessThan(all)
  await page.reload()
  await expect(page.getByTestId('span')).toContainText('from ')
  await expect(page.getByTestId('event-kind')).toHaveAttribute('data-kind', /_view_change_received$/)
  await expect.poll(() => marks.count()).toBeLessThan(all)
  await page.getByTestId('span').click()
  await expect.poll(() => marks.count()).toBeGreaterThanOrEqual(all)

  // step by message: back from now, the first that is found is one of those frames
  await page.keyboard.press('<')
  await expect(page).toHaveURL(/[?&]at=\d+/)
  const at = Number(new URL(page.url()).searchParams.get('at')!.split('.')[0])
  expect((await recorded(running)).find(event => event.consoleSeq === at)).toMatchObject({
    kind: expect.stringMatching(/^(start_view|do_view|view_adopted)/),
    link: { id: expect.stringMatching(/^[12]>[12]#/) },
  })
  await expect(situation).toContainText(/as of \d\d:\d\d:\d\d.*Next\s*After this moment/)
  await page.keyboard.press('g')
  await expect(page).not.toHaveURL(/at=/)
  await expect(situation).not.toContainText('as of')

  // the same events as rows
  await page.getByRole('button', { name: 'Table' }).click()
  await expect(page.getByTestId('event-row').first()).toHaveAttribute('data-kind', /_view_change_received$/)
})

/** Every event that the console has recorded so far. */
async function recorded(from: ConsoleProcess): Promise<{ consoleSeq: number; kind: string; link?: { id: string } }[]> {
  const text = await (await fetch(`${from.origin}/api/recordings/current/lines`)).text()
  const lines = text.trim().split('\n')
  return lines.flatMap(line => {
    const { event, data } = JSON.parse(line)
    return event === 'batch' ? data : []
  })
}
