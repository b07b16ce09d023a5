import { describe, expect, it } from 'vitest'
import { toHex } from '../../../shared/bytes/hex.ts'
import { BYTES_LENGTH_MAX } from '../../../shared/inspection/node-api.ts'
import { type ComparedSoFar, type CompareReads, compareSegment } from './compare.ts'

const BATCH = 100_000
const PAGE = 2
/** Logs as their nodes would list them, `PAGE` batches at a time; a changed byte changes the verdict of its batch. */
function reads(logs: readonly { batches: number; wrongByte?: number }[]): CompareReads & { asked: string[] } {
  const asked: string[] = []
  const bytesOf = (node: number, from: number, length: number): Uint8Array => {
    const bytes = new Uint8Array(length).map((_, at) => (from + at) % 251)
    const wrong = logs[node]!.wrongByte
    if (wrong !== undefined && wrong >= from && wrong < from + length) bytes[wrong - from]! ^= 1
    return bytes
  }
  return {
    asked,
    batches: async (node, from) => {
      asked.push(`${node}@${from}`)
      const { batches, wrongByte = -1 } = logs[node]!
      const first = from / BATCH
      const end = Math.min(batches, first + PAGE)
      return {
        reporter: {} as never,
        startOffset: '0',
        sizeBytes: batches * BATCH,
        fromPositionBytes: from,
        ...(end < batches && { nextPositionBytes: end * BATCH }),
        batches: Array.from({ length: Math.max(0, end - first) }, (_, index) => ({
          positionBytes: (first + index) * BATCH,
          lengthBytes: BATCH,
          baseOffset: String(first + index),
          baseTimestamp: '0',
          originTimestamp: '0',
          messages: 1,
          checksum: 'c',
          verdict: Math.floor(wrongByte / BATCH) === first + index ? ('bad_checksum' as const) : ('valid' as const),
        })),
      }
    },
    bytes: async (node, position, length) => {
      asked.push(`bytes ${node}@${position}`)
      return { hex: toHex(bytesOf(node, position, length)) } as never
    },
  }
}
const compare = async (logs: Parameters<typeof reads>[0]) => {
  const world = reads(logs)
  const told: ComparedSoFar[] = []
  const nodes = logs.map((_, node) => node)
  return {
    done: await compareSegment(
      world,
      nodes,
      () => 7,
      sofar => told.push(sofar),
    ),
    told,
    asked: world.asked,
  }
}

describe('a segment of several nodes', () => {
  it('is compared page by page to its end, and says on the way how far', async () => {
    const { done, told, asked } = await compare([{ batches: 5 }, { batches: 3 }, { batches: 5 }])
    expect(done).toMatchObject({ state: 'done', equalBytes: 5 * BATCH, equalBatches: 5, atMs: 7 })
    expect(done.difference).toBeUndefined()
    expect(done.ended.map(({ node, atBytes }) => [node, atBytes / BATCH])).toEqual([
      [1, 3],
      [0, 5],
      [2, 5],
    ])
    expect(told.map(({ equalBatches, state }) => [equalBatches, state])).toEqual([
      [2, 'running'],
      [4, 'running'],
    ])
    // A log that has ended is not asked again.
    expect(asked.filter(what => what.startsWith('1@'))).toHaveLength(2)
  })

  it('ends at the first difference, and names the byte that no checksum could name', async () => {
    const wrongByte = 3 * BATCH + BYTES_LENGTH_MAX + 77
    const { done } = await compare([{ batches: 9 }, { batches: 9, wrongByte }, { batches: 9 }])
    expect(done).toMatchObject({ state: 'done', equalBytes: 3 * BATCH, difference: { kind: 'verdict' } })
    expect(done.byte?.positionBytes).toBe(wrongByte)
    const [right, wrong] = done.byte!.rows.map(({ bytes }) => bytes)
    expect(done.byte!.rows.map(({ node }) => node)).toEqual([0, 1, 2])
    expect(right).not.toEqual(wrong)
    expect(done.byte!.rows[0]!.fromBytes).toBeLessThanOrEqual(wrongByte)
    expect(wrongByte).toBeLessThan(done.byte!.rows[0]!.fromBytes + right!.length)
  })

  it('with nobody to compare with it ends at once', async () => {
    expect((await compare([{ batches: 9 }])).done).toMatchObject({ state: 'done', equalBatches: 0 })
    expect((await compare([{ batches: 0 }, { batches: 9 }])).done).toMatchObject({ state: 'done', equalBatches: 0 })
  })

  it('rejects when a node goes away in the middle', async () => {
    const world = reads([{ batches: 9 }, { batches: 9 }])
    const list = world.batches
    world.batches = (node, from) => (from > 0 && node === 1 ? Promise.reject(new Error('gone')) : list(node, from))
    await expect(
      compareSegment(
        world,
        [0, 1],
        () => 0,
        () => {},
      ),
    ).rejects.toThrow('gone')
  })
})
