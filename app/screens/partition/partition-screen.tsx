import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { livenessOf } from '../../../shared/inspection/belief.ts'
import type { PartitionSnapshot } from '../../../shared/inspection/snapshots.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { actOnLoad, useForbidden } from '../../data/actions.ts'
import { queries } from '../../data/queries.ts'
import { groupName, pathName } from '../../names.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { Age } from '../../ui/age.tsx'
import { bytesShort, count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { nodeState } from '../../ui/states.ts'
import { situationOf } from '../cluster/situation.ts'
import { heardNodes, leftOverOf } from '../partitions/left-over.ts'
import { BatchPane } from './batch-pane.tsx'
import { BatchesPane } from './batches-pane.tsx'
import { BottomTabs } from './bottom-tabs.tsx'
import { ChainPicture } from './chain-picture.tsx'
import { ChainTable } from './chain-table.tsx'
import { ComparePane } from './compare-pane.tsx'
import { ConsumersPane } from './consumers-pane.tsx'
import { IndexPane } from './index-pane.tsx'
import { clampSpan, SPAN_MAX, SPAN_MIN } from './lens.ts'
import { MessagePane } from './message-pane.tsx'
import { earliestOf } from './offset-place.ts'
import { PollPane } from './poll-pane.tsx'
import { retentionWords } from './retention.ts'
import { type PartitionScreenState, usePartitionScreen } from './use-partition.ts'
import './partition.css'

export default function PartitionScreen() {
  const state = usePartitionScreen()
  const { group, view, now, search } = state
  const found = group === undefined ? undefined : view.groups.get(group)
  const known = found !== undefined && leftOverOf(heardNodes(view, now), found) === undefined
  return (
    <>
      <h1 className="sr">Partition</h1>
      <div className="screen pt">
        <Head state={state} />
        {known && group !== undefined ? (
          <>
            <Now words={situationOf(view, group, now)} />
            <ChainPane state={state} />
            <div className={`bottom inner-scroll${search.pane === undefined ? '' : ' tall'}`}>
              <LeftPane state={state} />
              <IndexPane state={state} />
              <RightPane state={state} />
            </div>
          </>
        ) : (
          <Unknown state={state} />
        )}
      </div>
    </>
  )
}

function LeftPane({ state }: { state: PartitionScreenState }) {
  switch (state.search.pane) {
    case 'poll':
      return <PollPane state={state} />
    case 'consumers':
      return <ConsumersPane state={state} />
    case 'compare':
      return <ComparePane key={state.segment?.startOffset} state={state} />
    default:
      return <BatchesPane state={state} />
  }
}

const RightPane = ({ state }: { state: PartitionScreenState }) =>
  state.search.pane === 'poll' && state.search.msg !== undefined ? (
    <MessagePane state={state} offset={state.search.msg} />
  ) : (
    <BatchPane state={state} />
  )

function Head({ state }: { state: PartitionScreenState }) {
  const { search, ids, node, change, view, now, group, segment, batch } = state
  const names = useQuery(queries.topics()).data
  const key = group === undefined ? undefined : view.groups.get(group)?.key
  const title = [group === undefined ? 'no such group' : groupName(group), pathName(names, key)]
    .filter(Boolean)
    .join(' ')
  return (
    <div className="screen-head">
      <ol className="crumbs">
        <li>
          <Link to="/partitions">Partitions</Link>
        </li>
        <li>
          <button
            type="button"
            className="link"
            onClick={() =>
              change({ seg: undefined, batch: undefined, offset: undefined, from: undefined, field: undefined })
            }
          >
            {title}
          </button>
        </li>
        {segment && (
          <li>
            <button
              type="button"
              className="link"
              onClick={() =>
                change({ seg: segment.startOffset, batch: undefined, offset: undefined, field: undefined })
              }
            >
              segment {grouped(segment.startOffset)}
            </button>
          </li>
        )}
        {batch && <li className="ink-1">batch {grouped(batch.baseOffset)}</li>}
      </ol>
      <span className="push" />
      <span className="label">Look through</span>
      <Segmented
        name="Node"
        value={String(node)}
        options={ids.map(id => ({
          value: String(id),
          label: (
            <>
              {livenessOf(view.nodes.get(id), now) !== 'live' && <Glyph name="down" state="danger" label="not heard" />}
              node-{id}
            </>
          ),
        }))}
        onChange={value => change({ node: value, batch: search.batch })}
      />
      <OffsetField key={search.offset ?? ''} state={state} />
    </div>
  )
}

/** An offset to look up: Enter resolves it to segment, index entry and batch, all of which go to the address. */
function OffsetField({ state }: { state: PartitionScreenState }) {
  const [text, setText] = useState(state.search.offset ?? '')
  const valid = text === '' || /^(0|[1-9][0-9]{0,19})$/.test(text)
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        if (valid)
          state.change({
            offset: text === '' ? undefined : text,
            seg: undefined,
            batch: undefined,
            from: undefined,
            field: undefined,
          })
      }}
    >
      <label className="field" data-invalid={!valid}>
        <span className="label">Offset</span>
        <input
          aria-label="Offset to find"
          aria-invalid={!valid}
          inputMode="numeric"
          size={10}
          value={text}
          onChange={event => setText(event.target.value.trim())}
        />
      </label>
    </form>
  )
}

