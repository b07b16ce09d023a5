import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'

export interface PickerOption {
  readonly value: string
  readonly label: ReactNode
  readonly hint?: ReactNode
}

/** One of many: a field that opens a menu. Radix keeps focus, arrows and type-ahead right. */
export function Picker(props: {
  name: string
  value: string
  shown: ReactNode
  options: readonly PickerOption[]
  onChange: (value: string) => void
  testId?: string
}) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>
        <button type="button" className="field select" aria-label={props.name} data-testid={props.testId}>
          {props.shown}
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="start" sideOffset={4} collisionPadding={8}>
          <DropdownMenu.RadioGroup value={props.value} onValueChange={props.onChange}>
            {props.options.map(option => (
              <DropdownMenu.RadioItem key={option.value} value={option.value} className="menu-item">
                <span className="menu-mark" aria-hidden="true">
                  <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
                </span>
                <span className="menu-label">{option.label}</span>
                {option.hint !== undefined && <span className="menu-hint">{option.hint}</span>}
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
