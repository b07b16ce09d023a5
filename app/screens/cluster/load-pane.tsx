/** Steady load through the real client protocol, with its ledger: the screen of its own has every field of it. */
import { Link } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { LoadState } from '../../../shared/inspection/api.ts'
import { useCell } from '../../data/cell.ts'
import { shown } from '../../data/store.ts'
import { count, grouped, visible } from '../../ui/format.ts'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { isBusy, LoadActs } from '../load/act.tsx'
import { NumberField, PolicyField } from '../load/fields.tsx'
import { Ledger } from '../load/ledger.tsx'

const LoadChart = lazy(() => import('../load/load-chart.tsx'))

export function LoadPane() {
  const load = useCell(shown, state => state.view.load)
  return (
    <Pane
      title={
        <Link to="/load" className="plain-link">
          Load
        </Link>
      }
      name="Load"
      label={labelOf(load)}
      className="p-load"
      testId="load"
      actions={<LoadActs load={load} />}
    >
      <div className="loadbody">
        {!load || load.state === 'idle' ? (
          <div className="empty" data-testid="load-empty">
            <p>
              <b>No load yet.</b> It creates the topic <code>load/steady</code> with three partitions, writes through
              the client protocol from four connections, and reads every acknowledged message back.
            </p>
          </div>
        ) : (
          <>
            <Suspense fallback={<Skeleton what="the chart" rows={3} />}>
              <LoadChart load={load} />
            </Suspense>
            <Ledger load={load} />
          </>
        )}
        {!isBusy(load) && (
          <div className="row load-form">
            <NumberField field="ratePerSecond" />
            <NumberField field="batchMessages" />
            <PolicyField />
          </div>
        )}
      </div>
    </Pane>
  )
}

export function labelOf(load: LoadState | undefined): string {
  const settings = load?.settings
  if (!load || load.state === 'idle' || !settings) return 'not running'
  return `${grouped(settings.ratePerSecond)} msg/s asked over ${count(load.partitions.length || settings.partitions, 'partition')} of ${visible(settings.stream)}/${visible(settings.topic)}, ${load.state}`
}
