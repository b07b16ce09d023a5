/** A pane of a screen: a head with its title, what it needs and how old it is; a failure inside stays inside. */
import { type ReactNode, useId } from 'react'
import { ErrorBoundary } from './error-boundary.tsx'

export interface PaneProps {
  readonly title: ReactNode
  /** Plain title for the accessible name when `title` is more than text. */
  readonly name?: string
  readonly label?: ReactNode
  readonly actions?: ReactNode
  readonly className?: string
  readonly testId?: string
  readonly children: ReactNode
}

export function Pane(props: PaneProps) {
  const id = useId()
  return (
    <section
      className={`pane${props.className ? ` ${props.className}` : ''}`}
      aria-labelledby={id}
      data-testid={props.testId}
    >
      <div className="pane-head">
        <h2 id={id}>{props.title}</h2>
        {props.label !== undefined && <span className="label">{props.label}</span>}
        {props.actions}
      </div>
      <ErrorBoundary what={props.name ?? (typeof props.title === 'string' ? props.title : 'This pane')}>
        {props.children}
      </ErrorBoundary>
    </section>
  )
}
