import { Check, Terminal } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { announce } from '../data/notices.ts'
import type { ShellCommand } from '../data/shell-command.ts'

/** @returns whether the browser allowed it; says either */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    announce('Copied')
    return true
  } catch {
    announce('The browser did not allow copying')
    return false
  }
}

/** Copies a text and says that it did. */
export function CopyButton(props: { text: string; label: string; title?: string; className?: string; icon?: boolean }) {
  const [done, setDone] = useState(false)
  const copy = async (): Promise<void> => {
    if (!(await copyText(props.text))) return
    setDone(true)
    setTimeout(() => setDone(false), 1600)
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

const loadMenu = () => import('./copy-menu.tsx')
const Menu = lazy(loadMenu)

/** "Copy as command" for the actions beside it: at once where there is one, else of which is asked. */
export function CopyCommands(props: { commands: readonly ShellCommand[]; className?: string }) {
  const [opened, setOpened] = useState(false)
  const { commands, className = 'iconbtn small push' } = props
  const [only] = commands
  if (only === undefined) return null
  if (commands.length === 1)
    return (
      <CopyButton
        text={only.text}
        label="Copy as command"
        title={`Copy as command: ${only.name}`}
        icon
        className={className}
      />
    )
  const label = 'Copy as command'
  const closed = (
    <button
      type="button"
      className={className}
      aria-label={label}
      aria-haspopup="menu"
      title={label}
      onPointerEnter={() => void loadMenu()}
      onFocus={() => void loadMenu()}
      onClick={() => setOpened(true)}
    >
      <Terminal aria-hidden="true" />
    </button>
  )
  if (!opened) return closed
  return (
    <Suspense fallback={closed}>
      <Menu commands={commands} className={className} label={label}>
        <Terminal aria-hidden="true" />
      </Menu>
    </Suspense>
  )
}
