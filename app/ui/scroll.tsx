import type { ReactNode, Ref, UIEventHandler } from 'react'

/** A region that scrolls by itself: named, and reachable by keyboard, or nobody could scroll it without a mouse. */
export function Scroll(props: {
  name: string
  children: ReactNode
  className?: string
  ref?: Ref<HTMLElement>
  onScroll?: UIEventHandler<HTMLElement>
}) {
  return (
    <section
      ref={props.ref}
      onScroll={props.onScroll}
      className={`scroll${props.className ? ` ${props.className}` : ''}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      aria-label={props.name}
    >
      {props.children}
    </section>
  )
}
