/** Every fault that the console keeps, on one clock that starts when the process ended, its stopwatch, and what the ledger says. */
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { primaryOf } from '../../../shared/inspection/belief.ts'
import {
  MARKS,
  type MarkName,
  RECOVERIES_MAX,
  type Recovery,
  recoveriesAt,
  writesAround,
} from '../../../shared/inspection/recoveries.ts'
import { type ClusterView, msOf } from '../../../shared/inspection/view.ts'
import { actOnNode, useForbidden } from '../../data/actions.ts'
import { useCell } from '../../data/cell.ts'
import { nodeCommand } from '../../data/shell-command.ts'
import { asOf, realNow, recoveries, shown } from '../../data/store.ts'
import { groupName, METADATA } from '../../names.ts'
import type { Search } from '../../search.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { CopyCommands } from '../../ui/copy.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { clockShort, count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { State } from '../../ui/state.tsx'
import type { Look } from '../../ui/states.ts'
import { Lanes } from './lanes.tsx'
import { MARK_LOOK, secondsText, withoutLedger } from './looks.ts'
import { comparedWith, recoverySituation } from './situation.ts'
import './recoveries.css'

const route = getRouteApi('/recoveries')
const wholeSecond = (now: number): number => Math.floor(now / 1000) * 1000

export default function RecoveriesScreen() {
  const search: Search<'recoveries'> = route.useSearch()
  const navigate = useNavigate()
  const all = useCell(recoveries)
  const past = useCell(asOf)
  const view = useCell(shown, state => state.view)
  const present = useCell(realNow, wholeSecond)
  const now = past?.atMs ?? present
  const runs = past ? recoveriesAt(all, past.atMs, view.load) : all
  const chosen = runs.find(run => run.id === search.run) ?? runs[0]
  const compared = chosen ? comparedWith(runs, chosen) : []
  const choose = (run: string): void =>
    void navigate({ to: '/recoveries', search: old => ({ ...old, run }) as Search<'recoveries'> })
  return (
    <div className="screen rec">
      <Now words={recoverySituation(chosen, now)} />
      <Head chosen={chosen} view={view} now={now} />
      {runs.length === 0 ? (
        <section className="pane">
          <div className="empty">
            <Glyph name="down" state="none" large />
            <p>
              No fault is kept of this cluster. Start the load on the cluster screen, then kill a node: each fault gets
              a stopwatch and a lane of its own here. The console keeps the last {RECOVERIES_MAX}, for every tab, also
              when it starts again; the recordings have all.
            </p>
          </div>
        </section>
      ) : (
        <Lanes runs={runs} chosen={chosen?.id} now={now} onChoose={choose} />
      )}
      {chosen && (
        <div className="low">
          <StopwatchPane runs={compared} chosen={chosen} onChoose={choose} />
          <PhasesPane run={chosen} />
          <LedgerPane runs={compared} chosen={chosen} />
        </div>
      )}
    </div>
  )
}

function Head(props: { chosen: Recovery | undefined; view: ClusterView; now: number }) {
  const { chosen, view } = props
  const forbidden = useForbidden()
  const verdict = primaryOf(view, METADATA, props.now)
  const target = verdict.kind === 'primary' ? verdict.node : undefined
  return (
    <header className="screen-head rec-head">
      <h1 className="title">Recoveries</h1>
      <span className="label">
        acknowledged a second, from the fault on; the console keeps the last {RECOVERIES_MAX}
      </span>
      <span className="push figures">
        <span className="figure mid">
          <span className="label">{chosen ? `${chosen.id}, first acknowledgement` : 'First acknowledgement'}</span>
          <b data-testid="first-ack" data-ms={chosen?.marks.acknowledged ?? ''}>
            {chosen?.marks.acknowledged === undefined ? (
              <small>{firstAckMissing(chosen)}</small>
            ) : (
              <>
                {secondsText(chosen.marks.acknowledged)} <small>s</small>
              </>
            )}
          </b>
        </span>
        <span className="figure mid">
          <span className="label">of it, silence</span>
          <b>
            {chosen?.marks.noticed === undefined ? (
              <small>none</small>
            ) : (
              <>
                {secondsText(chosen.marks.noticed)} <small>s</small>
              </>
            )}
          </b>
        </span>
        <span className="figure mid">
          <span className="label">acknowledged and lost</span>
          <b data-testid="lost" data-value={chosen?.ledger?.lost ?? ''}>
            {chosen?.ledger ? (
              <>
                <Glyph
                  name={chosen.ledger.lost === 0 ? 'ok' : 'fail'}
                  state={chosen.ledger.lost === 0 ? 'ok' : 'danger'}
                  large
                />{' '}
                {grouped(chosen.ledger.lost)}
              </>
            ) : (
              <small>{chosen ? withoutLedger(chosen) : 'no load ran'}</small>
            )}
          </b>
        </span>
      </span>
      <ActButton
        name={target === undefined ? 'Kill the primary and time it' : `Kill node-${target} and time it`}
        pendingKey={['node', target ?? -1, 'kill']}
        onAct={() => target !== undefined && void actOnNode(target, 'kill')}
        why={forbidden ?? (target === undefined ? 'Nobody leads the metadata group now.' : undefined)}
        className="btn destructive"
        testId="kill-and-time"
      >
        <Glyph name="down" />
        {target === undefined ? 'Kill the primary' : `Kill node-${target} and time it`}
      </ActButton>
      {target !== undefined && (
        <CopyCommands
          className="iconbtn small"
          commands={[
            {
              name: `Kill node-${target}`,
              text: nodeCommand(target, 'kill', view.nodes.get(target)?.process, location.origin),
            },
          ]}
        />
      )}
    </header>
  )
}

/** Why there is no first acknowledgement to show: nobody wrote, nothing waited, or it has not come. */
function firstAckMissing(run: Recovery | undefined): string {
  if (run?.stalled !== undefined) return 'none yet'
  return run && writesAround(run) ? 'no gap seen' : 'not measured'
}

function StopwatchPane(props: { runs: readonly Recovery[]; chosen: Recovery; onChoose: (id: string) => void }) {
  return (
    <Pane title="Stopwatch" label="seconds after the fault, slowest group" testId="stopwatch">
      <DataTable
        name="stopwatch"
        rows={MARKS}
        rowKey={mark => mark}
        empty=""
        columns={[
          {
            id: 'mark',
            head: 'Mark',
            names: true,
            data: mark => mark,
            cell: mark => <State look={MARK_LOOK[mark]} />,
          },
          ...props.runs.map(
            (run): Column<MarkName> => ({
              id: `${run.id}.ms`,
              align: 'n',
              data: mark => run.marks[mark],
              head: (
                <button
                  type="button"
                  className="link"
                  aria-pressed={run.id === props.chosen.id}
                  onClick={() => props.onChoose(run.id)}
                >
                  {run.id}
                </button>
              ),
              cell: mark => {
                const ms = run.marks[mark]
                return (
                  <span
                    className={ms === undefined ? 'ink-3' : run.id === props.chosen.id ? 'strong' : undefined}
                    data-testid={`mark-${run.id}-${mark}`}
                    data-ms={ms ?? ''}
                  >
                    {ms === undefined ? 'none' : secondsText(ms)}
                  </span>
                )
              },
            }),
          ),
        ]}
      />
    </Pane>
  )
}

interface Phase {
  readonly look: Look
  readonly ms: number | undefined
}

function PhasesPane({ run }: { run: Recovery }) {
  const { marks } = run
  const between = (from: number | undefined, to: number | undefined): number | undefined =>
    from === undefined || to === undefined ? undefined : to - from
  const phases: readonly Phase[] = [
    { look: { word: 'Silence, until a peer doubts', glyph: 'change', colour: 'change' }, ms: marks.noticed },
    {
      look: { word: 'Votes, durable before sent', glyph: 'primary', colour: 'primary' },
      ms: between(marks.noticed, marks.elected),
    },
    {
      look: { word: 'Clients find the new primary', glyph: 'acked', colour: 'ok' },
      ms: between(marks.elected, marks.acknowledged),
    },
  ]
  const most = Math.max(1, ...phases.map(phase => phase.ms ?? 0))
  const elections = Object.entries(run.elections).sort((a, b) => a[1] - b[1])
  return (
    <Pane title={`${run.id} in phases`} label="where the time went" testId="phases">
      <DataTable
        name="phases"
        rows={phases}
        rowKey={phase => phase.look.word}
        empty=""
        columns={[
          {
            id: 'phase',
            head: 'Phase',
            data: phase => phase.look.word,
            cell: phase => <State look={phase.look} />,
          },
          {
            id: 'ms',
            head: 's',
            align: 'n',
            data: phase => phase.ms,
            cell: ({ ms }) => (ms === undefined ? 'none' : ms < 0 ? 'before it' : secondsText(ms)),
          },
          {
            id: 'share',
            head: <span className="sr">Share</span>,
            cell: ({ ms = 0 }) => (
              <span className="phase-track">
                {ms > 0 && <span className="phase-bar" style={{ width: `${(ms / most) * 100}%` }} />}
              </span>
            ),
          },
        ]}
      />
      <p className="note small">
        {elections.length === 0
          ? 'No new primary was heard of after it.'
          : `New primaries: ${elections
              .slice(0, 6)
              .map(([group, ms]) => `${groupName(group)} at ${secondsText(ms)}`)
              .join(', ')}${elections.length > 6 ? ` and ${elections.length - 6} more` : ''}.`}
      </p>
    </Pane>
  )
}

function LedgerPane(props: { runs: readonly Recovery[]; chosen: Recovery }) {
  const load = useCell(shown, state => state.view.load)
  const figure = (id: 'sent' | 'acked' | 'readBack' | 'duplicate', head: string): Column<Recovery> => ({
    id,
    head,
    align: 'n',
    data: run => run.ledger?.[id],
  })
  return (
    <Pane
      title="Acknowledged, and still there?"
      label={load ? `load ${load.state}, ${clockShort(msOf(load.takenWallUs))}` : undefined}
      testId="run-ledger"
    >
      <DataTable
        name="ledger by run"
        rows={props.runs}
        rowKey={run => run.id}
        rowClass={run => (run.id === props.chosen.id ? 'strong' : undefined)}
        empty=""
        columns={[
          { id: 'run', head: 'Run', names: true, data: run => run.id },
          figure('sent', 'sent'),
          figure('acked', 'acked'),
          figure('readBack', 'read back'),
          {
            id: 'lost',
            head: 'acked, not found',
            data: run => run.ledger?.lost,
            cell: run =>
              run.ledger ? (
                <State
                  look={
                    run.ledger.lost === 0
                      ? { glyph: 'ok', colour: 'ok', word: '0 lost' }
                      : { glyph: 'fail', colour: 'danger', word: count(run.ledger.lost, 'message') }
                  }
                />
              ) : (
                <span className="ink-3">{withoutLedger(run)}</span>
              ),
          },
          figure('duplicate', 'twice'),
        ]}
      />
      <p className="note small">
        Counts are of the load that ran then; while it runs, what was acknowledged last is not yet read back. Without a
        load nothing was acknowledged that could be lost.
      </p>
    </Pane>
  )
}
