/** A card a node: what its process does, what it holds in memory and on disk, and the acts upon it. */
import { Link } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { NodeAction } from '../../../shared/inspection/api.ts'
import { replicaIds, standingOf } from '../../../shared/inspection/belief.ts'
import type { GroupSnapshotJson } from '../../../shared/inspection/snapshots.ts'
import { type ClusterView, msOf, type NodeView } from '../../../shared/inspection/view.ts'
import { possibleActs } from '../../commands.ts'
import { ACTION_NAMES, actOnNode, useForbidden } from '../../data/actions.ts'
import { askToWipe } from '../../data/confirming.ts'
import { nodeCommand, type ShellCommand } from '../../data/shell-command.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { Age, STALE_MS, useNowSeconds } from '../../ui/age.tsx'
import { CopyCommands } from '../../ui/copy.tsx'
import { bytesShort, count, duration, grouped, visible } from '../../ui/format.ts'
import { Glyph, type GlyphName } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { State } from '../../ui/state.tsx'
import { nodeState } from '../../ui/states.ts'
import { TransferLine } from './transfer.tsx'
import type { Links } from './use-links.ts'

/** Fetched when first asked for: the first screen has a budget. */
const LinksSide = lazy(() => import('./links-pane.tsx'))
const ClusterSide = lazy(() => import('./cluster-side.tsx'))

export type Side = 'nodes' | 'links' | 'cluster'
const TITLES: Readonly<Record<Side, string>> = { nodes: 'Nodes', links: 'Links', cluster: 'Cluster' }

export function NodesPane(props: {
  view: ClusterView
  group: string
  details: ReadonlyMap<number, { readonly group: GroupSnapshotJson }>
  links: Links
  side: Side
  onSide: (side: Side) => void
}) {
  const ids = replicaIds(props.view)
  const faulty = props.links.links.filter(way => way.faults.length > 0).length
  return (
    <Pane
      title={TITLES[props.side]}
      className="p-nodes"
      testId="nodes"
      actions={
        <span className="push">
          <Segmented
            name="Beside the ring"
            value={props.side}
            options={[
              { value: 'nodes', label: 'Nodes' },
              { value: 'links', label: faulty > 0 ? `Links (${faulty})` : 'Links', title: `Links, ${faulty} faulty` },
              { value: 'cluster', label: 'Cluster' },
            ]}
            onChange={props.onSide}
          />
        </span>
      }
    >
      {props.side === 'links' ? (
        <Suspense fallback={<Skeleton what="links" rows={5} />}>
          <LinksSide view={props.view} links={props.links} />
        </Suspense>
      ) : props.side === 'cluster' ? (
        <Suspense fallback={<Skeleton what="the cluster" rows={3} />}>
          <ClusterSide view={props.view} />
        </Suspense>
      ) : (
        <Scroll name="Node cards">
          {ids.map(id => (
            <NodeCard key={id} view={props.view} group={props.group} id={id} detail={props.details.get(id)?.group} />
          ))}
        </Scroll>
      )}
    </Pane>
  )
}

function NodeCard(props: { view: ClusterView; group: string; id: number; detail: GroupSnapshotJson | undefined }) {
  const { view, group, id } = props
  const now = useNowSeconds()
  const node = view.nodes.get(id)
  const cell = view.groups.get(group)?.replicas.get(id)
  const standing = standingOf(view, group, id, now)
  const stale = node !== undefined && node.heardMs > 0 && now - node.heardMs > STALE_MS
  const process = node?.process
  return (
    <article
      className={`card${stale ? ' stale' : ''}`}
      aria-label={`node-${id}`}
      data-testid={`node-${id}`}
      data-state={process?.state ?? 'unknown'}
      data-standing={standing.kind}
    >
      <header className="card-head">
        <h3>
          <Link to="/cluster/nodes/$node" params={{ node: String(id) }} className="plain-link">
            node-{id}
          </Link>
        </h3>
        <State look={nodeState(view, group, id, now)}>
          {standing.gap > 0n && standing.kind !== 'primary' && standing.kind !== 'healthy'
            ? `-${grouped(standing.gap)}`
            : undefined}
        </State>
        <Age atMs={node?.heardMs} push />
      </header>
      <dl className="kv">
        <dt>view, durable</dt>
        <dd>{cell ? <Pair live={cell.view} durable={cell.viewDurable} /> : '?'}</dd>
        <dt>op, applied</dt>
        <dd>{cell ? `${grouped(cell.op)}, ${grouped(cell.commitMin)}` : '?'}</dd>
        <dt>pid, client port</dt>
        <dd>
          {process?.pid ?? 'none'}, {process?.ports?.client ?? 'none'}
        </dd>
      </dl>
      {props.detail?.transfer && process?.state === 'running' && <TransferLine of={props.detail.transfer} />}
      <EndLine node={node} now={now} />
      <NodeActs node={node} id={id} />
    </article>
  )
}

