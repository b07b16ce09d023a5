/**
 * The ring: every node with its shape and word in the chosen group, both planes beside its name, the links between them
 * as both ends report them, the slots that hold its view, and the timer that decides what it does next.
 */
import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useLayoutEffect, useRef, useState } from 'react'
import { ageMsOf, livenessOf, replicaIds, type Standing, standingOf } from '../../../shared/inspection/belief.ts'
import type { GroupSnapshotJson, SuperblocksSnapshot } from '../../../shared/inspection/snapshots.ts'
import { type ClusterView, msOf, type NodeProcess } from '../../../shared/inspection/view.ts'
import { queries } from '../../data/queries.ts'
import { showsSlots } from '../../data/slots.ts'
import { type EachAnswer, useEach } from '../../data/use-each.ts'
import {
  arcPath,
  COMPACT_WIDTH_MIN,
  type RingLink,
  type RingNode,
  ROOMY_MAX,
  ringLayout,
  ringSizes,
} from '../../geometry/ring.ts'
import { groupName, METADATA } from '../../names.ts'
import { useNowSeconds } from '../../ui/age.tsx'
import { ageText, duration, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { nodeState } from '../../ui/states.ts'
import { linkLook } from './link-look.ts'
import type { Links } from './use-links.ts'

/** Drawn a moment later than the ring: the first screen has a budget. */
const LinkWays = lazy(() => import('./link-ways.tsx'))
const RingTable = lazy(() => import('./ring-table.tsx'))

type SuperblockGroup = SuperblocksSnapshot['groups'][number]
type Slot = SuperblockGroup['slots'][number]

export interface RingProps {
  readonly view: ClusterView
  readonly group: string
  /** Details of the group by each node, where known: timers and votes. */
  readonly details: ReadonlyMap<number, { readonly group: GroupSnapshotJson; readonly atMs: number }>
  readonly selected: number | undefined
  readonly links: Links
  readonly table: boolean
  readonly onTable: (on: boolean) => void
}

const SLOT_WIDTH = 70
const SLOT_HEIGHT = 20

export function RingPane(props: RingProps) {
  const { view, group } = props
  const ids = replicaIds(view)
  const slots = useEach(ids, queries.superblocks, id => showsSlots(view.nodes.get(id)))
  const box = useRef<HTMLDivElement>(null)
  const [size, setSize] = useState({ width: 452, height: 420 })
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const observer = new ResizeObserver(entries => {
      const rect = entries[0]!.contentRect
      setSize({ width: Math.max(300, Math.floor(rect.width)), height: Math.max(330, Math.floor(rect.height)) })
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  // Words never shrink: a ring that has no room for them is told as a table.
  const tight = ids.length > ROOMY_MAX && size.width < COMPACT_WIDTH_MIN
  const table = props.table || tight
  return (
    <Pane
      title="Ring"
      label={`${groupName(group)}, by each node's own word`}
      className="p-ring"
      testId="ring"
      actions={
        <button
          type="button"
          className="btn small quiet push"
          aria-pressed={table}
          aria-disabled={tight}
          title={tight ? 'There is no room for a ring of so many nodes.' : undefined}
          onClick={() => {
            if (!tight) props.onTable(!props.table)
          }}
        >
          <Glyph name="table" />
          {table ? 'Show as ring' : 'Show as table'}
        </button>
      }
    >
      <div className="ringbox" ref={box}>
        {table ? (
          <Suspense fallback={<Skeleton what="the table" rows={3} />}>
            <RingTable view={view} group={group} />
          </Suspense>
        ) : (
          <RingPicture {...props} width={size.width} height={size.height} slots={slots} />
        )}
      </div>
    </Pane>
  )
}

function RingPicture(
  props: RingProps & { width: number; height: number; slots: readonly EachAnswer<SuperblocksSnapshot>[] },
) {
  const { view, group } = props
  const now = useNowSeconds()
  const ids = replicaIds(view)
  const layout = ringLayout(ids.length, props.width, props.height)
  const standings = ids.map(id => standingOf(view, group, id, now))
  const summary = ids.map((id, index) => `node-${id} ${standings[index]!.words}`).join(', ')
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing whose nodes are links of their own
    <svg
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      width={layout.width}
      height={layout.height}
      className="ring"
      role="group"
      aria-label={`Ring of ${ids.length} nodes: ${summary}`}
    >
      {layout.links.map(link => (
        <LinkLine key={`${link.from}-${link.to}`} link={link} view={view} now={now} />
      ))}
      <Suspense fallback={null}>
        {layout.links.map(link => (
          <LinkWays key={`${link.from}-${link.to}`} link={link} links={props.links} />
        ))}
      </Suspense>
      {layout.nodes.map((node, index) => (
        <NodeMark
          key={ids[index]}
          {...props}
          id={ids[index]!}
          place={node}
          standing={standings[index]!}
          slots={props.slots.find(answer => answer.node === ids[index])}
          now={now}
        />
      ))}
    </svg>
  )
}

/** Solid: both ends hold the connection. Half: one end says so and the other not. Dotted: none, or nobody to say. */
function LinkLine({ link, view, now }: { link: RingLink; view: ClusterView; now: number }) {
  const says = (reporter: number, about: number): boolean | undefined => {
    const node = view.nodes.get(reporter)
    if (livenessOf(node, now) !== 'live') return undefined
    return node?.snapshot?.peers.find(peer => peer.replica === about)?.connected
  }
  const one = says(link.from, link.to)
  const other = says(link.to, link.from)
  const { a, b, middle } = link
  const look = linkLook(one, other)
  return (
    <g>
      <title>
        node-{link.from} {saying(one)}, node-{link.to} {saying(other)}
      </title>
      <path d={`M${a.x} ${a.y}L${middle.x} ${middle.y}`} className={`link${one === true ? '' : ' dead'}`} />
      <path d={`M${middle.x} ${middle.y}L${b.x} ${b.y}`} className={`link${other === true ? '' : ' dead'}`} />
      {look && (
        <>
          <use
            href={`#glyph-${look.glyph}`}
            x={middle.x - 7}
            y={middle.y - 7}
            width="14"
            height="14"
            className={`s-${look.colour}`}
          />
          <text className="s l" x={middle.x} y={middle.y + 22} textAnchor="middle">
            {look.word}
          </text>
        </>
      )}
    </g>
  )
}
const saying = (connected: boolean | undefined): string =>
  connected === undefined ? 'says nothing' : connected ? 'is connected' : 'is not connected'

/** The timer that decides what this node does next, by what it is doing now. */
const TIMER: Readonly<Record<Standing['kind'], string | undefined>> = {
  primary: 'commitMessage',
  healthy: 'normalHeartbeat',
  behind: 'normalHeartbeat',
  recovering: 'requestStartView',
  view_change: 'viewChangeStatus',
  tombstoned: undefined,
  paused: undefined,
  silent: undefined,
  down: undefined,
  unknown: undefined,
}
const TIMER_WORDS: Readonly<Record<string, string>> = {
  commitMessage: 'heartbeat',
  normalHeartbeat: 'doubts',
  requestStartView: 'asks again',
  viewChangeStatus: 'next view',
}

function NodeMark(
  props: RingProps & {
    id: number
    place: RingNode
    standing: Standing
    slots: EachAnswer<SuperblocksSnapshot> | undefined
    now: number
  },
) {
  const { id, place, standing, view, group, now } = props
  const navigate = useNavigate()
  const node = view.nodes.get(id)
  const cell = view.groups.get(group)?.replicas.get(id)
  const liveness = livenessOf(node, now)
  const dead = liveness !== 'live'
  const process = node?.process
  const look = nodeState(view, group, id, now)
  const age = ageMsOf(node, now)
  const detail = props.details.get(id)
  const wanted = TIMER[standing.kind]
  const timer = dead ? undefined : detail?.group.timers.find(item => item.name === wanted && item.ticking)
  const remaining = timer ? Math.max(0, timer.remainingMs - Math.max(0, now - (detail?.atMs ?? now))) : undefined
  const count = replicaIds(view).length
  const { radius } = ringSizes(count)
  const compact = count > ROOMY_MAX
  const half = compact ? 15 : 22
  const below = place.words === 'below'
  const anchor = below ? 'middle' : 'start'
  const { x, y } = place.wordsAt
  const word = dead || !cell ? look.word : `${look.word} v${cell.view}`
  const detailLine = dead
    ? lastWords(process, age, now)
    : standing.gap > 0n && standing.kind !== 'healthy'
      ? `${grouped(standing.gap)} ${standing.gap === 1n ? 'op' : 'ops'} behind`
      : cell
        ? `op ${grouped(cell.op)}${compact ? '' : `, commit ${grouped(cell.commitMax)}`}`
        : 'no report of this group'
  const timerLine =
    remaining !== undefined && timer
      ? `${TIMER_WORDS[timer.name] ?? timer.name} ${remaining > 0 ? `in ${duration(remaining)}` : 'now due'}`
      : dead
        ? cell
          ? `${cell.role === 'primary' ? 'led' : 'followed'} view ${cell.view}`
          : ''
        : planesLine(view, id)
  const open = (): void => void navigate({ to: '/cluster/nodes/$node', params: { node: String(id) } })
  const slotX = below ? x - SLOT_WIDTH - 3 : x
  const block = props.slots?.data?.groups.find(item => item.group === group)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a link inside an SVG is a group with the role of one
    <g
      className="ring-node"
      role="link"
      tabIndex={0}
      aria-label={`Open node-${id}: ${word}, ${detailLine}`}
      data-testid={`ring-node-${id}`}
      data-state={standing.kind}
      onClick={open}
      onKeyDown={event => {
        if (event.key === 'Enter') open()
      }}
    >
      <circle cx={place.x} cy={place.y} r={radius} className={dead ? 'hatchring' : 'timer-track'} />
      {timer && remaining !== undefined && (
        <path d={arcPath(place, radius, remaining / Math.max(1, timer.periodMs))} className={`timer t-${timer.name}`} />
      )}
      <use
        href={`#glyph-${look.glyph}`}
        x={place.x - half}
        y={place.y - half}
        width={half * 2}
        height={half * 2}
        className={`s-${look.colour}`}
      />
      <text className="b name" x={x} y={y} textAnchor={anchor}>
        node-{id}
        {props.selected === id ? ' (chosen)' : ''}
      </text>
      <text className="k" x={x} y={y + (compact ? 14 : 17)} textAnchor={anchor}>
        {word}
      </text>
      <text className="s l" x={x} y={y + (compact ? 28 : 32)} textAnchor={anchor}>
        {detailLine}
      </text>
      {!compact && (
        <>
          <SlotBox
            x={slotX}
            y={y + 40}
            slot={block?.slots[0]}
            name="A"
            winner={block?.winner === 'a'}
            known={block !== undefined}
          />
          <SlotBox
            x={slotX + SLOT_WIDTH + 6}
            y={y + 40}
            slot={block?.slots[1]}
            name="B"
            winner={block?.winner === 'b'}
            known={block !== undefined}
          />
          <text className="s l" x={x} y={y + 76} textAnchor={anchor}>
            {timerLine}
          </text>
        </>
      )}
    </g>
  )
}

/** Of a node that is not heard: how it ended and how long ago, or since when it is silent. */
function lastWords(process: NodeProcess | undefined, age: number | undefined, now: number): string {
  if (!process || process.state === 'running')
    return age === undefined ? 'never heard' : `last heard ${ageText(age)} ago`
  const since = duration(Math.max(0, now - msOf(process.sinceWallUs)))
  if (process.state === 'starting') return `boots since ${since}`
  if (process.state === 'paused') return `held since ${since}`
  const how = process.exit?.requested === 'kill' ? 'killed ' : process.exit?.requested === 'terminate' ? 'stopped ' : ''
  return `${how}${since} ago`
}

/** What the node is on the plane that the ring does not show: how many groups it leads and follows. */
function planesLine(view: ClusterView, id: number): string {
  let leads = 0
  let follows = 0
  for (const group of view.groups.values()) {
    if (group.group === METADATA) continue
    const cell = group.replicas.get(id)
    if (!cell) continue
    if (cell.role === 'primary' && cell.status === 'normal') leads++
    else follows++
  }
  return leads + follows === 0 ? '' : `partitions: leads ${leads}, follows ${follows}`
}

function SlotBox(props: {
  x: number
  y: number
  slot: Slot | undefined
  name: string
  winner: boolean
  known: boolean
}) {
  const { x, y, slot } = props
  const absent = slot === undefined || slot.state === 'absent'
  const className = slot?.state === 'corrupt' ? 'slot-bad' : absent ? 'slot-absent' : 'slot-held'
  const right = !props.known
    ? '?'
    : slot?.state === 'corrupt'
      ? 'damaged'
      : absent
        ? 'absent'
        : `v${slot.fields?.view ?? '?'}`
  return (
    <g>
      <rect x={x} y={y} width={SLOT_WIDTH} height={SLOT_HEIGHT} rx={2} className={className} />
      <text className={`d s${props.winner ? ' k' : ' l'}`} x={x + 6} y={y + 14}>
        {props.name} {slot?.sequence ?? ''}
      </text>
      <text className={`d s${props.winner ? ' k' : ' l'}`} x={x + SLOT_WIDTH - 6} y={y + 14} textAnchor="end">
        {right}
      </text>
    </g>
  )
}
