import { Link, useRouterState } from '@tanstack/react-router'
import { Dialog } from 'radix-ui'
import { useState } from 'react'
import { Sheet } from '../ui/sheet.tsx'
import type { Term } from './term.ts'
import { TERMS, termsFor } from './terms.ts'
import './explain.css'

/** What the words of the screen mean, and where the book goes on. */
export default function Explain(props: { onClose: () => void }) {
  const screen = useRouterState({ select: state => state.matches.at(-1)?.routeId ?? '' })
  const [query, setQuery] = useState('')
  const { here, others } = termsFor(screen)
  const wanted = query.trim().toLowerCase()
  const found = (key: string): boolean => {
    const { name, words } = TERMS[key]!
    return wanted === '' || `${name} ${words}`.toLowerCase().includes(wanted)
  }
  return (
    <Sheet onClose={props.onClose} className="explain" undescribed>
      <div className="dialog-head">
        <Dialog.Title asChild>
          <h2>What the words mean</h2>
        </Dialog.Title>
        <input
          className="field push"
          type="search"
          aria-label="Find a word"
          placeholder="Find a word"
          value={query}
          onChange={event => setQuery(event.target.value)}
        />
      </div>
      <div className="dialog-body">
        <Words title="On this screen" keys={here.filter(found)} onClose={props.onClose} />
        <Words title={here.length > 0 ? 'Elsewhere' : 'All'} keys={others.filter(found)} onClose={props.onClose} />
      </div>
    </Sheet>
  )
}

function Words(props: { title: string; keys: readonly string[]; onClose: () => void }) {
  if (props.keys.length === 0) return null
  return (
    <section>
      <h3>{props.title}</h3>
      <dl>
        {props.keys.map(key => (
          <Entry key={key} id={key} term={TERMS[key]!} onClose={props.onClose} />
        ))}
      </dl>
    </section>
  )
}

function Entry({ id, term, onClose }: { id: string; term: Term; onClose: () => void }) {
  const [page, anchor] = term.read.split('#') as [string, string]
  return (
    <div data-testid={`term-${id}`}>
      <dt>{term.name}</dt>
      <dd>
        {term.words}{' '}
        <Link
          to="/book/$page"
          params={{ page }}
          hash={anchor}
          onClick={onClose}
          aria-label={`Read on about ${term.name}`}
        >
          Read on
        </Link>
      </dd>
    </div>
  )
}
