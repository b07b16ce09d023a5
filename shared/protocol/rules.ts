/**
 * Every switch that breaks a rule of the protocol, in one frozen record that is injected into a replica. A simulator turns
 * one off to show that a checker notices; a lesson turns one off to show what the rule is for. A node process refuses to
 * start with any of them off. The codes are those of drills and reports.
 */
export interface Rules {
  /** R01: a view-scoped frame leaves only after the superblock holds (view, log_view). */
  readonly durableBeforeSend: boolean
  /** R02: a valid slot beside a corrupt one refuses; off: boots from the valid one. */
  readonly corruptSlotRefuses: boolean
  /** R03: a finished superblock write marks what was written as durable; off: what is current by then. */
  readonly writtenViewIsDurable: boolean
  /** R04: an empty header suffix denies nothing; off: it counts as a nack of every op, and late votes carry one. */
  readonly emptySuffixDeniesNothing: boolean
  /** R05: a sender at the canonical log_view denies an op only by its nack bit; off: also by leaving it out. */
  readonly canonicalDeniesByBit: boolean
  /** R06: an op is acknowledged when the journal holds this prepare; off: when its slot holds anything. */
  readonly ackComparesChecksum: boolean
  /** R07: the pipeline is popped after the journal was read; off: before, and an op whose read must wait is lost. */
  readonly popAfterRead: boolean
  /** R08: log_view rises when the new log is held; off: at the merge. */
  readonly logViewRisesWhenHeld: boolean
  /** R09: a StartView that is shorter than the log cuts the log; off: the tail stays. */
  readonly shorterStartViewCuts: boolean
  /** R10: a primary answers a client after its own log entry is synced; off: before. */
  readonly replyAfterSync: boolean
  /** R11: a backup forwards along the chain and acknowledges after its log entry is synced; off: before. */
  readonly forwardAfterSync: boolean
  /** R12: a full client table evicts by committed order; off: by the order of the pipeline. */
  readonly evictByCommitOrder: boolean
  /** R13: the client table is part of the snapshot; off: it is left out. */
  readonly snapshotHoldsClients: boolean
  /** R14: the superblock names a snapshot after that snapshot is synced; off: before. */
  readonly pairAfterSnapshotSync: boolean
  /** R15: the log is drained after the superblock names the snapshot; off: before. */
  readonly drainAfterPairing: boolean
  /** R16: a drain keeps the entry at the commit point; off: drops it. */
  readonly drainKeepsCommitPoint: boolean
  /** R17: a rename is followed by a sync of its directory; off: not. */
  readonly renameSyncsDirectory: boolean
  /** R18: bytes behind a torn tail are probed for entries before the tail is cut; off: cut without a look. */
  readonly tornTailIsProbed: boolean
  /** R19: a probe's answer counts only with the nonce of this life; off: with any. */
  readonly nonceChecked: boolean
  /** R20: the first DoViewChange of a replica counts; off: a later one takes its place. */
  readonly firstVoteStands: boolean
  /** R21: a recovering replica casts no vote; off: it does. */
  readonly recoveringIsSilent: boolean
  /** R22: how far a commit may lie behind an op is bounded by the cluster's depth; off: by this replica's own. */
  readonly commitBoundIsShared: boolean
  /** R23: an unproven suffix is not served; off: it is. */
  readonly unprovenIsWithheld: boolean
  /** R24: an op is cut when a full nack quorum denies it; off: one denial fewer is enough. */
  readonly fullNackQuorum: boolean
  /** R25: a restarted replica is a backup until it has adopted a view; off: the primary by index resumes as primary. */
  readonly restartedIsNoPrimary: boolean
  /** P01: the cursors of log and index move together, when both halves are durable; off: after the first half. */
  readonly cursorsMoveTogether: boolean
  /** P02: every segment is walked from byte 0; off: from the last index entry. */
  readonly walkFromStart: boolean
  /** P03: a mint floor is spent after a successful append; off: before. */
  readonly floorSpentAfterAppend: boolean
  /** P04: a reservation says what was promised, not what is held; off: it counts as data. */
  readonly reservationIsNoData: boolean
  /** P05: a reservation collapses only after a flush that succeeded; off: after any. */
  readonly collapseNeedsFlush: boolean
  /** P06: a hole in the offsets lies on a segment boundary; off: it may lie inside. */
  readonly holeOnBoundary: boolean
  /** P07: a descriptor is closed when its last reader is done; off: when it is evicted. */
  readonly readersHoldDescriptors: boolean
  /** P08: a batch counts as already on disk when its checksum is the same; off: when its offsets are. */
  readonly onDiskComparesChecksum: boolean
  /** P09: a write to an eager topic is acknowledged after it is persisted; off: before. */
  readonly eagerPersistsFirst: boolean
  /** P10: segments are unlinked after the purge is recorded; off: before. */
  readonly purgeRecordedFirst: boolean
  /** L01: an index that its log contradicts is cut back or built anew; off: it refuses the partition. */
  readonly indexIsDerived: boolean
  /** L02: a failed persist ends the process; off: it is passed over, and who waits for it waits on. */
  readonly failedPersistExits: boolean
  /** L03: a node alone begins above what its last life had reserved; off: behind what it holds. */
  readonly offsetsAreReserved: boolean
  /** L04: a write at the wrong door is carried to the primary; off: it is turned away. */
  readonly misroutedIsForwarded: boolean
  /** L05: what lies behind damage and could not be searched within the budget refuses; off: it is cut as a torn tail. */
  readonly unsearchedRefuses: boolean
}

