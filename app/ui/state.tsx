import type { ReactNode } from 'react'
import { Glyph } from './glyph.tsx'
import type { Look } from './states.ts'

/** A state: shape, word, number. The word is ink; only the shape carries colour. */
export function State(props: { look: Look; word?: string; children?: ReactNode; large?: boolean }) {
  return (
    <span className="state">
      <Glyph name={props.look.glyph} state={props.look.colour} {...(props.large ? { large: true } : {})} />
      {props.word ?? props.look.word}
      {props.children !== undefined && <span className="num">{props.children}</span>}
    </span>
  )
}
