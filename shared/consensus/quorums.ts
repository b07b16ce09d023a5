/**
 * Quorum sizes of a group of `n` replicas, 1..32 (spec consensus.md §1.3). Two properties carry everything and hold for
 * every n: replication + viewChange > n (a new view hears of every committed op) and nack + replication > n (an op that
 * a nack quorum never prepared cannot have been committed). The nack quorum licenses truncation and is never loosened.
 */
export interface Quorums {
  readonly replication: number
  readonly viewChange: number
  readonly nack: number
  /** Other replicas whose StartViewChange lets this one send its DoViewChange. */
  readonly faults: number
}

export const REPLICAS_MAX = 32
const QUORUM_REPLICATION_MAX = 3

/** Throws RangeError outside 1..32. */
export function quorumsOf(n: number): Quorums {
  if (!Number.isInteger(n) || n < 1 || n > REPLICAS_MAX)
    throw new RangeError(`a group has 1..${REPLICAS_MAX} replicas, not ${n}`)
  const replication = n === 2 ? 2 : Math.min(Math.ceil(n / 2), QUORUM_REPLICATION_MAX)
  return {
    replication,
    viewChange: n === 2 ? 2 : n - replication + 1,
    nack: n - replication + 1,
    faults: Math.floor((n - 1) / 2),
  }
}
