import { describe, expect, it } from 'vitest'
import { encodeIndexPoint, SparseIndex } from './sparse-index.ts'

describe('sparse index', () => {
  it('G21 finds the last entry at or below an offset, exactly at positions and offsets past 32 bits', () => {
    const points = [0, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 24].map((position, n) => ({
      offset: 2n ** 33n + BigInt(n) * 10n,
      timestamp: 2n ** 53n + BigInt(n),
      position,
    }))
    const index = new SparseIndex()
    for (const point of points) index.push(encodeIndexPoint(point))
    expect(new SparseIndex(index.toBytes().slice()).entries).toBe(points.length)
    for (const [n, point] of points.entries()) {
      expect(index.entry(n)).toEqual(point)
      expect(index.positionOfOffset(point.offset)).toBe(point.position)
      expect(index.positionOfOffset(point.offset + 9n)).toBe(point.position)
      expect(index.positionOfOffset(point.offset - 1n)).toBe(points[n - 1]?.position ?? 0)
      expect(index.positionOfTimestamp(point.timestamp)).toBe(points[n - 1]?.position ?? 0)
      expect(index.positionOfTimestamp(point.timestamp + 1n)).toBe(point.position)
    }
  })

  it('ignores a torn last entry and grows past its first allocation', () => {
    const index = new SparseIndex(new Uint8Array(30))
    expect(index.entries).toBe(1)
    for (let n = 1; n < 3000; n++) index.push(encodeIndexPoint({ offset: BigInt(n), timestamp: 0n, position: n }))
    expect(index.entry(2999)).toEqual({ offset: 2999n, timestamp: 0n, position: 2999 })
    expect(index.toBytes().length).toBe(3000 * 24)
  })
})
