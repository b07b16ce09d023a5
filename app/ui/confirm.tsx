/**
 * What destroys data asks for the name of what it destroys, typed: a click is too easily made (spec ui.md §3.5). One at a
 * time; who asks says what it would do, and nothing is done until the name stands there.
 */
import { Dialog } from 'radix-ui'
import { useState } from 'react'
import { useCell } from '../data/cell.ts'
import { confirming } from '../data/confirming.ts'
import { Sheet } from './sheet.tsx'

export default function Confirm() {
  const asked = useCell(confirming)
  const [typed, setTyped] = useState('')
  if (!asked) return null
  const close = (): void => {
    setTyped('')
    confirming.set(undefined)
  }
  const same = typed.trim() === asked.typeThis
  return (
    <Sheet onClose={close} testId="confirm">
      <form
        onSubmit={event => {
          event.preventDefault()
          if (!same) return
          close()
          asked.run()
        }}
      >
        <div className="dialog-head">
          <Dialog.Title asChild>
            <h2>{asked.title}</h2>
          </Dialog.Title>
        </div>
        <div className="dialog-body">
          <Dialog.Description>{asked.words}</Dialog.Description>
          <p className="row token-row">
            <input
              className="field"
              aria-label={`Type ${asked.typeThis} to go on`}
              placeholder={`type ${asked.typeThis}`}
              autoComplete="off"
              spellCheck={false}
              value={typed}
              onChange={event => setTyped(event.target.value)}
            />
            <button type="submit" className="btn destructive" aria-disabled={!same}>
              {asked.act}
            </button>
            <button type="button" className="btn" onClick={close}>
              Leave it
            </button>
          </p>
        </div>
      </form>
    </Sheet>
  )
}
