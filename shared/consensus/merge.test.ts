import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Op, ReplicaId, View } from '../bytes/units.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { mergeVotes } from './merge.ts'
import { quorumsOf } from './quorums.ts'
import type { StoredDvc } from './state.ts'
import { buildSuffix, type DvcSuffix } from './suffix.ts'
import { chainOf } from './testing/headers.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

interface Voter {
  readonly log: readonly PrepareHeader[]
  readonly logView?: number
  readonly commit?: number
  /** Head, when it is above what is held. */
  readonly op?: number
  readonly announced?: readonly PrepareHeader[]
  readonly lostTo?: number
}

/** The vote that an honest replica with this log casts. Index 0 of a log is op 1. */
function vote(
  replica: number,
  { log, logView = 0, commit = 0, op = log.length, announced, lostTo = 0 }: Voter,
): StoredDvc {
  const suffix = buildSuffix(Op(BigInt(op)), Op(BigInt(commit)), {
    held: at => log[Number(at) - 1],
    announced: at => announced?.[Number(at) - 1],
    lostTo: Op(BigInt(lostTo)),
  })
  return {
    replica: ReplicaId(replica),
    logView: View(logView),
    op: Op(BigInt(op)),
    commit: Op(BigInt(commit)),
    suffix,
    heldFrontier: 0n,
    reservedFrontier: 0n,
    committedFrontier: 0n,
    forgetful: false,
    origin: { known: false, logStart: 0n, firstBase: 0n, jumpBase: 0n },
  }
}
const merge = (n: number, votes: StoredDvc[]) => mergeVotes(votes, n, quorumsOf(n))
const withEntry = (dvc: StoredDvc, op: number, change: Partial<DvcSuffix[number]>): StoredDvc => ({
  ...dvc,
  suffix: dvc.suffix.map(entry => (entry.op === BigInt(op) ? { ...entry, ...change } : entry)),
})

