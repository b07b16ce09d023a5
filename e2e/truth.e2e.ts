/** What the page may not say: that a node which lacks something is healthy, or that a dead primary leads. */
import { expect, type Page, test } from '@playwright/test'
import { nodeClientPorts } from '../server/console/client-ports.ts'
import { ROOT } from '../server/console/serve.ts'
import { createHash } from '../shared/bytes/hash.ts'
import { Client } from '../shared/client/client.ts'
import { ClientError } from '../shared/client/errors.ts'
import { ErrorCode } from '../shared/protocol/error-codes.ts'
import { type ConsoleProcess, startConsole } from './console-process.ts'

let running: ConsoleProcess | undefined
let client: Client | undefined
test.afterEach(async () => {
  client?.close()
  await running?.stop()
  ;[running, client] = [undefined, undefined]
})

const act = async (path: string, body = {}) => {
  const { status, json } = await running!.post(path, body)
  expect([path, status, status === 200 ? '' : json]).toEqual([path, 200, ''])
}

const ledger = async (page: Page, name: string) =>
  Number(await page.getByTestId(`ledger-${name}`).getAttribute('data-value'))

const VOTES = { name: 'votes', commands: ['StartViewChange', 'DoViewChange', 'StartView'] }

/** What a node says of itself while it lacks something: it recovers some seconds only, and then asks for a view. */
const OWN_WORD = /^(recovering|behind|view_change)/
const isWell = (standing: string): boolean => /healthy|primary/.test(standing)

/** Keeps every standing that the card of a node is drawn with from now on, with the gap it shows. */
async function follow(page: Page, node: number): Promise<() => Promise<string[]>> {
  await page.evaluate(id => {
    const card = document.querySelector(`[data-testid=node-${id}]`)!
    const drawn: string[] = []
    const look = () => {
      const gap = /-\d[\d,.\s\u202f]*/.exec(card.querySelector('header')?.textContent ?? '')?.[0] ?? ''
      const now = `${card.getAttribute('data-standing')} ${gap && 'with a gap'}`.trim()
      if (drawn.at(-1) !== now) drawn.push(now)
    }
    look()
    new MutationObserver(look).observe(card, { attributes: true, childList: true, characterData: true, subtree: true })
    Object.assign(window, { [`drawn${id}`]: drawn })
  }, node)
  return () => page.evaluate(id => (window as unknown as Record<string, string[]>)[`drawn${id}`]!, node)
}

test('a restarted backup is drawn with its gap until it is closed, never as healthy before', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  await expect(page.getByTestId('situation')).toContainText('all 3 nodes agree')
  await page.getByRole('button', { name: 'Start load', exact: true }).click()
  await expect.poll(() => ledger(page, 'acked'), { message: 'acknowledged messages' }).toBeGreaterThan(200)
  // The group whose gap is to be seen.
  await page.getByTestId('group-0.0.0').click()
  await expect(page.getByTestId('node-2')).toHaveAttribute('data-standing', 'healthy')

  await act('/api/nodes/2/kill')
  await expect(page.getByTestId('node-2')).toHaveAttribute('data-standing', 'down')
  const before = await ledger(page, 'acked')
  await expect.poll(() => ledger(page, 'acked'), { message: 'the load goes on' }).toBeGreaterThan(before + 300)

  // It comes back and can hear nobody: it cannot catch up, and must not look as if it had.
  await act('/api/links/all/2/cut', { both: true })
  const drawn = await follow(page, 2)
  await act('/api/nodes/2/start')
  await expect(page.getByTestId('node-2')).toHaveAttribute('data-state', 'running')
  await expect.poll(drawn, { message: 'the gap is drawn' }).toContainEqual(expect.stringMatching(/with a gap$/))
  await expect(page.getByTestId('situation')).toContainText('node-2')
  expect((await drawn()).filter(isWell)).toEqual([])

  await act('/api/links/all/all/heal')
  await expect(page.getByTestId('node-2')).toHaveAttribute('data-standing', 'healthy')
  const standings = await drawn()
  const closed = standings.findIndex(standing => standing.startsWith('healthy'))
  expect(standings.slice(0, closed).some(standing => OWN_WORD.test(standing))).toBe(true)

  // Dead for a moment only: the words of the life before are still fresh, and they are not those of the new one.
  await act('/api/nodes/2/kill')
  const again = await follow(page, 2)
  await act('/api/links/all/2/cut', { both: true })
  await act('/api/nodes/2/start')
  await expect(page.getByTestId('node-2')).toHaveAttribute('data-state', 'running')
  await expect.poll(again, { message: 'it has spoken' }).toContainEqual(expect.stringMatching(OWN_WORD))
  const since = await again()
  expect(since.slice(since.findIndex(standing => standing.startsWith('down'))).filter(isWell)).toEqual([])
  await act('/api/links/all/all/heal')
  expect(await ledger(page, 'lost')).toBe(0)
})

test('a killed primary is drawn as no primary, and what is written meanwhile gets a typed answer', async ({ page }) => {
  running = await startConsole()
  await page.goto(running.url)
  const situation = page.getByTestId('situation')
  await expect(situation).toContainText('node-0 leads view 0')
  await act('/api/streams', { name: 'shop' })
  await act('/api/topics', { stream: 'shop', name: 'orders', partitions: 1 })
  const { nodes } = (await running.get('/api/clusters/current')) as { nodes: { ports: { client: number } }[] }
  client = new Client(nodeClientPorts, {
    endpoints: [{ host: '127.0.0.1', port: nodes[1]!.ports.client }],
    hash: await createHash(),
    credentials: ROOT,
    followLeader: false,
    retry: false,
    // What a server says comes within five seconds of its own; those of a machine that is slow are longer.
    budgetMs: 30_000,
  })
  const write = () => client!.sendMessages('shop', 'orders', { kind: 'partition', partition: 0 }, [{ payload: 'x' }])
  await expect.poll(() => write().then(() => 'served', String), { message: 'a write through node-1' }).toBe('served')

  await page.evaluate(() => {
    const said: string[] = []
    const pane = document.querySelector('[data-testid=situation]')!
    new MutationObserver(() => said.push(pane.textContent ?? '')).observe(pane, {
      childList: true,
      characterData: true,
      subtree: true,
    })
    Object.assign(window, { said })
  })
  // Nobody is elected before this was looked at, however long that takes.
  await act('/api/links/all/all/hold', VOTES)
  await act('/api/nodes/0/kill')
  await expect(situation).toContainText('No primary')
  const refused = await write().catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ClientError)
  expect([ErrorCode.TransientNotAccepted, ErrorCode.TransientNotCommitted]).toContain((refused as ClientError).status)

  await act('/api/links/all/all/release', { name: VOTES.name })
  // Two of three elect, and the page says who leads now; nobody ever said that node-0 leads while it was dead.
  await expect(situation).toContainText(/leads view [1-9]/)
  const said = await page.evaluate(() => (window as unknown as { said: string[] }).said)
  const fromDeath = said.slice(said.findIndex(text => text.includes('No primary')))
  expect(fromDeath.filter(text => /node-0 leads/.test(text))).toEqual([])
  await expect.poll(() => write().then(() => 'served', String), { message: 'a write is served again' }).toBe('served')

  // One of three: nobody leads, and that stays so.
  await act('/api/nodes/2/kill')
  await expect(situation).toContainText('No primary')
  const alone = await write().catch((error: unknown) => error)
  expect([ErrorCode.TransientNotAccepted, ErrorCode.TransientNotCommitted]).toContain((alone as ClientError).status)
  await expect(situation).toContainText('No primary')
})
