/** The verdict, what was predicted of it, and the runs before. */
import type { DrillRunAnswer, DrillRunSummary } from '../../../shared/inspection/drills.ts'
import { useForbidden } from '../../data/actions.ts'
import { DRILL_ACT, isActive } from '../../data/drills.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { count, duration } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { State } from '../../ui/state.tsx'
import type { Look } from '../../ui/states.ts'
import { type ExportColumn, TableFoot } from '../../ui/table-export.tsx'
import { type DrillView, predictedIn } from './drill-screen.tsx'
import { runLook, worldWords } from './looks.tsx'

export function VerdictPane({ view }: { view: DrillView }) {
  const { drill, run } = view
  return (
    <Pane title="Verdict" testId="drill-verdict">
      <div role="status">
        {run ? <Verdict run={run} noticedBy={drill.noticedBy} /> : <p className="verdict unknown big">No run yet.</p>}
      </div>
      {run?.state === 'done' && (
        <p className="drill-prose row drill-acts">
          <button type="button" className="btn small" onClick={() => view.choose({ at: 'decisive' })}>
            Replay the decisive moment
          </button>
          <CopyButton
            text={JSON.stringify(run, null, 1)}
            label="Copy evidence"
            title="The run with all evidence, as JSON"
          />
        </p>
      )}
      {run?.state === 'done' && !run.broken && !run.free && (
        <div className="drill-prose" data-testid="drill-why">
          <h3>Why it is safe</h3>
          <p>{drill.whySafe}</p>
        </div>
      )}
    </Pane>
  )
}

function Verdict({ run, noticedBy }: { run: DrillRunAnswer; noticedBy: string }) {
  const look = runLook(run)
  const kind = run.state === 'done' ? run.verdict : 'unknown'
  const passed = run.findings.filter(({ verdict }) => verdict === 'pass').length
  const at = run.steps.findIndex(({ state }) => state === 'now' || state === 'waiting')
  const bad = run.findings.filter(({ verdict }) => verdict !== 'pass')
  return (
    <>
      <div className={`verdict ${kind} big`} data-verdict={kind} data-testid="verdict">
        <Glyph name={look.glyph} state={look.colour} large />
        <div>
          <b>{look.word}</b>
          <span className="small">
            Run {run.run}, {worldWords(run)},{' '}
            {run.sweep
              ? `${run.sweep.done} of ${count(run.sweep.total, 'seed')}, ${run.sweep.red.length} wrong`
              : `${passed} of ${count(run.findings.length, 'finding')} hold`}
          </span>
        </div>
      </div>
      {isActive(run) && at >= 0 && (
        <p className="drill-now" data-testid="drill-now">
          <span className="label">
            Step {at + 1} of {run.steps.length}
          </span>
          {run.steps[at]!.text}
        </p>
      )}
      {run.error !== null && <p className="drill-prose">{run.error}</p>}
      {run.state === 'cancelled' && run.error === null && (
        <p className="drill-prose">It was ended before its end, so it says nothing. All that it made is gone.</p>
      )}
      {run.state === 'done' && run.broken && run.asExpected && (
        <p className="drill-prose">
          Without the rule it ends badly, and <code>{noticedBy}</code> noticed.
        </p>
      )}
      {run.state === 'done' &&
        bad.map(({ key, what, seen }) => (
          <p key={key} className="drill-prose">
            <b>{what}</b>: {seen}
          </p>
        ))}
    </>
  )
}

export function PredictionsPane({ view }: { view: DrillView }) {
  const { drill, run, search, choose } = view
  if (run) return <YouSaid run={run} onAnew={() => choose({ run: 'new', item: undefined, at: undefined })} />
  const chosen = new Set(predictedIn(search))
  const toggle = (index: number): void => {
    const next = new Set(chosen)
    if (!next.delete(index)) next.add(index)
    choose({ predict: next.size === 0 ? undefined : [...next].sort((a, b) => a - b).join(',') })
  }
  return (
    <Pane title="What will happen?" label="before the run" testId="drill-predict">
      <ul className="drill-pred">
        {drill.predictions.map((text, index) => (
          <li key={text}>
            <label>
              <input type="checkbox" checked={chosen.has(index)} onChange={() => toggle(index)} />
              {text}
            </label>
          </li>
        ))}
      </ul>
    </Pane>
  )
}

