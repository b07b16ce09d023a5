/**
 * Where the logs of several nodes first differ: batch by batch, by what each node lists of its own file. A log that ends
 * earlier is behind and no difference; a list that ends before its file does is damage, which is one. Pure.
 */
export interface ListedBatch {
  readonly positionBytes: number
  readonly lengthBytes: number
  readonly baseOffset: string
  readonly messages: number
  readonly checksum: string
  readonly verdict: string
}
/** A stretch of one node's list; all stretches begin at the same byte. */
export interface Stretch {
  readonly node: number
  readonly batches: readonly ListedBatch[]
  /** The list goes on behind the last batch: it was cut at its limit. */
  readonly more: boolean
  /** Of the file, as far as it is written. */
  readonly sizeBytes: number
}
/**
 * `place`: another batch, or another length, at this byte. `checksum`: the same place, other bytes, and each holds together.
 * `verdict`: the bytes of some do not agree with their own checksum. `unreadable`: nothing that is a batch from here on.
 */
export type DifferenceKind = 'place' | 'checksum' | 'verdict' | 'unreadable'
export interface Difference {
  readonly kind: DifferenceKind
  readonly positionBytes: number
  /** What each node has there; nothing where its list has ended. */
  readonly cells: readonly { readonly node: number; readonly batch: ListedBatch | undefined }[]
}
export interface Compared {
  /** The bytes up to here are alike on all that reach so far. */
  readonly equalBytes: number
  readonly equalBatches: number
  readonly difference?: Difference
  /** Nodes whose log ended in this stretch, and at which byte. */
  readonly ended: readonly { readonly node: number; readonly atBytes: number }[]
}

const endOf = ({ positionBytes, lengthBytes }: ListedBatch): number => positionBytes + lengthBytes

/** @param from byte at which all stretches begin */
export function compareStretches(stretches: readonly Stretch[], from: number): Compared {
  const ended: { node: number; atBytes: number }[] = []
  let equalBytes = from
  for (let index = 0; ; index++) {
    const there = stretches.filter(stretch => index < stretch.batches.length)
    for (const { node, batches, more, sizeBytes } of stretches) {
      if (more || batches.length !== index) continue
      const atBytes = index === 0 ? from : endOf(batches[index - 1]!)
      if (atBytes < sizeBytes)
        return { equalBytes, equalBatches: index, ended, difference: differ('unreadable', atBytes) }
      ended.push({ node, atBytes })
    }
    // A list that was cut says nothing of what comes next, and one alone is compared with nobody.
    if (there.length < 2 || stretches.some(({ more, batches }) => more && batches.length === index))
      return { equalBytes, equalBatches: index, ended }
    const cells = there.map(({ batches }) => batches[index]!)
    const kind = kindOf(cells)
    if (kind)
      return { equalBytes, equalBatches: index, ended, difference: differ(kind, cells[0]!.positionBytes, index) }
    equalBytes = Math.max(equalBytes, endOf(cells[0]!))
  }

  function differ(kind: DifferenceKind, positionBytes: number, index?: number): Difference {
    const at = ({ batches }: Stretch) =>
      index === undefined ? batches.find(batch => batch.positionBytes === positionBytes) : batches[index]
    return { kind, positionBytes, cells: stretches.map(stretch => ({ node: stretch.node, batch: at(stretch) })) }
  }
}

function kindOf(cells: readonly ListedBatch[]): DifferenceKind | undefined {
  const [first, ...others] = cells as [ListedBatch, ...ListedBatch[]]
  const unlike = (of: (batch: ListedBatch) => unknown): boolean => others.some(batch => of(batch) !== of(first))
  if (cells.some(({ verdict }) => verdict !== 'valid')) {
    // Damage that is the same everywhere is damage all the same.
    return 'verdict'
  }
  if (unlike(batch => batch.positionBytes) || unlike(batch => batch.baseOffset)) return 'place'
  if (unlike(batch => batch.lengthBytes) || unlike(batch => batch.messages)) return 'place'
  return unlike(batch => batch.checksum) ? 'checksum' : undefined
}

export interface ChainOf {
  readonly node: number
  readonly segments: readonly {
    readonly startOffset: string
    readonly endOffset: string
    readonly sealed: boolean
    readonly sizeBytes: number
  }[]
}
/** `absent`: some nodes have no segment of this name. `sealed`: two sealed copies that are not equally long. */
export interface ChainDifference {
  readonly kind: 'absent' | 'sealed'
  readonly startOffset: string
  readonly nodes: readonly number[]
}

/**
 * The first segment in which chains differ by more than how far their nodes have come: one that a node lacks between its
 * first and its last, or before its first where retention has not been everywhere yet, and sealed copies of two lengths.
 */
export function chainDifference(chains: readonly ChainOf[]): ChainDifference | undefined {
  const starts = [...new Set(chains.flatMap(({ segments }) => segments.map(({ startOffset }) => startOffset)))]
  starts.sort((a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0))
  for (const startOffset of starts) {
    const copies = chains.map(({ node, segments }) => ({
      node,
      copy: segments.find(segment => segment.startOffset === startOffset),
      reaches: segments.some(segment => BigInt(segment.startOffset) > BigInt(startOffset)),
    }))
    const absent = copies.filter(({ copy, reaches }) => !copy && reaches).map(({ node }) => node)
    if (absent.length > 0) return { kind: 'absent', startOffset, nodes: absent }
    const sealed = copies.filter(({ copy }) => copy?.sealed)
    const longest = Math.max(0, ...sealed.map(({ copy }) => copy!.sizeBytes))
    const shorter = sealed.filter(({ copy }) => copy!.sizeBytes !== longest).map(({ node }) => node)
    if (shorter.length > 0) return { kind: 'sealed', startOffset, nodes: shorter }
  }
  return undefined
}

/** Index of the first byte in which some differ, as far as the shortest reaches; undefined when there is none. */
export function firstByte(parts: readonly Uint8Array[]): number | undefined {
  const [first, ...others] = parts
  if (!first) return undefined
  const length = Math.min(...parts.map(part => part.length))
  for (let at = 0; at < length; at++) if (others.some(other => other[at] !== first[at])) return at
  return undefined
}
