/** One of many: a field that opens a menu. The menu is fetched when it is likely to be opened: most never are. */
import { lazy, type ReactNode, Suspense, useState } from 'react'

export interface PickerOption {
  readonly value: string
  readonly label: ReactNode
  readonly hint?: ReactNode
}
export interface PickerProps {
  readonly name: string
  readonly value: string
  readonly shown: ReactNode
  readonly options: readonly PickerOption[]
  readonly onChange: (value: string) => void
  readonly testId?: string
}

const load = () => import('./picker-menu.tsx')
const Menu = lazy(load)

export function Picker(props: PickerProps) {
  const [opened, setOpened] = useState(false)
  const closed = (
    <button
      type="button"
      className="field select"
      aria-label={props.name}
      aria-haspopup="menu"
      data-testid={props.testId}
      onPointerEnter={() => void load()}
      onFocus={() => void load()}
      onClick={() => setOpened(true)}
      onKeyDown={event => {
        if (event.key === 'ArrowDown') setOpened(true)
      }}
    >
      {props.shown}
    </button>
  )
  if (!opened) return closed
  return (
    <Suspense fallback={closed}>
      <Menu {...props} />
    </Suspense>
  )
}
