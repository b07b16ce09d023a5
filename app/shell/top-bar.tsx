import { lazy, type ReactNode, Suspense, useState } from 'react'
import { livenessOf, replicaIds } from '../../shared/inspection/belief.ts'
import { explainOpen, helpOpen } from '../commands.ts'
import { useCell } from '../data/cell.ts'
import {
  asOf,
  connection,
  delayMs,
  latest,
  paused,
  realNow,
  retryNow,
  shown,
  sourceKind,
  togglePause,
} from '../data/store.ts'
import { isViewer, token, VIEWER_WHY } from '../data/token.ts'
import { keyWord } from '../keys.ts'
import { prefs, setTheme, type Theme } from '../prefs.ts'
import { duration } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Picker } from '../ui/picker.tsx'

/** Most come by the printed address and never see it. */
const TokenDialog = lazy(() => import('./token-dialog.tsx'))

const THEMES: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: 'system', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

export function TopBar(props: { children: ReactNode }) {
  const name = useCell(shown, state => state.view.name)
  const frozen = useCell(paused)
  const recorded = useCell(sourceKind) !== 'LIVE'
  const { theme } = useCell(prefs)
  return (
    <header className="topbar">
      <SourceChip />
      <span className="strong nowrap">{name}</span>
      {props.children}
      <span className="push" />
      {!recorded && <AccessChip />}
      <button type="button" className="btn small" aria-pressed={frozen !== undefined} onClick={togglePause}>
        <Glyph name={frozen === undefined ? 'pause' : 'play'} />
        {recorded ? 'Leave the recording' : frozen === undefined ? 'Pause view' : 'Resume view'}{' '}
        <kbd>{keyWord(' ')}</kbd>
      </button>
      <Picker
        name={`Theme: ${theme}`}
        value={theme}
        shown={<Glyph name="theme" />}
        options={THEMES}
        onChange={value => setTheme(value as Theme)}
        testId="theme"
      />
      <button
        type="button"
        className="btn small wide-only"
        aria-haspopup="dialog"
        onClick={() => explainOpen.set(true)}
      >
        Explain
      </button>
      <button
        className="iconbtn"
        type="button"
        aria-label="Shortcuts and help"
        title="Shortcuts and help"
        onClick={() => helpOpen.set(true)}
      >
        <Glyph name="help" />
      </button>
    </header>
  )
}

const seconds = (now: number): number => Math.floor(now / 1000)

/** LIVE, how many nodes are heard, and how long an event takes to get here; or that the console is lost. */
function SourceChip() {
  const link = useCell(connection)
  // Also while the view is paused: this says what the page hears, not what it shows.
  const view = useCell(latest)
  const past = useCell(asOf) !== undefined
  const delay = useCell(delayMs, value => (value === undefined ? undefined : Math.round(value)))
  const now = useCell(realNow, seconds) * 1000
  if (link.state === 'recorded') {
    return (
      <span className="source" data-testid="source">
        <b>RECORDING</b>
        <span>{link.loading ? 'being read' : 'read-only'}</span>
      </span>
    )
  }
  if (past) {
    return (
      <span className="source" data-testid="source">
        <b>LIVE</b>
        <span>the past is shown</span>
      </span>
    )
  }
  if (link.state === 'lost') {
    const wait = Math.max(0, Math.ceil((link.retryAtMs - now) / 1000))
    return (
      <span className="row">
        <span className="source lost" data-testid="source" role="status">
          <b>LIVE</b>
          <span>
            disconnected {duration(Math.max(0, now - link.sinceMs))}, retry in {wait} s
          </span>
        </span>
        <button type="button" className="btn small" onClick={retryNow} title={link.why}>
          Retry now
        </button>
      </span>
    )
  }
  const ids = replicaIds(view)
  const heard = ids.filter(id => livenessOf(view.nodes.get(id), now) === 'live').length
  return (
    <span className="source" data-testid="source">
      <b>LIVE</b>
      <span>
        {link.state === 'connecting'
          ? 'connecting'
          : `${heard} of ${ids.length} nodes${delay === undefined ? '' : `, ${delay} ms`}`}
      </span>
    </span>
  )
}

/** Whether changes are allowed, and the way to allow them. */
function AccessChip() {
  const readOnly = useCell(shown, state => state.view.readOnly)
  const known = useCell(token)
  const [asking, setAsking] = useState(false)
  if (readOnly) {
    return (
      <span
        className="chip"
        data-testid="read-only"
        title="The console was started with --read-only: nothing can be changed"
      >
        <Glyph name="lock" state="none" />
        Read-only
      </span>
    )
  }
  if (known !== undefined && !isViewer(known)) {
    return (
      <span className="chip wide-only" title="Changes are allowed: the token printed at start is known to this browser">
        <Glyph name="ok" state="ok" />
        Token known
      </span>
    )
  }
  return (
    <>
      <button
        type="button"
        className="btn small"
        aria-haspopup="dialog"
        data-testid="access"
        title={known === undefined ? undefined : `${VIEWER_WHY} Enter the operator's token to act.`}
        onClick={() => setAsking(true)}
      >
        <Glyph name="lock" state="none" />
        {known === undefined ? 'Enter token' : 'Viewer'}
      </button>
      {asking && (
        <Suspense>
          <TokenDialog onClose={() => setAsking(false)} />
        </Suspense>
      )}
    </>
  )
}