function YouSaid({ run, onAnew }: { run: DrillRunAnswer; onAnew: () => void }) {
  return (
    <Pane
      title="You said"
      testId="drill-said"
      actions={
        !isActive(run) && (
          <button type="button" className="btn small quiet push" onClick={onAnew}>
            Predict anew
          </button>
        )
      }
    >
      <ul className="drill-pred">
        {run.predictions.map(prediction => {
          const { look, words } = judgement(prediction)
          return (
            <li key={prediction.text} data-came-true={prediction.cameTrue}>
              <Glyph name={look.glyph} state={look.colour} />
              <span className={prediction.chosen ? 'ink-1' : ''}>{prediction.text}</span>
              <span className="label push">{words}</span>
            </li>
          )
        })}
      </ul>
    </Pane>
  )
}

const RIGHT: Look = { glyph: 'ok', colour: 'ok', word: 'right' }
const WRONG: Look = { glyph: 'fail', colour: 'danger', word: 'wrong' }
const OPEN: Look = { glyph: 'unknown', colour: 'none', word: 'open' }
const UNSAID: Look = { glyph: 'absent', colour: 'none', word: 'not said' }

function judgement({ chosen, cameTrue }: DrillRunAnswer['predictions'][number]): { look: Look; words: string } {
  if (cameTrue === null) return chosen ? { look: OPEN, words: 'not judged' } : { look: UNSAID, words: 'not said' }
  if (chosen) return cameTrue ? { look: RIGHT, words: 'right' } : { look: WRONG, words: 'it was not so' }
  return cameTrue ? { look: UNSAID, words: 'not said; it was so' } : { look: UNSAID, words: 'not said; it was not so' }
}

const SEEDS = 100

/** Why no run can be started now. */
export function whyNot({ run, elsewhere }: DrillView, forbidden: string | undefined): string | undefined {
  if (forbidden !== undefined) return forbidden
  if (run && isActive(run)) return 'This drill is running.'
  return elsewhere === undefined ? undefined : `Run ${elsewhere} is going on: one at a time.`
}

const RUN_COLUMNS: readonly ExportColumn<DrillRunSummary>[] = [
  { id: 'run', data: run => run.run },
  { id: 'drill', data: run => run.drill },
  { id: 'state', data: run => run.state },
  { id: 'verdict', data: run => run.verdict },
  { id: 'asExpected', data: run => run.asExpected },
  { id: 'world', data: run => run.world },
  { id: 'seed', data: run => run.seed },
  { id: 'broken', data: run => run.broken },
  { id: 'tookMs', data: run => run.tookMs },
]

export function RunsPane({ view, runs }: { view: DrillView; runs: readonly DrillRunSummary[] }) {
  return (
    <Pane
      title="Runs"
      label="in the life of this console"
      testId="drill-runs"
      actions={
        <span className="push">
          <ActButton
            name="Run 100 seeds"
            pendingKey={DRILL_ACT}
            onAct={() => view.sweep(SEEDS)}
            why={whyNot(view, useForbidden())}
            className="btn small"
          >
            Run {SEEDS} seeds
          </ActButton>
        </span>
      }
    >
      {runs.length === 0 ? (
        <p className="drill-prose ink-3">None yet.</p>
      ) : (
        <Scroll name="Runs of this drill">
          <table className="table runs">
            <thead className="sr">
              <tr>
                <th scope="col">Run</th>
                <th scope="col">Verdict</th>
                <th scope="col">World</th>
                <th scope="col">Time</th>
              </tr>
            </thead>
            <tbody>
              {runs.map(run => (
                <tr
                  key={run.run}
                  className="pick"
                  aria-selected={run.run === view.run?.run}
                  data-testid={`run-${run.run}`}
                >
                  <td className="m">
                    <button
                      type="button"
                      className="pick-btn"
                      aria-label={`Show run ${run.run}`}
                      onClick={() => view.choose({ run: String(run.run), item: undefined, at: undefined })}
                    >
                      #{run.run}
                    </button>
                  </td>
                  <td>
                    <State look={runLook(run)} />
                  </td>
                  <td>{worldWords(run)}</td>
                  <td className="n">
                    {duration(run.tookMs)}
                    {view.run?.state === 'done' && run.state === 'done' && run.run !== view.run.run && (
                      <button
                        type="button"
                        className="btn small quiet"
                        aria-label={`Compare with run ${run.run}`}
                        aria-pressed={view.search.with === String(run.run)}
                        onClick={() => view.choose({ with: String(run.run) })}
                      >
                        Compare
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <TableFoot name="runs" rows={runs} columns={RUN_COLUMNS} />
        </Scroll>
      )}
    </Pane>
  )
}
