import { Component, type ErrorInfo, type ReactNode } from 'react'
import { CopyButton } from './copy.tsx'
import { Glyph } from './glyph.tsx'

interface Props {
  readonly what: string
  readonly children: ReactNode
}
interface State {
  readonly error: Error | undefined
}

/** Keeps a failure where it happened: the rest of the page goes on. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined }
  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }
  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error(`${this.props.what} failed to draw`, error, info.componentStack)
  }
  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <div className="verdict fail small error-note" role="alert">
        <Glyph name="fail" large />
        <div>
          <b>{this.props.what} could not be drawn</b> <code>CON_PANEL_FAILED</code>
          <p>The fault is the page's own; the cluster and the rest of the page are not touched. {error.message}</p>
          <p className="row">
            <button type="button" className="btn small" onClick={() => this.setState({ error: undefined })}>
              Draw again
            </button>
            <CopyButton text={`${error.name}: ${error.message}\n${error.stack ?? ''}`} label="Copy details" />
          </p>
        </div>
      </div>
    )
  }
}
