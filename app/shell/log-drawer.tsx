/**
 * The log: facts of all nodes and of the console, newest first. Closed it shows the newest line; open it keeps the
 * reader's place: once scrolled, new lines only count up until the reader returns to the top.
 */
import { useRef, useState } from 'react'
import { CONSOLE_NODE } from '../../shared/inspection/envelope.ts'
import type { Fact } from '../../shared/inspection/view.ts'
import { logOpen } from '../commands.ts'
import { useCell } from '../data/cell.ts'
import { shown } from '../data/store.ts'
import { groupName } from '../names.ts'
import { clock, grouped, visible } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { factLook } from '../ui/states.ts'

const LINES_MAX = 200

export function LogDrawer() {
  const open = useCell(logOpen)
  const facts = useCell(shown, state => state.view.facts)
  const [held, setHeld] = useState<readonly Fact[] | undefined>(undefined)
  const list = useRef<HTMLUListElement>(null)
  const newest = facts.at(-1)
  const lines = held ?? facts
  const waits = held && newest ? newest.number - (held.at(-1)?.number ?? 0) : 0
  return (
    <section className={`drawer${open ? ' open' : ''}`} aria-label="Log">
      <div className="drawer-bar">
        <button type="button" className="btn small quiet" aria-expanded={open} onClick={() => logOpen.set(!open)}>
          Log <kbd>L</kbd>
        </button>
        {newest ? (
          <LogLine fact={newest} />
        ) : (
          <span className="micro ink-3">No facts yet: what nodes and console do is listed here.</span>
        )}
        {waits > 0 && (
          <button
            type="button"
            className="btn small push"
            onClick={() => {
              setHeld(undefined)
              list.current?.scrollTo({ top: 0 })
            }}
          >
            {grouped(waits)} newer
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
            if (away && held === undefined) setHeld(facts)
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
