/** Steady load: what is asked, what came of it second by second, and the ledger that a kill may not falsify. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useMemo } from 'react'
import type { LoadState } from '../../../shared/inspection/api.ts'
import { primaryOf } from '../../../shared/inspection/belief.ts'
import { type Fact, msOf } from '../../../shared/inspection/view.ts'
import { actOnLoad, useForbidden } from '../../data/actions.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { loadCommand } from '../../data/shell-command.ts'
import { shown } from '../../data/store.ts'
import { groupName, pathName } from '../../names.ts'
import type { Search } from '../../search.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { Age, useNowSeconds } from '../../ui/age.tsx'
import { CopyCommands } from '../../ui/copy.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { clockShort, count, duration, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { isBusy, LoadActs } from './act.tsx'
import { NameField, NumberField, PolicyField } from './fields.tsx'
import { isValid, loadForm } from './form.ts'
import { type LoadGap, loadGaps } from './gaps.ts'
import { Ledger } from './ledger.tsx'
import { loadSituation } from './situation.ts'
import '../cluster/cluster.css'
import './load.css'

const LoadChart = lazy(() => import('./load-chart.tsx'))

const route = getRouteApi('/load')

export default function LoadScreen() {
  const search: Search<'load'> = route.useSearch()
  const navigate = useNavigate()
  const table = search.table === '1'
  const load = useCell(shown, state => state.view.load)
  const facts = useCell(shown, state => state.view.facts)
  const gaps = useMemo(() => (load ? loadGaps(load, facts) : []), [load, facts])
  const started = load !== undefined && load.state !== 'idle'
  return (
    <>
      <h1 className="sr">Load</h1>
      <div className="screen ld">
        <Now words={loadSituation(load, gaps)} />
        <div className="ld-top">
          <Pane
            title="Acknowledged a second"
            label={load?.settings ? labelOf(load) : 'the last two minutes, once a load runs'}
            testId="load-over-time"
            actions={
              started && (
                <>
                  <button
                    type="button"
                    className="btn small quiet push"
                    aria-pressed={table}
                    onClick={() =>
                      void navigate({
                        to: '/load',
                        search: old => ({ ...old, table: table ? undefined : '1' }) as Search<'load'>,
                      })
                    }
                  >
                    <Glyph name="table" />
                    {table ? 'Show as chart' : 'Show as table'}
                  </button>
                  <Age atMs={msOf(load.takenWallUs)} by="load client" />
                </>
              )
            }
          >
            <div className="loadbody">
              {started ? (
                <>
                  {table ? (
                    <Seconds load={load} />
                  ) : (
                    <Suspense
                      fallback={
                        <div className="loadchart">
                          <Skeleton what="the chart" rows={6} />
                        </div>
                      }
                    >
                      <LoadChart load={load} />
                    </Suspense>
                  )}
                  <Ledger load={load} />
                </>
              ) : (
                <div className="empty" data-testid="load-empty">
                  <p>
                    <b>No load yet.</b> It makes the topic if there is none, writes through the client protocol, reads
                    every acknowledged message back and compares it: what is lost, doubled or changed is counted.
                  </p>
                </div>
              )}
            </div>
          </Pane>
          <Settings load={load} />
        </div>
        <div className="ld-low">
          <Gaps gaps={gaps} facts={facts} load={load} />
          <Partitions load={load} />
          <Connections load={load} />
        </div>
      </div>
    </>
  )
}

/** The chart in words: every second of it that is over. */
function Seconds({ load }: { load: LoadState }) {
  return (
    <DataTable
      name="seconds of the load"
      testId="load-seconds"
      rows={load.seconds.slice(0, -1).reverse()}
      rowKey={second => String(second.atMs)}
      empty="No second of it is over yet."
      columns={[
        {
          id: 'second',
          head: 'second from',
          names: true,
          data: second => new Date(second.atMs).toISOString(),
          cell: second => clockShort(second.atMs),
        },
        { id: 'sent', head: 'sent', align: 'n', data: second => second.sent },
        { id: 'acked', head: 'acked', align: 'n', data: second => second.acked },
        { id: 'unknown', head: 'unknown', align: 'n', data: second => second.unknown },
        { id: 'refused', head: 'refused', align: 'n', data: second => second.refused },
        { id: 'p50Ms', head: 'p50', align: 'n', data: second => second.p50Ms, cell: ({ p50Ms }) => latency(p50Ms) },
        { id: 'p99Ms', head: 'p99', align: 'n', data: second => second.p99Ms, cell: ({ p99Ms }) => latency(p99Ms) },
      ]}
    />
  )
}
const latency = (ms: number | null): string => (ms === null ? 'none' : duration(ms))

