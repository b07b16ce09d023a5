import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useEffect } from 'react'
import { commandList, explainOpen, type Go, helpOpen, paletteOpen } from '../commands.ts'
import { useCell } from '../data/cell.ts'
import { confirming } from '../data/confirming.ts'
import { addressNotes, dismissAddressNotes } from '../data/notices.ts'
import { asOf, connection, resumeView, sourceKind } from '../data/store.ts'
import { holeAt } from '../data/time.ts'
import { followMoment } from '../data/when.ts'
import { type Command, pressedKey } from '../keys.ts'
import { prefs } from '../prefs.ts'
import { ErrorBoundary } from '../ui/error-boundary.tsx'
import { clock, visible } from '../ui/format.ts'
import { GlyphSprite } from '../ui/glyph.tsx'
import { PoliteLine, Toasts } from '../ui/toasts.tsx'
import { LogDrawer } from './log-drawer.tsx'
import { Nav } from './nav.tsx'
import { ScreenBar } from './screen-bar.tsx'
import { TimeBar } from './time-bar.tsx'
import { TopBar } from './top-bar.tsx'

const Palette = lazy(() => import('./palette.tsx'))
const Help = lazy(() => import('./help.tsx'))
const Confirm = lazy(() => import('../ui/confirm.tsx'))
const Explain = lazy(() => import('../explain/explain.tsx'))

export function Shell() {
  const navigate = useNavigate()
  const go: Go = to => {
    if (to.screen === 'node') void navigate({ to: '/cluster/nodes/$node', params: { node: String(to.node) } })
    else void navigate({ to: to.screen })
  }
  useShortcuts(() => commandList(go))
  useEffect(
    () => followMoment(at => void navigate({ to: '.', search: old => ({ ...old, at }), replace: true })),
    [navigate],
  )
  return (
    <>
      <GlyphSprite />
      <a className="skip-link" href="#main">
        Skip to the screen
      </a>
      <div className="shell">
        <div className="brand">
          <Mark />
          Quorumscope
        </div>
        <TopBar>
          <ScreenBar />
        </TopBar>
        <Nav />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
        <main className="main" id="main" tabIndex={0}>
          <AddressNotes />
          <RecordingNote />
          <AsOfNote />
          <ErrorBoundary what="This screen">
            <Outlet />
          </ErrorBoundary>
        </main>
        <LogDrawer />
        <TimeBar />
      </div>
      <Toasts />
      <PoliteLine />
      <Sheets commands={() => commandList(go)} />
    </>
  )
}

/** Above every screen while it shows the past. */
function AsOfNote() {
  const past = useCell(asOf)
  const recorded = useCell(sourceKind) !== 'LIVE'
  const screen = useRouterState({ select: state => state.matches.at(-1)?.routeId })
  if (past === undefined || screen === '/recordings') return null
  const hole = holeAt(past)
  return (
    <p className="as-of-note" role="status" data-testid="as-of-note">
      <b>As of {clock(past.atMs)}.</b>{' '}
      {hole && (
        <b data-testid="hole">
          {visible(hole.words)}, from {clock(hole.fromMs)} to {clock(hole.toMs)}; what is shown is what was known
          before.{' '}
        </b>
      )}
      {screen === '/drills' || screen === '/drills/$id'
        ? 'Drills are of no moment: they are as they are now.'
        : screen === '/timeline'
          ? 'Nothing later is drawn.'
          : `What nodes answer is what they had last answered by then${recorded ? '' : ', from the recording of this run'}; a rate is told of the present only.`}
    </p>
  )
}

/** A recording says that it is one, from when to when, and what it does not hold. */
function RecordingNote() {
  const link = useCell(connection)
  if (link.state !== 'recorded') return null
  if (link.problem) {
    return (
      <div
        className="verdict bad recording-note"
        role="alert"
        data-testid="recording-problem"
        data-code={link.problem.code}
      >
        <b>This recording is not shown.</b> {visible(link.problem.message)} {link.problem.advice}
        <button type="button" className="btn small push" onClick={resumeView}>
          Go live
        </button>
      </div>
    )
  }
  return (
    <details className="recording-note" data-testid="recording-note" data-loading={link.loading}>
      <summary>
        <b>This is a recording{link.name === '' ? '' : ` of ${visible(link.name)}`}.</b>{' '}
        {link.loading
          ? 'It is being read.'
          : `${day(link.fromMs)} ${clock(link.fromMs)} to ${clock(link.toMs)}. It can be looked at, and nothing in it can be changed.`}{' '}
        {link.notes.length > 0 && 'What it leaves out.'}
      </summary>
      <ul>
        {link.notes.map(note => (
          <li key={note}>{visible(note)}</li>
        ))}
      </ul>
    </details>
  )
}

const day = (ms: number): string =>
  new Date(ms).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })

/** The palette and the help sheet are fetched when first asked for. */
function Sheets(props: { commands: () => Command[] }) {
  const palette = useCell(paletteOpen)
  const help = useCell(helpOpen)
  const explain = useCell(explainOpen)
  const asked = useCell(confirming, value => value !== undefined)
  return (
    <Suspense fallback={null}>
      {palette && <Palette commands={props.commands()} />}
      {explain && <Explain onClose={() => explainOpen.set(false)} />}
      {asked && <Confirm />}
      {help && <Help commands={props.commands()} />}
    </Suspense>
  )
}

function useShortcuts(commands: () => Command[]): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const key = pressedKey(event)
      if (key === undefined || event.defaultPrevented || event.repeat) return
      const target = event.target as HTMLElement
      const typing = target.matches('input, textarea, select, [contenteditable]')
      const single = !key.startsWith('Mod+')
      if (single && (typing || !prefs.get().singleKeys)) return
      // A dialog is answered first, and a menu reads letters as the beginning of a word.
      if (document.querySelector('[role=dialog]') !== null || target.closest('[role=menu]') !== null) return
      // Space on a button presses that button.
      if (key === ' ' && target.closest('button, a, [role="menuitemradio"], summary')) return
      const command = commands().find(item => item.key === key)
      if (!command || command.blocked !== undefined) return
      event.preventDefault()
      command.run()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })
}

/** An address that could not be read whole says so; what was valid in it still holds. */
function AddressNotes() {
  const notes = useCell(addressNotes)
  if (notes.length === 0) return null
  return (
    <div className="verdict warn small address-note" role="status" data-testid="address-note">
      <span>
        {notes.map(note => (
          <span key={`${note.key} ${note.value}`}>
            The address says <code>{visible(`${note.key}=${note.value}`)}</code>, which the screen {note.screen} does
            not know; its default is shown.{' '}
          </span>
        ))}
      </span>
      <button type="button" className="btn small push" onClick={dismissAddressNotes}>
        Dismiss
      </button>
    </div>
  )
}

function Mark() {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <circle cx="10" cy="4.2" r="3.2" fill="currentColor" />
      <circle cx="4.2" cy="14.8" r="3.2" fill="currentColor" />
      <circle cx="15.8" cy="14.8" r="2.5" fill="none" stroke="currentColor" strokeWidth="1.4" strokeDasharray="2 1.2" />
      <path d="M8.3 7.3 5.9 11.7" stroke="currentColor" strokeWidth="1.6" />
    </svg>
  )
}
