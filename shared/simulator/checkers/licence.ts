/**
 * The licence to truncate (spec consensus.md §5.4): a view may begin without an op that the canonical log reaches only when
 * a nack quorum of votes says that it was never prepared. Read from the frames alone: what each replica has ever voted in
 * that view, and where the view begins. Who has voted twice is taken at whatever denies more. The own vote of a candidate is
 * counted at once and leaves when its view is durable: where nobody has seen it, it may have denied.
 */

interface Entry {
  /** 0: a blank slot. */
  readonly checksum: bigint
  nack: boolean
}

interface Vote {
  readonly logView: number
  op: bigint
  /** Its journal died with its last life: its denials say nothing, and where too few remember, disks decide (decision 001). */
  forgetful: boolean
  /** By op; an op that is missing is not covered. */
  readonly entries: Map<bigint, Entry>
}

const HEADER_BYTES = 256

export class Licence {
  /** By group and view, then by replica. */
  private readonly votes = new Map<string, Map<number, Vote>>()
  private readonly begun = new Map<string, number>()
  private readonly replicas: number

  constructor(replicas: number) {
    this.replicas = replicas
  }

  /** A DoViewChange leaves. `group`: an incarnation of a group. */
  voted(group: string, frame: Uint8Array): void {
    const bytes = new DataView(frame.buffer, frame.byteOffset, frame.length)
    const view = bytes.getUint32(52, true)
    if (view <= (this.begun.get(group) ?? -1)) return
    const key = `${group} ${view}`
    const voters = this.votes.get(key) ?? new Map<number, Vote>()
    this.votes.set(key, voters)
    const op = bytes.getBigUint64(128, true)
    const known = voters.get(frame[61]!)
    const vote = known ?? {
      logView: bytes.getUint32(152, true),
      op,
      forgetful: false,
      entries: new Map<bigint, Entry>(),
    }
    voters.set(frame[61]!, vote)
    if (op < vote.op) vote.op = op
    vote.forgetful ||= bytes.getUint8(156) === 1
    const nacks = bytes.getBigUint64(224, true) | (bytes.getBigUint64(232, true) << 64n)
    for (let index = 0; (index + 2) * HEADER_BYTES <= frame.length; index++) {
      const at = HEADER_BYTES * (index + 1)
      const nack = ((nacks >> BigInt(index)) & 1n) === 1n
      const checksum = bytes.getUint8(at + 208) === 0 ? 0n : bytes.getBigUint64(at, true)
      const entry = vote.entries.get(op - BigInt(index))
      if (entry) entry.nack ||= nack
      else vote.entries.set(op - BigInt(index), { checksum, nack })
    }
  }

  /** A StartView leaves. Says what is wrong with the first one of a view. */
  began(group: string, frame: Uint8Array): string | undefined {
    const bytes = new DataView(frame.buffer, frame.byteOffset, frame.length)
    const view = bytes.getUint32(52, true)
    if (view <= (this.begun.get(group) ?? -1)) return undefined
    this.begun.set(group, view)
    const voters = this.votes.get(`${group} ${view}`)
    this.votes.delete(`${group} ${view}`)
    if (!voters) return undefined
    const op = bytes.getBigUint64(128, true) + 1n
    const votes = [...voters.values()]
    const unseen = voters.has(frame[61]!) ? 0 : 1
    const reached = votes.filter(vote => vote.op >= op).length
    // An election of which only a part was seen, as after its group was made anew, proves nothing.
    if (reached === 0 || votes.length < quorums(this.replicas).viewChange) return undefined
    if (votes.some(({ forgetful }) => forgetful)) return undefined
    if (votes.some(({ logView }) => this.mayBeginWithout(op, logView, votes, unseen))) return undefined
    return `view ${view} begins without op ${op}, which ${reached} of ${votes.length} voters reach and no nack quorum denies`
  }

  /** Whether a candidate with this canonical log view may have decided so, whichever of the votes it had by then. */
  private mayBeginWithout(op: bigint, canonicalView: number, votes: readonly Vote[], unseen: number): boolean {
    const { viewChange, nack } = quorums(this.replicas)
    const usable = votes.filter(({ logView }) => logView <= canonicalView)
    const canonical = usable.filter(({ logView }) => logView === canonicalView)
    const shorter = canonical.filter(vote => vote.op < op)
    // Nobody in its quorum may have known of the op as one of the canonical log.
    if (shorter.length > 0 && shorter.length + usable.length - canonical.length + unseen >= viewChange) return true
    const named = canonical.map(vote => vote.entries.get(op)?.checksum ?? 0n).find(checksum => checksum !== 0n)
    const denies = (vote: Vote): boolean => {
      const entry = vote.entries.get(op)
      if (vote.op < op || entry?.nack === true) return true
      return vote.logView < canonicalView && entry !== undefined && entry.checksum !== 0n && entry.checksum !== named
    }
    return usable.filter(denies).length + unseen >= nack
  }
}

/** Written anew from the table of §1.3. */
function quorums(replicas: number): { readonly viewChange: number; readonly nack: number } {
  const replication = replicas === 2 ? 2 : Math.min(Math.ceil(replicas / 2), 3)
  const nack = replicas - replication + 1
  return { viewChange: replicas === 2 ? 2 : nack, nack }
}
