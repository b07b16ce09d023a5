/** What a screen puts into the top bar and the title of the tab: the cluster screen chooses its plane and group there. */
import { useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ClusterBar } from '../screens/cluster/cluster-bar.tsx'
import { visible } from '../ui/format.ts'

const TITLES: Readonly<Record<string, string>> = {
  '/cluster': 'Cluster',
  '/load': 'Load',
  '/bench': 'Benchmarks',
  '/wal/$node': 'WAL',
  '/clients': 'Clients',
  '/cluster/nodes/$node': '',
  '/partitions': 'Partitions',
  '/partitions/$s/$t/$p': 'Partition',
  '/superblocks': 'Superblocks',
  '/forwards': 'Forwards',
  '/recoveries': 'Recoveries',
  '/timeline': 'Timeline',
  '/recordings': 'Recordings',
  '/drills': 'Drills',
  '/drills/$id': 'Drill',
  '/book/$page': 'Book',
  '/settings': 'Settings',
}

export function ScreenBar() {
  const screen = useRouterState({ select: state => state.matches.at(-1)?.routeId })
  const about = useRouterState({ select: state => aboutOf(state.matches.at(-1)?.params ?? {}) })
  useEffect(() => {
    const title = [TITLES[screen ?? ''] ?? 'No such screen', about].filter(Boolean).join(' ')
    document.title = `${visible(title)} · Quorumscope`
  }, [screen, about])
  return screen === '/cluster' ? <ClusterBar /> : null
}

/** What the screen is about, as its address names it: `node-1`, `0.0.2`, `D03`. */
function aboutOf(params: Readonly<Record<string, string | undefined>>): string {
  const { node, s, t, p, id, page } = params
  if (node !== undefined) return `node-${node}`
  return s === undefined ? (id ?? page ?? '') : `${s}.${t}.${p}`
}