/** A live value beside what the disk holds; marked where they differ, because nothing may be sent on it meanwhile. */
export function Pair(props: { live: number; durable: number }) {
  return (
    <>
      <span className={props.live === props.durable ? undefined : 'differs'}>{props.live}</span>, {props.durable}
    </>
  )
}

function EndLine({ node, now }: { node: NodeView | undefined; now: number }) {
  const process = node?.process
  if (!process || process.state === 'running') {
    const snapshot = node?.snapshot
    return (
      <p className="card-line">
        {snapshot
          ? `up ${duration(Math.max(0, now - msOf(snapshot.startedWallUs)))}, ${bytesShort(snapshot.memoryBytes)} resident, ${count(snapshot.clients, 'client')}`
          : 'no snapshot yet'}
      </p>
    )
  }
  const since = duration(Math.max(0, now - msOf(process.sinceWallUs)))
  const words =
    process.state === 'starting'
      ? `boots since ${since}`
      : process.state === 'paused'
        ? `held by SIGSTOP since ${since}`
        : `${process.refusal?.message ?? process.exit?.meaning ?? 'never started'}, ${since} ago`
  return (
    <p className="card-line" title={visible(words)}>
      {visible(words)}
    </p>
  )
}

const GLYPHS: Readonly<Record<NodeAction, GlyphName>> = {
  kill: 'down',
  terminate: 'drop',
  pause: 'pause',
  resume: 'play',
  start: 'play',
  wipe: 'fail',
}
const SHOWN_ACTS: readonly NodeAction[] = ['kill', 'terminate', 'pause']

/** The acts of a node. Places stay where they are: an act that makes no sense now gives way to the one that does. */
export function NodeActs(props: { node: NodeView | undefined; id: number }) {
  const forbidden = useForbidden()
  const state = props.node?.process?.state
  const possible = state === undefined ? [] : possibleActs[state]
  const list: readonly NodeAction[] =
    state === 'paused'
      ? ['kill', 'resume']
      : state === 'stopped' || state === 'crashed' || state === 'refused'
        ? ['start', 'wipe']
        : SHOWN_ACTS
  return (
    <div className="acts">
      {list.map(action => (
        <ActButton
          key={action}
          name={`${ACTION_NAMES[action]} node-${props.id}`}
          pendingKey={['node', props.id, action]}
          onAct={() => (action === 'wipe' ? askToWipe(props.id) : void actOnNode(props.id, action))}
          why={
            forbidden ??
            (possible.includes(action)
              ? undefined
              : `A node that is ${state ?? 'not known'} cannot be asked to ${action}.`)
          }
          className={`btn small${action === 'kill' || action === 'wipe' ? ' destructive' : ''}${action === 'start' || action === 'resume' ? ' main-act' : ''}`}
          testId={`${action}-${props.id}`}
        >
          <Glyph name={GLYPHS[action]} />
          {ACTION_NAMES[action]}
        </ActButton>
      ))}
      <CopyCommands commands={commandsOf(props.node, props.id, list)} />
    </div>
  )
}

/** Each act as a line of shell; a node that does not run can be run in the foreground too. */
function commandsOf(node: NodeView | undefined, id: number, actions: readonly NodeAction[]): ShellCommand[] {
  const process = node?.process
  const commands = actions.map(action => ({
    name: `${ACTION_NAMES[action]} node-${id}`,
    text: nodeCommand(id, action, process, location.origin),
  }))
  if (actions.includes('start') && process?.command !== undefined)
    commands.push({ name: `Run node-${id} in the foreground`, text: process.command })
  return commands
}