/** How far the chosen node is, beside the one that is furthest, and what its flusher has yet to write. */
function Figures({ state }: { state: PartitionScreenState }) {
  const { chain, chains, node } = state
  const offsets = chain?.group.offsets
  const furthest = chains.reduce(
    (most, item) => {
      const next = BigInt(item.data?.group.offsets?.next ?? 0)
      return next > most.next ? { node: item.node, next } : most
    },
    { node, next: 0n },
  )
  const earliest = chain && earliestOf(chain.segments)
  return (
    <div className="figs" data-testid="figures">
      <Figure name="earliest" value={earliest?.toString()} />
      <Figure name={`node-${node}, next offset`} value={offsets?.next} />
      <Figure name="visible to" value={offsets?.visible} />
      <Figure name="on disk to" value={offsets?.persisted} />
      <Figure name="held to" value={chain?.reservation.held} />
      <Figure name="frontier" value={chain?.reservation.frontier} />
      <Figure name="reserved to" value={chain?.reservation.reserved} />
      <Figure name={`furthest, node-${furthest.node}`} value={furthest.next.toString()} />
      <div className="flusher">
        <p>
          <span className="label">Flusher</span>{' '}
          {chain ? (
            <>
              {chain.flusher.state}, {count(chain.flusher.rounds, 'round')},{' '}
              {bytesShort(Number(BigInt(chain.flusher.journaledBytes) - BigInt(chain.flusher.persistedBytes)))} to
              write;{' '}
              {chain.settings.enforceFsync
                ? 'answers from disk'
                : `answers from memory, writes at ${count(chain.settings.messagesRequiredToSave, 'message')}`}
            </>
          ) : (
            'no report'
          )}
        </p>
        <p data-testid="descriptors">
          <span className="label">Open for polls</span> {descriptorWords(chain?.descriptors)}
        </p>
        {chain && (
          <p data-testid="retention">
            <span className="label">Keeps</span> {retentionWords(chain)}
          </p>
        )}
      </div>
    </div>
  )
}

/** The active segment is read through its writer; of the sealed ones those stay open that polls started in last. */
function descriptorWords(open: PartitionSnapshot['descriptors']): string {
  if (!open) return 'no report'
  const readers = open.active && open.active.readers > 0 ? `, read by ${open.active.readers} now` : ''
  const active = open.active ? `segment ${grouped(open.active.startOffset)} by its writer${readers}` : 'no writer'
  const sealed = open.sealed.filter(({ log }) => log).length
  return `${active}; ${sealed} of ${open.sealedMax} sealed; polls have opened ${count(open.opened, 'file')}`
}

function Figure(props: { name: string; value: string | undefined }) {
  return (
    <div className="figure mid">
      <span className="label">{props.name}</span>
      <b>{props.value === undefined ? '?' : grouped(props.value)}</b>
    </div>
  )
}

