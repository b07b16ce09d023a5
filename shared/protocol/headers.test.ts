/** Headers whose table is also written down as straight code: both say the same of any bytes and any record. */
import { expect, test } from 'vitest'
import { layout } from '../bytes/layout.ts'
import { Dice } from '../simulator/dice.ts'
import { commitLayout, HEADER_BYTES, prepareLayout, prepareOkLayout, replyLayout } from './headers.ts'

const STRAIGHT = [prepareLayout, prepareOkLayout, commitLayout, replyLayout]

test.each(STRAIGHT.map(each => [each.name, each] as const))(
  '%s: straight code reads and writes what the table says',
  (_, one) => {
    const table = layout(one.name, one.size, one.fields, one.gaps)
    const dice = new Dice(1n, one.name)
    for (let round = 0; round < 50; round++) {
      // Halves of wide numbers are often empty: that is a case of its own.
      const bytes = dice.bytes(HEADER_BYTES).map((byte, at) => (dice.chance(0.3) && at % 8 === 0 ? 0 : byte))
      for (let at = 0; at < HEADER_BYTES; at += 8) if (dice.chance(0.4)) bytes.fill(0, at, at + 8)
      for (const { at, size } of one.gaps) bytes.fill(0, at, at + size)
      const record = table.decode(bytes)
      expect(one.decode(bytes)).toEqual(record)
      expect(Object.keys(one.decode(bytes))).toEqual(Object.keys(record))
      expect(one.encode(record as never)).toEqual(bytes)
    }
  },
)

test.each(STRAIGHT.map(each => [each.name, each] as const))(
  '%s: a value that its field cannot hold is refused',
  (_, one) => {
    const blank = one.decode(new Uint8Array(HEADER_BYTES)) as Record<string, unknown>
    for (const [key, { size, type }] of Object.entries(one.fields)) {
      const wide = type === 'u64' || type === 'u128'
      for (const value of wide ? [-1n, 1n << BigInt(size * 8)] : [-1, 2 ** (size * 8), 0.5])
        expect(() => one.encode({ ...blank, [key]: value } as never), `${key} ${value}`).toThrow(RangeError)
    }
  },
)
