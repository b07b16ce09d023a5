import type { ReactNode } from 'react'

/** One of a few: pressed buttons in a row. */
export function Segmented<T extends string>(props: {
  name: string
  value: T
  options: readonly { readonly value: T; readonly label: ReactNode; readonly title?: string }[]
  onChange: (value: T) => void
}) {
  return (
    <fieldset className="seg" aria-label={props.name}>
      {props.options.map(option => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === props.value}
          title={option.title}
          onClick={() => props.onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  )
}