function ChainPane({ state }: { state: PartitionScreenState }) {
  const { search, change, ids, runs, view, group, now, chains, node, segment, index, lists, lens, batch, following } =
    state
  const { floor, place, offset } = state
  const own = chains.find(item => item.node === node)
  const asked = chains.filter(item => runs(item.node))
  const table = search.table === '1'
  const nodes = ids.map(id => {
    const answer = chains.find(item => item.node === id)
    const list = lists.find(item => item.node === id)
    return {
      id,
      look: nodeState(view, group ?? '', id, now),
      partition: answer?.data,
      batches: list?.data?.startOffset === segment?.startOffset ? list?.data : undefined,
      stale: livenessOf(view.nodes.get(id), now) !== 'live',
    }
  })
  const damaged = nodes.some(({ batches }) => batches?.batches.some(({ verdict }) => verdict !== 'valid'))
  const hasSegments = chains.some(item => (item.data?.segments.length ?? 0) > 0)
  return (
    <Pane
      title="Segment chain"
      label="to scale by bytes, each node by its own report; below, a lens on the chosen segment"
      className="p-chain"
      testId="chain"
      actions={
        <>
          <span className="push" />
          <span className="legend small wide-only" aria-hidden="true">
            <span className="state">
              <i className="k1" />
              on disk, verified
            </span>
            <span className="state">
              <i className="k2" />
              in memory
            </span>
            <span className="state">
              <i className="k3" />
              missing here
            </span>
            {damaged && (
              <span className="state">
                <i className="k4" />
                checksum differs
              </span>
            )}
          </span>
          <Age atMs={own?.data ? msOf(own.data.reporter.takenWallUs) : undefined} by={`node-${node}`} push={false} />
          <button
            type="button"
            className="btn small quiet"
            aria-pressed={table}
            onClick={() => change({ table: table ? undefined : '1' })}
          >
            <Glyph name="table" />
            {table ? 'Picture' : 'Table'}
          </button>
        </>
      }
    >
      <Gone state={state} />
      <Figures state={state} />
      {own?.error && !own.data ? <Problem error={own.error} what={`node-${node} did not say what it holds`} /> : null}
      {asked.length > 0 && asked.every(item => item.loading) && <Skeleton what="the chain" rows={10} />}
      {asked.length === 0 && <p className="note">No node runs: start one, and its files are read.</p>}
      {chains.some(item => item.data) && !hasSegments && <NoSegments />}
      {hasSegments && segment && !table && (
        <ChainPicture
          nodes={nodes}
          chosen={node}
          segment={segment.startOffset}
          index={index?.startOffset === segment.startOffset ? index : undefined}
          lookup={
            floor && place?.kind === 'found' && offset !== undefined ? { offset, floor: floor.entry, place } : undefined
          }
          lens={lens}
          batch={batch?.positionBytes}
          onSegment={start =>
            change({ seg: start, batch: undefined, offset: undefined, from: undefined, field: undefined })
          }
          onBatch={chosen =>
            change({
              seg: segment.startOffset,
              batch: String(chosen.positionBytes),
              from: String(lens.from),
              span: String(lens.span),
            })
          }
        />
      )}
      {hasSegments && table && (
        <ChainTable
          nodes={nodes}
          chosen={node}
          segment={segment?.startOffset}
          onSegment={start => change({ seg: start, batch: undefined, from: undefined })}
        />
      )}
      {hasSegments && isEmpty(chains) && (
        <p className="note" data-testid="no-messages">
          <b>
            {chains.some(({ data }) => BigInt(data?.purge?.applied ?? 0) > 0n)
              ? 'Purged, and no message since.'
              : 'No message yet.'}
          </b>{' '}
          The file is there and has no byte: write a message below, or start the load.
        </p>
      )}
      <div className="underbar">
        {hasSegments && segment && !table && <LensBar state={state} following={following} />}
        <span className="push" />
        <BottomTabs state={state} />
      </div>
    </Pane>
  )
}

/** What the address names and is not there: said, and what is shown in its place. */
function Gone({ state }: { state: PartitionScreenState }) {
  const { gone, node, segment } = state
  const words = [
    gone.node !== undefined && `There is no node-${gone.node} in this cluster: node-${node} is looked through.`,
    gone.segment !== undefined &&
      `node-${node} has no segment ${grouped(gone.segment)}: removed, purged, or never there. ${segment ? `Segment ${grouped(segment.startOffset)} is shown.` : ''}`,
    gone.batch !== undefined && `No batch begins at byte ${grouped(gone.batch)} of this segment on node-${node}.`,
  ].filter(Boolean)
  return words.length > 0 ? (
    <p className="note" data-testid="gone">
      {words.join(' ')}
    </p>
  ) : null
}

