import { useMemo } from 'react'
import { replicaIds } from '../../../shared/inspection/belief.ts'
import type { GroupSnapshotJson } from '../../../shared/inspection/snapshots.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { actOnNode, useForbidden } from '../../data/actions.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { connection, shown } from '../../data/store.ts'
import { useEach } from '../../data/use-each.ts'
import { METADATA } from '../../names.ts'
import { useNowSeconds } from '../../ui/age.tsx'
import { clockShort, duration } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { BeliefsPane } from './beliefs-pane.tsx'
import { GroupsPane } from './groups-pane.tsx'
import { LoadPane } from './load-pane.tsx'
import { NodesPane } from './nodes-pane.tsx'
import { RingPane } from './ring-pane.tsx'
import { useSelection } from './selection.ts'
import { type Situation, situationOf } from './situation.ts'
import { useLinks } from './use-links.ts'
import './cluster.css'

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
        <Now group={selected} details={details} nothingHere={group === undefined} />
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
            links={links}
            side={search.side ?? 'nodes'}
            onSide={side => change({ side: side === 'links' ? side : undefined })}
          />
        </div>
        <div className="r2">
          <GroupsPane
            view={view}
            group={selected}
            onGroup={id =>
              change(id === METADATA ? { plane: 'metadata', group: undefined } : { plane: 'partitions', group: id })
            }
          />
          <LoadPane />
        </div>
      </div>
    </>
  )
}

/** The metadata group comes whole with every snapshot; a partition group is asked for, at each node that lives. */
function useDetails(group: string): Details {
  const nodes = useCell(shown, state => state.view.nodes)
  const ids = useCell(shown, state => replicaIds(state.view), sameNumbers)
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
const sameNumbers = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index])

function Now(props: { group: string; details: Details; nothingHere: boolean }) {
  const view = useCell(shown, state => state.view)
  const link = useCell(connection)
  const now = useNowSeconds()
  const forbidden = useForbidden()
  const timerOf = (node: number, name: string): number | undefined => {
    const detail = props.details.get(node)
    const timer = detail?.group.timers.find(item => item.name === name && item.ticking)
    return timer && detail ? Math.max(0, timer.remainingMs - Math.max(0, now - detail.atMs)) : undefined
  }
  const situation: Situation =
    link.state === 'lost'
      ? {
          tone: 'bad',
          glyph: 'drop',
          colour: 'danger',
          label: 'Console',
          what: `Disconnected from the console for ${duration(Math.max(0, now - link.sinceMs))}.`,
          why: `What is shown is what was known at ${clockShort(link.sinceMs)}; the nodes run on without the console.`,
          next: 'The page reconnects by itself and asks for everything anew.',
        }
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
    <section className="now" aria-label="Situation" data-testid="situation" data-tone={situation.tone}>
      <div className="lead" data-tone={situation.tone}>
        <Glyph name={situation.glyph} state={situation.colour} large />
        <div>
          <span className="label">{situation.label}</span>
          <p>
            <b>{situation.what}</b>
          </p>
        </div>
      </div>
      <div>
        <span className="label">Why</span>
        <p title={situation.why}>{situation.why}</p>
      </div>
      <div className="next">
        <div>
          <span className="label">Next</span>
          <p title={situation.next}>{situation.next}</p>
        </div>
        {down.length > 1 && link.state !== 'lost' && (
          <button
            type="button"
            className="btn small main-act push"
            aria-disabled={forbidden !== undefined}
            title={forbidden}
            onClick={() => {
              if (forbidden === undefined) for (const node of down) void actOnNode(node.id, 'start')
            }}
          >
            <Glyph name="play" />
            Start all {down.length}
          </button>
        )}
      </div>
    </section>
  )
}
