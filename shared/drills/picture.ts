/**
 * A picture of the moment that decided a run: time flows down, each node is a line that breaks while nobody serves there, and
 * each row says what was done, told or found. The same replay gives the same bytes.
 */
import type { ProcessState } from '../scenario/language.ts'
import type { Moment, Replay } from './recording.ts'

const ROWS_BEFORE = 8
const ROWS_AFTER = 3
const WIDTH = 800
const HEAD = 34
const ROW = 26
const FOOT = 10
const TIME_X = 62
const LANES_X = 92
const LANE = 54
const LETTERS = 0.158
/** Of a pause that is told. */
const PAUSE_MS = 100

/** The rows of a replay around one moment. */
export function around<T>(all: readonly T[], at: number, before = ROWS_BEFORE, after = ROWS_AFTER): readonly T[] {
  return all.slice(Math.max(0, at - before), at + after + 1)
}

/** Time that has passed since the moment before, where it is long enough to matter. */
export function pauseText(ms: number): string {
  if (ms < PAUSE_MS) return ''
  return ms < 10_000 ? `+${(ms / 1_000).toFixed(1)} s` : `+${Math.round(ms / 1_000)} s`
}

/** @returns an SVG document that reads in light and dark */
export function pictureOf(replay: Replay, title: string): string {
  const { moments, decisive, nodes } = replay
  const rows = around(moments, decisive)
  const decided = moments[decisive]
  const height = HEAD + rows.length * ROW + FOOT
  const textX = LANES_X + nodes * LANE + 8
  const body: string[] = []
  for (let node = 0; node < nodes; node++) {
    const x = laneX(node)
    body.push(`<text class="n" x="${x}" y="20" text-anchor="middle">node-${node}</text>`)
    for (const [index, { states }] of rows.entries()) {
      const y = HEAD + index * ROW
      body.push(`<path class="l ${LINE[states[node] ?? 'stopped']}" d="M${x} ${y}v${ROW}"/>`)
    }
  }
  let last = moments[moments.indexOf(rows[0]!) - 1]?.atMs ?? rows[0]?.atMs ?? 0
  for (const [index, moment] of rows.entries()) {
    const y = HEAD + index * ROW + ROW / 2
    if (moment === decided)
      body.unshift(`<rect class="d" x="4" y="${y - ROW / 2}" width="${WIDTH - 8}" height="${ROW}" rx="3"/>`)
    const pause = pauseText(moment.atMs - last)
    last = moment.atMs
    if (pause) body.push(`<text class="t" x="${TIME_X}" y="${y + 4}" text-anchor="end">${pause}</text>`)
    body.push(mark(moment, y))
    const letters = Math.floor((WIDTH - textX - 12) * LETTERS)
    const bold = moment.is === 'step' ? ' b' : ''
    body.push(`<text class="x${bold}" x="${textX}" y="${y + 4}">${escaped(shortened(moment.text, letters))}</text>`)
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    STYLE,
    `<rect class="g" width="${WIDTH}" height="${height}" rx="6"/>`,
    ...body,
    '</svg>',
    '',
  ].join('\n')
}

const laneX = (node: number): number => LANES_X + node * LANE + LANE / 2

/** What a node told stands on its line; what was done or found stands in front of them all. */
function mark({ is, node, tone }: Moment, y: number): string {
  if (is === 'step') return `<path class="s" d="M72 ${y - 5}l9 5-9 5z"/>`
  if (is === 'finding') return `<path class="m ${tone}" d="M71 ${y - 5}h10v10h-10z"/>`
  if (node === undefined) return `<circle class="m ${tone}" cx="76" cy="${y}" r="4"/>`
  return is === 'life'
    ? `<path class="m ${tone}" d="M${laneX(node) - 6} ${y - 2}h12v4h-12z"/>`
    : `<circle class="m ${tone}" cx="${laneX(node)}" cy="${y}" r="4.500"/>`
}

const LINE: Readonly<Record<ProcessState, string>> = {
  running: 'up',
  paused: 'halted',
  stopped: 'off',
  crashed: 'off',
  refused: 'off',
}

function shortened(text: string, letters: number): string {
  if (text.length <= letters) return text
  const cut = text.slice(0, letters - 1)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), letters - 16)).trimEnd()}…`
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const STYLE = `<style>
.g{fill:#fff}.d{fill:#fdf1d7}.l{stroke-width:2;fill:none}.up{stroke:#4a6fa5}.halted{stroke:#b7791f;stroke-dasharray:5 4}.off{stroke:#b9bec7;stroke-width:1;stroke-dasharray:1 4}
.n,.t,.x{font:12px system-ui,sans-serif;fill:#1c2430}.n{font-weight:600}.t{fill:#5b6573;font-size:11px}.b{font-weight:600}
.s{fill:#1c2430}.m{stroke:#fff;stroke-width:1}.plain{fill:#5b6573}.good{fill:#23794a}.change{fill:#b7791f}.bad{fill:#b3261e}
@media (prefers-color-scheme:dark){.g{fill:#161b22}.d{fill:#3a2f15}.up{stroke:#7ea3d8}.off{stroke:#4a525e}.n,.x{fill:#e6e9ee}.t{fill:#9aa4b2}.s{fill:#e6e9ee}.m{stroke:#161b22}.plain{fill:#9aa4b2}.good{fill:#57b883}.change,.halted{fill:#e0a544}.bad{fill:#f0736a}.halted{stroke:#e0a544;fill:none}}
</style>`
