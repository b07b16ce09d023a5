/**
 * One forwarded write on one clock. Both ends time their own steps with their own monotonic clocks, which share no zero;
 * what orders them is the frame itself: it was taken after it was sent, and its answer arrived after it left. So the
 * primary's steps are laid between sending and answer with equal travel both ways, and `travelKnown` says that only the
 * sum of the two ways was measured. Without an answer the wall clocks have to do, held behind the sending. Pure.
 */
import type { ForwardChain } from '../../shared/inspection/forwards.ts'
import type { ForwardStepName } from '../../shared/inspection/snapshots.ts'

export interface PlacedStep {
  readonly step: ForwardStepName
  readonly node: number
  /** Milliseconds since the origin received the write. */
  readonly atMs: number
  readonly seq: number
  readonly link: { readonly id: string; readonly ordinal: number } | undefined
}
export interface Hops {
  readonly steps: readonly PlacedStep[]
  /** Sum of the way there and back, milliseconds; undefined when no answer came. */
  readonly travelMs: number | undefined
  readonly totalMs: number | undefined
}

const AT_PRIMARY: ReadonlySet<ForwardStepName> = new Set(['taken', 'accepted', 'refused'])

export function hopsOf(chain: ForwardChain): Hops {
  const origin = chain.steps.filter(step => !AT_PRIMARY.has(step.step))
  const primary = chain.steps.filter(step => AT_PRIMARY.has(step.step))
  const originZero = origin[0]?.monoUs
  const originMs = (step: { readonly monoUs: number }): number => (step.monoUs - (originZero ?? 0)) / 1000
  const primaryZero = primary[0]?.monoUs ?? 0
  const workMs = ((primary.at(-1)?.monoUs ?? primaryZero) - primaryZero) / 1000

  const sent = origin.find(step => step.step === 'sent')
  const answered = origin.find(step => step.step === 'answered')
  const decided = primary.length > 1
  let takenMs = 0
  let travelMs: number | undefined
  if (originZero !== undefined && primary[0]) {
    const sentMs = sent ? originMs(sent) : 0
    if (answered && decided) {
      travelMs = Math.max(0, originMs(answered) - sentMs - workMs)
      takenMs = sentMs + travelMs / 2
    } else {
      const byWall = (Number(primary[0].wallUs) - Number(origin[0]!.wallUs)) / 1000
      takenMs = Math.max(sentMs, byWall)
    }
  }
  const steps = chain.steps.map(step => ({
    step: step.step,
    node: step.node,
    atMs: AT_PRIMARY.has(step.step) ? takenMs + (step.monoUs - primaryZero) / 1000 : originMs(step),
    seq: step.seq,
    link: step.link,
  }))
  const end = origin.find(step => step.step === 'answered' || step.step === 'lost' || step.step === 'unsent')
  return { steps, travelMs, totalMs: end ? originMs(end) : undefined }
}
