/** What a screen puts into the top bar: the cluster screen chooses its plane and group there. */
import { useRouterState } from '@tanstack/react-router'
import { ClusterBar } from '../screens/cluster/cluster-bar.tsx'

export function ScreenBar() {
  const screen = useRouterState({ select: state => state.matches.at(-1)?.routeId })
  return screen === '/cluster' ? <ClusterBar /> : null
}
