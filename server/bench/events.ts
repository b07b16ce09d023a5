/**
 * `bench events`: how old a fact is when a reader of the console's stream has it, at FACTS_PER_SECOND, and how long a kill
 * takes to reach that reader. Real node processes, a real console process; this process is the client and the reader.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHash } from '../../shared/bytes/hash.ts'
import { defaultEntry } from '../cluster/launcher.ts'
import { Latencies } from '../console/load/latency.ts'
import { sleep } from '../console/load/sleep.ts'
import { wallMs } from '../console/wall.ts'
import { type Arm, armOf, FACTS_PER_SECOND, readEvents, settled, startConsole, startWriters } from './harness.ts'

/** Half of the budget from event to pixel (250 ms at p95) is left to the browser. */
const FACT_CEILING_MS = 125
const KILL_CEILING_MS = 500

export interface EventsBench {
  readonly suite: 'events'
  readonly arms: readonly Arm[]
  /** The worst arm. */
  readonly ratio: number
  /** From the best median to the worst p99, milliseconds. */
  readonly interval: readonly [number, number]
  readonly ceiling: { readonly factMs: number; readonly killMs: number }
  readonly ok: boolean
}

export async function benchEvents(options: {
  readonly seconds: number
  readonly kills: number
  readonly say: (line: string) => void
}): Promise<EventsBench> {
  const directory = mkdtempSync(join(tmpdir(), 'quorumscope-bench-'))
  const stop = new AbortController()
  const hash = await createHash()
  const console = await startConsole([...defaultEntry().args, 'console'], directory)
  try {
    const cluster = await settled(console)
    options.say(`three nodes run; writing through backups for ${options.seconds} s`)
    const facts = new Latencies()
    const kill = new Latencies()
    let measuring = false
    let exited: (() => void) | undefined
    readEvents(`${console.url}/api/events`, stop.signal, event => {
      if (event.kind === 'process_exited') exited?.()
      if (measuring && event.kind.startsWith('forward_')) facts.add(Math.max(0, wallMs() - Number(event.wallUs) / 1000))
    })
    const writers = startWriters(cluster, hash, stop.signal)
    await sleep(2_000, stop.signal)
    measuring = true
    const beganMs = performance.now()
    await sleep(options.seconds * 1000, stop.signal)
    measuring = false
    const perSecond = facts.count / ((performance.now() - beganMs) / 1000)

    options.say(`killing a backup ${options.kills} times`)
    for (let i = 0; i < options.kills; i++) {
      const seen = new Promise<void>(done => {
        exited = done
      })
      const beganKillMs = performance.now()
      await Promise.all([console.post('/api/nodes/2/kill'), seen.then(() => kill.add(performance.now() - beganKillMs))])
      await console.post('/api/nodes/2/start')
    }
    stop.abort()
    await writers
    const arms = [
      armOf('a fact, from its node to a reader', facts, FACT_CEILING_MS, { perSecond: Math.round(perSecond) }),
      armOf('a kill, from the request to a reader', kill, KILL_CEILING_MS),
    ]
    const ratio = Math.max(...arms.map(arm => arm.ratio))
    return {
      suite: 'events',
      arms,
      ratio,
      interval: [Math.min(...arms.map(arm => arm.p50)), Math.max(...arms.map(arm => arm.p99))],
      ceiling: { factMs: FACT_CEILING_MS, killMs: KILL_CEILING_MS },
      // A rate far below the asked one would flatter the figures.
      ok: ratio <= 1 && perSecond >= FACTS_PER_SECOND * 0.8,
    }
  } finally {
    stop.abort()
    await console.end()
    rmSync(directory, { recursive: true, force: true })
  }
}
