import { Check, Terminal } from 'lucide-react'
import { useState } from 'react'
import { announce } from '../data/notices.ts'

/** Copies a text and says that it did. */
export function CopyButton(props: { text: string; label: string; title?: string; className?: string; icon?: boolean }) {
  const [done, setDone] = useState(false)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(props.text)
      setDone(true)
      announce('Copied')
      setTimeout(() => setDone(false), 1600)
    } catch {
      announce('The browser did not allow copying')
    }
  }
  return (
    <button
      type="button"
      className={props.className ?? 'btn small quiet'}
      title={props.title ?? `${props.label}: ${props.text}`}
      aria-label={props.icon ? props.label : undefined}
      onClick={() => void copy()}
    >
      {props.icon ? (
        done ? (
          <Check aria-hidden="true" />
        ) : (
          <Terminal aria-hidden="true" />
        )
      ) : done ? (
        'Copied'
      ) : (
        props.label
      )}
    </button>
  )
}
