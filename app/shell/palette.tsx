import { Dialog } from 'radix-ui'
import { useId, useState } from 'react'
import { paletteOpen } from '../commands.ts'
import { type Command, keyWord, matchCommands } from '../keys.ts'
import { Sheet } from '../ui/sheet.tsx'

/** Every command by name. A listbox under a text field: focus stays in the field, arrows move the mark. */
export default function Palette(props: { commands: readonly Command[] }) {
  const [query, setQuery] = useState('')
  const [mark, setMark] = useState(0)
  const id = useId()
  const found = matchCommands(props.commands, query)
  const marked = Math.min(mark, Math.max(0, found.length - 1))
  const choose = (command: Command | undefined): void => {
    if (!command || command.blocked !== undefined) return
    paletteOpen.set(false)
    command.run()
  }
  return (
    <Sheet onClose={() => paletteOpen.set(false)} className="palette" undescribed>
      <Dialog.Title className="sr">Command palette</Dialog.Title>
      <input
        className="palette-input"
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found[marked] ? `${id}-${marked}` : undefined}
        placeholder="Type a command"
        value={query}
        onChange={event => {
          setQuery(event.target.value)
          setMark(0)
        }}
        onKeyDown={event => {
          if (event.key === 'ArrowDown') setMark(Math.min(found.length - 1, marked + 1))
          else if (event.key === 'ArrowUp') setMark(Math.max(0, marked - 1))
          else if (event.key === 'Enter') choose(found[marked])
          else return
          event.preventDefault()
        }}
      />
      <div id={`${id}-list`} role="listbox" aria-label="Commands" className="palette-list">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the text field that owns this list
          <div
            key={command.id}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === marked}
            aria-disabled={command.blocked !== undefined}
            className="menu-item"
            data-highlighted={index === marked ? '' : undefined}
            ref={element => {
              if (index === marked) element?.scrollIntoView({ block: 'nearest' })
            }}
            onClick={() => choose(command)}
            onMouseMove={() => setMark(index)}
          >
            <span className="menu-hint palette-group">{command.group}</span>
            <span>{command.name}</span>
            <span className="menu-hint">
              {command.blocked ?? (command.key === undefined ? '' : <kbd>{keyWord(command.key)}</kbd>)}
            </span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="note">No command has these words.</p>}
    </Sheet>
  )
}
