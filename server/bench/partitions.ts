/**
 * `bench partitions`: thousands of partitions on one solo node. How long its boot takes, what it costs to do nothing, and
 * how many files it holds open. Processor time is what the process itself was charged, so a busy machine adds little.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '../../shared/bytes/errors.ts'
import type { NodeSnapshot } from '../../shared/inspection/snapshots.ts'
import { STREAM } from './closed-loop.ts'
import { SoloNode } from './solo-node.ts'
import { rounded } from './statistics.ts'
import { runSuite, type SuiteOptions, type SuiteReport } from './suite.ts'

const BOOT_MAX_MS = 30_000
const IDLE_SHARE_MAX = 0.25
/** Of one topic; the next ones come in a topic of their own. */
const PARTITIONS_PER_TOPIC = 1000
const BUILT_WITHIN_MS = 300_000
const SETTLE_MS = 2_000
/** How many write at once. */
const WRITERS = 16

export interface PartitionsOptions extends SuiteOptions {
  readonly partitions: number
  readonly seconds: number
}

interface Boot {
  readonly after: 'stop' | 'kill'
  readonly bootMs: number
  /** Of one core. */
  readonly idleShare: number
  readonly residentMib: number
  readonly openFiles: number | undefined
}

export function benchPartitions(options: PartitionsOptions): Promise<SuiteReport> {
  return runSuite('partitions', options, async (home, hash) => {
    const { partitions, seconds, say, entry } = options
    const topics = Math.ceil(partitions / PARTITIONS_PER_TOPIC)
    const start = () => SoloNode.start({ directory: home, ...(entry && { entry }) })
    let node = await start()
    const boots: Boot[] = []
    try {
      say(`making ${partitions} partitions, and writing a message to each`)
      const admin = await node.dial(hash)
      await admin.createStream(STREAM)
      for (let topic = 0; topic < topics; topic++) {
        const count = Math.min(PARTITIONS_PER_TOPIC, partitions - topic * PARTITIONS_PER_TOPIC)
        await admin.createTopic(STREAM, `t${topic}`, count)
      }
      await built(node, partitions)
      let next = 0
      const write = async () => {
        const client = await node.dial(hash)
        while (next < partitions) {
          const partition = next++
          const target = { kind: 'partition', partition: partition % PARTITIONS_PER_TOPIC } as const
          await client.sendMessages(STREAM, `t${Math.floor(partition / PARTITIONS_PER_TOPIC)}`, target, [
            { payload: 'm' },
          ])
        }
      }
      await Promise.all(Array.from({ length: WRITERS }, write))
      for (const after of ['stop', 'kill'] as const) {
        await (after === 'stop' ? node.stop() : node.kill())
        node = await start()
        const pid = node.child.pid!
        const served = await node.ask<NodeSnapshot>('/node')
        if (served.groups.length !== partitions)
          throw new EngineError('PartitionsMissing', `${served.groups.length} of ${partitions} partitions are served`)
        await sleep(SETTLE_MS)
        const idleShare = await idle(pid, seconds)
        boots.push({
          after,
          bootMs: Math.round(node.bootMs),
          idleShare: rounded(idleShare, 3),
          residentMib: Math.round((await node.ask<NodeSnapshot>('/node')).memoryBytes / 2 ** 20),
          openFiles: openFiles(pid),
        })
      }
    } finally {
      await node.kill()
    }
    const slowest = Math.max(...boots.map(({ bootMs }) => bootMs))
    const busiest = Math.max(...boots.map(({ idleShare }) => idleShare))
    const findings = [
      {
        name: 'boot',
        ok: slowest <= BOOT_MAX_MS,
        text: `${boots.map(({ after, bootMs }) => `${rounded(bootMs / 1000)} s after a ${after}`).join(', ')} (at most ${BOOT_MAX_MS / 1000} s)`,
      },
      {
        name: 'idle',
        ok: busiest <= IDLE_SHARE_MAX,
        text: `${boots.map(({ idleShare }) => `${rounded(idleShare * 100, 1)} %`).join(', ')} of a core (at most ${IDLE_SHARE_MAX * 100} %)`,
      },
      {
        name: 'held',
        ok: true,
        text: boots
          .map(({ residentMib, openFiles: files }) => `${residentMib} MiB, ${files ?? 'unknown'} open files`)
          .join('; '),
      },
    ]
    return { findings, arms: boots, ceiling: IDLE_SHARE_MAX }
  })
}

async function built(node: SoloNode, partitions: number): Promise<void> {
  const deadline = performance.now() + BUILT_WITHIN_MS
  for (;;) {
    const { groups } = await node.ask<NodeSnapshot>('/node')
    if (groups.length >= partitions) return
    if (performance.now() > deadline)
      throw new EngineError(
        'PartitionsMissing',
        `${groups.length} of ${partitions} partitions after ${BUILT_WITHIN_MS / 1000} s`,
      )
    await sleep(250)
  }
}

const TICKS_PER_SECOND = 100

/** Processor time of a process so far, in ms. @throws EngineError NoProcessTimes where there is no /proc */
function processorMs(pid: number): number {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch (cause) {
    throw new EngineError(
      'NoProcessTimes',
      'the time of a process is read from /proc, which is not here',
      {},
      { cause },
    )
  }
  // The name in parentheses may hold anything; what follows it is counted from field 3.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND
}

async function idle(pid: number, seconds: number): Promise<number> {
  const [beganMs, before] = [performance.now(), processorMs(pid)]
  await sleep(seconds * 1000)
  return (processorMs(pid) - before) / (performance.now() - beganMs)
}

function openFiles(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return undefined
  }
}