describe('mergeVotes', () => {
  it('waits for the view-change quorum', () => {
    const log = chainOf(hash, 3)
    expect(merge(3, [vote(0, { log })])).toEqual({ kind: 'awaiting_quorum', received: 1 })
    expect(merge(3, [vote(0, { log: [] }), vote(1, { log: [] })])).toMatchObject({
      kind: 'ready',
      opHead: 0n,
      headers: [],
    })
  })

  it('VC-07 a nack quorum truncates an uncommitted op, and one nack fewer keeps it', () => {
    const log = chainOf(hash, 9)
    const short = log.slice(0, 8)
    const two = merge(3, [vote(0, { log, commit: 8 }), vote(1, { log: short, commit: 8 })])
    expect(two).toMatchObject({ kind: 'ready', opHead: 9n })
    const three = merge(3, [
      vote(0, { log, commit: 8 }),
      vote(1, { log: short, commit: 8 }),
      vote(2, { log: short, commit: 8 }),
    ])
    expect(three).toMatchObject({ kind: 'ready', opHead: 8n, commitMax: 8n })
  })

  it('VC-08 a committed op cannot be nacked away: the view stalls', () => {
    const log = chainOf(hash, 9)
    const liar = (replica: number) => withEntry(vote(replica, { log, commit: 8 }), 9, { nack: true, present: false })
    const outcome = merge(3, [vote(0, { log, commit: 9 }), liar(1), liar(2)])
    expect(outcome).toMatchObject({ kind: 'deadlocked', op: 9n })
  })

  it('VC-09 the highest log view is canonical, and a committed header of a stale sender is still installed', () => {
    const canonical = chainOf(hash, 12)
    const stale = chainOf(hash, 12, 9)
    const outcome = merge(3, [
      vote(0, { log: canonical, logView: 2, commit: 10 }),
      vote(1, { log: stale.slice(0, 9), logView: 1, commit: 8 }),
    ])
    if (outcome.kind !== 'ready') throw new Error(outcome.kind)
    expect(outcome.opHead).toBe(12n)
    expect(outcome.headers.map(header => header.checksum)).toEqual(
      canonical
        .slice(9)
        .reverse()
        .map(header => header.checksum),
    )
    const helped = merge(3, [
      vote(0, { log: canonical, logView: 2, commit: 10 }),
      vote(1, { log: canonical.slice(0, 9), logView: 1, commit: 9 }),
    ])
    if (helped.kind !== 'ready') throw new Error(helped.kind)
    expect(helped.committedElsewhere.map(header => header.op)).toEqual([9n])
    expect(helped.committedElsewhere[0]?.checksum).toBe(canonical[8]?.checksum)
  })

  it('VC-09 an older-view nack counts: a different prepare, or one beyond the canonical log', () => {
    const canonical = chainOf(hash, 9)
    const stale = chainOf(hash, 9, 9)
    const outcome = merge(3, [
      vote(0, { log: canonical, logView: 2, commit: 8 }),
      vote(1, { log: stale, logView: 1, commit: 8 }),
      vote(2, { log: stale, logView: 1, commit: 8 }),
    ])
    expect(outcome).toMatchObject({ kind: 'ready', opHead: 8n })
  })

  it('VC-10 a blank header at the commit point waits, and a later vote that carries it decides', () => {
    const log = chainOf(hash, 9)
    const blank = (replica: number) =>
      withEntry(vote(replica, { log, commit: 9 }), 9, { header: undefined, present: false, nack: false })
    expect(merge(3, [blank(0), blank(1)])).toEqual({ kind: 'awaiting_repair', op: 9n })
    expect(merge(3, [blank(0), blank(1), vote(2, { log, commit: 8 })])).toMatchObject({ kind: 'ready', opHead: 9n })
    expect(merge(3, [blank(0), blank(1), blank(2)])).toMatchObject({ kind: 'deadlocked', op: 9n })
  })

  it('VC-11 a header that nobody can serve waits for the last vote, and is never guessed', () => {
    const log = chainOf(hash, 9)
    const unservable = (replica: number) =>
      withEntry(vote(replica, { log, commit: 8 }), 9, { present: false, nack: false })
    expect(merge(3, [unservable(0), unservable(1)])).toEqual({ kind: 'awaiting_repair', op: 9n })
    expect(merge(3, [unservable(0), unservable(1), unservable(2)])).toMatchObject({ kind: 'deadlocked', op: 9n })
  })

  it('G31 two survivors elect although one has a header without its body', () => {
    const log = chainOf(hash, 9)
    const outcome = merge(3, [
      vote(1, { log: log.slice(0, 8), op: 9, announced: log, commit: 8 }),
      vote(2, { log: log.slice(0, 8), commit: 8 }),
    ])
    expect(outcome).toMatchObject({ kind: 'ready', opHead: 8n })
  })

  it('an op that a replica may have acknowledged and lost is not denied by it', () => {
    const log = chainOf(hash, 9)
    const short = { log: log.slice(0, 8), commit: 8 }
    expect(merge(3, [vote(0, short), vote(1, { ...short, op: 9, lostTo: 9 })])).toEqual({
      kind: 'awaiting_repair',
      op: 9n,
    })
    expect(merge(3, [vote(0, short), vote(1, short)])).toMatchObject({ kind: 'ready', opHead: 8n })
  })

  it('two canonical prepares for one op are never chosen between', () => {
    const one = chainOf(hash, 9)
    const other = chainOf(hash, 9, 9)
    const votes = [vote(0, { log: one, commit: 8 }), vote(1, { log: other, commit: 8 })]
    expect(merge(3, votes)).toEqual({ kind: 'awaiting_repair', op: 9n })
    expect(merge(3, [...votes, vote(2, { log: one, commit: 8 })])).toMatchObject({ kind: 'deadlocked', op: 9n })
  })

  it('an op 127 below a head counts as committed, whatever the suffix floor says', () => {
    const log = chainOf(hash, 140)
    const outcome = merge(3, [vote(0, { log, commit: 5 }), vote(1, { log, commit: 5 })])
    expect(outcome).toMatchObject({ kind: 'ready', opHead: 140n, commitMax: 13n })
  })

  it('never drops an op that a quorum could have committed, and decides once everybody has voted', () => {
    const history = fc.record({
      n: fc.integer({ min: 1, max: 9 }),
      committedInOld: fc.integer({ min: 0, max: 6 }),
      committedInNew: fc.integer({ min: 0, max: 6 }),
      uncommitted: fc.integer({ min: 0, max: 4 }),
      oldTail: fc.integer({ min: 0, max: 4 }),
      draws: fc.array(fc.nat(), { minLength: 80, maxLength: 80 }),
    })
    fc.assert(
      fc.property(history, ({ n, committedInOld, committedInNew, uncommitted, oldTail, draws }) => {
        let at = 0
        const draw = (max: number) => draws[at++ % draws.length]! % (max + 1)
        const quorums = quorumsOf(n)
        const fork = committedInOld + 1
        const committed = committedInOld + committedInNew
        const canonical = chainOf(hash, committed + uncommitted)
        const old = chainOf(hash, committedInOld + oldTail, fork)
        // Who has joined the newer view holds a prefix of its log; a replication quorum holds every committed op of it.
        const members = Array.from({ length: n }, (_, replica) => replica).sort((a, b) => draw(1) * 2 - 1 || a - b)
        const joined = committedInNew > 0 ? quorums.replication : draw(n)
        const voters = members.map((replica, rank): StoredDvc => {
          const inNewView = rank < joined || (committedInNew > 0 && draw(2) === 0)
          if (inNewView) {
            const held =
              rank < quorums.replication
                ? committed + draw(uncommitted)
                : Math.min(committedInOld + draw(committedInNew), committed)
            const holds = rank < joined || held >= committedInOld ? held : committedInOld
            return vote(replica, {
              log: canonical.slice(0, holds),
              logView: 2,
              commit: draw(Math.min(committed, holds)),
            })
          }
          // The rest knows the old log only. A replication quorum held what committed there; a newer view would carry it.
          const length = rank < quorums.replication ? committedInOld + draw(oldTail) : draw(committedInOld + oldTail)
          return vote(replica, {
            log: old.slice(0, length),
            logView: 1,
            commit: draw(Math.min(committedInOld, length)),
          })
        })
        const anyNew = voters.some(voter => voter.logView === 2)
        const mustSurvive = anyNew ? committed : committedInOld
        const log = anyNew ? canonical : old
        const subset = voters.filter(() => draw(2) > 0)
        for (const votes of [subset, voters]) {
          const outcome = mergeVotes(votes, n, quorums)
          if (votes.length < quorums.viewChange) {
            expect(outcome.kind).toBe('awaiting_quorum')
            continue
          }
          if (votes === voters) expect(outcome.kind).toBe('ready')
          expect(outcome.kind).not.toBe('deadlocked')
          if (outcome.kind !== 'ready') continue
          const canon = votes.some(voter => voter.logView === 2) ? canonical : old
          if (canon === log) expect(Number(outcome.opHead)).toBeGreaterThanOrEqual(mustSurvive)
          else expect(Number(outcome.opHead)).toBeGreaterThanOrEqual(committedInOld)
          expect(outcome.commitMax <= outcome.opHead).toBe(true)
          for (const header of outcome.headers) expect(header.checksum).toBe(canon[Number(header.op) - 1]?.checksum)
        }
      }),
      { numRuns: 1500, seed: 4711 },
    )
  })
})
