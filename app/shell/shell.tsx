import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { commandList, type Go, helpOpen, paletteOpen } from '../commands.ts'
import { useCell } from '../data/cell.ts'
import { addressNotes, dismissAddressNotes } from '../data/notices.ts'
import { asOf, paused } from '../data/store.ts'
import { type Command, pressedKey } from '../keys.ts'
import { prefs } from '../prefs.ts'
import { ErrorBoundary } from '../ui/error-boundary.tsx'
import { clock } from '../ui/format.ts'
import { GlyphSprite } from '../ui/glyph.tsx'
import { PoliteLine, Toasts } from '../ui/toasts.tsx'
import { LogDrawer } from './log-drawer.tsx'
import { Nav } from './nav.tsx'
import { ScreenBar } from './screen-bar.tsx'
import { TimeBar } from './time-bar.tsx'
import { TopBar } from './top-bar.tsx'

const Palette = lazy(() => import('./palette.tsx'))
const Help = lazy(() => import('./help.tsx'))

export function Shell() {
  const navigate = useNavigate()
  const go: Go = to => {
    if (to.screen === 'node') void navigate({ to: '/cluster/nodes/$node', params: { node: String(to.node) } })
    else void navigate({ to: `/${to.screen}` })
  }
  useShortcuts(() => commandList(go))
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
  const frozen = useCell(paused)
  const screen = useRouterState({ select: state => state.matches.at(-1)?.routeId })
  if (past === undefined) return null
  return (
    <p className="as-of-note" role="status">
      <b>As of {clock(past.atMs)}.</b>{' '}
      {screen === '/cluster'
        ? 'Slots and links are asked of the nodes and not kept: they are left out.'
        : `What this screen asks of the nodes is not kept in history: it is as of the pause, ${clock(frozen?.atMs ?? past.atMs)}.`}
    </p>
  )
}

/** The palette and the help sheet are fetched when first asked for. */
function Sheets(props: { commands: () => Command[] }) {
  const palette = useCell(paletteOpen)
  const help = useCell(helpOpen)
  const [wanted, setWanted] = useState({ palette: false, help: false })
  if ((palette && !wanted.palette) || (help && !wanted.help)) {
    setWanted({ palette: wanted.palette || palette, help: wanted.help || help })
  }
  return (
    <Suspense fallback={null}>
      {wanted.palette && <Palette commands={palette ? props.commands() : []} />}
      {wanted.help && <Help commands={help ? props.commands() : []} />}
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
      if (single && (typing || !prefs.get().singleKeys || paletteOpen.get() || helpOpen.get())) return
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
            The address says <code>{`${note.key}=${note.value}`}</code>, which the screen {note.screen} does not know;
            its default is shown.{' '}
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
