/** What is, why, and what comes next: the first thing to read on a live screen. */
import type { ReactNode } from 'react'
import { Glyph, type GlyphName, type StateColour } from './glyph.tsx'

/** What is, in one sentence, with the state that it is in. */
export interface NowLead {
  readonly tone: 'plain' | 'good' | 'change' | 'recover' | 'bad'
  readonly glyph: GlyphName
  readonly colour: StateColour
  readonly label: string
  readonly what: string
}

export interface NowWords extends NowLead {
  readonly why: string
  readonly next: string
}

/** The whole of it; `act` is what a person can do about it at once. */
export function Now({ words, act }: { words: NowWords; act?: ReactNode }) {
  return (
    <NowStrip lead={words}>
      <NowCell label="Why">
        <p title={words.why}>{words.why}</p>
      </NowCell>
      <NowCell label="Next" act={act}>
        <p title={words.next}>{words.next}</p>
      </NowCell>
    </NowStrip>
  )
}

/** The lead, and beside it cells of the screen's own. */
export function NowStrip({ lead, children }: { lead: NowLead; children: ReactNode }) {
  return (
    <section className="now" aria-label="Situation" data-testid="situation" data-tone={lead.tone}>
      <div className="lead" data-tone={lead.tone}>
        <Glyph name={lead.glyph} state={lead.colour} large />
        <div>
          <span className="label">{lead.label}</span>
          <p>
            <b>{lead.what}</b>
          </p>
        </div>
      </div>
      {children}
    </section>
  )
}

export function NowCell(props: { label: string; act?: ReactNode; children: ReactNode }) {
  const words = (
    <div>
      <span className="label">{props.label}</span>
      {props.children}
    </div>
  )
  return props.act ? (
    <div className="with-act">
      {words}
      {props.act}
    </div>
  ) : (
    words
  )
}
