/**
 * Which bytes of a segment the lens shows when the address does not say: some batches of the size that this log has, the whole
 * of a short segment, and around an offset all that its index entry answers for. In steps, so that a growing log neither
 * slides nor changes its scale all the time. Pure.
 */

/** Bytes of the lens at least, at most, and where nothing is known of the batches. */
export const SPAN_DEFAULT = 65_536
export const SPAN_MIN = 1024
export const SPAN_MAX = 2 ** 30
/** Of what is chosen without being asked for: more is more than one answer lists. */
const SPAN_CHOSEN_MAX = 4 * 2 ** 20
/** Batches that a lens has room for with a number on each. */
const BATCHES_SHOWN = 8
/** Of the window, for what no file holds yet. */
const MEMORY_SHARE = 0.3

export interface Stretch {
  readonly from: number
  readonly end: number
}

export const clampSpan = (span: number): number =>
  Math.min(SPAN_MAX, Math.max(SPAN_MIN, Number.isFinite(span) ? span : SPAN_DEFAULT))

const roundUp = (value: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, value)))

/**
 * @param longest bytes of the segment where it is longest, with what is only in memory
 * @param batchBytes of a batch on average, as far as that is known
 * @param around what must be seen whole, if it can be
 */
export function spanFor(longest: number, batchBytes: number | undefined, around?: Stretch): number {
  const wanted = Math.max(SPAN_DEFAULT, 2 ** Math.floor(Math.log2(Math.max(1, (batchBytes ?? 0) * BATCHES_SHOWN))))
  const whole = around ? roundUp((around.end - around.from) * 1.1) : 0
  const chosen = Math.max(Math.min(SPAN_CHOSEN_MAX, wanted), whole <= SPAN_CHOSEN_MAX ? whole : 0)
  return clampSpan(Math.min(chosen, roundUp(longest)))
}

/**
 * Asked for, else around the place that is looked for, else the end: as much of what is only in memory as leaves most of the
 * window to bytes on disk.
 */
export function windowStart(
  asked: string | undefined,
  about: number | undefined,
  end: { readonly disk: number; readonly longest: number },
  span: number,
): number {
  if (asked !== undefined) return Math.min(Number(asked), Math.max(0, end.longest - 1))
  if (about !== undefined) return Math.max(0, Math.min(about - Math.floor(span / 2), end.longest - span))
  const step = Math.max(1, Math.floor(span / 8))
  const shown = Math.min(end.longest, end.disk + Math.floor(span * MEMORY_SHARE))
  return Math.max(0, Math.ceil((shown - span) / step) * step)
}
