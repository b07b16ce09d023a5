import { Dialog } from 'radix-ui'
import { useState } from 'react'
import { remember } from '../data/token.ts'
import { Sheet } from '../ui/sheet.tsx'

/** Asks for the token that allows changes. */
export default function TokenDialog({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('')
  return (
    <Sheet onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          if (typed.trim() === '') return
          remember(typed.trim())
          onClose()
        }}
      >
        <div className="dialog-head">
          <Dialog.Title asChild>
            <h2>Token</h2>
          </Dialog.Title>
        </div>
        <div className="dialog-body">
          <Dialog.Description>
            Watching is free. Whatever changes the cluster needs the token that was printed when the console started;
            opening the printed address does the same as pasting it here.
          </Dialog.Description>
          <p className="row token-row">
            <input
              className="field"
              aria-label="Token"
              autoComplete="off"
              spellCheck={false}
              value={typed}
              onChange={event => setTyped(event.target.value)}
            />
            <button type="submit" className="btn main-act">
              Remember it
            </button>
          </p>
        </div>
      </form>
    </Sheet>
  )
}
