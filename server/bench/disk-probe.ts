/**
 * What the disk itself gains when two files are synced together instead of one after the other: the ceiling of what a
 * concurrent persist can gain on it (spec drills.md §4.3, item 3). Both files grow with each round, as those of a segment.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { median } from './statistics.ts'

/** Below this two syncs together cost about as much as two in a row: the disk cannot show the effect. */
export const CEILING_MIN = 1.3
const ROUNDS = 500
const WARM_ROUNDS = 100
/** Of one round of the log: ten messages of 100 bytes. */
const LOG_BYTES = 1736
const INDEX_BYTES = 24

export interface DiskProbe {
  /** Medians: one file; two in sequence; two together. */
  readonly oneMs: number
  readonly serialMs: number
  readonly togetherMs: number
  /** serialMs / togetherMs. */
  readonly ceiling: number
  readonly rounds: number
}

export async function probeDisk(directory: string, rounds = ROUNDS, warmRounds = WARM_ROUNDS): Promise<DiskProbe> {
  const home = join(directory, 'probe')
  mkdirSync(home, { recursive: true })
  const files = await Promise.all([open(join(home, 'log'), 'w'), open(join(home, 'index'), 'w')])
  const [log, index] = files
  const bytes = [new Uint8Array(LOG_BYTES).fill(1), new Uint8Array(INDEX_BYTES).fill(2)] as const
  const at = [0, 0]
  const append = async (which: 0 | 1, file: FileHandle) => {
    await file.write(bytes[which], 0, bytes[which].length, at[which]!)
    at[which]! += bytes[which].length
    await file.datasync()
  }
  const arms = {
    one: () => append(0, log),
    serial: async () => {
      await append(0, log)
      await append(1, index)
    },
    together: async () => {
      await Promise.all([append(0, log), append(1, index)])
    },
  }
  const times: Record<keyof typeof arms, number[]> = { one: [], serial: [], together: [] }
  try {
    // In turn, so that what else the disk does meets all three alike.
    for (let round = 0; round < warmRounds + rounds; round++) {
      for (const [name, arm] of Object.entries(arms) as [keyof typeof arms, () => Promise<void>][]) {
        const beganMs = performance.now()
        await arm()
        if (round >= warmRounds) times[name].push(performance.now() - beganMs)
      }
    }
  } finally {
    await Promise.all(files.map(file => file.close()))
    rmSync(home, { recursive: true, force: true })
  }
  const [oneMs, serialMs, togetherMs] = [median(times.one), median(times.serial), median(times.together)]
  return { oneMs, serialMs, togetherMs, ceiling: serialMs / togetherMs, rounds }
}
