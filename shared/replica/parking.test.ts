import { expect, test } from 'vitest'
import { GroupId } from '../bytes/units.ts'
import {
  PARKED_BYTES_MAX,
  PARKED_FRAMES_MAX,
  PARKED_TICKS,
  PARKED_TOTAL_BYTES_MAX,
  type Parked,
  Parking,
} from './parking.ts'

const group = (id: number) => GroupId(BigInt(id))

class Log {
  readonly delivered: number[] = []
  readonly discarded: number[] = []
  entry(id: number, bytes = 10): Parked {
    return { bytes, deliver: () => this.delivered.push(id), discard: () => this.discarded.push(id) }
  }
}

test('what waits is handed over in the order of arrival, and the bytes are free again', () => {
  const [parking, log] = [new Parking(), new Log()]
  for (let id = 0; id < 5; id++) expect(parking.park(group(1), log.entry(id), 0)).toBe(true)
  expect(parking.bytes).toBeGreaterThan(0)
  parking.deliver(group(2))
  expect(log.delivered).toEqual([])
  parking.deliver(group(1))
  expect(log.delivered).toEqual([0, 1, 2, 3, 4])
  expect(parking.bytes).toBe(0)
})

test('MF-17 one more than fits is refused: by number, by bytes of one partition, by bytes of all', () => {
  const log = new Log()
  const byNumber = new Parking()
  for (let id = 0; id < PARKED_FRAMES_MAX; id++) expect(byNumber.park(group(1), log.entry(id), 0)).toBe(true)
  expect(byNumber.park(group(1), log.entry(999), 0)).toBe(false)
  expect(byNumber.park(group(2), log.entry(999), 0)).toBe(true)

  const byBytes = new Parking()
  expect(byBytes.park(group(1), log.entry(0, PARKED_BYTES_MAX), 0)).toBe(true)
  expect(byBytes.park(group(1), log.entry(1, 1), 0)).toBe(false)
  for (let id = 2; id * PARKED_BYTES_MAX <= PARKED_TOTAL_BYTES_MAX; id++) {
    expect(byBytes.park(group(id), log.entry(id, PARKED_BYTES_MAX), 0)).toBe(true)
  }
  expect(byBytes.park(group(77), log.entry(77, 1), 0)).toBe(false)
  byBytes.discard(group(1), 'gone')
  expect(byBytes.park(group(77), log.entry(77, 1), 0)).toBe(true)
})

test('what waits too long is discarded, younger entries stay', () => {
  const [parking, log] = [new Parking(), new Log()]
  parking.park(group(1), log.entry(0), 0)
  parking.park(group(1), log.entry(1), 5)
  parking.expire(PARKED_TICKS - 1)
  expect(log.discarded).toEqual([])
  parking.expire(PARKED_TICKS)
  expect(log.discarded).toEqual([0])
  parking.expire(PARKED_TICKS + 5)
  expect(log.discarded).toEqual([0, 1])
  expect(parking.bytes).toBe(0)
})
