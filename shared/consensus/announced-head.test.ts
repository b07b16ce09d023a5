/**
 * The head that a StartView announces lies in memory until it is held. A backup that named the log_view of that log before,
 * and restarted, outvoted whoever held an acknowledged op under an older log_view (seed 141 of `sim --profile views`).
 */
import { beforeAll, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Op } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { TestCluster } from './testing/cluster.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const command = (frame: Uint8Array) => frame[60]

it('a backup that adopts a log and dies before it holds the head does not outvote who holds it', () => {
  const c = new TestCluster(hash, { seed: 5, replicas: 3, plane: 'metadata' })
  const known = [c.request(0), c.request(0)]
  c.until('two ops', () => known.every(token => c.replies.has(token)) && c.converged())
  // Committed by replicas 0 and 1; that it is, only 0 knows.
  c.filter = (from, to, frame) =>
    !(to === 2 && command(frame) === Command.Prepare) && !(from === 0 && command(frame) === Command.Commit)
  const token = c.request(0)
  c.until('committed without replica 2', () => c.replies.has(token))
  c.crash(0)
  // Replica 2 follows the next view, whose log ends with the op, and never gets it.
  c.until('replica 2 has adopted view 1', () => c.node(2).group?.view === 1 && c.node(2).group?.status === 'normal')
  c.run(20)
  expect(c.node(2).journal.highestOp()).toBe(2n)
  expect(c.node(1).journal.highestOp()).toBe(3n)
  c.crash(1)
  c.crash(2)
  c.filter = undefined
  c.restart(2)
  c.restart(0)
  const later = () => c.request(c.primary()?.replica ?? 0)
  c.until('replicas 0 and 2 serve', () => c.primary() !== undefined && c.converged(), 6_000)
  const next = later()
  c.until('the next op is committed', () => c.replies.has(next))
  expect(c.replies.get(next)).toBe(4n)
  expect(c.node(0).journal.header(Op(3n))?.checksum).toBe(c.checker.canonical[2]!.checksum)
})
