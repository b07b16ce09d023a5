import { expect, test } from 'vitest'
import { Micros } from '../bytes/units.ts'
import { MetadataState, seedRoot } from '../metadata/state.ts'
import type { PermissionsRecord } from '../storage/snapshot-record.ts'
import { isGranted, POLL, SEND } from './grants.ts'

const PLACE = { stream: 3, topic: 4 }

function state(permissions: PermissionsRecord | undefined): MetadataState {
  const made = new MetadataState()
  seedRoot(made, 'root', 'x')
  made.users.insert(id => ({
    id,
    createdAt: Micros(1n),
    username: 'u',
    passwordHash: 'x',
    status: 'active',
    permissions,
    options: [],
  }))
  return made
}
const flags = (count: number, ...set: number[]) => Array.from({ length: count }, (_, index) => set.includes(index))
const rights = (permissions: PermissionsRecord | undefined) => {
  const made = state(permissions)
  return [isGranted(made, 1, SEND, PLACE), isGranted(made, 1, POLL, PLACE)]
}

test('MF-07 the root user may do everything, a user without a block or without an entry nothing, one that is gone nothing', () => {
  const made = state(undefined)
  expect([isGranted(made, 0, SEND, PLACE), isGranted(made, 0, POLL, PLACE)]).toEqual([true, true])
  expect(rights(undefined)).toEqual([false, false])
  expect(isGranted(made, 9, SEND, PLACE)).toBe(false)
})

test.each([
  ['manage_servers', 0, [false, false]],
  ['read_servers', 1, [false, false]],
  ['manage_users', 2, [false, false]],
  ['read_users', 3, [false, false]],
  ['manage_streams', 4, [true, true]],
  ['read_streams', 5, [false, true]],
  ['manage_topics', 6, [true, true]],
  ['read_topics', 7, [false, true]],
  ['poll_messages', 8, [false, true]],
  ['send_messages', 9, [true, false]],
])('MF-07 global %s', (_, grant, expected) => {
  expect(rights({ global: flags(10, grant), streams: undefined })).toEqual(expected)
})

test.each([
  ['manage_stream', 0, [true, true]],
  ['read_stream', 1, [false, true]],
  ['manage_topics', 2, [true, true]],
  ['read_topics', 3, [false, true]],
  ['poll_messages', 4, [false, true]],
  ['send_messages', 5, [true, false]],
])('MF-07 %s of the stream, and not of another one', (_, grant, expected) => {
  const of = (id: number) => ({
    global: flags(10),
    streams: [{ id, grants: flags(6, grant), topics: undefined }],
  })
  expect(rights(of(PLACE.stream))).toEqual(expected)
  expect(rights(of(8))).toEqual([false, false])
})

test.each([
  ['manage_topic', 0, [true, true]],
  ['read_topic', 1, [false, true]],
  ['poll_messages', 2, [false, true]],
  ['send_messages', 3, [true, false]],
])('MF-07 %s of the topic, and not of another one', (_, grant, expected) => {
  const of = (id: number) => ({
    global: flags(10),
    streams: [{ id: PLACE.stream, grants: flags(6), topics: [{ id, grants: flags(4, grant) }] }],
  })
  expect(rights(of(PLACE.topic))).toEqual(expected)
  expect(rights(of(8))).toEqual([false, false])
})
