/**
 * The profile of drives that lie (spec drills.md §2.3, 8): `sim --profile fsync-lie`. A sync completes, and the next loss of
 * power may drop what it covered. No protocol can keep its promises on such a drive, so those of a run are weakened, from the
 * moment on when a lie has come out: to *detect, never serve wrong bytes*. Until then every checker holds in full, since what
 * a drive says is durable is all that a replica can know.
 */
import type { CheckerName } from './checkers/checker.ts'
import type { Dice } from './dice.ts'
import type { Focus } from './focus.ts'
import type { LieShape } from './lying-drive.ts'

export interface Lies extends LieShape {
  /** Every drive of the cluster lies, or that of node 0 only. */
  readonly liars: 'all' | 'one'
}

/** Power fails often, and nothing else happens to a disk: what is found is the lie's. */
export const FSYNC_LIE: Focus = {
  crashes: 8,
  crashKinds: ['process', 'drop', 'part', 'torn', 'keep'],
  everybody: 0.3,
  meanDownMs: 2_000,
  diskErrors: 0,
  wedges: 0,
  slowDisks: 0,
  rot: 0,
  lostDisks: 0,
  smallCore: false,
  bootBudgetMs: 30_000,
  workload: {
    clients: 4,
    pauseMs: 1_000,
    metadata: 3,
    produce: 10,
    poll: 5,
    batchMessages: 2,
    payloadBytes: 20_000,
    saveEach: 6,
  },
  partition: { segmentBytesMax: 65_536 },
}

export const drawLies = (dice: Dice): Lies => ({
  share: dice.pick([1, 1, 0.5, 0.1]),
  heldMs: dice.pick([1_000, 5_000, 30_000, 3_600_000]),
  liars: dice.pick(['all', 'all', 'one'] as const),
})

export const WEAKENED_CLAIM = 'detect, never serve wrong bytes'

/** What becomes of each promise once a lie has come out. A checker that is new must be thought about here. */
export const UNDER_LIES: Readonly<Record<CheckerName, 'kept' | 'weakened'>> = {
  // Nothing is served that nobody wrote, where nobody wrote it.
  invented: 'kept',
  'wrong-message': 'kept',
  poll: 'kept',
  'index-soundness': 'kept',
  // Damage is detected: a node serves what verifies, or refuses with a code; a second reading of its disk agrees with it.
  'damage-refused': 'kept',
  'damage-accepted': 'kept',
  'cold-open': 'kept',
  // Every boot comes to an end within its budget, and no process dies of an exception.
  boot: 'kept',
  engine: 'kept',
  // A replica does nothing before its drive has said that what it rests on is durable.
  'durable-before-send': 'kept',
  'ack-before-durable': 'kept',
  'apply-before-durable': 'kept',
  reservation: 'kept',
  'apply-order': 'kept',
  // What is said within one life, and by whom, does not rest on what an earlier one wrote.
  'unelected-primary': 'kept',
  'recovering-votes': 'kept',
  'vote-replaced': 'kept',
  'former-life': 'kept',
  'frames-per-commit': 'kept',
  // What was acknowledged and synced may be gone: so may a quorum's memory of an op, and others get its number.
  agreement: 'weakened',
  'hash-chain': 'weakened',
  'ack-persistence': 'weakened',
  'commit-quorum': 'weakened',
  'truncation-licence': 'weakened',
  'log-view': 'weakened',
  'byte-identity': 'weakened',
  'client-table': 'weakened',
  'applied-twice': 'weakened',
  'lost-metadata': 'weakened',
  'metadata-answer': 'weakened',
  'model-answer': 'weakened',
  'stale-answer': 'weakened',
  'lost-message': 'weakened',
  // So may the record of a vote, or of a reservation.
  'vote-once': 'weakened',
  'offset-reuse': 'weakened',
  // So may a snapshot that a superblock names, or the log behind it: the boot refuses.
  pairing: 'weakened',
  'log-cover': 'weakened',
  // Who refuses does not serve, and who waits for what is gone waits for ever.
  'core-liveness': 'weakened',
}

export const weakenedCheckers = (): CheckerName[] =>
  (Object.keys(UNDER_LIES) as CheckerName[]).filter(name => UNDER_LIES[name] === 'weakened')
