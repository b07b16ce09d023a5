/** Which of several actions is copied as a command, open. */
import { DropdownMenu } from 'radix-ui'
import type { ShellCommand } from '../data/shell-command.ts'
import { copyText } from './copy.tsx'

export default function CopyMenu(props: {
  commands: readonly ShellCommand[]
  className: string
  label: string
  children: React.ReactNode
}) {
  return (
    <DropdownMenu.Root defaultOpen>
      <DropdownMenu.Trigger asChild>
        <button type="button" className={props.className} aria-label={props.label} title={props.label}>
          {props.children}
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {props.commands.map(({ name, text }) => (
            <DropdownMenu.Item key={name} className="menu-item" title={text} onSelect={() => void copyText(text)}>
              <span className="menu-label">{name}</span>
              <span className="menu-hint menu-command">{text.slice(0, COMMAND_SHOWN_MAX)}</span>
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
const COMMAND_SHOWN_MAX = 48
