/**
 * `bench page`: what a person in front of the page waits for, against the budgets of the interface (spec ui.md §3.6). From
 * the start command, built, to a page that shows a settled cluster; from an event in a node to its pixels, at
 * FACTS_PER_SECOND; from a click to the answer that it was taken, and to the node drawn dead; a step back in time, a screen
 * opened by its key; and the heap when all of that is held. The start script runs as a person runs it, and the page in a
 * real Chromium. The page's own clock is the machine's, so ages need no correction.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from '@playwright/test'
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
const CONTENT_CEILING_MS = 1_000
const FACT_CEILING_MS = 250
const FACT_CEILING_P50_MS = 80
const CLICK_CEILING_MS = 100
const CLICK_CEILING_P50_MS = 40
const KILL_CEILING_MS = 500
const KILL_CEILING_P50_MS = 150
/** Without a graphics card, where every pixel is the processor's. */
const STEP_CEILING_MS = 33
const OPEN_CEILING_MS = 200
const HEAP_CEILING_MIB = 300
const STEPS = 60
/** Screens that have a key of their own. */
const SCREEN_KEYS = ['1', '2', '3', '4', '5'] as const
const MIB = 2 ** 20
/** Nothing that is measured takes longer unless it is broken. */
const PATIENCE_MS = 60_000

export interface PageBench {
  readonly suite: 'page'
  readonly arms: readonly Arm[]
  /** The worst arm. */
  readonly ratio: number
  readonly interval: readonly [number, number]
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
  const [start, content, facts, click, kill] = [
    new Latencies(),
    new Latencies(),
    new Latencies(),
    new Latencies(),
    new Latencies(),
  ]
  const [step, open, heap] = [new Latencies(), new Latencies(), new Latencies()]
  let perSecond = 0
  try {
    for (let round = 1; round <= options.starts; round++) {
      options.say(`start ${round} of ${options.starts}`)
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
      await withConsole(async (found, beganMs) => {
        await page.goto(found.page)
        await drawnAt(page, '[data-testid=situation][data-tone=good]')
        start.add((await drawnAt(page, nodesSelector(['running', 'running', 'running']))) - beganMs)
        content.add(await firstContentMs(browser, found.page))
        if (round < options.starts) return
        options.say(`facts for ${options.seconds} s`)
        perSecond = await measureFacts(page, found.console, options.seconds, facts)
        options.say(`stepping back ${STEPS} times`)
        await measureSteps(page, step)
        options.say('opening screens by their keys')
        await measureScreens(page, open)
        options.say(`killing a backup ${options.kills} times`)
        for (let i = 0; i < options.kills; i++) {
          const drawn = drawnAt(page, nodesSelector(['running', 'running', 'stopped']))
          const { beganMs: clickedMs, pendingMs } = await clickOn(page, 'kill-2')
          click.add(pendingMs)
          kill.add((await drawn) - clickedMs)
          await found.console.post('/api/nodes/2/start')
          await drawnAt(page, nodesSelector(['running', 'running', 'running']))
        }
        heap.add((await heapBytes(page)) / MIB)
      })
      await page.close()
    }
  } finally {
    await browser.close()
  }
  const arms = [
    armOf('from the start command to a settled cluster in the page', start, START_CEILING_MS),
    armOf('from the address to the first content, nothing cached', content, CONTENT_CEILING_MS),
    armOf('a fact, from its node to its pixels', facts, FACT_CEILING_MS, {
      ceilingP50: FACT_CEILING_P50_MS,
      perSecond: Math.round(perSecond),
    }),
    armOf('a click on a control, to the frame that says it was taken', click, CLICK_CEILING_MS, {
      ceilingP50: CLICK_CEILING_P50_MS,
    }),
    armOf('a kill, from the click to its pixels', kill, KILL_CEILING_MS, { ceilingP50: KILL_CEILING_P50_MS }),
    armOf('a step back in time, its frame', step, STEP_CEILING_MS),
    armOf('a screen opened by its key, to its next paint', open, OPEN_CEILING_MS),
    armOf('heap after all of this, collected', heap, HEAP_CEILING_MIB, { unit: 'MiB' }),
  ]
  const ratio = Math.max(...arms.map(arm => arm.ratio))
  const waits = arms.filter(arm => arm.unit === 'ms')
  return {
    suite: 'page',
    arms,
    ratio,
    interval: [Math.min(...waits.map(arm => arm.p50)), Math.max(...waits.map(arm => arm.p99))],
    ok: ratio <= 1 && perSecond >= FACTS_PER_SECOND * 0.8,
  }
}

