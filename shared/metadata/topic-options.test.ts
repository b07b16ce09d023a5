import { describe, expect, test } from 'vitest'
import { U64_MAX } from '../bytes/units.ts'
import type { OptionEntry } from '../protocol/tlv.ts'
import { durationFromText, encodeValue, sizeFromText, ValueKind } from './option-values.ts'
import {
  admitCreateOptions,
  admitUpdateOptions,
  patchOptions,
  settingsOf,
  storeOptions,
  TOPIC_OPTIONS,
} from './topic-options.ts'

const text = (key: string, value: string): OptionEntry => ({
  key,
  kind: ValueKind.String,
  value: new TextEncoder().encode(value),
})
const u64 = (key: string, value: bigint): OptionEntry => ({
  key,
  kind: ValueKind.U64,
  value: encodeValue(ValueKind.U64, value),
})
const u32 = (key: string, value: number): OptionEntry => ({
  key,
  kind: ValueKind.U32,
  value: encodeValue(ValueKind.U32, value),
})
const bool = (key: string, value: number): OptionEntry => ({
  key,
  kind: ValueKind.Bool,
  value: new Uint8Array([value]),
})

const MIB = 1_048_576n

describe('admission of a create', () => {
  test('answers every key: explicit as sent, canonical; the others as defaults; both in key order', () => {
    const admitted = admitCreateOptions([text('segment_size', '2 MiB'), bool('enforce_fsync', 1)], 1)
    if (!admitted.ok) throw new Error('refused')
    const { explicit, derived } = admitted.value
    expect(explicit).toEqual([bool('enforce_fsync', 1), u64('segment_size', 2n * MIB)])
    const keys = derived.map(entry => entry.key)
    expect(keys).toEqual([...keys].sort())
    expect([...keys, 'enforce_fsync', 'segment_size'].sort()).toEqual(TOPIC_OPTIONS.map(option => option.key).sort())
  })

  test.each([
    ['an unknown key', [text('colour', 'red')], 4041],
    ['a value of another kind', [u32('segment_size', 5)], 4042],
    ['a segment below 1 MiB', [u64('segment_size', MIB - 512n)], 4042],
    ['a segment above 1 GiB', [u64('segment_size', 1024n * MIB + 512n)], 4042],
    ['a segment that is no multiple of 512', [u64('segment_size', MIB + 1n)], 4042],
    ['no messages required', [u32('messages_required_to_save', 0)], 4042],
    ['too many messages required', [u32('messages_required_to_save', 16_777_217)], 4042],
    ['a flag that is neither 0 nor 1', [bool('enforce_fsync', 2)], 4042],
    ['an unknown compression', [text('compression_algorithm', 'zip')], 4042],
    ['a cap below the segment', [u64('max_topic_size', MIB)], 1019],
    ['more than 64 GiB preallocated', [bool('preallocate_segments', 1)], 4042],
  ] as const)('refuses %s', (_, entries, status) => {
    expect(admitCreateOptions(entries, 100)).toEqual({ ok: false, status })
  })

  test('takes the bounds themselves', () => {
    const entries = [
      u64('segment_size', MIB),
      u64('max_topic_size', MIB),
      u32('messages_required_to_save', 16_777_216),
      u64('size_of_messages_required_to_save', 1024n * MIB),
      bool('preallocate_segments', 1),
    ]
    expect(admitCreateOptions(entries, 65_536).ok).toBe(true)
    expect(admitCreateOptions(entries, 65_537)).toEqual({ ok: false, status: 4042 })
  })

  test('a 0 means the default and reads back as it', () => {
    const admitted = admitCreateOptions([u64('message_expiry', 0n), u64('segment_size', 0n)], 1)
    if (!admitted.ok) throw new Error('refused')
    const stored = storeOptions(admitted.value.explicit, admitted.value.derived)
    expect(settingsOf(stored)).toMatchObject({ messageExpiry: U64_MAX, segmentSize: 1024n * MIB })
    expect(stored.find(option => option.key === 'segment_size')).toEqual({
      ...u64('segment_size', 1024n * MIB),
      explicit: true,
    })
  })
})

test('an update names three keys only, and keeps what it does not name', () => {
  expect(admitUpdateOptions([bool('enforce_fsync', 1)])).toEqual({ ok: false, status: 4041 })
  const stored = storeOptions([u64('max_topic_size', 5n * MIB)], [u64('message_expiry', U64_MAX)])
  const patch = admitUpdateOptions([text('message_expiry', '1h 30m')])
  if (!patch.ok) throw new Error('refused')
  const patched = patchOptions(stored, patch.value)
  expect(settingsOf(patched)).toMatchObject({ messageExpiry: 5_400_000_000n, maxTopicSize: 5n * MIB })
  expect(patched.every(option => option.explicit)).toBe(true)
})

test('apply carries along what this build does not know', () => {
  const strange = { key: 'zz_later', kind: 99, value: new Uint8Array([1]) }
  const stored = storeOptions([strange], [])
  expect(stored).toEqual([{ ...strange, explicit: true }])
  expect(settingsOf(stored)).toEqual(settingsOf([]))
})

test.each([
  ['7 days', 604_800_000_000n],
  ['1h 30m', 5_400_000_000n],
  ['250ms', 250_000n],
  ['60000000', 60_000_000n],
  ['never_expire', U64_MAX],
  ['server_default', 0n],
  ['soon', undefined],
  ['7 parsecs', undefined],
  ['', undefined],
] as const)('the duration %j is %s µs', (written, micros) => {
  expect(durationFromText(written)).toBe(micros)
})

test.each([
  ['1 GiB', 1024n * MIB],
  ['16MiB', 16n * MIB],
  ['1 kB', 1000n],
  ['512', 512n],
  ['unlimited', U64_MAX],
  ['99999999999999999999 TiB', undefined],
  ['much', undefined],
] as const)('the size %j is %s bytes', (written, bytes) => {
  expect(sizeFromText(written)).toBe(bytes)
})