const labelOf = (load: LoadState): string =>
  `${visible(load.settings!.stream)}/${visible(load.settings!.topic)}, ${load.state}`

function Settings({ load }: { load: LoadState | undefined }) {
  const busy = isBusy(load)
  const asked = load?.settings
  return (
    <Pane title={busy ? 'What was asked' : 'What to ask'} testId="load" actions={<LoadActs load={load} />}>
      {busy && asked ? (
        <>
          <dl className="kv ld-kv">
            <dt>topic</dt>
            <dd>
              {visible(asked.stream)}/{visible(asked.topic)}
            </dd>
            <dt>acknowledged</dt>
            <dd className="t">{asked.policy === 'eager' ? 'on disk' : 'in memory of a majority'}</dd>
            <dt>rate</dt>
            <dd>{grouped(asked.ratePerSecond)} msg/s</dd>
            <dt>batch</dt>
            <dd>{count(asked.batchMessages, 'message')}</dd>
            <dt>message</dt>
            <dd>{grouped(asked.messageBytes)} B</dd>
            <dt>connections</dt>
            <dd>{grouped(asked.connections)}</dd>
          </dl>
          <Pace />
        </>
      ) : (
        <div className="ld-form">
          <fieldset>
            <legend className="label">Where</legend>
            <NameField field="stream" label="stream" />
            <NameField field="topic" label="topic" />
            <NumberField field="partitions" />
            <NumberField field="segmentMib" />
          </fieldset>
          <fieldset>
            <legend className="label">How much</legend>
            <NumberField field="ratePerSecond" />
            <NumberField field="batchMessages" />
            <NumberField field="messageBytes" />
            <NumberField field="connections" />
          </fieldset>
          <fieldset>
            <legend className="label">Acknowledged</legend>
            <PolicyField />
          </fieldset>
          <p className="why">
            Partitions, segment and policy are those of a new topic; one that exists keeps its own. It is found by its
            name.
          </p>
        </div>
      )}
    </Pane>
  )
}

/** The rate alone can be changed while it runs: everything else would be another load. */
function Pace() {
  const forbidden = useForbidden()
  const form = useCell(loadForm)
  return (
    <form
      className="row ld-pace"
      onSubmit={event => {
        event.preventDefault()
        if (forbidden === undefined && isValid(form, 'ratePerSecond'))
          void actOnLoad({ action: 'rate', ratePerSecond: Number(form.ratePerSecond) })
      }}
    >
      <NumberField field="ratePerSecond" />
      <ActButton
        name="Change the rate"
        pendingKey={['load']}
        onAct={() => void actOnLoad({ action: 'rate', ratePerSecond: Number(form.ratePerSecond) })}
        why={forbidden ?? (isValid(form, 'ratePerSecond') ? undefined : 'The rate is out of its range.')}
        testId="load-rate"
      >
        Change the rate
      </ActButton>
      {isValid(form, 'ratePerSecond') && (
        <CopyCommands
          commands={[
            {
              name: 'Change the rate',
              text: loadCommand({ action: 'rate', ratePerSecond: Number(form.ratePerSecond) }, location.origin),
            },
          ]}
        />
      )}
    </form>
  )
}

