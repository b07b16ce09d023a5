/** The way out of a table on the first screen: its menu comes a moment after the figures, since that screen has a budget. */
import { lazy, type ReactNode, Suspense } from 'react'
import type { TableExport } from './table-export.tsx'

type SaveProps<R> = Parameters<typeof TableExport<R>>[0]

const Menu = lazy(async () => ({ default: (await import('./table-export.tsx')).TableExport }))

export function TableSave<R>(props: SaveProps<R>): ReactNode {
  return (
    <Suspense>
      {/* What is loaded later has lost the type of its rows. */}
      <Menu {...(props as unknown as SaveProps<unknown>)} />
    </Suspense>
  )
}
