import { useState } from 'react'
import { useCell } from '../../data/cell.ts'
import { lagSummary } from '../../data/lag.ts'
import { EVENTS_MAX } from '../../data/ring.ts'
import { ring, shown } from '../../data/store.ts'
import { type Motion, prefs, setMotion, setSingleKeys, setTheme, type Theme } from '../../prefs.ts'
import { duration, grouped } from '../../ui/format.ts'
import { Segmented } from '../../ui/segmented.tsx'

/** What this browser keeps, and what this tab measures. A better default comes before another switch. */
export default function SettingsScreen() {
  const { theme, motion, singleKeys } = useCell(prefs)
  const view = useCell(shown, state => state.view)
  const [lag, setLag] = useState(lagSummary)
  return (
    <div className="sheet">
      <h1 className="title">Settings</h1>
      <h2>Theme</h2>
      <Segmented
        name="Theme"
        value={theme}
        onChange={(value: Theme) => setTheme(value)}
        options={[
          { value: 'system', label: 'As the system' },
          { value: 'light', label: 'Light' },
          { value: 'dark', label: 'Dark' },
        ]}
      />
      <h2>Motion</h2>
      <Segmented
        name="Motion"
        value={motion}
        onChange={(value: Motion) => setMotion(value)}
        options={[
          { value: 'system', label: 'As the system' },
          { value: 'reduced', label: 'Reduced' },
        ]}
      />
      <p className="why">Reduced: nothing moves between two states, and what passes on a link is told by its number.</p>
      <h2>Keyboard</h2>
      <label className="row check">
        <input type="checkbox" checked={singleKeys} onChange={event => setSingleKeys(event.target.checked)} />
        Shortcuts of a single key
      </label>
      <p className="why">Without them the palette (Ctrl K) has every command, and nothing else answers to a letter.</p>
      <h2>This tab</h2>
      <p className="why">Measured by this page itself; the delay by its clock and the console's.</p>
      <dl className="kv left settings-kv">
        <dt>events received</dt>
        <dd>{grouped(ring.next)}</dd>
        <dt>events held</dt>
        <dd>
          {grouped(ring.next - ring.first)} of {grouped(EVENTS_MAX)}
        </dd>
        <dt>gaps in history</dt>
        <dd>{grouped(view.gapCount)}</dd>
        <dt>event to pixel</dt>
        <dd>
          {lag
            ? `p50 ${duration(lag.p50Ms)}, p95 ${duration(lag.p95Ms)}, max ${duration(lag.maxMs)} over ${grouped(lag.samples)} batches`
            : 'nothing measured yet'}
        </dd>
        <dt>console run</dt>
        <dd>{view.run ?? 'not connected'}</dd>
      </dl>
      <p>
        <button type="button" className="btn small" onClick={() => setLag(lagSummary())}>
          Measure again
        </button>
      </p>
    </div>
  )
}
