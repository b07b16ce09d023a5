/** Every fault of this tab on one clock that starts when the process ended, its stopwatch, and what the ledger says. */
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { primaryOf } from '../../../shared/inspection/belief.ts'
import { type ClusterView, msOf } from '../../../shared/inspection/view.ts'
import { actOnNode, useForbidden } from '../../data/actions.ts'
import { useCell } from '../../data/cell.ts'
import type { MarkName, Recovery } from '../../data/recoveries.ts'
import { realNow, recoveries, shown } from '../../data/store.ts'
import { groupName, METADATA } from '../../names.ts'
import type { Search } from '../../search.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { clockShort, count, grouped } from '../../ui/format.ts'
import { Glyph, type GlyphName, type StateColour } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Lanes } from './lanes.tsx'
import { MARK_LOOK, secondsText } from './looks.ts'
import './recoveries.css'

const route = getRouteApi('/recoveries')
const COLUMNS_MAX = 4
const wholeSecond = (now: number): number => Math.floor(now / 1000) * 1000

export default function RecoveriesScreen() {
  const search: Search<'recoveries'> = route.useSearch()
  const navigate = useNavigate()
  const runs = useCell(recoveries)
  const view = useCell(shown, state => state.view)
  const now = useCell(realNow, wholeSecond)
  const chosen = runs.find(run => run.id === search.run) ?? runs[0]
  const choose = (run: string): void =>
    void navigate({ to: '/recoveries', search: old => ({ ...old, run }) as Search<'recoveries'> })
  return (
    <div className="screen rec">
      <Head chosen={chosen} view={view} now={now} />
      {runs.length === 0 ? (
        <section className="pane">
          <div className="empty">
            <Glyph name="down" state="none" large />
            <p>
              No node has died while this tab watched. Start the load on the cluster screen, then kill a node: each
              fault gets a stopwatch and a lane of its own here.
            </p>
          </div>
        </section>
      ) : (
        <Lanes runs={runs} chosen={chosen?.id} now={now} onChoose={choose} />
      )}
      {chosen && (
        <div className="low">
          <StopwatchPane runs={runs.slice(0, COLUMNS_MAX)} chosen={chosen} onChoose={choose} />
          <PhasesPane run={chosen} />
          <LedgerPane runs={runs.slice(0, COLUMNS_MAX)} chosen={chosen} />
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
      <span className="label">on one clock that starts at the fault; acknowledged messages a second</span>
      <span className="push figures">
        <span className="figure mid">
          <span className="label">{chosen ? `${chosen.id}, first acknowledgement` : 'First acknowledgement'}</span>
          <b data-testid="first-ack" data-ms={chosen?.marks.acknowledged ?? ''}>
            {chosen?.marks.acknowledged === undefined ? (
              <small>{chosen && !chosen.stalled ? 'no gap seen' : 'none yet'}</small>
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
              <small>no load ran</small>
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
    </header>
  )
}

const ROWS: readonly MarkName[] = ['noticed', 'elected', 'acknowledged', 'started', 'caughtUp']

function StopwatchPane(props: { runs: readonly Recovery[]; chosen: Recovery; onChoose: (id: string) => void }) {
  return (
    <Pane title="Stopwatch" label="seconds after the fault, slowest group" testId="stopwatch">
      <Scroll name="Stopwatch">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Mark</th>
              {props.runs.map(run => (
                <th key={run.id} scope="col" className="n">
                  <button
                    type="button"
                    className="link"
                    aria-pressed={run.id === props.chosen.id}
                    onClick={() => props.onChoose(run.id)}
                  >
                    {run.id}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {ROWS.map(mark => (
              <tr key={mark}>
                <th scope="row">
                  <span className="state">
                    <Glyph name={MARK_LOOK[mark].glyph} state={MARK_LOOK[mark].colour} />
                    {MARK_LOOK[mark].word}
                  </span>
                </th>
                {props.runs.map(run => (
                  <td
                    key={run.id}
                    className={`n${run.id === props.chosen.id ? ' strong' : ''}`}
                    data-testid={`mark-${run.id}-${mark}`}
                    data-ms={run.marks[mark] ?? ''}
                  >
                    {run.marks[mark] === undefined ? (
                      <span className="ink-3">none</span>
                    ) : (
                      secondsText(run.marks[mark]!)
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Pane>
  )
}

function PhasesPane({ run }: { run: Recovery }) {
  const { marks } = run
  const phases: { word: string; glyph: GlyphName; colour: StateColour; ms: number | undefined }[] = [
    { word: 'Silence, until a peer doubts', glyph: 'change', colour: 'change', ms: marks.noticed },
    {
      word: 'Votes, durable before sent',
      glyph: 'primary',
      colour: 'primary',
      ms: marks.elected === undefined || marks.noticed === undefined ? undefined : marks.elected - marks.noticed,
    },
    {
      word: 'Clients find the new primary',
      glyph: 'acked',
      colour: 'ok',
      ms:
        marks.acknowledged === undefined || marks.elected === undefined
          ? undefined
          : marks.acknowledged - marks.elected,
    },
  ]
  const most = Math.max(1, ...phases.map(phase => phase.ms ?? 0))
  const elections = Object.entries(run.elections).sort((a, b) => a[1] - b[1])
  return (
    <Pane title={`${run.id} in phases`} label="where the time went" testId="phases">
      <Scroll name="Phases">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Phase</th>
              <th scope="col" className="n">
                s
              </th>
              <th scope="col" className="bar-col">
                <span className="sr">Share</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {phases.map(phase => (
              <tr key={phase.word}>
                <td>
                  <span className="state">
                    <Glyph name={phase.glyph} state={phase.colour} />
                    {phase.word}
                  </span>
                </td>
                <td className="n">
                  {phase.ms === undefined ? 'none' : phase.ms < 0 ? 'before it' : secondsText(phase.ms)}
                </td>
                <td>
                  <span className="phase-bar" style={{ width: `${Math.max(0, ((phase.ms ?? 0) / most) * 100)}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <p className="note small">
          {elections.length === 0
            ? 'No group had to elect: the node that died led none of them.'
            : `New primaries: ${elections
                .slice(0, 6)
                .map(([group, ms]) => `${groupName(group)} at ${secondsText(ms)}`)
                .join(', ')}${elections.length > 6 ? ` and ${elections.length - 6} more` : ''}.`}
        </p>
      </Scroll>
    </Pane>
  )
}

function LedgerPane(props: { runs: readonly Recovery[]; chosen: Recovery }) {
  const load = useCell(shown, state => state.view.load)
  return (
    <Pane
      title="Is every acknowledged message still there?"
      label={load ? `load ${load.state}, ${clockShort(msOf(load.takenWallUs))}` : undefined}
      testId="run-ledger"
    >
      <Scroll name="Ledger by run">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col" className="n">
                sent
              </th>
              <th scope="col" className="n">
                acked
              </th>
              <th scope="col" className="n">
                read back
              </th>
              <th scope="col">acked, not found</th>
              <th scope="col" className="n">
                twice
              </th>
            </tr>
          </thead>
          <tbody>
            {props.runs.map(run => (
              <tr key={run.id} aria-selected={run.id === props.chosen.id}>
                <th scope="row">{run.id}</th>
                {run.ledger ? (
                  <>
                    <td className="n">{grouped(run.ledger.sent)}</td>
                    <td className="n">{grouped(run.ledger.acked)}</td>
                    <td className="n">{grouped(run.ledger.readBack)}</td>
                    <td>
                      <span className="state">
                        <Glyph
                          name={run.ledger.lost === 0 ? 'ok' : 'fail'}
                          state={run.ledger.lost === 0 ? 'ok' : 'danger'}
                        />
                        {run.ledger.lost === 0 ? '0 lost' : count(run.ledger.lost, 'message')}
                      </span>
                    </td>
                    <td className="n">{grouped(run.ledger.duplicate)}</td>
                  </>
                ) : (
                  <td colSpan={5} className="ink-3">
                    no load ran: nothing was acknowledged that could be lost
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
        <p className="note small">
          Counts are of the load that ran then; while it runs, what was acknowledged last is not yet read back.
        </p>
      </Scroll>
    </Pane>
  )
}
