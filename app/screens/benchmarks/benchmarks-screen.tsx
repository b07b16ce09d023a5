/** Benchmarks from the console: the real command as a job, its refusal on a busy machine, ratios with their spread, history. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import {
  type BenchRun,
  type BenchSize,
  type BenchSuite,
  benchAnswer,
  benchRun,
  type StartBench,
} from '../../../shared/inspection/bench.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { newKey, perform, useForbidden } from '../../data/actions.ts'
import { liveSource } from '../../data/live.ts'
import { queryClient } from '../../data/queries.ts'
import type { Search } from '../../search.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { duration, timestamp, visible } from '../../ui/format.ts'
import { Glyph, type GlyphName, type StateColour } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Picker } from '../../ui/picker.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { benchSituation, figuresOf, ratiosOf, stepsOf } from './figures.ts'
import { RatioStrip } from './ratio-strip.tsx'
import './benchmarks.css'

const route = getRouteApi('/bench')
const RUNNING_MS = 500
const IDLE_MS = 5_000
const ACT = ['bench'] as const

const isActive = (run: BenchRun | undefined): boolean => run?.state === 'running' || run?.state === 'cancelling'

const runsQuery = queryOptions({
  queryKey: ['bench', 'runs'],
  queryFn: ({ signal }) => liveSource.read('/api/bench/runs', benchAnswer, signal),
  refetchInterval: ({ state: { data } }) => (isActive(data?.runs[0]) ? RUNNING_MS : IDLE_MS),
})

const SUITES: Readonly<Record<BenchSuite, string>> = {
  persist: 'log and index written together against one after the other',
  produce: 'group commit: eight producers against one, with it against without',
  recover: 'a verified recovery against hashing the same bytes from memory',
  page: 'start to settled cluster, fact to pixel, kill to pixel, in a real browser',
  partitions: 'many partitions on one node: boot, and what it costs to do nothing',
}

async function act(path: string, body: unknown, what: string): Promise<BenchRun | undefined> {
  const key = newKey()
  const run = await perform(ACT, () => liveSource.act(`/api/bench/runs${path}`, body, benchRun, key), what).catch(
    () => undefined,
  )
  await queryClient.invalidateQueries({ queryKey: ['bench'] })
  return run
}

export default function BenchmarksScreen() {
  const search: Search<'bench'> = route.useSearch()
  const navigate = useNavigate()
  const answer = useQuery(runsQuery)
  const runs = answer.data?.runs ?? []
  const chosen = runs.find(run => run.id === search.run) ?? runs[0]
  const choose = (run: string | undefined): void => void navigate({ to: '/bench', search: { run } })
  return (
    <>
      <h1 className="sr">Benchmarks</h1>
      <div className="screen bch">
        <Now words={benchSituation(chosen)} />
        <div className="bch-top">
          <div className="bch-left">
            <Start active={runs[0] && isActive(runs[0]) ? runs[0] : undefined} onStarted={run => choose(run.id)} />
            <Pane title="Runs" label="kept in the directory of the cluster" testId="bench-runs">
              {answer.error && !answer.data ? (
                <Problem
                  error={answer.error}
                  what="The console did not list its benchmarks"
                  retry={() => void answer.refetch()}
                />
              ) : !answer.data ? (
                <Skeleton what="benchmarks" rows={5} />
              ) : (
                <History runs={runs} chosen={chosen} onChoose={choose} />
              )}
            </Pane>
          </div>
          {chosen ? (
            <Result run={chosen} />
          ) : (
            <Pane title="Figures">
              <p className="note">They stand here once something was measured.</p>
            </Pane>
          )}
        </div>
      </div>
    </>
  )
}

function Start(props: { active: BenchRun | undefined; onStarted: (run: BenchRun) => void }) {
  const forbidden = useForbidden()
  const [suite, setSuite] = useState<BenchSuite>('produce')
  const [size, setSize] = useState<BenchSize>('quick')
  const [force, setForce] = useState(false)
  const { active } = props
  const start = async (): Promise<void> => {
    const order: StartBench = { suite, size, force }
    const run = await act('', order, `Run bench ${suite}`)
    if (run) props.onStarted(run)
  }
  return (
    <Pane title="Measure" testId="bench-start">
      <form
        className="bch-form"
        onSubmit={event => {
          event.preventDefault()
          if (forbidden === undefined && !active) void start()
        }}
      >
        <Picker
          name="Suite"
          value={suite}
          shown={suite}
          testId="bench-suite"
          onChange={value => setSuite(value as BenchSuite)}
          options={Object.entries(SUITES).map(([value, hint]) => ({ value, label: value, hint }))}
        />
        <Segmented
          name="Size"
          value={size}
          options={[
            { value: 'quick', label: 'Quick', title: 'Few and short samples: a minute or so' },
            { value: 'full', label: 'Full', title: 'As the command measures without options: minutes' },
          ]}
          onChange={setSize}
        />
        <label className="row small">
          <input type="checkbox" checked={force} onChange={event => setForce(event.target.checked)} />
          also on a busy machine
        </label>
        <p className="why">{SUITES[suite]}.</p>
        <div className="row">
          {active ? (
            <ActButton
              name="Cancel the benchmark"
              pendingKey={ACT}
              onAct={() => void act(`/${active.id}/cancel`, {}, 'Cancel the benchmark')}
              why={forbidden ?? (active.state === 'cancelling' ? 'It is ending.' : undefined)}
              testId="bench-cancel"
            >
              <Glyph name="stopped" /> Cancel
            </ActButton>
          ) : (
            <ActButton
              name={`Run bench ${suite}`}
              pendingKey={ACT}
              onAct={() => void start()}
              why={forbidden}
              className="btn small main-act"
              testId="bench-run"
            >
              <Glyph name="play" /> Run
            </ActButton>
          )}
        </div>
      </form>
      {active && <Progress run={active} />}
    </Pane>
  )
}

/** The whole by how long the last one of its kind took, where there was one; and step by step by what it says. */
function Progress({ run }: { run: BenchRun }) {
  const share = run.expectedMs === null ? undefined : Math.min(0.99, run.tookMs / run.expectedMs)
  const steps = stepsOf(run.lines)
  return (
    <div className="bch-progress" data-testid="bench-progress">
      <ol className="bch-steps" aria-label="Steps">
        {steps.map((step, index) => {
          const now = index === steps.length - 1
          return (
            <li key={step.words} aria-current={now ? 'step' : undefined}>
              <Glyph name={now ? 'prepared' : 'ok'} state={now ? 'none' : 'ok'} label={now ? 'under way' : 'done'} />
              <span className={now ? 'ink-1' : undefined}>{visible(step.words)}</span>
              {now && step.count && (
                <span className="num push">
                  {step.count.done} of {step.count.of}
                </span>
              )}
            </li>
          )
        })}
      </ol>
      {share !== undefined && (
        <div
          className="progress"
          role="progressbar"
          aria-label={`bench ${run.suite}`}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(share * 100)}
        >
          <i style={{ width: `${share * 100}%` }} />
        </div>
      )}
      <p className="micro ink-3">
        {duration(run.tookMs)}
        {run.expectedMs !== null && ` of about ${duration(run.expectedMs)}, as the last one took`}
      </p>
    </div>
  )
}

