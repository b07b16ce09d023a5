/** One message of text, written by hand through the client protocol: the page then stands at its offset. */
import { useState } from 'react'
import { useForbidden, usePending, WRITE_KEY, writeMessage } from '../../data/actions.ts'
import { Glyph } from '../../ui/glyph.tsx'
import type { PartitionScreenState } from './use-partition.ts'

export function WriteForm({ state }: { state: PartitionScreenState }) {
  const [text, setText] = useState('')
  const forbidden = useForbidden()
  const pending = usePending(WRITE_KEY)
  const blocked = forbidden ?? (pending ? 'The message before it is on its way.' : undefined)
  const write = async (): Promise<void> => {
    const offset = await writeMessage(state.at, text)
    if (offset === undefined) return
    setText('')
    state.change({ offset, seg: undefined, batch: undefined, from: undefined, field: undefined, tab: 'messages' })
  }
  return (
    <form
      className="write-form"
      onSubmit={event => {
        event.preventDefault()
        if (blocked === undefined && text !== '') void write()
      }}
    >
      <label className="field">
        <span className="label">Message</span>
        <input aria-label="Text of a message" value={text} onChange={event => setText(event.target.value)} />
      </label>
      <button
        type="submit"
        className="btn small"
        aria-disabled={blocked !== undefined || text === ''}
        aria-busy={pending}
        title={blocked}
      >
        <Glyph name="request" />
        Write
      </button>
    </form>
  )
}
