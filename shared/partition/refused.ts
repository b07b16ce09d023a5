/** A partition that may not be opened as it is (spec partition.md §6.2, §6.10). Nothing on disk was changed. */
import { EngineError, type ErrorContext } from '../bytes/errors.ts'

export type RefusalCode =
  /** A complete batch lies behind damage: cutting there would destroy durable data. */
  | 'InteriorDamage'
  /** What lies behind damage could not be searched within its budget. */
  | 'UnverifiedResidue'
  | 'OffsetDiscontinuity'
  | 'ForeignBatch'
  /** A segment is missing, or two overlap. */
  | 'Hole'
  | 'EmptyNonTailSegment'
  | 'StorageSizeMismatch'
  | 'PurgeGenerationTorn'
  /** The offsets that a lost segment had given out could not be recorded, so nothing may be given out here. */
  | 'FrontierNotRecorded'
  /** The directory belongs to a later incarnation of the partition than the one asked for. */
  | 'IncarnationAhead'

/** What a refused chain still says, for those who set it aside (§6.10). */
export interface RefusedChain {
  /** Largest offset + 1 that the chain speaks for: walked bytes, names, claims of lost segments. */
  readonly frontier: bigint
  /** Every `.log` has length 0: nothing is lost with it. */
  readonly empty: boolean
}

export class PartitionRefused extends EngineError {
  readonly refusal: RefusalCode
  readonly directory: string
  /** Present when the segments were refused, and not the directory. */
  chain: RefusedChain | undefined

  constructor(refusal: RefusalCode, directory: string, message: string, context: ErrorContext = {}) {
    super(refusal, `${directory}: ${message}`, { path: directory, ...context })
    this.name = 'PartitionRefused'
    this.refusal = refusal
    this.directory = directory
  }
}