const STATES: Readonly<Record<BenchRun['state'], readonly [GlyphName, StateColour, string]>> = {
  running: ['prepared', 'none', 'running'],
  cancelling: ['stopped', 'none', 'ending'],
  done: ['ok', 'ok', 'within bounds'],
  refused: ['stopped', 'change', 'machine busy'],
  cancelled: ['stopped', 'none', 'cancelled'],
  failed: ['fail', 'danger', 'no report'],
}
const stateOf = (run: BenchRun) =>
  run.state === 'done' && run.report?.ok === false ? (['fail', 'danger', 'out of bounds'] as const) : STATES[run.state]

function History(props: { runs: readonly BenchRun[]; chosen: BenchRun | undefined; onChoose: (id: string) => void }) {
  return (
    <DataTable
      name="benchmark runs"
      testId="bench-history"
      rows={props.runs}
      rowKey={run => run.id}
      selected={props.chosen?.id}
      onSelect={run => props.onChoose(run.id)}
      empty="None yet."
      columns={[
        { id: 'suite', head: 'Suite', data: run => run.suite, cell: run => `${run.suite}, ${run.size}` },
        {
          id: 'state',
          head: 'Came to',
          data: run => stateOf(run)[2],
          cell: run => {
            const [glyph, colour, word] = stateOf(run)
            return (
              <span className="state">
                <Glyph name={glyph} state={colour} /> {word}
              </span>
            )
          },
        },
        { id: 'ratio', head: 'ratio', align: 'n', data: run => run.report?.ratio ?? null },
        {
          id: 'interval',
          head: '95 %',
          align: 'n',
          data: run => run.report?.interval?.join(' to ') ?? null,
        },
        { id: 'tookMs', head: 'took', align: 'n', data: run => run.tookMs, cell: run => duration(run.tookMs) },
        {
          id: 'startedUs',
          head: 'Started',
          align: 'm',
          data: run => BigInt(run.startedWallUs),
          cell: run => timestamp(run.startedWallUs).slice(5, 16),
        },
        { id: 'forced', head: 'forced', data: run => run.force },
      ]}
    />
  )
}

