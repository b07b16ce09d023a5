/**
 * The only owner of requestAnimationFrame: whoever needs to work before the next paint asks here, and everything asked
 * for in one frame runs together, data first and drawing after. A hidden tab gets no frames, so work falls back to a
 * slow timer there: the stream goes on, and what it brings must not pile up unapplied.
 */
export type FramePhase = 'data' | 'draw'
const HIDDEN_MS = 1000

const queues: Record<FramePhase, Set<() => void>> = { data: new Set(), draw: new Set() }
let frame = 0
let timer = 0
let watching = false

function run(): void {
  cancelAnimationFrame(frame)
  clearTimeout(timer)
  frame = 0
  timer = 0
  for (const phase of ['data', 'draw'] as const) {
    const work = [...queues[phase]]
    queues[phase].clear()
    for (const step of work) step()
  }
}

function schedule(): void {
  if (!watching) {
    // A frame asked for before the tab was hidden never comes: ask again by the means that works then.
    document.addEventListener('visibilitychange', () => {
      if (queues.data.size + queues.draw.size > 0) schedule()
    })
    watching = true
  }
  if (document.hidden) {
    if (timer === 0) timer = window.setTimeout(run, HIDDEN_MS)
  } else if (frame === 0) frame = requestAnimationFrame(run)
}

/** Runs `step` once in the next frame. Asking again before it ran changes nothing. Returns a function that withdraws it. */
export function onFrame(phase: FramePhase, step: () => void): () => void {
  queues[phase].add(step)
  schedule()
  return () => queues[phase].delete(step)
}
