/** The screens as the navigation lists them; the palette and the keys read the same list. */
export const SCREENS = [
  {
    heading: 'Watch',
    links: [
      { to: '/cluster', name: 'Cluster', key: '1' },
      { to: '/load', name: 'Load' },
      { to: '/timeline', name: 'Timeline', key: '7' },
      { to: '/recoveries', name: 'Recoveries', key: '5' },
      { to: '/recordings', name: 'Recordings', key: '8' },
    ],
  },
  {
    heading: 'Bytes',
    links: [
      { to: '/partitions', name: 'Partitions', key: '2' },
      { to: '/superblocks', name: 'Superblocks', key: '3' },
      { to: '/wal', name: 'WAL' },
    ],
  },
  {
    heading: 'Writes',
    links: [
      { to: '/clients', name: 'Clients' },
      { to: '/forwards', name: 'Forwards', key: '4' },
    ],
  },
  {
    heading: 'Try',
    links: [
      { to: '/drills', name: 'Drills', key: '6' },
      { to: '/bench', name: 'Benchmarks' },
    ],
  },
  { heading: 'Page', links: [{ to: '/settings', name: 'Settings', key: '9' }] },
] as const satisfies readonly {
  heading: string
  links: readonly { to: string; name: string; key?: string }[]
}[]

export type ScreenPath = (typeof SCREENS)[number]['links'][number]['to']
