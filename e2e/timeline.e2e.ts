import { expect, test } from '@playwright/test'
import { type ConsoleProcess, startConsole } from './console-process.ts'
import { save, saveJson } from './saved.ts'

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
  await expect(bar('down').and(page.locator('[data-node="0"]')).last()).toBeAttached()
  await expect(page.locator('[data-testid=mark][data-kind=view_adopted]').last()).toBeAttached()
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
  const spoken = await page.getByTestId('spoken').textContent()
  await page.reload()
  await expect(page.getByTestId('event-kind')).toHaveAttribute('data-kind', /_view_change_received$/)
  expect(page.url()).toBe(url)
  expect((await page.getByTestId('spoken').textContent())?.split(', event')[0]).toBe(spoken?.split(', event')[0])

  // a stretch of it, in the address as well; of what is found, since other things go on happening
  const marks = page.locator('[data-testid=mark][data-found=true]')
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

  // step by message: back from now, the first that is found is one of those frames, and no heartbeat that has no news
  await page.keyboard.press('<')
  await expect(page).toHaveURL(/[?&]at=\d+/)
  const at = Number(new URL(page.url()).searchParams.get('at')!.split('.')[0])
  const told = await recorded(running)
  expect(told.findLast(event => event.kind === 'heartbeat_received')!.consoleSeq).toBeGreaterThan(at)
  expect(told.find(event => event.consoleSeq === at)).toMatchObject({
    kind: expect.stringMatching(/^(start_view|do_view|view_adopted)/),
    link: { id: expect.stringMatching(/^[12]>[12]#/) },
  })
  await expect(situation).toContainText(/as of \d\d:\d\d:\d\d.*Next\s*After this moment/)
  await page.keyboard.press('g')
  await expect(page).not.toHaveURL(/at=/)
  await expect(situation).not.toContainText('as of')

  // the same events as rows, and as a file: as they are found, to the last
  await page.getByRole('button', { name: 'Table' }).click()
  await expect(page.getByTestId('event-row').first()).toHaveAttribute('data-kind', /_view_change_received$/)
  const votes = await saveJson(page, 'events')
  expect(votes.rowCount).toBeGreaterThan(1)
  expect(votes.rows.every(row => /_view_change_received$/.test(String(row.kind)))).toBe(true)

  // a search that finds nothing says so first, and its file is a header alone; so do kinds of which nothing happened
  await page.getByTestId('find').fill('view:999')
  await expect(situation).toContainText(/None of \d+ events is found by "view:999"/)
  expect(await save(page, 'events', 'CSV')).toBe('time,node,boot,seq,kind,words,group,view,op,commit\r\n')
  expect(await saveJson(page, 'events')).toMatchObject({ rowCount: 0, rows: [] })
  await page.goto(`${running.origin}/timeline?kinds=flow&to=1`)
  await expect(situation).toContainText('No event of these kinds has reached this tab')
})

test('while the timeline is open every prepare and acknowledgement is told, and steps by message come to each', async ({
  page,
}) => {
  // What a slow machine acknowledges late would be sent again, and on another way.
  running = await startConsole([], { settings: { IGGY_CLUSTER_PREPARE_RETRANSMIT_INTERVAL: '1 m' } })
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('all 3 nodes agree')
  const asked = [0, 1, 2].map(node =>
    page.waitForResponse(answer => answer.url().includes(`/api/nodes/${node}/watch/`)),
  )
  await page.goto(`${running.origin}/timeline?kinds=flow`)
  for (const answer of await Promise.all(asked)) expect(answer.status()).toBe(200)

  const frames = async () =>
    (await recorded(running!)).filter(event => event.link !== undefined && !event.kind.startsWith('heartbeat_'))
  /** The newest op that a prepare names, and both ends of each of its frames: it goes round, and each that took it acknowledges it. */
  const newest = async () => {
    const told = (await frames()).filter(event => event.op !== undefined)
    const op = told
      .filter(event => event.data.command === 'Prepare')
      .reduce((highest, event) => (BigInt(event.op!) > highest ? BigInt(event.op!) : highest), -1n)
    const ends = told
      .filter(event => BigInt(event.op!) === op)
      .map(
        event =>
          `${event.kind === 'prepare_acked' ? 'PrepareOk' : event.data.command} ${event.link!.id.split('#')[0]} ${event.link!.dir}`,
      )
    return { op, ends: ends.sort() }
  }
  const all = ['Prepare 0>1', 'Prepare 1>2', 'PrepareOk 1>0', 'PrepareOk 2>0'].flatMap(frame => [
    `${frame} in`,
    `${frame} out`,
  ])
  /** Creates a stream and waits until its op, which is behind every op told before, is told whole. */
  const createAndSee = async (name: string, timeout?: number) => {
    const earlier = (await newest()).op
    expect((await running!.post('/api/streams', { name })).status).toBe(200)
    await expect
      .poll(
        async () => {
          const { op, ends } = await newest()
          return op > earlier ? ends : []
        },
        timeout === undefined ? {} : { timeout },
      )
      .toEqual(all)
  }

  // Each node hears within some ticks that its group is watched: once one op is told whole, every later one is. How long
  // that takes is the machine's: each op is waited for longer than the one before.
  let made = 0
  await expect(async () => {
    made += 1
    await createAndSee(`s${made}`, 1_500 * made)
  }).toPass({ intervals: [250], timeout: 180_000 })
  const before = (await recorded(running)).at(-1)!.consoleSeq
  await createAndSee('the-one')
  await createAndSee('the-next')

  // they are drawn between their lanes, each with both ends, and the page says that none is left out
  for (const name of ['Prepare', 'PrepareOk'])
    await expect(page.locator(`[data-testid=message][data-name=${name}][data-by=frame]`).last()).toBeAttached()
  const share = page.getByTestId('flow-share')
  await expect(share).toContainText(/every prepare and acknowledgement shown|all since/)

  // and stepping back by message comes to every one of them, none passed over
  await page.keyboard.press('<')
  await expect(page).toHaveURL(/[?&]at=\d+/)
  const here = () => Number(new URL(page.url()).searchParams.get('at')?.split('.')[0] ?? 0)
  const stops = (await frames()).map(event => event.consoleSeq)
  for (let at = here(); at > before; at = here()) {
    expect(stops).toContain(at)
    await page.keyboard.press('<')
    await expect.poll(here, { intervals: [50] }).toBe(stops.findLast(stop => stop < at))
  }
})

/** Every event that the console has recorded so far. */
async function recorded(from: ConsoleProcess): Promise<Recorded[]> {
  const text = await (await fetch(`${from.origin}/api/recordings/current/lines`)).text()
  const lines = text.trim().split('\n')
  return lines.flatMap(line => {
    const { event, data } = JSON.parse(line)
    return event === 'batch' ? data : []
  })
}

interface Recorded {
  readonly consoleSeq: number
  readonly kind: string
  readonly op?: string
  readonly data: { readonly command?: string }
  readonly link?: { readonly id: string; readonly dir: 'in' | 'out' }
}
