import { Dialog } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { livenessOf, replicaIds } from '../../shared/inspection/belief.ts'
import { helpOpen } from '../commands.ts'
import { useCell } from '../data/cell.ts'
import { connection, delayMs, latest, paused, realNow, retryNow, shown, togglePause } from '../data/store.ts'
import { remember, token } from '../data/token.ts'
import { keyWord } from '../keys.ts'
import { prefs, setTheme, type Theme } from '../prefs.ts'
import { duration } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Picker } from '../ui/picker.tsx'

const THEMES: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: 'system', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

export function TopBar(props: { children: ReactNode }) {
  const name = useCell(shown, state => state.view.name)
  const frozen = useCell(paused)
  const { theme } = useCell(prefs)
  return (
    <header className="topbar">
      <SourceChip />
      <span className="strong nowrap">{name}</span>
      {props.children}
      <span className="push" />
      <AccessChip />
      <button type="button" className="btn small" aria-pressed={frozen !== undefined} onClick={togglePause}>
        <Glyph name={frozen === undefined ? 'pause' : 'play'} />
        {frozen === undefined ? 'Pause view' : 'Resume view'} <kbd>{keyWord(' ')}</kbd>
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
  const delay = useCell(delayMs, value => (value === undefined ? undefined : Math.round(value)))
  const now = useCell(realNow, seconds) * 1000
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
  const [typed, setTyped] = useState('')
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
  if (known !== undefined) {
    return (
      <span className="chip wide-only" title="Changes are allowed: the token printed at start is known to this browser">
        <Glyph name="ok" state="ok" />
        Token known
      </span>
    )
  }
  return (
    <Dialog.Root open={asking} onOpenChange={setAsking}>
      <Dialog.Trigger asChild>
        <button type="button" className="btn small">
          <Glyph name="lock" state="none" />
          Enter token
        </button>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="scrim" />
        <Dialog.Content className="dialog">
          <form
            onSubmit={event => {
              event.preventDefault()
              if (typed.trim() === '') return
              remember(typed.trim())
              setTyped('')
              setAsking(false)
            }}
          >
            <div className="dialog-head">
              <Dialog.Title asChild>
                <h2>Token</h2>
              </Dialog.Title>
            </div>
            <div className="dialog-body">
              <Dialog.Description>
                Watching is free. Whatever changes the cluster needs the token that was printed when the console
                started; opening the printed address does the same as pasting it here.
              </Dialog.Description>
              <p className="row token-row">
                <input
                  className="field"
                  aria-label="Token"
                  autoComplete="off"
                  spellCheck={false}
                  value={typed}
                  onChange={event => setTyped(event.target.value)}
                />
                <button type="submit" className="btn main-act">
                  Remember it
                </button>
              </p>
            </div>
          </form>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
