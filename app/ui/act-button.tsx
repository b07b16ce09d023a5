/** A button that changes the cluster. Disabled it says why, pending it says so at once, and it never moves meanwhile. */
import { type ReactNode, useId } from 'react'
import { usePending } from '../data/actions.ts'

export function ActButton(props: {
  children: ReactNode
  /** Whole name for screen readers and tests, e.g. "Kill node-0". */
  name: string
  pendingKey: readonly (string | number)[]
  onAct: () => void
  /** Why it cannot be used now. */
  why?: string | undefined
  className?: string
  testId?: string
}) {
  const id = useId()
  const pending = usePending(props.pendingKey)
  const blocked = props.why !== undefined || pending
  return (
    <>
      <button
        type="button"
        className={props.className ?? 'btn small'}
        aria-label={props.name}
        aria-disabled={blocked}
        aria-describedby={props.why === undefined ? undefined : id}
        aria-busy={pending}
        data-pending={pending}
        data-testid={props.testId}
        title={props.why}
        onClick={() => {
          if (!blocked) props.onAct()
        }}
      >
        {props.children}
      </button>
      {props.why !== undefined && (
        <span id={id} className="sr">
          {props.why}
        </span>
      )}
    </>
  )
}
