/** Arbitrary values of the codecs, for property tests. */
import fc from 'fast-check'
import type { Micros } from '../../bytes/units.ts'
import type { Ident } from '../ident.ts'
import type { Partitioning } from '../messages.ts'
import { type OptionEntry, type TlvPair, type TlvValue, tlvOf } from '../tlv.ts'

export const u8 = fc.integer({ min: 0, max: 0xff })
export const u16 = fc.integer({ min: 0, max: 0xffff })
export const u32 = fc.integer({ min: 0, max: 0xffff_ffff })
// biome-ignore lint/suspicious/noExplicitAny: brands are of no interest to a generator
export const u64: fc.Arbitrary<any> = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })
// biome-ignore lint/suspicious/noExplicitAny: as above
export const u128: fc.Arbitrary<any> = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n })
/** Floats that a 32-bit float holds exactly; JSON has no form for -0. */
export const f32 = fc.float({ noNaN: true, noDefaultInfinity: true }).map(value => (value === 0 ? 0 : value))

const bytesOf = (text: string) => new TextEncoder().encode(text).length
const textUpTo = (min: number, max: number) =>
  fc
    .string({ unit: 'binary', minLength: min, maxLength: 80 })
    .filter(text => bytesOf(text) <= max && bytesOf(text) >= min)
export const text = textUpTo(0, 255)
export const name = textUpTo(1, 255)
export const bytes = (min: number, max: number) => fc.uint8Array({ minLength: min, maxLength: max })

export const ident: fc.Arbitrary<Ident> = fc.oneof(
  u32.map(id => ({ kind: 'id', id }) as const),
  name.map(value => ({ kind: 'name', name: value }) as const),
)
export const partitioning: fc.Arbitrary<Partitioning> = fc.oneof(
  fc.constant({ kind: 'balanced' } as const),
  u32.map(partition => ({ kind: 'partition', partition }) as const),
  bytes(1, 255).map(key => ({ kind: 'key', key }) as const),
)

export const tlvValue: fc.Arbitrary<TlvValue> = fc.oneof(
  name.map(value => tlvOf('string', value)),
  fc.boolean().map(value => tlvOf('bool', value)),
  fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }).map(value => tlvOf('i64', value)),
  u128.map(value => tlvOf('u128', value)),
  u32.map(value => tlvOf('u32', value)),
  fc.double().map(value => tlvOf('f64', value)),
  fc.record({ kind: fc.integer({ min: 1, max: 255 }), bytes: bytes(1, 255) }),
)
export const userHeaders: fc.Arbitrary<readonly TlvPair[]> = fc.array(fc.record({ key: tlvValue, value: tlvValue }), {
  maxLength: 4,
})
export const options: fc.Arbitrary<readonly OptionEntry[]> = fc.uniqueArray(
  fc.record({ key: name, value: tlvValue }).map(({ key, value }) => ({ key, kind: value.kind, value: value.bytes })),
  { selector: entry => entry.key, maxLength: 4 },
)

export const messages = fc.array(
  fc.record({
    id: u128,
    payload: bytes(0, 60),
    userHeaders: bytes(0, 20),
    originTimestamp: fc.bigInt({ min: 10n, max: 10n + 0xffff_ffffn }).map(value => value as Micros),
  }),
  { minLength: 1, maxLength: 8 },
)
