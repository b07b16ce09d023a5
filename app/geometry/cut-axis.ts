/**
 * A time axis that leaves out the stretches in which nothing happens, and says so: what is drawn stays to scale, and each
 * cut is a band of its own whose hidden time is known to the digit. Used along (waterfall) and down (timeline). Pure;
 * times are milliseconds on any one clock, places are pixels.
 */
export interface Stretch {
  readonly fromMs: number
  readonly toMs: number
  readonly fromPx: number
  readonly toPx: number
}
export interface CutAxis {
  /** In order; between two of them lies a cut. */
  readonly stretches: readonly Stretch[]
  /** What the bands between the stretches hide. */
  readonly cuts: readonly Stretch[]
  readonly startPx: number
  readonly endPx: number
}
export interface CutOptions {
  readonly startPx: number
  readonly endPx: number
  readonly cutPx: number
  /** A gap between two moments that is longer than this is cut; Infinity: none. */
  readonly quietMs: number
  /** Shown on both sides of a cut, so that the last mark before it does not lie on its edge. */
  readonly marginMs: number
}

/** `moments` in ascending order, at least one. */
export function cutAxis(moments: readonly number[], options: CutOptions): CutAxis {
  const { startPx, endPx, cutPx, quietMs, marginMs } = options
  const first = moments[0] ?? 0
  const spans: { from: number; to: number }[] = [{ from: first, to: first }]
  for (const at of moments) {
    const span = spans.at(-1)!
    if (at - span.to > quietMs && at - span.to > 2 * marginMs) {
      span.to += marginMs
      spans.push({ from: at - marginMs, to: at })
    } else span.to = Math.max(span.to, at)
  }
  const shown = spans.reduce((sum, span) => sum + (span.to - span.from), 0)
  const room = Math.max(1, endPx - startPx - (spans.length - 1) * cutPx)
  const perMs = room / Math.max(shown, Number.EPSILON)
  const stretches: Stretch[] = []
  const cuts: Stretch[] = []
  let px = startPx
  for (const span of spans) {
    const last = stretches.at(-1)
    if (last) {
      cuts.push({ fromMs: last.toMs, toMs: span.from, fromPx: last.toPx, toPx: last.toPx + cutPx })
      px = last.toPx + cutPx
    }
    const toPx = shown === 0 ? px : px + (span.to - span.from) * perMs
    stretches.push({ fromMs: span.from, toMs: span.to, fromPx: px, toPx })
  }
  return { stretches, cuts, startPx, endPx }
}

/** A gap this many times longer than everything else together would push the rest into a corner. */
const LONELY = 12
/** Which gaps to cut so that what remains can be read: the longest ones, while they outweigh all that is left. */
export function quietOf(moments: readonly number[]): { readonly quietMs: number; readonly marginMs: number } {
  const gaps = moments.slice(1).map((at, index) => at - moments[index]!)
  const longest = [...gaps].sort((a, b) => b - a)
  let rest = longest.reduce((sum, gap) => sum + gap, 0)
  let quietMs = Number.POSITIVE_INFINITY
  for (const gap of longest) {
    rest -= gap
    if (rest <= 0 || gap < LONELY * rest) break
    quietMs = gap * 0.999
  }
  return { quietMs, marginMs: quietMs === Number.POSITIVE_INFINITY ? 0 : Math.max(rest / 3, 0.1) }
}

/** Place of a moment. Inside a cut: its middle, and never beyond the ends. */
export function placeOf(axis: CutAxis, ms: number): number {
  for (const [index, stretch] of axis.stretches.entries()) {
    if (ms < stretch.fromMs) {
      const cut = axis.cuts[index - 1]
      return cut ? (cut.fromPx + cut.toPx) / 2 : axis.startPx
    }
    if (ms <= stretch.toMs) {
      const share = stretch.toMs === stretch.fromMs ? 0 : (ms - stretch.fromMs) / (stretch.toMs - stretch.fromMs)
      return stretch.fromPx + share * (stretch.toPx - stretch.fromPx)
    }
  }
  return axis.stretches.at(-1)?.toPx ?? axis.endPx
}

/** The moment at a place; undefined on a cut, where time is not to scale. */
export function momentAt(axis: CutAxis, px: number): number | undefined {
  const stretch = axis.stretches.find(item => px >= item.fromPx && px <= item.toPx)
  if (!stretch) return undefined
  const share = (px - stretch.fromPx) / Math.max(stretch.toPx - stretch.fromPx, Number.EPSILON)
  return stretch.fromMs + share * (stretch.toMs - stretch.fromMs)
}

/** A round step of 1, 2 or 5 times a power of ten that leaves at least `leastPx` between ticks. */
export function tickStep(perMs: number, leastPx: number): number {
  const raw = leastPx / Math.max(perMs, Number.EPSILON)
  const power = 10 ** Math.floor(Math.log10(raw))
  for (const factor of [1, 2, 5, 10]) if (factor * power >= raw) return factor * power
  return 10 * power
}

export interface AxisTick {
  readonly ms: number
  readonly px: number
  /** Between the ticks of its stretch. */
  readonly stepMs: number
}

/** A tick in milliseconds, with as many digits as tell it from its neighbours: `4,913.05 ms`. */
export function tickWords({ ms, stepMs }: Pick<AxisTick, 'ms' | 'stepMs'>): string {
  const digits = stepMs >= 1 ? 0 : Math.min(6, -Math.floor(Math.log10(stepMs) + 1e-9))
  const [whole, part] = ms.toFixed(digits).split('.') as [string, string | undefined]
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${grouped}${part === undefined || /^0+$/.test(part) ? '' : `.${part}`} ms`
}

/** Ticks of all stretches at round times, none closer than `leastPx` to the next. */
export function axisTicks(axis: CutAxis, leastPx: number): AxisTick[] {
  const ticks: AxisTick[] = []
  for (const stretch of axis.stretches) {
    const length = stretch.toMs - stretch.fromMs
    if (length <= 0) continue
    const step = tickStep((stretch.toPx - stretch.fromPx) / length, leastPx)
    for (let at = Math.ceil(stretch.fromMs / step - 1e-9) * step + 0; at <= stretch.toMs + step * 1e-9; at += step) {
      const px = placeOf(axis, Math.min(at, stretch.toMs))
      if (ticks.length === 0 || px - ticks.at(-1)!.px >= leastPx) ticks.push({ ms: at, px, stepMs: step })
    }
  }
  return ticks
}
