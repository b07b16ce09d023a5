/**
 * The log: facts of all nodes and of the console, newest first. Closed it shows the newest line; open it keeps the
 * reader's place: once scrolled, new lines only count up until the reader returns to the top, and so do those of them that
 * are not kept any more.
 */
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { CONSOLE_NODE } from '../../shared/inspection/envelope.ts'
import type { ClusterView, Fact } from '../../shared/inspection/view.ts'
import { logOpen } from '../commands.ts'
import { useCell } from '../data/cell.ts'
import { shown } from '../data/store.ts'
import { factsSince } from '../data/tail.ts'
import { groupName } from '../names.ts'
import { clock, grouped, visible } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { factLook } from '../ui/states.ts'

const LINES_MAX = 200

export function LogDrawer() {
  const open = useCell(logOpen)
  const view = useCell(shown, state => state.view)
  const { facts } = view
  const [held, setHeld] = useState<Pick<ClusterView, 'facts' | 'factsDropped'> | undefined>(undefined)
  const list = useRef<HTMLUListElement>(null)
  const newest = facts.at(-1)
  const lines = held?.facts ?? facts
  const { newer, dropped } = held ? factsSince(held, view) : { newer: 0, dropped: 0 }
  const toggle = (): void => {
    setHeld(undefined)
    logOpen.set(!open)
  }
  return (
    <section className={`drawer${open ? ' open' : ''}`} aria-label="Log">
      <div className="drawer-bar">
        <button type="button" className="btn small quiet" aria-expanded={open} onClick={toggle}>
          Log <kbd>L</kbd>
        </button>
        {newest ? (
          <LogLine fact={newest} />
        ) : (
          <span className="micro ink-3">No facts yet: what nodes and console do is listed here.</span>
        )}
        {newer > 0 && open && (
          <button
            type="button"
            className="btn small push"
            onClick={() => {
              setHeld(undefined)
              list.current?.scrollTo({ top: 0 })
            }}
          >
            {grouped(newer)} newer{dropped > 0 ? `, ${grouped(dropped)} of them not kept` : ''}
          </button>
        )}
      </div>
      {open && (
        <ul
          ref={list}
          className="log drawer-list"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
          tabIndex={0}
          aria-label="Facts, newest first"
          data-testid="facts"
          onScroll={event => {
            const away = event.currentTarget.scrollTop > 4
            if (away && held === undefined) setHeld(view)
            if (!away && held !== undefined) setHeld(undefined)
          }}
        >
          {lines
            .slice(-LINES_MAX)
            .reverse()
            .map(fact => (
              <li key={fact.number}>
                <LogLine fact={fact} />
              </li>
            ))}
          {(lines.length > LINES_MAX || view.factsDropped > 0) && (
            <li className="micro ink-3">
              The last {grouped(LINES_MAX)} are listed. <Link to="/timeline">The timeline has older ones</Link>, and the
              recording of this run all.
            </li>
          )}
        </ul>
      )}
    </section>
  )
}

export function LogLine(props: { fact: Fact }) {
  const { fact } = props
  const look = factLook(fact)
  const who = fact.about === CONSOLE_NODE ? 'console' : `node-${fact.about}`
  return (
    <span className="log-line">
      <time dateTime={new Date(fact.atMs).toISOString()}>{clock(fact.atMs)}</time>
      <Glyph name={look.glyph} state={look.colour} />
      <b className="ink-1">{who}</b>
      <span className="ink-3 log-group">{fact.plane === 'node' ? '' : groupName(fact.group)}</span>
      <span className="log-words">{visible(fact.words)}</span>
    </span>
  )
}
