/** The keyboard's way through the ring: a number, and a step to either side. */
import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useState } from 'react'

export function SlotField(props: {
  count: number
  value: number | undefined
  onChange: (slot: number) => void
  word?: string
}) {
  const { count, value } = props
  const word = props.word ?? 'slot'
  const [typed, setTyped] = useState<string>()
  const step = (by: number): void => {
    setTyped(undefined)
    props.onChange(((value ?? 0) + by + count) % count)
  }
  const text = typed ?? (value === undefined ? '' : String(value))
  const valid = /^\d{1,7}$/.test(text) && Number(text) < count
  return (
    <span className="pick-slot">
      <button type="button" className="iconbtn small" aria-label={`The ${word} before`} onClick={() => step(-1)}>
        <ChevronLeft aria-hidden="true" />
      </button>
      <label className="field" data-invalid={!valid && text !== ''}>
        <span className="label">{word}</span>
        <input
          aria-label={word}
          aria-invalid={!valid && text !== ''}
          inputMode="numeric"
          size={5}
          value={text}
          onChange={event => {
            const next = event.target.value
            setTyped(next)
            if (/^\d{1,7}$/.test(next) && Number(next) < count) props.onChange(Number(next))
          }}
          onBlur={() => setTyped(undefined)}
          onKeyDown={event => {
            if (event.key === 'ArrowUp') step(1)
            else if (event.key === 'ArrowDown') step(-1)
            else return
            event.preventDefault()
          }}
        />
      </label>
      <button type="button" className="iconbtn small" aria-label={`The ${word} after`} onClick={() => step(1)}>
        <ChevronRight aria-hidden="true" />
      </button>
    </span>
  )
}
