/**
 * Permissions (spec wire.md §4.4).
 *
 *   10 global booleans | hasStreams u8 | per stream: id u32 | 6 booleans | hasTopics u8
 *                                        | per topic: id u32 | 4 booleans | nextTopic u8
 *                                      | nextStream u8
 *
 * Booleans and flags are strictly 0 or 1; streams and topics ascend by id, and need not exist.
 */
import { DecodeError } from '../bytes/errors.ts'
import { bool, type Codec, type CodecValue, struct, u32 } from './codec.ts'

export const globalPermissions = struct({
  manageServers: bool,
  readServers: bool,
  manageUsers: bool,
  readUsers: bool,
  manageStreams: bool,
  readStreams: bool,
  manageTopics: bool,
  readTopics: bool,
  pollMessages: bool,
  sendMessages: bool,
})
export type GlobalPermissions = CodecValue<typeof globalPermissions>

/** A list behind a flag, each item followed by "one more comes". Undefined when the flag is 0; never an empty list. */
const chained = <T extends { readonly id: number }>(item: Codec<T>): Codec<readonly T[] | undefined> => ({
  read(reader) {
    if (!bool.read(reader)) return undefined
    const value: T[] = []
    let more = true
    while (more) {
      const at = reader.at
      const entry = item.read(reader)
      const last = value.at(-1)
      if (last && last.id >= entry.id) throw new DecodeError('BadValue', at, `id ${entry.id} does not ascend`)
      value.push(entry)
      more = bool.read(reader)
    }
    return value
  },
  write(writer, value) {
    bool.write(writer, value !== undefined && value.length > 0)
    value?.forEach((entry, index) => {
      item.write(writer, entry)
      bool.write(writer, index + 1 < value.length)
    })
  },
  toJson: value => (value === undefined ? null : value.map(entry => item.toJson(entry))),
  fromJson: json => {
    if (json === null) return undefined
    if (!Array.isArray(json)) throw new TypeError('expected a list')
    return json.map(entry => item.fromJson(entry))
  },
})

export const topicPermissions = struct({
  id: u32,
  manageTopic: bool,
  readTopic: bool,
  pollMessages: bool,
  sendMessages: bool,
})
export type TopicPermissions = CodecValue<typeof topicPermissions>

export const streamPermissions = struct({
  id: u32,
  manageStream: bool,
  readStream: bool,
  manageTopics: bool,
  readTopics: bool,
  pollMessages: bool,
  sendMessages: bool,
  topics: chained(topicPermissions),
})
export type StreamPermissions = CodecValue<typeof streamPermissions>

export const permissions = struct({ global: globalPermissions, streams: chained(streamPermissions) })
export type Permissions = CodecValue<typeof permissions>
