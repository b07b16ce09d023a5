/** The addresses of the page. Each screen is fetched when it is first opened; its search is read by its own schema. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import { dismissAddressNotes, noteAddress } from './data/notices.ts'
import { parseEverywhere, parseSearch, readSearch, type ScreenName, type Search, writeSearch } from './search.ts'
import { Shell } from './shell/shell.tsx'
import { ErrorBoundary } from './ui/error-boundary.tsx'
import { Skeleton } from './ui/problem.tsx'

const reads =
  <S extends ScreenName>(screen: S) =>
  (raw: Record<string, unknown>): Search<S> =>
    parseSearch(screen, raw, noteAddress)

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: parseEverywhere,
  // A recording, and a moment, stay what they are from screen to screen.
  search: { middlewares: [retainSearchParams(['rec', 'at'])] },
})
const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/cluster', replace: true })
  },
})
const cluster = createRoute({
  getParentRoute: () => root,
  path: '/cluster',
  validateSearch: reads('cluster'),
  component: lazyRouteComponent(() => import('./screens/cluster/cluster-screen.tsx')),
})
const load = createRoute({
  getParentRoute: () => root,
  path: '/load',
  validateSearch: reads('load'),
  component: lazyRouteComponent(() => import('./screens/load/load-screen.tsx')),
})
const bench = createRoute({
  getParentRoute: () => root,
  path: '/bench',
  validateSearch: reads('bench'),
  component: lazyRouteComponent(() => import('./screens/benchmarks/benchmarks-screen.tsx')),
})
const walIndex = createRoute({
  getParentRoute: () => root,
  path: '/wal',
  beforeLoad: () => {
    throw redirect({ to: '/wal/$node', params: { node: '0' }, replace: true })
  },
})
const wal = createRoute({
  getParentRoute: () => root,
  path: '/wal/$node',
  validateSearch: reads('wal'),
  component: lazyRouteComponent(() => import('./screens/wal/wal-screen.tsx')),
})
const clients = createRoute({
  getParentRoute: () => root,
  path: '/clients',
  validateSearch: reads('clients'),
  component: lazyRouteComponent(() => import('./screens/clients/clients-screen.tsx')),
})
const node = createRoute({
  getParentRoute: () => root,
  path: '/cluster/nodes/$node',
  validateSearch: reads('node'),
  component: lazyRouteComponent(() => import('./screens/node/node-screen.tsx')),
})
const partitions = createRoute({
  getParentRoute: () => root,
  path: '/partitions',
  validateSearch: reads('partitions'),
  component: lazyRouteComponent(() => import('./screens/partitions/partitions-screen.tsx')),
})
const partition = createRoute({
  getParentRoute: () => root,
  path: '/partitions/$s/$t/$p',
  validateSearch: reads('partition'),
  component: lazyRouteComponent(() => import('./screens/partition/partition-screen.tsx')),
})
const superblocks = createRoute({
  getParentRoute: () => root,
  path: '/superblocks',
  validateSearch: reads('superblocks'),
  component: lazyRouteComponent(() => import('./screens/superblocks/superblocks-screen.tsx')),
})
const forwards = createRoute({
  getParentRoute: () => root,
  path: '/forwards',
  validateSearch: reads('forwards'),
  component: lazyRouteComponent(() => import('./screens/forwards/forwards-screen.tsx')),
})
const recoveries = createRoute({
  getParentRoute: () => root,
  path: '/recoveries',
  validateSearch: reads('recoveries'),
  component: lazyRouteComponent(() => import('./screens/recoveries/recoveries-screen.tsx')),
})
const timeline = createRoute({
  getParentRoute: () => root,
  path: '/timeline',
  validateSearch: reads('timeline'),
  component: lazyRouteComponent(() => import('./screens/timeline/timeline-screen.tsx')),
})
const drills = createRoute({
  getParentRoute: () => root,
  path: '/drills',
  validateSearch: reads('drills'),
  component: lazyRouteComponent(() => import('./screens/drills/drills-screen.tsx')),
})
const drill = createRoute({
  getParentRoute: () => root,
  path: '/drills/$id',
  validateSearch: reads('drill'),
  component: lazyRouteComponent(() => import('./screens/drills/drill-screen.tsx')),
})
const recordings = createRoute({
  getParentRoute: () => root,
  path: '/recordings',
  validateSearch: reads('recordings'),
  component: lazyRouteComponent(() => import('./screens/recordings/recordings-screen.tsx')),
})
const book = createRoute({
  getParentRoute: () => root,
  path: '/book/$page',
  component: lazyRouteComponent(() => import('./explain/book-screen.tsx')),
})
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  validateSearch: reads('settings'),
  component: lazyRouteComponent(() => import('./screens/settings/settings-screen.tsx')),
})

const routeTree = root.addChildren([
  index,
  cluster,
  load,
  bench,
  walIndex,
  wal,
  clients,
  node,
  partitions,
  partition,
  superblocks,
  forwards,
  recoveries,
  timeline,
  recordings,
  drills,
  drill,
  book,
  settings,
])

export const router = createRouter({
  routeTree,
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: 'intent',
  // The first screen is worth a frame at once; from one screen to the next nothing flickers that comes within a blink.
  defaultPendingMs: 0,
  defaultPendingMinMs: 0,
  defaultPendingComponent: () => <Skeleton what="the screen" rows={8} />,
  defaultErrorComponent: ({ error }) => (
    <ErrorBoundary what="This screen">
      <Rethrow error={error} />
    </ErrorBoundary>
  ),
  scrollRestoration: true,
})

const BLINK_MS = 150
const firstShown = router.subscribe('onResolved', () => {
  firstShown()
  router.update({ ...router.options, defaultPendingMs: BLINK_MS })
})

/** What an address could not say concerns the screen that it named. */
router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
  if (fromLocation && pathChanged) dismissAddressNotes()
})

function Rethrow(props: { error: unknown }): never {
  throw props.error
}

function NotFound() {
  return (
    <div className="sheet">
      <h1 className="title">No such screen</h1>
      <p>
        This address names nothing that the page knows. <Link to="/cluster">Go to the cluster</Link>
      </p>
    </div>
  )
}

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
