/**
 * The one writer of a partition's files: group commit (spec partition.md §3.7–3.10, design.md §3).
 *
 * A round takes the committed prefix as far as the active segment lets it, writes log and index concurrently and joins
 * both; only when both landed do the cursors move, together, in the pump. What commits meanwhile goes out in the next
 * round. Log and index have no order between them: an index entry may be on disk before the bytes it names, and recovery
 * knows. The join is `allSettled`: returning at the first failure would leave a write in flight behind our back.
 *
 * A failed persist cannot be retried here, since the op is committed: the process ends (§3.9), and the boot is the retry.
 * Truncation of the uncommitted tail never meets the flusher, which sees committed batches only.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Rules } from '../protocol/rules.ts'
import type { Chain } from './chain.ts'
import { Company } from './company.ts'
import {
  type PartitionHost,
  type PartitionOptions,
  type PartitionSettings,
  PERSIST_MODE,
  type PersistMode,
} from './contract.ts'
import type { PartitionJournal } from './journal.ts'
import { recordOf } from './record.ts'
import { planRound, type RoundPlan } from './round.ts'
import type { Segment } from './segment.ts'
import { encodeIndexPoint } from './sparse-index.ts'

export interface FlusherHooks {
  /** To be done before the batch at offset 0 reaches the disk; undefined when there is nothing. */
  beforeOffsetZero(): Promise<void> | undefined
  /** Runs in the pump after a round has moved the cursors; answers how many had waited for it. */
  settled(): number
}

type Landed = { readonly failed?: EngineError }

export class Flusher {
  private readonly host: PartitionHost
  private readonly settings: PartitionSettings
  private readonly rules: Rules
  private readonly chain: Chain
  private readonly journal: PartitionJournal
  private readonly hooks: FlusherHooks
  private readonly mode: PersistMode
  private readonly company: Company
  private writing = false
  private bars = 0
  /** Everything committed up to here goes out, whatever the thresholds. */
  private drainOp = 0n
  private waiters: { readonly op: bigint; readonly done: () => void }[] = []
  private idleWaiters: (() => void)[] = []
  /** Bytes of the round in flight. */
  inFlight = 0
  rounds = 0
  batches = 0

  constructor(
    { host, settings, rules, persist: mode = PERSIST_MODE }: PartitionOptions,
    chain: Chain,
    journal: PartitionJournal,
    hooks: FlusherHooks,
  ) {
    this.host = host
    this.settings = settings
    this.rules = rules
    this.chain = chain
    this.journal = journal
    this.hooks = hooks
    this.mode = mode
    this.company = new Company(mode.groupCommit ? host.pacing : undefined)
  }

  get state(): 'idle' | 'writing' | 'barred' {
    return this.writing ? 'writing' : this.bars > 0 ? 'barred' : 'idle'
  }

  /** To be called in the pump whenever something was committed. */
  wake(): void {
    if (this.writing || this.bars > 0) return
    if (this.journal.settledOp >= this.drainOp && this.due()) this.drainOp = this.journal.appliedOp
    this.next()
  }

  /** Resolves once everything committed so far is in the files; never, when the life of the node ends before. */
  drain(): Promise<void> {
    const op = this.journal.appliedOp
    if (this.journal.settledOp >= op) return Promise.resolve()
    if (op > this.drainOp) this.drainOp = op
    const promise = new Promise<void>(done => this.waiters.push({ op, done }))
    this.wake()
    return promise
  }

  /** Waits until no round is in flight and keeps new ones from starting until the returned function is called. */
  async bar(): Promise<() => void> {
    this.bars++
    if (this.writing) await new Promise<void>(done => this.idleWaiters.push(done))
    return () => {
      this.bars--
      this.wake()
    }
  }

  /** Thresholds of §3.7; the uncommitted tail counts towards them but is never written. */
  private due(): boolean {
    const { journal, settings } = this
    if (journal.queueLength() === 0) return false
    return (
      journal.messages >= settings.messagesRequiredToSave ||
      journal.bytes >= settings.sizeRequiredToSaveBytes ||
      this.chain.active.sizeBytes + journal.bytes >= settings.segmentSizeBytes
    )
  }

  private next(): void {
    if (this.journal.queueLength() === 0 || this.journal.settledOp >= this.drainOp || this.bars > 0) {
      for (const done of this.idleWaiters.splice(0)) done()
      return
    }
    const queued = this.journal.queueLength()
    // Whoever waits for a drain is not kept waiting.
    if (this.waiters.length === 0 && this.company.awaited(queued, () => this.host.post(() => this.wake()))) return
    this.company.started(queued)
    const tail = this.chain.active
    const plan = planRound(
      tail,
      index => this.journal.queueAt(index),
      this.rules,
      this.mode.groupCommit ? undefined : 1,
    )
    if (plan.kind === 'diverged') this.host.persistFailed(plan.error)
    this.writing = true
    if (plan.kind === 'write') this.write(tail, plan)
    else this.grow(tail, plan)
  }

