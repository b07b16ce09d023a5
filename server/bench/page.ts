/**
 * `bench page`: what a person in front of the page waits for. From the start command, built, to a page that shows a settled
 * cluster; from an event in a node to its pixels, at FACTS_PER_SECOND; from a kill to its drawing. The start script runs
 * as a person runs it, and the page in a real Chromium. The page's own clock is the machine's, so ages need no correction.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { EngineError } from '../../shared/bytes/errors.ts'
import { createHash } from '../../shared/bytes/hash.ts'
import { Latencies } from '../console/load/latency.ts'
import { sleep } from '../console/load/sleep.ts'
import { wallMs } from '../console/wall.ts'
import {
  type Arm,
  armOf,
  FACTS_PER_SECOND,
  readEvents,
  settled,
  startConsole,
  startWriters,
  writeRefused,
} from './harness.ts'

const START_CEILING_MS = 5_000
const FACT_CEILING_MS = 250
const KILL_CEILING_MS = 500
/** Nothing that is measured takes longer unless it is broken. */
const PATIENCE_MS = 60_000

export interface PageBench {
  readonly suite: 'page'
  readonly arms: readonly Arm[]
  /** The worst arm. */
  readonly ratio: number
  readonly interval: readonly [number, number]
  readonly ceiling: { readonly startMs: number; readonly factMs: number; readonly killMs: number }
  readonly ok: boolean
}

export interface PageBenchOptions {
  readonly starts: number
  readonly seconds: number
  readonly kills: number
  readonly say: (line: string) => void
}

export async function benchPage(options: PageBenchOptions): Promise<PageBench> {
  const browser = await launchBrowser()
  const [start, facts, kill] = [new Latencies(), new Latencies(), new Latencies()]
  let perSecond = 0
  try {
    for (let round = 1; round <= options.starts; round++) {
      options.say(`start ${round} of ${options.starts}`)
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
      await withConsole(async (open, beganMs) => {
        await page.goto(open.page)
        await drawnAt(page, '[data-testid=situation][data-tone=good]')
        start.add((await drawnAt(page, nodesSelector(['running', 'running', 'running']))) - beganMs)
        if (round < options.starts) return
        options.say(`facts for ${options.seconds} s`)
        perSecond = await measureFacts(page, open.console, options.seconds, facts)
        options.say(`killing a backup ${options.kills} times`)
        for (let i = 0; i < options.kills; i++) {
          const drawn = drawnAt(page, nodesSelector(['running', 'running', 'stopped']))
          const beganKillMs = wallMs()
          await open.console.post('/api/nodes/2/kill')
          kill.add((await drawn) - beganKillMs)
          await open.console.post('/api/nodes/2/start')
          await drawnAt(page, nodesSelector(['running', 'running', 'running']))
        }
      })
      await page.close()
    }
  } finally {
    await browser.close()
  }
  const arms = [
    armOf('from the start command to a settled cluster in the page', start, START_CEILING_MS),
    armOf('a fact, from its node to its pixels', facts, FACT_CEILING_MS, Math.round(perSecond)),
    armOf('a kill, from the request to its pixels', kill, KILL_CEILING_MS),
  ]
  const ratio = Math.max(...arms.map(arm => arm.ratio))
  return {
    suite: 'page',
    arms,
    ratio,
    interval: [Math.min(...arms.map(arm => arm.p50)), Math.max(...arms.map(arm => arm.p99))],
    ceiling: { startMs: START_CEILING_MS, factMs: FACT_CEILING_MS, killMs: KILL_CEILING_MS },
    ok: ratio <= 1 && perSecond >= FACTS_PER_SECOND * 0.8,
  }
}

async function launchBrowser() {
  const { chromium } = await import('@playwright/test')
  const executablePath = process.env.PLAYWRIGHT_CHROMIUM_PATH
  return chromium.launch({ ...(executablePath && { executablePath }), args: ['--no-sandbox', '--disable-gpu'] })
}

type Console = Awaited<ReturnType<typeof startConsole>>

/** A console in a fresh directory, started by the script that `npm start` runs; gone with all it started afterwards. */
async function withConsole(
  work: (open: { readonly console: Console; readonly page: string }, beganMs: number) => Promise<void>,
): Promise<void> {
  // From dist/server when built, from server/bench in the sources.
  const script = join(dirname(fileURLToPath(import.meta.url)), '../../scripts/start.mjs')
  if (!existsSync(script)) throw new EngineError('NoStartScript', `there is no ${script}`, { path: script })
  const directory = mkdtempSync(join(tmpdir(), 'quorumscope-bench-'))
  try {
    const beganMs = wallMs()
    const console = await startConsole([script], directory)
    try {
      await work({ console, page: `${console.url}/#token=${console.token}` }, beganMs)
    } finally {
      await console.end()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const nodesSelector = (states: readonly string[]): string =>
  `body${states.map((state, id) => `:has([data-testid=node-${id}][data-state=${state}])`).join('')}`

/** When `selector` first matched and the frame with it was out, milliseconds since 1970; looked at before each frame. */
function drawnAt(page: Page, selector: string): Promise<number> {
  return page.evaluate(
    ([wanted, patienceMs]) =>
      new Promise<number>((resolve, reject) => {
        const deadline = Date.now() + patienceMs
        const look = () => {
          if (document.querySelector(wanted)) requestAnimationFrame(() => resolve(Date.now()))
          else if (Date.now() > deadline) reject(new Error(`never drawn: ${wanted}`))
          else requestAnimationFrame(look)
        }
        look()
      }),
    [selector, PATIENCE_MS] as const,
  )
}

/**
 * Facts a second that reached the page while the ages of those that it draws in words were taken. The steps of a forward
 * that went well are drawn as a strip and not in words; so a probe beside them asks for what every primary must refuse.
 */
async function measureFacts(page: Page, console: Console, seconds: number, ages: Latencies): Promise<number> {
  const stop = new AbortController()
  const hash = await createHash()
  const cluster = await settled(console)
  const work = [startWriters(cluster, hash, stop.signal), writeRefused(cluster, hash, stop.signal)]
  let facts = 0
  readEvents(`${console.url}/api/events`, stop.signal, event => {
    if (event.class === 'fact') facts++
  })
  await page.keyboard.press('l')
  await page.getByTestId('facts').waitFor()
  await sleep(2_000, stop.signal)
  const [began, before] = [performance.now(), facts]
  const drawn = await page.getByTestId('facts').evaluate(
    (list, milliseconds) =>
      new Promise<number[]>(resolve => {
        const found: number[] = []
        const observer = new MutationObserver(records => {
          const times = records.flatMap(({ addedNodes }) =>
            [...addedNodes].flatMap(node => (node as Element).querySelector('time')?.dateTime ?? []),
          )
          // The frame in which they are drawn; at the next one its pixels are out.
          requestAnimationFrame(() =>
            requestAnimationFrame(() => {
              const now = Date.now()
              for (const time of times) found.push(now - Date.parse(time))
            }),
          )
        })
        observer.observe(list, { childList: true })
        setTimeout(() => {
          observer.disconnect()
          resolve(found)
        }, milliseconds)
      }),
    seconds * 1000,
  )
  for (const age of drawn) ages.add(Math.max(0, age))
  const perSecond = (facts - before) / ((performance.now() - began) / 1000)
  stop.abort()
  await Promise.all(work)
  await page.keyboard.press('l')
  return perSecond
}