/** Of another reader, who comes when the nodes have started: with a context of its own, so with an empty cache. */
async function firstContentMs(browser: Browser, address: string): Promise<number> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await page.goto(address)
  await drawnAt(page, '[data-testid=situation][data-tone=good]')
  const ms = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
  await page.close()
  return ms ?? Number.NaN
}

/** One click: when, by the wall, and how long after it the frame was out in which the control says that it is at it. */
function clickOn(page: Page, testId: string): Promise<{ beganMs: number; pendingMs: number }> {
  return page.evaluate(
    ([id, patienceMs]) =>
      new Promise((resolve, reject) => {
        const button = document.querySelector<HTMLElement>(`[data-testid=${id}]`)
        if (!button) return reject(new Error(`there is no ${id}`))
        const [beganMs, began] = [Date.now(), performance.now()]
        const observer = new MutationObserver(() => {
          if (button.dataset.pending !== 'true') return
          observer.disconnect()
          requestAnimationFrame(() =>
            requestAnimationFrame(() => resolve({ beganMs, pendingMs: performance.now() - began })),
          )
        })
        observer.observe(button, { attributes: true, attributeFilter: ['data-pending'] })
        setTimeout(() => reject(new Error(`${id} never said that it was taken`)), patienceMs)
        button.click()
      }),
    [testId, PATIENCE_MS] as const,
  )
}

/** Steps back event by event, one a frame: what the page's own thread works for a frame, drawing included. */
async function measureSteps(page: Page, frames: Latencies): Promise<void> {
  const taken = await page.evaluate(async steps => {
    const frame = () => new Promise<number>(resolve => requestAnimationFrame(() => resolve(performance.now())))
    const painted = () =>
      new Promise<void>(resolve => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => resolve()
        port2.postMessage(undefined)
      })
    const found: number[] = []
    for (let at = 0; at < steps; at++) {
      const began = await frame()
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: ',', bubbles: true }))
      await painted()
      found.push(performance.now() - began)
    }
    return found
  }, STEPS)
  for (const ms of taken) frames.add(ms)
  await page.keyboard.press('g')
}

/** Opens every screen that has a key twice: the first time it is fetched too. */
async function measureScreens(page: Page, waits: Latencies): Promise<void> {
  await page.evaluate(() => {
    const found: Record<number, number> = {}
    Object.assign(window, { interactions: found })
    new PerformanceObserver(list => {
      for (const entry of list.getEntries() as (PerformanceEntry & { interactionId: number })[])
        if (entry.interactionId > 0)
          found[entry.interactionId] = Math.max(found[entry.interactionId] ?? 0, entry.duration)
    }).observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit)
  })
  const keys = [...SCREEN_KEYS, ...SCREEN_KEYS, SCREEN_KEYS[0]]
  for (const key of keys) {
    await page.keyboard.press(key)
    await page.waitForTimeout(400)
  }
  const longer = await page.evaluate(() =>
    Object.values((window as unknown as { interactions: Record<number, number> }).interactions),
  )
  for (const ms of longer) waits.add(ms)
  // The browser tells of those only that took longer than a frame.
  if (longer.length < keys.length) waits.add(16, keys.length - longer.length)
}

async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize
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