export type RuleName = keyof Rules

/** The code of each rule in reports, drills and `--rule-off`. */
export const RULE_CODES: Readonly<Record<RuleName, string>> = Object.freeze({
  durableBeforeSend: 'R01',
  corruptSlotRefuses: 'R02',
  writtenViewIsDurable: 'R03',
  emptySuffixDeniesNothing: 'R04',
  canonicalDeniesByBit: 'R05',
  ackComparesChecksum: 'R06',
  popAfterRead: 'R07',
  logViewRisesWhenHeld: 'R08',
  shorterStartViewCuts: 'R09',
  replyAfterSync: 'R10',
  forwardAfterSync: 'R11',
  evictByCommitOrder: 'R12',
  snapshotHoldsClients: 'R13',
  pairAfterSnapshotSync: 'R14',
  drainAfterPairing: 'R15',
  drainKeepsCommitPoint: 'R16',
  renameSyncsDirectory: 'R17',
  tornTailIsProbed: 'R18',
  nonceChecked: 'R19',
  firstVoteStands: 'R20',
  recoveringIsSilent: 'R21',
  commitBoundIsShared: 'R22',
  unprovenIsWithheld: 'R23',
  fullNackQuorum: 'R24',
  restartedIsNoPrimary: 'R25',
  cursorsMoveTogether: 'P01',
  walkFromStart: 'P02',
  floorSpentAfterAppend: 'P03',
  reservationIsNoData: 'P04',
  collapseNeedsFlush: 'P05',
  holeOnBoundary: 'P06',
  readersHoldDescriptors: 'P07',
  onDiskComparesChecksum: 'P08',
  eagerPersistsFirst: 'P09',
  purgeRecordedFirst: 'P10',
  indexIsDerived: 'L01',
  failedPersistExits: 'L02',
  offsetsAreReserved: 'L03',
  misroutedIsForwarded: 'L04',
  unsearchedRefuses: 'L05',
})

export const RULE_NAMES = Object.freeze(Object.keys(RULE_CODES) as RuleName[])

export const RULES_ON: Rules = Object.freeze(
  Object.fromEntries(RULE_NAMES.map(name => [name, true])) as unknown as Rules,
)

/** The rule of a name or a code, in any case; undefined if there is none. */
export function ruleOf(text: string): RuleName | undefined {
  const wanted = text.toLowerCase()
  return RULE_NAMES.find(name => name.toLowerCase() === wanted || RULE_CODES[name].toLowerCase() === wanted)
}