function Result({ run }: { run: BenchRun }) {
  const { report } = run
  const ratios = report ? ratiosOf(report) : []
  return (
    <Pane
      title={`${run.suite}, ${run.size}`}
      label={`started ${timestamp(String(Math.round(msOf(run.startedWallUs) * 1000))).slice(0, 19)}, ${duration(run.tookMs)}`}
      testId="bench-result"
      actions={<CopyButton text={run.command} label="Copy as command" icon className="iconbtn small push" />}
    >
      <Scroll name="What was measured" className="bch-result">
        {run.error && (
          <p className={`verdict small ${run.state === 'refused' ? 'warn' : 'fail'}`} data-testid="bench-error">
            <Glyph name={run.state === 'refused' ? 'stopped' : 'fail'} />
            <span>
              <b>{visible(run.error.code)}</b>: {visible(run.error.message)}
            </span>
          </p>
        )}
        {report && report.findings.length > 0 && (
          <ul className="bch-findings" data-testid="bench-findings">
            {report.findings.map(finding => (
              <li key={finding.name}>
                <Glyph
                  name={finding.ok ? 'ok' : 'fail'}
                  state={finding.ok ? 'ok' : 'danger'}
                  label={finding.ok ? 'within bounds' : 'out of bounds'}
                />
                <span>
                  <b>{visible(finding.name)}</b>: {visible(finding.text)}
                </span>
              </li>
            ))}
          </ul>
        )}
        {ratios.length > 0 && <RatioStrip all={ratios} />}
        {report && <Machine report={report} />}
        {!report && run.lines.length > 0 && (
          <pre className="bch-lines" data-testid="bench-lines">
            {run.lines.map(visible).join('\n')}
          </pre>
        )}
      </Scroll>
      {report && report.arms.length > 0 && (
        <DataTable
          name="benchmark figures"
          rows={figuresOf(report)}
          rowKey={figure => `${figure.arm} ${figure.name}`}
          empty="It printed no figures."
          columns={[
            { id: 'arm', head: 'Arm', data: figure => figure.arm },
            { id: 'figure', head: 'Figure', data: figure => figure.name },
            {
              id: 'value',
              head: 'value',
              align: 'n',
              data: figure => figure.value,
              cell: figure => short(figure.value),
            },
          ]}
        />
      )}
    </Pane>
  )
}

/** Digits beyond a thousandth are of no use to a reader; the file has them all. */
const short = (value: string): string =>
  visible(value).replace(/\d+\.\d{4,}/g, digits => String(Number(Number(digits).toFixed(3))))

function Machine({ report }: { report: NonNullable<BenchRun['report']> }) {
  const { machine, before, loadAfter, forced } = report
  if (!machine) return null
  return (
    <p className="note micro" data-testid="bench-machine">
      {machine.cores} cores ({machine.cpu}), {machine.memoryMib} MiB, {machine.platform} {machine.kernel}, node{' '}
      {machine.node}
      {before && `; load ${before.load} before and ${loadAfter ?? '?'} after, jitter ${before.jitter}`}
      {forced && '; forced'}
    </p>
  )
}
