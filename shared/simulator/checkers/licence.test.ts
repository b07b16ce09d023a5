/** The licence to truncate: who sees an op reached, and not denied, objects; an own vote that nobody has seen may have denied. */
import { beforeAll, expect, test } from 'vitest'
import { createHash, type Hash } from '../../bytes/hash.ts'
import { Op, ReplicaId, View } from '../../bytes/units.ts'
import { sealFrame } from '../../protocol/frames.ts'
import { METADATA_GROUP } from '../../protocol/groups.ts'
import { Licence } from './licence.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const from = (replica: number) => ({
  cluster: 1n,
  view: View(1),
  replica: ReplicaId(replica),
  group: METADATA_GROUP,
  commit: Op(0n),
  logStart: 0n,
  firstBase: 0n,
  jumpBase: 0n,
  originKnown: 0,
})
const vote = (replica: number, op: number) =>
  sealFrame(hash, 'DoViewChange', {
    ...from(replica),
    op: Op(BigInt(op)),
    logView: View(0),
    heldFrontier: 0n,
    reservedFrontier: 0n,
    committedFrontier: 0n,
    forgetful: 0,
    nackBitset: 0n,
    presentBitset: 0n,
  })
/** Replica 1 begins view 1 of three replicas with this head, after these votes. */
function begins(head: number, votes: readonly Uint8Array[]): string | undefined {
  const licence = new Licence(3)
  for (const frame of votes) licence.voted('metadata', frame)
  return licence.began('metadata', sealFrame(hash, 'StartView', { ...from(1), op: Op(BigInt(head)), incarnation: 0n }))
}

test('a view may begin without an op that two of three deny', () => {
  expect(begins(60, [vote(0, 61), vote(1, 60), vote(2, 60)])).toBeUndefined()
})

test('a view that begins without an op that two of three reach is objected to', () => {
  expect(begins(60, [vote(0, 61), vote(1, 61), vote(2, 60)])).toMatch(/begins without op 61/)
})

test('the own vote of a candidate with a disk too slow to send it may be the second that denies', () => {
  expect(begins(60, [vote(0, 61), vote(2, 60)])).toBeUndefined()
})

test('an own vote that nobody has seen denies nothing alone', () => {
  expect(begins(60, [vote(0, 61), vote(2, 61)])).toMatch(/begins without op 61/)
})
