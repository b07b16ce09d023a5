/** The addresses of the page. Each screen is fetched when it is first opened; its search is read by its own schema. */
import { createRootRoute, createRoute, createRouter, Link, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { noteAddress } from './data/notices.ts'
import { parseSearch, readSearch, type ScreenName, type Search, writeSearch } from './search.ts'
import { Shell } from './shell/shell.tsx'
import { ErrorBoundary } from './ui/error-boundary.tsx'
import { Skeleton } from './ui/problem.tsx'

const reads =
  <S extends ScreenName>(screen: S) =>
  (raw: Record<string, unknown>): Search<S> =>
    parseSearch(screen, raw, noteAddress)

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })
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
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  validateSearch: reads('settings'),
  component: lazyRouteComponent(() => import('./screens/settings/settings-screen.tsx')),
})

const routeTree = root.addChildren([
  index,
  cluster,
  node,
  partitions,
  partition,
  superblocks,
  forwards,
  recoveries,
  settings,
])

export const router = createRouter({
  routeTree,
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: 'intent',
  defaultPendingMs: 150,
  defaultPendingMinMs: 0,
  defaultPendingComponent: () => <Skeleton what="the screen" rows={8} />,
  defaultErrorComponent: ({ error }) => (
    <ErrorBoundary what="This screen">
      <Rethrow error={error} />
    </ErrorBoundary>
  ),
  scrollRestoration: true,
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
