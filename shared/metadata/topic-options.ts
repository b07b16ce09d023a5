/**
 * The catalog of topic options (spec metadata-storage.md §4.3, wire.md §4.6). The primary is strict when it admits a request:
 * an unknown key or a bad value refuses it. Apply is lenient: what this build does not know is carried along, so that a
 * difference between builds cannot fork the state. Defaults are constants, never configuration.
 */
import { U64_MAX } from '../bytes/units.ts'
import type { OptionEntry } from '../protocol/tlv.ts'
import {
  decodeText,
  decodeValue,
  durationFromText,
  encodeValue,
  type OptionValue,
  sizeFromText,
  ValueKind,
} from './option-values.ts'

export interface StoredOption extends OptionEntry {
  /** The client sent this key; false: a default, resolved when the topic was created. */
  readonly explicit: boolean
}

/** Options by key, in ascending key order. */
export type OptionMap = readonly StoredOption[]

export const Compression = { None: 1, Gzip: 2 } as const

export interface TopicSettings {
  readonly compression: number
  readonly messageExpiry: bigint
  readonly maxTopicSize: bigint
  readonly segmentSize: bigint
  readonly enforceFsync: boolean
  readonly messagesRequiredToSave: number
  readonly sizeOfMessagesRequiredToSave: bigint
  readonly preallocateSegments: boolean
}

const MIB = 1024n * 1024n
const GIB = 1024n * MIB
/** segment_size times partitions with preallocation (§4.3). */
const PREALLOCATED_BYTES_MAX = 64n * GIB

interface OptionRule {
  readonly key: string
  readonly kind: number
  readonly default: OptionValue
  readonly description: string
  /** 0 means "the server's default". */
  readonly zeroIsDefault?: true
  /** May be changed by an update (wire.md §4.6). */
  readonly updatable?: true
  readonly fromText: (text: string) => OptionValue | undefined
  readonly valid: (value: OptionValue) => boolean
}

const anyOf = (): boolean => true
const u32FromText = (text: string): number | undefined => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined)
const boolFromText = (text: string): boolean | undefined =>
  ({ true: true, false: false })[text.trim().toLowerCase() as 'true' | 'false']

/** In the order in which `options.describe` lists them (wire.md §3.1). */
export const TOPIC_OPTIONS: readonly OptionRule[] = [
  {
    key: 'compression_algorithm',
    kind: ValueKind.String,
    default: 'none',
    description: 'Compression that clients use for payloads: none or gzip',
    updatable: true,
    fromText: text => text.trim().toLowerCase(),
    valid: value => value === 'none' || value === 'gzip',
  },
  {
    key: 'message_expiry',
    kind: ValueKind.U64,
    default: U64_MAX,
    description: 'Age in microseconds after which messages are removed; 2^64-1 is never',
    zeroIsDefault: true,
    updatable: true,
    fromText: durationFromText,
    valid: anyOf,
  },
  {
    key: 'max_topic_size',
    kind: ValueKind.U64,
    default: U64_MAX,
    description: 'Bytes above which the oldest segments are removed; 2^64-1 is unlimited',
    zeroIsDefault: true,
    updatable: true,
    fromText: sizeFromText,
    valid: anyOf,
  },
  {
    key: 'segment_size',
    kind: ValueKind.U64,
    default: GIB,
    description: 'Bytes at which a segment is sealed: 1 MiB to 1 GiB, a multiple of 512',
    zeroIsDefault: true,
    fromText: sizeFromText,
    valid: value => (value as bigint) >= MIB && (value as bigint) <= GIB && (value as bigint) % 512n === 0n,
  },
  {
    key: 'enforce_fsync',
    kind: ValueKind.Bool,
    default: false,
    description: 'Sync every persisted chunk to the disk',
    fromText: boolFromText,
    valid: anyOf,
  },
  {
    key: 'messages_required_to_save',
    kind: ValueKind.U32,
    default: 1024,
    description: 'Messages that wait in memory before they are persisted: 1 to 16777216',
    fromText: u32FromText,
    valid: value => (value as number) >= 1 && (value as number) <= 16_777_216,
  },
  {
    key: 'size_of_messages_required_to_save',
    kind: ValueKind.U64,
    default: MIB,
    description: 'Bytes that wait in memory before they are persisted: at most 1 GiB',
    zeroIsDefault: true,
    fromText: sizeFromText,
    valid: value => (value as bigint) <= GIB,
  },
  {
    key: 'preallocate_segments',
    kind: ValueKind.Bool,
    default: false,
    description: 'Reserve the space of a segment when it is created',
    fromText: boolFromText,
    valid: anyOf,
  },
]

const ruleOf = new Map(TOPIC_OPTIONS.map(rule => [rule.key, rule]))

const isAbsent = (rule: OptionRule, value: OptionValue): boolean => rule.zeroIsDefault === true && value === 0n

/** The value of an entry, from its canonical kind or from text; undefined when it is neither or out of range. */
function readEntry(rule: OptionRule, entry: OptionEntry): OptionValue | undefined {
  const text = entry.kind === ValueKind.String ? decodeText(entry.value) : undefined
  const value =
    text !== undefined
      ? rule.fromText(text)
      : entry.kind === rule.kind
        ? decodeValue(rule.kind, entry.value)
        : undefined
  if (value === undefined) return undefined
  return isAbsent(rule, value) || rule.valid(value) ? value : undefined
}

