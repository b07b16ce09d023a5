/** One drill: say what will happen, run it, see what did, and read why. Everything chosen is in the address. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { DrillDetail, DrillRunAnswer } from '../../../shared/inspection/drills.ts'
import { drillQueries, follow, isActive, nextStep, startDrill } from '../../data/drills.ts'
import type { Search } from '../../search.ts'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { ComparePane } from './compare-pane.tsx'
import { EvidencePane } from './evidence-pane.tsx'
import { FreePanes } from './free-pane.tsx'
import { DrillHead } from './head.tsx'
import { ReplayPane } from './replay-pane.tsx'
import { StepsPane, StoryPanes } from './steps-pane.tsx'
import { SweepPane } from './sweep-pane.tsx'
import { PredictionsPane, RunsPane, VerdictPane } from './verdict-pane.tsx'
import './drills.css'

const route = getRouteApi('/drills/$id')

/** What the panes of the screen work on. */
export interface DrillView {
  readonly drill: DrillDetail
  /** The run that is shown. */
  readonly run: DrillRunAnswer | undefined
  readonly search: Search<'drill'>
  readonly choose: (change: Search<'drill'>) => void
  readonly start: (stepwise: boolean) => void
  /** Starts the cluster and leaves it to whoever is there. */
  readonly byHand: () => void
  /** The same over many seeds. */
  readonly sweep: (seeds: number) => void
  /** In a run that waits: on. */
  readonly next: () => void
  /** Number of a run of another drill that is going on. */
  readonly elsewhere: number | undefined
}

export default function DrillScreen() {
  const id = route.useParams().id.toUpperCase()
  const { data: drill, error, refetch } = useQuery(drillQueries.detail(id))
  if (drill) return <Drill key={id} drill={drill} />
  return (
    <div className="sheet">
      <h1 className="title">Drill {id}</h1>
      {error ? (
        <Problem error={error} what="This drill could not be read." retry={() => void refetch()} />
      ) : (
        <Skeleton what="the drill" rows={8} />
      )}
      <p>
        <Link to="/drills">All drills</Link>
      </p>
    </div>
  )
}

function Drill({ drill }: { drill: DrillDetail }) {
  const search: Search<'drill'> = route.useSearch()
  const navigate = useNavigate()
  const { data: list } = useQuery(drillQueries.list())
  const { data: history } = useQuery(drillQueries.history(drill.id))
  const newest = history?.runs[0]?.run
  const wanted = search.run === 'new' ? undefined : search.run === undefined ? newest : Number(search.run)
  const { data: run, error } = useQuery(drillQueries.run(wanted))
  const choose = (change: Search<'drill'>): void =>
    void navigate({
      to: '/drills/$id',
      params: { id: drill.id },
      search: old => ({ ...old, ...change }) as Search<'drill'>,
      replace: true,
      resetScroll: false,
    })
  const start = async (stepwise: boolean, seeds?: number, free = false): Promise<void> => {
    const broken = search.broken === '1'
    const made = await startDrill({
      drill: drill.id,
      world: broken || seeds !== undefined ? 'sim' : (search.world ?? 'sim'),
      broken,
      stepwise,
      predicted: predictedIn(search),
      ...(seeds !== undefined && { seeds }),
      free,
      ...(search.seed !== undefined && search.world !== 'real' && { seed: search.seed }),
    })
    if (made) choose({ run: String(made.run), item: undefined, at: undefined, with: undefined })
  }
  const shown = wanted === undefined ? undefined : run
  useEffect(() => {
    if (shown) follow(shown)
  }, [shown])
  const active = list?.active ?? undefined
  const view: DrillView = {
    drill,
    run: shown,
    search,
    choose,
    start: stepwise => void start(stepwise),
    byHand: () => void start(false, undefined, true),
    sweep: seeds => void start(false, seeds),
    next: () => {
      if (shown?.state === 'waiting') void nextStep(shown.run)
    },
    elsewhere: active !== undefined && active !== shown?.run && !(shown && isActive(shown)) ? active : undefined,
  }
  return (
    <div
      className={`screen drill${search.present ? ' present' : ''}`}
      data-testid="drill"
      data-state={shown?.state ?? 'none'}
    >
      <DrillHead view={view} />
      <div className="drill-cols">
        <div className="drill-col">
          <StoryPanes view={view} />
          <PredictionsPane view={view} />
          <StepsPane view={view} />
        </div>
        <div className="drill-col">
          {error && wanted !== undefined ? (
            <Problem error={error} what={`Run ${wanted} could not be read.`} />
          ) : (
            <>
              {shown?.state === 'done' && search.at !== undefined && <ReplayPane view={view} run={shown.run} />}
              {shown?.state === 'done' && search.with !== undefined && search.with !== String(shown.run) && (
                <ComparePane view={view} run={shown} other={Number(search.with)} />
              )}
              {shown?.free && isActive(shown) && <FreePanes view={view} run={shown} />}
              {shown?.sweep ? <SweepPane view={view} run={shown} sweep={shown.sweep} /> : null}
              <EvidencePane view={view} />
            </>
          )}
        </div>
        <div className="drill-col">
          <VerdictPane view={view} />
          <RunsPane view={view} runs={history?.runs ?? []} />
        </div>
      </div>
    </div>
  )
}

export const predictedIn = ({ predict }: Search<'drill'>): number[] =>
  predict === undefined ? [] : predict.split(',').map(Number)
