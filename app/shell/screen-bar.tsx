/** What a screen puts into the top bar and the title of the tab: the cluster screen chooses its plane and group there. */
import { useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ClusterBar } from '../screens/cluster/cluster-bar.tsx'

const TITLES: Readonly<Record<string, string>> = {
  '/cluster': 'Cluster',
  '/load': 'Load',
  '/bench': 'Benchmarks',
  '/wal/$node': 'WAL',
  '/clients': 'Clients',
  '/cluster/nodes/$node': 'Node',
  '/partitions': 'Partitions',
  '/partitions/$s/$t/$p': 'Partition',
  '/superblocks': 'Superblocks',
  '/forwards': 'Forwards',
  '/recoveries': 'Recoveries',
  '/settings': 'Settings',
}

export function ScreenBar() {
  const screen = useRouterState({ select: state => state.matches.at(-1)?.routeId })
  useEffect(() => {
    document.title = `${TITLES[screen ?? ''] ?? 'Quorumscope'} · Quorumscope`
  }, [screen])
  return screen === '/cluster' ? <ClusterBar /> : null
}
