import { DropdownMenu } from 'radix-ui'
import type { PickerProps } from './picker.tsx'

/** The menu of a picker, open. Radix keeps focus, arrows and type-ahead right. */
export default function PickerMenu(props: PickerProps) {
  return (
    <DropdownMenu.Root defaultOpen>
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
