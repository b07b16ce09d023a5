import { expect, test } from 'vitest'
import { ClientId } from '../bytes/units.ts'
import { type CachedReply, ClientTable, REPLY_RING_CAPACITY } from './client-table.ts'

const client = (n: number) => ClientId(BigInt(n))
const reply = (request: bigint, commit: bigint, requestChecksum = 0n): CachedReply => ({
  request,
  requestChecksum,
  commit,
  frame: new Uint8Array([Number(commit)]),
})
const A = client(1)

function registered(): ClientTable {
  const table = new ClientTable(2)
  table.commitRegister(A, 0, reply(0n, 10n))
  return table
}

test('CT-03 a request under an older session is fenced, one without a session is told so', () => {
  const table = registered()
  table.commitRegister(A, 0, reply(0n, 20n))
  expect(table.check(A, 10n, 1n, 0n).kind).toBe('fenced')
  expect(table.check(A, 20n, 1n, 0n).kind).toBe('new')
  expect(table.check(A, 21n, 1n, 0n).kind).toBe('epoch_ahead')
  expect(table.check(client(2), 20n, 1n, 0n).kind).toBe('no_session')
})

test('CT-01 the same request number under a new session answers with the bytes of the first time', () => {
  const table = registered()
  table.commitReply(A, reply(1n, 11n))
  table.commitRegister(A, 0, reply(0n, 20n))
  expect(table.check(A, 20n, 1n, 0n)).toEqual({ kind: 'duplicate', frame: new Uint8Array([11]) })
  expect(table.check(A, 20n, 2n, 0n).kind).toBe('new')
})

test('CT-08 a reply that aged out of the ring answers already applied', () => {
  const table = registered()
  for (let request = 1n; request <= BigInt(REPLY_RING_CAPACITY) + 1n; request++)
    table.commitReply(A, reply(request, 10n + request))
  expect(table.check(A, 10n, 1n, 0n).kind).toBe('already_applied')
  expect(table.check(A, 10n, 2n, 0n).kind).toBe('duplicate')
})

test('CT-09 a reused number with another checksum is refused, checksum 0 disables the compare', () => {
  const table = registered()
  table.commitReply(A, reply(1n, 11n, 7n))
  expect(table.check(A, 10n, 1n, 8n).kind).toBe('checksum_mismatch')
  expect(table.check(A, 10n, 1n, 0n).kind).toBe('duplicate')
  table.commitReply(A, reply(2n, 12n, 9n))
  expect(table.check(A, 10n, 1n, 8n).kind).toBe('checksum_mismatch')
  expect(table.check(A, 10n, 1n, 7n).kind).toBe('duplicate')
})

test('CT-10 a gap ahead is new: the watermark is a maximum', () => {
  const table = registered()
  table.commitReply(A, reply(5n, 15n))
  expect(table.check(A, 10n, 9n, 0n).kind).toBe('new')
  table.commitReply(A, reply(9n, 19n))
  expect(table.check(A, 10n, 7n, 0n).kind).toBe('already_applied')
})

test('a regressing replay changes nothing', () => {
  const table = registered()
  table.commitReply(A, reply(5n, 15n))
  table.commitReply(A, reply(4n, 16n))
  table.commitReply(A, reply(6n, 14n))
  expect(table.get(A)).toMatchObject({ watermark: 5n, latestCommit: 15n })
})

test('a full table evicts the client whose newest reply is the oldest, ties to the lowest slot', () => {
  const table = registered()
  table.commitRegister(client(2), 0, reply(0n, 11n))
  table.commitReply(A, reply(1n, 12n))
  table.commitRegister(client(3), 0, reply(0n, 13n))
  expect([...table.entries()].map(([slot, entry]) => [slot, entry.client])).toEqual([
    [0, A],
    [1, client(3)],
  ])
})

test('a logout frees the slot and the lowest one is used again', () => {
  const table = registered()
  table.commitRegister(client(2), 0, reply(0n, 11n))
  expect(table.remove(A)).toBe(true)
  expect(table.remove(A)).toBe(false)
  table.commitRegister(client(3), 0, reply(0n, 12n))
  expect([...table.entries()].map(([slot, entry]) => [slot, entry.client])).toEqual([
    [0, client(3)],
    [1, client(2)],
  ])
})
