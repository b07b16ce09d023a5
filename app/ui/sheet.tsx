/**
 * A dialog over the page: Escape and a press beside it close it, Tab stays inside, and focus goes back to where it was before
 * (WCAG 2.4.3), also when one dialog led to the next, or nothing of the page asked for it but a key.
 */
import { Dialog } from 'radix-ui'
import { type ReactNode, useState } from 'react'

/** What had focus before the first of the dialogs that are open. */
let before: Element | null = null

function rememberFocus(): void {
  const { activeElement } = document
  // Nothing has it while one dialog gives way to the next.
  if (activeElement !== document.body && activeElement?.closest('[role=dialog]') == null) before = activeElement
}

function giveFocusBack(): void {
  // Another dialog has been opened from this one: it gives it back.
  if (document.querySelector('[role=dialog]') !== null) return
  const target = before instanceof HTMLElement && before.isConnected && before !== document.body ? before : undefined
  ;(target ?? document.getElementById('main'))?.focus({ preventScroll: true })
}

export function Sheet(props: {
  onClose: () => void
  children: ReactNode
  className?: string
  testId?: string
  /** Has no `Dialog.Description` in it. */
  undescribed?: boolean
}) {
  useState(rememberFocus)
  return (
    <Dialog.Root open onOpenChange={open => open || props.onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="scrim" />
        <Dialog.Content
          className={`dialog${props.className ? ` ${props.className}` : ''}`}
          data-testid={props.testId}
          onCloseAutoFocus={event => {
            event.preventDefault()
            giveFocusBack()
          }}
          {...(props.undescribed && { 'aria-describedby': undefined })}
        >
          {props.children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
