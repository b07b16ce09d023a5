/** Offsets that no double can hold, on a real node: told to its client, drawn on the page, and read from the files. */
import { execFile } from 'node:child_process'
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@playwright/test'
import { nodeClientPorts } from '../server/console/client-ports.ts'
import { ROOT } from '../server/console/serve.ts'
import { createHash } from '../shared/bytes/hash.ts'
import { Client } from '../shared/client/client.ts'
import { type ConsoleProcess, startConsole } from './console-process.ts'

/** Odd, so that a double would show another number. */
const FIRST = 2n ** 53n + 1n
const PARTITION = { kind: 'partition', partition: 0 } as const
const entry = fileURLToPath(new URL('../dist/server/quorumscope.js', import.meta.url))

let running: ConsoleProcess | undefined
let client: Client | undefined
test.afterEach(async () => {
  client?.close()
  await running?.stop()
  ;[running, client] = [undefined, undefined]
})

interface Status {
  readonly state: string
  readonly dataDirectory: string
  readonly ports: { readonly client: number }
}
const node = async (): Promise<Status> => (await running!.get('/api/nodes/0')) as Status
const act = async (what: string) => expect(await running!.post(`/api/nodes/0/${what}`)).toMatchObject({ status: 200 })

async function connected(): Promise<Client> {
  await expect.poll(async () => (await node()).state).toBe('running')
  const endpoints = [{ host: '127.0.0.1', port: (await node()).ports.client }]
  client = new Client(nodeClientPorts, { endpoints, hash: await createHash(), credentials: ROOT })
  return client
}

test('offsets above 2^53 are exact on the wire, in the page and in inspect', async ({ page }) => {
  running = await startConsole(['--nodes', '1'])
  const maker = await connected()
  await maker.createStream('s')
  await maker.createTopic('s', 't', 1, { messagesRequiredToSave: 1, enforceFsync: true })
  maker.close()
  const { dataDirectory } = await node()
  const nameOf = (offset: bigint, kind: string) =>
    join(dataDirectory, 'streams/0/topics/0/partitions/0', `${offset.toString().padStart(20, '0')}.${kind}`)
  // A topic is committed before its partitions are made.
  await expect.poll(() => existsSync(nameOf(0n, 'index'))).toBe(true)
  await act('terminate')
  // The name of an empty tail is the next offset.
  for (const kind of ['log', 'index']) renameSync(nameOf(0n, kind), nameOf(FIRST, kind))
  await act('start')

  const sender = await connected()
  for (const [index, payload] of ['odd', 'even', 'odd again'].entries()) {
    const confirmed = await sender.sendMessages('s', 't', PARTITION, [{ payload }])
    expect(confirmed?.baseOffset).toBe(FIRST + BigInt(index))
  }
  const polled = await sender.poll({
    stream: 's',
    topic: 't',
    partition: 0,
    strategy: { kind: 'offset', offset: FIRST + 2n },
    count: 10,
  })
  expect(polled.messages.map(({ offset }) => offset)).toEqual([FIRST + 2n])

  await page.goto(running.url)
  await page.goto(`${running.origin}/partitions/0/0/0?offset=${FIRST + 2n}&tab=messages`)
  const figures = page.getByTestId('figures')
  await expect(figures).toContainText('node-0, next offset9,007,199,254,740,996')
  await expect(figures).toContainText('on disk to9,007,199,254,740,996')
  // What is held, what the superblock knows of it, and what is promised: three numbers.
  await expect(figures).toContainText('held to9,007,199,254,740,996')
  await expect(figures).toContainText('reserved to9,007,199,254,806,530')
  await expect(page.getByTestId('descriptors')).toContainText('segment 9,007,199,254,740,993 by its writer')
  await expect(page.getByTestId('lookup')).toContainText('9,007,199,254,740,995 resolves to entry 2')
  await expect(page.getByTestId(`segment-0-${FIRST}`)).toBeVisible()
  await expect(page.getByTestId('messages')).toContainText('9,007,199,254,740,995')

  await act('terminate')
  const { stdout } = await promisify(execFile)(process.execPath, [entry, 'inspect', dataDirectory, '--json'])
  expect(stdout).toContain(`"${FIRST}"`)
  expect(stdout).toContain(`"${FIRST + 2n}"`)
})
