/** Options of a topic in the form that a program writes; what is absent is the server's to choose (spec wire.md §4.6). */
import { type OptionEntry, TlvKind, type TlvKindName, tlvOf } from '../protocol/tlv.ts'

export interface TopicOptions {
  readonly compressionAlgorithm?: 'none' | 'gzip'
  /** µs; 2^64-1 = never. */
  readonly messageExpiry?: bigint
  /** Bytes; 2^64-1 = unlimited. */
  readonly maxTopicSize?: bigint
  /** Bytes; a multiple of 512 within 1 MiB to 1 GiB. */
  readonly segmentSize?: bigint
  readonly enforceFsync?: boolean
  readonly messagesRequiredToSave?: number
  readonly sizeOfMessagesRequiredToSave?: bigint
  readonly preallocateSegments?: boolean
}

const RULES: readonly (readonly [keyof TopicOptions, string, TlvKindName])[] = [
  ['compressionAlgorithm', 'compression_algorithm', 'string'],
  ['enforceFsync', 'enforce_fsync', 'bool'],
  ['maxTopicSize', 'max_topic_size', 'u64'],
  ['messageExpiry', 'message_expiry', 'u64'],
  ['messagesRequiredToSave', 'messages_required_to_save', 'u32'],
  ['preallocateSegments', 'preallocate_segments', 'bool'],
  ['segmentSize', 'segment_size', 'u64'],
  ['sizeOfMessagesRequiredToSave', 'size_of_messages_required_to_save', 'u64'],
]

/** In the order of the keys' bytes. */
export function topicOptions(options: TopicOptions): OptionEntry[] {
  return RULES.flatMap(([member, key, kind]) => {
    const value = options[member]
    return value === undefined ? [] : [{ key, kind: TlvKind[kind], value: tlvOf(kind, value).bytes }]
  })
}