export type Admission<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly status: OptionStatus }
/** UnsupportedOptionKey, InvalidOptionValue, InvalidTopicSize. */
export type OptionStatus = 4041 | 4042 | 1019

export interface AdmittedOptions {
  readonly explicit: readonly OptionEntry[]
  readonly derived: readonly OptionEntry[]
}

/**
 * What the primary makes of the options of a CreateTopic: canonical explicit values, and a default for every key that was
 * not sent, both in ascending key order.
 */
export function admitCreateOptions(entries: readonly OptionEntry[], partitions: number): Admission<AdmittedOptions> {
  const explicit = admitEntries(entries, ruleOf)
  if (!explicit.ok) return explicit
  const sent = new Set(explicit.value.map(entry => entry.key))
  const derived = TOPIC_OPTIONS.filter(rule => !sent.has(rule.key)).map(rule => canonical(rule, rule.default))
  const settings = settingsOf([...explicit.value, ...derived])
  if (settings.preallocateSegments && settings.segmentSize * BigInt(partitions) > PREALLOCATED_BYTES_MAX)
    return refuse(4042)
  if (settings.maxTopicSize < settings.segmentSize) return refuse(1019)
  return { ok: true, value: { explicit: explicit.value, derived: derived.sort(byKey) } }
}

/** An update may name three keys only; keys that it does not name stay as they are. */
export function admitUpdateOptions(entries: readonly OptionEntry[]): Admission<readonly OptionEntry[]> {
  return admitEntries(entries, new Map(TOPIC_OPTIONS.filter(rule => rule.updatable).map(rule => [rule.key, rule])))
}

function admitEntries(
  entries: readonly OptionEntry[],
  allowed: ReadonlyMap<string, OptionRule>,
): Admission<readonly OptionEntry[]> {
  const admitted: OptionEntry[] = []
  for (const entry of entries) {
    const rule = allowed.get(entry.key)
    if (!rule) return refuse(4041)
    const value = readEntry(rule, entry)
    if (value === undefined) return refuse(4042)
    admitted.push(canonical(rule, value))
  }
  return { ok: true, value: admitted.sort(byKey) }
}

const refuse = (status: OptionStatus): { readonly ok: false; readonly status: OptionStatus } => ({ ok: false, status })
const canonical = (rule: OptionRule, value: OptionValue): OptionEntry => ({
  key: rule.key,
  kind: rule.kind,
  value: encodeValue(rule.kind, value),
})
// Keys are ASCII, so comparing code units compares bytes.
const byKey = (a: OptionEntry, b: OptionEntry): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)

/** Typed settings out of a block; what is absent, unknown or unreadable becomes the default. Never fails. */
export function settingsOf(entries: readonly OptionEntry[]): TopicSettings {
  const values = new Map<string, OptionValue>(TOPIC_OPTIONS.map(rule => [rule.key, rule.default]))
  for (const entry of entries) {
    const rule = ruleOf.get(entry.key)
    const value = rule && readEntry(rule, entry)
    if (rule && value !== undefined && !isAbsent(rule, value)) values.set(rule.key, value)
  }
  return {
    compression: values.get('compression_algorithm') === 'gzip' ? Compression.Gzip : Compression.None,
    messageExpiry: values.get('message_expiry') as bigint,
    maxTopicSize: values.get('max_topic_size') as bigint,
    segmentSize: values.get('segment_size') as bigint,
    enforceFsync: values.get('enforce_fsync') as boolean,
    messagesRequiredToSave: values.get('messages_required_to_save') as number,
    sizeOfMessagesRequiredToSave: values.get('size_of_messages_required_to_save') as bigint,
    preallocateSegments: values.get('preallocate_segments') as boolean,
  }
}

/** The stored map of a new topic: derived entries overlaid by explicit ones, every known value resolved. */
export function storeOptions(explicit: readonly OptionEntry[], derived: readonly OptionEntry[]): OptionMap {
  const merged = new Map<string, StoredOption>()
  for (const entry of derived) merged.set(entry.key, { ...entry, explicit: false })
  for (const entry of explicit) merged.set(entry.key, { ...entry, explicit: true })
  return resolve([...merged.values()].sort(byKey))
}

/** The stored map after an update: named keys become explicit, the others are kept. */
export function patchOptions(stored: OptionMap, patch: readonly OptionEntry[]): OptionMap {
  const merged = new Map(stored.map(entry => [entry.key, entry]))
  for (const entry of patch) merged.set(entry.key, { ...entry, explicit: true })
  return resolve([...merged.values()].sort(byKey))
}

/** Writes the resolved value back into each known entry, so that a 0 that a client sent reads as the default it means. */
function resolve(entries: readonly StoredOption[]): OptionMap {
  return entries.map(entry => {
    const rule = ruleOf.get(entry.key)
    const value = rule && readEntry(rule, entry)
    if (!rule || value === undefined) return entry
    return { ...canonical(rule, isAbsent(rule, value) ? rule.default : value), explicit: entry.explicit }
  })
}