  private write(segment: Segment, plan: RoundPlan & { kind: 'write' }): void {
    const buffers: Uint8Array[] = []
    for (let index = 0; index < plan.batches; index++) buffers.push(recordOf(this.journal.queueAt(index)!.frame))
    const { batch } = this.journal.queueAt(0)!
    const position = segment.sizeBytes
    const entry = encodeIndexPoint({ offset: batch.baseOffset, timestamp: batch.timestamp, position })
    this.inFlight = plan.bytes
    const before = batch.baseOffset === 0n ? this.hooks.beforeOffsetZero() : undefined
    void persist(segment, buffers, entry, this.settings.enforceFsync, this.mode, this.rules, before).then(landed =>
      this.host.post(() => {
        if (landed.failed && this.rules.failedPersistExits) this.host.persistFailed(landed.failed)
        if (landed.failed) return
        this.landed(segment, plan, entry)
      }),
    )
  }

  private landed(segment: Segment, plan: RoundPlan & { kind: 'write' }, entry: Uint8Array): void {
    for (let index = 0; index < plan.batches; index++) {
      const { batch } = this.journal.queueAt(index)!
      segment.addBatch(batch.endOffset, batch.timestamp)
    }
    segment.sizeBytes += plan.bytes
    segment.indexBytes += entry.length
    segment.index!.push(entry)
    this.journal.settle(plan.batches)
    this.inFlight = 0
    this.rounds++
    this.batches += plan.batches
    this.writing = false
    this.host.note('persisted', 'flow', {
      segment: segment.startOffset.toString(),
      end: segment.endOffset.toString(),
      bytes: plan.bytes,
      batches: plan.batches,
      messages: plan.messages,
    })
    const answered = this.hooks.settled()
    this.company.landed(answered, this.journal.queueLength())
    this.waiters = this.waiters.filter(({ op, done }) => {
      if (this.journal.settledOp < op) return true
      done()
      return false
    })
    // a full segment is sealed at once, and not with the batch after it
    if (segment.full) {
      this.writing = true
      this.grow(segment, { kind: 'rotate' })
    } else this.goOn()
  }

  private grow(tail: Segment, plan: RoundPlan & { kind: 'rotate' | 'plant' }): void {
    const start = plan.kind === 'rotate' ? tail.endOffset : plan.startOffset
    const created = plan.kind === 'rotate' ? this.chain.create(start) : this.chain.plant(start, tail)
    void created.then(
      segment =>
        this.host.post(() => {
          if (plan.kind === 'plant') {
            const first = tail.endOffset.toString()
            this.host.note('gap_planted', 'fact', { first, last: (start - 1n).toString(), segment: start.toString() })
            if (tail.empty) this.chain.popEmpty()
          }
          this.chain.push(segment)
          this.writing = false
          this.host.note('segment_rolled', 'fact', {
            sealed: tail.startOffset.toString(),
            sealedBytes: tail.sizeBytes,
            segment: start.toString(),
          })
          this.goOn()
        }),
      (error: unknown) => this.host.post(() => this.host.persistFailed(persistError('creating segment', tail, error))),
    )
  }

  private goOn(): void {
    if (this.bars > 0) this.next()
    else this.wake()
  }
}

/** Writes one round; answers, and never rejects. The cursors are the caller's to move. */
async function persist(
  segment: Segment,
  buffers: readonly Uint8Array[],
  entry: Uint8Array,
  sync: boolean,
  mode: PersistMode,
  rules: Rules,
  before: Promise<void> | undefined,
): Promise<Landed> {
  const writers = segment.writers
  if (!writers)
    return { failed: new EngineError('PersistFailed', `${segment.logPath} has no writer`, { path: segment.logPath }) }
  const log = writers.log.file
  try {
    if (before) await before
  } catch (error) {
    return { failed: persistError('stale consumer offsets', segment, error) }
  }
  const half = async (file: typeof log, position: number, data: readonly Uint8Array[]) => {
    await file.write(position, data)
    if (sync) await file.datasync()
  }
  const first = half(log, segment.sizeBytes, buffers)
  const second = async () => {
    if (mode.halves === 'serial') await first
    await half(writers.index, segment.indexBytes, [entry])
  }
  const halves = [first, second()] as const
  if (!rules.cursorsMoveTogether) return Promise.race(halves.map(each => each.then(nothing, nothing)))
  const [logHalf, indexHalf] = await Promise.allSettled(halves)
  if (logHalf.status === 'rejected') return { failed: persistError('log', segment, logHalf.reason) }
  if (indexHalf.status === 'rejected') return { failed: persistError('index', segment, indexHalf.reason) }
  return {}
}

const nothing = (): Landed => ({})

function persistError(what: string, segment: Segment, cause: unknown): EngineError {
  const message = cause instanceof Error ? cause.message : String(cause)
  return new EngineError(
    'PersistFailed',
    `persist of ${segment.logPath} failed (${what}): ${message}`,
    {
      path: segment.logPath,
      position: segment.sizeBytes,
      advice: 'free or repair the disk and start again: the boot is the retry',
    },
    { cause },
  )
}
