/**
 * A series of counts, one a second, as a chart may draw it (known-faults G46): a second that nobody told of is a gap and not
 * a zero, a number that is none is a gap too, one point alone is still a point, and an axis of counts has whole numbers.
 * Pure.
 */
export interface Sample {
  readonly atMs: number
  readonly value: number | undefined
}

const SECOND_MS = 1_000

/** Every second from the first to the last sample, in order; what is missing, or no number, has no value. */
export function wholeSeries(samples: readonly { readonly atMs: number; readonly value: number }[]): Sample[] {
  const known = [...samples].filter(({ atMs }) => Number.isFinite(atMs)).sort((a, b) => a.atMs - b.atMs)
  const series: Sample[] = []
  for (const { atMs, value } of known) {
    const last = series.at(-1)
    if (last)
      for (let gap = last.atMs + SECOND_MS; gap < atMs - SECOND_MS / 2; gap += SECOND_MS)
        series.push({ atMs: gap, value: undefined })
    series.push({ atMs, value: Number.isFinite(value) ? value : undefined })
  }
  return series
}

/** Stretches of samples that have a value: what may be joined by a line. One of a single sample is a point. */
export function stretchesOf(
  series: readonly Sample[],
): Required<{ readonly atMs: number; readonly value: number }>[][] {
  const stretches: { atMs: number; value: number }[][] = []
  let open: { atMs: number; value: number }[] | undefined
  for (const { atMs, value } of series) {
    if (value === undefined) open = undefined
    else if (open) open.push({ atMs, value })
    else {
      open = [{ atMs, value }]
      stretches.push(open)
    }
  }
  return stretches
}

/** Ticks from 0 on, whole numbers, at most `most` steps; the last is at or above every value, and never 0. */
export function wholeTicks(values: Iterable<number | undefined>, most = 4): number[] {
  let top = 1
  for (const value of values) if (value !== undefined && Number.isFinite(value)) top = Math.max(top, value)
  let step = 1
  for (let power = 1; step * most < top; power *= 10)
    for (const factor of [1, 2, 5]) {
      step = factor * power
      if (step * most >= top) break
    }
  const ticks = [0]
  while (ticks.at(-1)! < top) ticks.push(ticks.at(-1)! + step)
  return ticks
}

/** A path over a series: one line a stretch, and a dot, by a round cap, where a stretch is one sample. */
export function seriesPath(
  series: readonly Sample[],
  x: (atMs: number) => number,
  y: (value: number) => number,
): string {
  const at = (place: number): string => place.toFixed(1)
  return stretchesOf(series)
    .map(stretch => {
      const [first, ...rest] = stretch.map(({ atMs, value }) => `${at(x(atMs))} ${at(y(value))}`)
      return rest.length === 0 ? `M${first}h0.1` : `M${first}${rest.map(place => `L${place}`).join('')}`
    })
    .join('')
}
