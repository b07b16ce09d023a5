/** Drills: what the console says of them, and what it is asked to do. A run is looked at until it has ended. */
import { queryOptions } from '@tanstack/react-query'
import type { z } from 'zod'
import {
  type DrillRunAnswer,
  drillDetail,
  drillPlace,
  drillReplay,
  drillRun,
  drillRunsAnswer,
  drillsAnswer,
  type FreeActBody,
  lastKill,
  type NearestSeed,
  nearestSeed,
  type StartDrill,
} from '../../shared/inspection/drills.ts'
import { newKey, perform } from './actions.ts'
import { liveSource } from './live.ts'
import { queryClient } from './queries.ts'

const RUNNING_MS = 250
const LIST_MS = 1_000

export const isActive = ({ state }: Pick<DrillRunAnswer, 'state'>): boolean =>
  state === 'running' || state === 'waiting' || state === 'cancelling'

export const drillQueries = {
  list: () =>
    queryOptions({
      queryKey: ['drills', 'list'],
      queryFn: ({ signal }) => liveSource.read('/api/drills', drillsAnswer, signal),
      refetchInterval: LIST_MS,
    }),
  /** The last kill of the live cluster. */
  kill: () =>
    queryOptions({
      queryKey: ['drills', 'kill'],
      queryFn: ({ signal }) => liveSource.read('/api/drills/kill', lastKill, signal),
      refetchInterval: LIST_MS,
    }),
  detail: (id: string) =>
    queryOptions({
      queryKey: ['drills', 'detail', id],
      queryFn: ({ signal }) => liveSource.read(`/api/drills/${encodeURIComponent(id)}`, drillDetail, signal),
      staleTime: Number.POSITIVE_INFINITY,
      placeholderData: () => undefined,
    }),
  history: (id: string) =>
    queryOptions({
      queryKey: ['drills', 'history', id],
      queryFn: ({ signal }) =>
        liveSource.read(`/api/drills/runs?drill=${encodeURIComponent(id)}`, drillRunsAnswer, signal),
      refetchInterval: LIST_MS,
      placeholderData: () => undefined,
    }),
  run: (run: number | undefined) =>
    queryOptions({
      queryKey: ['drills', 'run', run ?? 0],
      queryFn: ({ signal }) => liveSource.read(`/api/drills/runs/${run}`, drillRun, signal),
      enabled: run !== undefined,
      refetchInterval: ({ state: { data } }) => (data && isActive(data) ? RUNNING_MS : false),
      placeholderData: () => undefined,
    }),
  /** Of a run that has ended: it stays as it is. */
  replay: (run: number) =>
    queryOptions({
      queryKey: ['drills', 'replay', run],
      queryFn: ({ signal }) => liveSource.read(`/api/drills/runs/${run}/replay`, drillReplay, signal),
      staleTime: Number.POSITIVE_INFINITY,
      placeholderData: () => undefined,
    }),
}

export const DRILL_ACT = ['drill'] as const

async function act(path: string, body: unknown, what: string): Promise<DrillRunAnswer | undefined> {
  const key = newKey()
  const answer = await perform(
    DRILL_ACT,
    () => liveSource.act(`/api/drills/runs${path}`, body, drillRun, key),
    what,
  ).catch(() => undefined)
  if (answer) queryClient.setQueryData(drillQueries.run(answer.run).queryKey, answer)
  await queryClient.invalidateQueries({ queryKey: ['drills'] })
  return answer
}

export async function startDrill(order: StartDrill): Promise<DrillRunAnswer | undefined> {
  const made = await act('', { ...order, watched: true }, `Run ${order.drill}`)
  if (made) follow(made)
  return made
}
export type Place = z.infer<typeof drillPlace>
/** One act in a run by hand. */
export const actByHand = (run: number, body: FreeActBody) => act(`/${run}/act`, body, 'Act by hand')
/** Where an edit would be made; undefined when that is nowhere, which a notice says. */
export const placeByHand = (run: number, body: FreeActBody): Promise<Place | undefined> =>
  perform(
    DRILL_ACT,
    () => liveSource.act(`/api/drills/runs/${run}/place`, body, drillPlace, newKey()),
    'Find the place',
  ).catch(() => undefined)
/** The seed that comes nearest to the last kill; a search of many runs. */
export const findNearest = (): Promise<NearestSeed | undefined> =>
  perform(
    DRILL_ACT,
    () => liveSource.act('/api/drills/kill/nearest', {}, nearestSeed, newKey()),
    'Find the nearest seed',
  ).catch(() => undefined)
export const nextStep = (run: number) => act(`/${run}/next`, {}, 'Next step')
export const cancelDrill = (run: number) => act(`/${run}/cancel`, {}, 'Cancel the run')

/** Runs that this page follows: each ends when the page is closed, on whatever screen it was. */
const followed = new Map<number, EventSource>()

/** Tells the console that this page is there for the run, until it has ended. */
export function follow(run: Pick<DrillRunAnswer, 'run' | 'state'>): void {
  if (!isActive(run) || followed.has(run.run)) return
  const source = new EventSource(`/api/drills/runs/${run.run}/watch`)
  followed.set(run.run, source)
  const over = (): void => {
    source.close()
    followed.delete(run.run)
  }
  source.addEventListener('over', over)
  // A connection that was lost is made anew by itself; one that is refused is of a run that the console does not know.
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED) over()
  })
}
