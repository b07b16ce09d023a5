import { lazy, Suspense, useMemo } from 'react'
import type { GroupSnapshotJson } from '../../../shared/inspection/snapshots.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { actOnNode, useForbidden } from '../../data/actions.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { nodeCommand } from '../../data/shell-command.ts'
import { asOf, connection, shown } from '../../data/store.ts'
import { useEach } from '../../data/use-each.ts'
import { useReplicaIds } from '../../data/use-replica-ids.ts'
import { METADATA } from '../../names.ts'
import { useNowSeconds } from '../../ui/age.tsx'
import { CopyCommands } from '../../ui/copy.tsx'
import { Glyph } from '../../ui/glyph.tsx'
import { Now, type NowWords } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { BeliefsPane } from './beliefs-pane.tsx'
import { LoadPane } from './load-pane.tsx'
import { NodesPane } from './nodes-pane.tsx'
import { RingPane } from './ring-pane.tsx'
import { useSelection } from './selection.ts'
import { disconnected, situationOf } from './situation.ts'
import { useLinks } from './use-links.ts'
import './cluster.css'

/** A moment after the ring: its rows come with a list for thousands of groups, and the first screen has a budget. */
const GroupsPane = lazy(() => import('./groups-pane.tsx'))
const InvariantsStrip = lazy(() => import('./invariants-strip.tsx'))

type Details = ReadonlyMap<number, { readonly group: GroupSnapshotJson; readonly atMs: number }>

export default function ClusterScreen() {
  const { search, group, change } = useSelection()
  const view = useCell(shown, state => state.view)
  const selected = group ?? METADATA
  const details = useDetails(selected)
  const links = useLinks()
  const node = search.node === undefined ? undefined : Number(search.node)
  return (
    <>
      <h1 className="sr">Cluster</h1>
      <div className="screen cl">
        <Lead group={selected} details={details} nothingHere={group === undefined} />
        <div className="r1 inner-scroll">
          <RingPane
            view={view}
            group={selected}
            details={details}
            selected={node}
            links={links}
            table={search.table === '1'}
            onTable={on => change({ table: on ? '1' : undefined })}
          />
          <BeliefsPane view={view} group={selected} details={details} />
          <NodesPane
            view={view}
            group={selected}
            details={details}
            links={links}
            side={search.side ?? 'nodes'}
            onSide={side => change({ side: side === 'nodes' ? undefined : side })}
          />
        </div>
        <Suspense fallback={<div className="pane inv" />}>
          <InvariantsStrip
            view={view}
            group={selected}
            asked={search.rules === '1'}
            onAsk={asked => change({ rules: asked ? '1' : undefined })}
          />
        </Suspense>
        <div className="r2">
          <Suspense
            fallback={
              <Pane title="Groups" className="p-groups">
                <Skeleton what="groups" rows={6} />
              </Pane>
            }
          >
            <GroupsPane
              view={view}
              group={selected}
              onGroup={id =>
                change(id === METADATA ? { plane: 'metadata', group: undefined } : { plane: 'partitions', group: id })
              }
            />
          </Suspense>
          <LoadPane />
        </div>
      </div>
    </>
  )
}

/** The metadata group comes whole with every snapshot; a partition group is asked for, at each node that lives. */
function useDetails(group: string): Details {
  const nodes = useCell(shown, state => state.view.nodes)
  const ids = useReplicaIds()
  const alive = ids.filter(id => nodes.get(id)?.process?.state === 'running')
  const answers = useEach(group === METADATA ? [] : alive, id => queries.group(id, group))
  return useMemo(() => {
    const details = new Map<number, { group: GroupSnapshotJson; atMs: number }>()
    if (group === METADATA) {
      for (const node of nodes.values()) {
        if (node.snapshot)
          details.set(node.id, { group: node.snapshot.metadata, atMs: msOf(node.snapshot.reporter.takenWallUs) })
      }
    } else {
      for (const answer of answers) {
        if (answer.data)
          details.set(answer.node, { group: answer.data.group, atMs: msOf(answer.data.reporter.takenWallUs) })
      }
    }
    return details
  }, [group, nodes, answers])
}
function Lead(props: { group: string; details: Details; nothingHere: boolean }) {
  const view = useCell(shown, state => state.view)
  const link = useCell(connection)
  // What was known of a moment stays true while nobody answers now.
  const lost = useCell(asOf) === undefined && link.state === 'lost' ? link : undefined
  const now = useNowSeconds()
  const forbidden = useForbidden()
  const timerOf = (node: number, name: string): number | undefined => {
    const detail = props.details.get(node)
    const timer = detail?.group.timers.find(item => item.name === name && item.ticking)
    return timer && detail ? Math.max(0, timer.remainingMs - Math.max(0, now - detail.atMs)) : undefined
  }
  const situation: NowWords =
    lost !== undefined
      ? disconnected(lost.sinceMs, now)
      : props.nothingHere
        ? {
            tone: 'plain',
            glyph: 'absent',
            colour: 'none',
            label: 'Partitions plane',
            what: 'There is no partition yet.',
            why: 'A partition group begins when a topic is created.',
            next: 'Start the load below: it creates the topic load/steady with three partitions.',
          }
        : situationOf(view, props.group, now, timerOf)
  const down = [...view.nodes.values()].filter(node => {
    const state = node.process?.state
    return state === 'stopped' || state === 'crashed' || state === 'refused'
  })
  return (
    <Now
      words={situation}
      act={
        down.length > 1 &&
        lost === undefined && (
          <span className="row push">
            <CopyCommands
              className="iconbtn small"
              commands={down.map(({ id, process }) => ({
                name: `Start node-${id}`,
                text: nodeCommand(id, 'start', process, location.origin),
              }))}
            />
            <button
              type="button"
              className="btn small main-act"
              aria-disabled={forbidden !== undefined}
              title={forbidden}
              onClick={() => {
                if (forbidden === undefined) for (const node of down) void actOnNode(node.id, 'start')
              }}
            >
              <Glyph name="play" />
              Start all {down.length}
            </button>
          </span>
        )
      }
    />
  )
}