/** Every node that has answered says that it holds nothing, in files or in memory. */
const isEmpty = (chains: PartitionScreenState['chains']): boolean =>
  chains.some(({ data }) => data) &&
  chains.every(({ data }) => !data || (data.journal.batches === 0 && data.segments.every(({ empty }) => empty)))

/** Zoom and pan by buttons and by number: nothing on this screen needs a drag. */
function LensBar({ state, following }: { state: PartitionScreenState; following: boolean }) {
  const { lens, change, longest, segment } = state
  const base = segment?.startOffset
  const set = (from: number, span: number): void =>
    change(
      {
        seg: base,
        offset: undefined,
        from: String(Math.max(0, Math.min(Math.round(from), Math.max(0, longest - 1)))),
        span: String(Math.round(clampSpan(span))),
      },
      true,
    )
  const middle = lens.from + lens.span / 2
  return (
    <fieldset className="lensbar" aria-label="Lens">
      <span className="label">Lens</span>
      <button
        type="button"
        className="btn small"
        onClick={() => set(lens.from - lens.span / 2, lens.span)}
        aria-disabled={lens.from === 0}
      >
        <Glyph name="prev" />
        Earlier
      </button>
      <button
        type="button"
        className="btn small"
        onClick={() => set(lens.from + lens.span / 2, lens.span)}
        aria-disabled={lens.from + lens.span >= longest}
      >
        Later
        <Glyph name="next" />
      </button>
      <button
        type="button"
        className="btn small"
        onClick={() => set(middle - lens.span / 4, lens.span / 2)}
        aria-disabled={lens.span <= SPAN_MIN}
      >
        Closer
      </button>
      <button
        type="button"
        className="btn small"
        onClick={() => set(middle - lens.span, lens.span * 2)}
        aria-disabled={lens.span >= SPAN_MAX}
      >
        Wider
      </button>
      <button type="button" className="btn small" onClick={() => set(0, Math.max(SPAN_MIN, longest))}>
        Whole segment
      </button>
      <button
        type="button"
        className="btn small"
        aria-pressed={following}
        onClick={() =>
          change({ from: undefined, offset: undefined, batch: undefined, seg: undefined, field: undefined }, true)
        }
      >
        <Glyph name="last" />
        Follow the end
      </button>
      <span className="num ink-3">
        bytes {grouped(lens.from)} to {grouped(Math.min(longest, lens.from + lens.span))} of {grouped(longest)}
      </span>
    </fieldset>
  )
}

function NoSegments() {
  const forbidden = useForbidden()
  return (
    <div className="empty">
      <p>
        <b>No segment yet.</b> This partition has never been written; the first messages make its first file.
      </p>
      <ActButton
        name="Start load"
        pendingKey={['load']}
        onAct={() => void actOnLoad({ action: 'start' })}
        why={forbidden}
        className="btn small main-act"
      >
        <Glyph name="play" />
        Start load
      </ActButton>
    </div>
  )
}

function Unknown({ state }: { state: PartitionScreenState }) {
  const heard = state.view.nodes.size > 0
  const found = state.group === undefined ? undefined : state.view.groups.get(state.group)
  const left = found && leftOverOf(heardNodes(state.view, state.now), found)
  return (
    <section className="pane unheard">
      {heard ? (
        <div className="empty" data-testid="no-partition">
          <p>
            <b>
              No node reports partition {state.at.stream}.{state.at.topic}.{state.at.partition}.
            </b>{' '}
            {left !== undefined && left.length > 0
              ? `Only ${left.map(id => `node-${id}`).join(', ')}, not heard any more, spoke of it: its topic was deleted since, or those who run do not know of it yet.`
              : 'It may have been deleted, or its topic was never created.'}{' '}
            <Link to="/partitions">See all partitions</Link>
          </p>
        </div>
      ) : (
        <Skeleton what="the partition" rows={8} />
      )}
    </section>
  )
}