function Gaps(props: { gaps: readonly LoadGap[]; facts: readonly Fact[]; load: LoadState | undefined }) {
  const rows = [...props.gaps].reverse()
  return (
    <Pane title="Gaps" label="whole seconds without an acknowledgement" testId="load-gaps">
      <DataTable
        name="gaps of the load"
        rows={rows}
        rowKey={gap => String(gap.fromMs)}
        empty={
          <>
            {props.load === undefined || props.load.state === 'idle'
              ? 'No load runs: a gap is seen only in one.'
              : 'None in the last two minutes.'}{' '}
            <Link to="/recoveries">Recoveries</Link> keeps the stopwatch of every fault.
          </>
        }
        columns={[
          {
            id: 'from',
            head: 'from',
            data: gap => new Date(gap.fromMs).toISOString(),
            cell: gap => clockShort(gap.fromMs),
          },
          {
            id: 'seconds',
            head: 'length',
            align: 'n',
            data: gap => (gap.toMs - gap.fromMs) / 1000,
            cell: gap => `${duration(gap.toMs - gap.fromMs)}${gap.open ? ' so far' : ''}`,
          },
          { id: 'unknown', head: 'unknown', align: 'n', data: gap => gap.unknown },
          { id: 'refused', head: 'refused', align: 'n', data: gap => gap.refused },
          { id: 'cause', head: 'before it', wrap: true, data: gap => gap.cause?.words ?? 'no fault was heard of' },
          { id: 'elected', head: 'in it', wrap: true, data: gap => gap.elected?.words ?? '' },
        ]}
      />
    </Pane>
  )
}

function Partitions({ load }: { load: LoadState | undefined }) {
  const view = useCell(shown, state => state.view)
  const names = useQuery(queries.topics()).data
  const now = useNowSeconds()
  const leads = (group: string | null): string => {
    if (group === null) return 'not known'
    const verdict = primaryOf(view, group, now)
    return verdict.kind === 'primary' ? `node-${verdict.node}, v${verdict.view}` : 'nobody'
  }
  return (
    <Pane
      title="By partition"
      label="acknowledged and read back"
      testId="load-partitions"
      actions={load && <Age atMs={msOf(load.takenWallUs)} by="load client" push />}
    >
      <DataTable
        name="partitions of the load"
        rows={load?.partitions ?? []}
        rowKey={item => String(item.partition)}
        empty="No partition is written to."
        columns={[
          {
            id: 'group',
            head: 'Partition',
            data: item => (item.group === null ? String(item.partition) : groupName(item.group)),
            cell: item => {
              const key = item.group === null ? undefined : view.groups.get(item.group)?.key
              return key ? (
                <Link
                  to="/partitions/$s/$t/$p"
                  params={{ s: String(key.stream), t: String(key.topic), p: String(key.partition) }}
                  title={pathName(names, key)}
                >
                  {groupName(item.group!)}
                </Link>
              ) : (
                item.partition
              )
            },
          },
          { id: 'primary', head: 'led by', data: item => leads(item.group) },
          { id: 'acked', head: 'acked', align: 'n', data: item => item.acked },
          { id: 'readBack', head: 'read back', align: 'n', data: item => item.readBack },
          { id: 'toRead', head: 'to read', align: 'n', data: item => item.acked - item.readBack },
          { id: 'readOffset', head: 'reader at', align: 'n', data: item => BigInt(item.readOffset) },
        ]}
      />
    </Pane>
  )
}

function Connections({ load }: { load: LoadState | undefined }) {
  return (
    <Pane
      title="Connections"
      testId="load-connections"
      actions={load && <Age atMs={msOf(load.takenWallUs)} by="load client" push />}
    >
      <DataTable
        name="connections of the load"
        rows={load?.connections ?? []}
        rowKey={item => String(item.id)}
        empty="Nobody is connected."
        columns={[
          { id: 'id', head: '#', align: 'n', data: item => item.id },
          { id: 'state', head: 'State', data: item => item.state },
          { id: 'node', head: 'writes to', data: item => (item.node === null ? 'nobody' : `node-${item.node}`) },
          { id: 'reconnects', head: 'reconnects', align: 'n', data: item => item.reconnects },
          {
            id: 'error',
            head: 'last failure',
            wrap: true,
            data: item => item.error ?? '',
            cell: item => visible(item.error ?? ''),
          },
        ]}
      />
    </Pane>
  )
}
