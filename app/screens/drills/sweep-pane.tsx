/** A run over many seeds: how far it is, and the seeds that went wrong, each with the command that shows it again. */
import type { DrillRunAnswer } from '../../../shared/inspection/drills.ts'
import { isActive } from '../../data/drills.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { count } from '../../ui/format.ts'
import { Pane } from '../../ui/pane.tsx'
import type { DrillView } from './drill-screen.tsx'

/** How many of the red ones are listed. */
const SHOWN = 20

export function SweepPane(props: {
  view: DrillView
  run: DrillRunAnswer
  sweep: NonNullable<DrillRunAnswer['sweep']>
}) {
  const { run, sweep, view } = props
  const { total, done, red } = sweep
  const rest = red.length - SHOWN
  return (
    <Pane
      title="Seeds"
      label={run.broken ? 'with the rule off, each must fail' : 'each must pass'}
      testId="drill-sweep"
    >
      <div className="drill-prose">
        <progress className="sweep" max={total} value={done} aria-label="Seeds that have run" />
        <p data-testid="sweep-words">
          {done} of {count(total, 'seed')} {isActive(run) ? 'have run' : 'ran'},{' '}
          {red.length === 0 ? 'none went wrong' : `${count(red.length, 'seed')} went wrong`}.
        </p>
      </div>
      {red.length > 0 && (
        <ol className="drill-red">
          {red.slice(0, SHOWN).map(({ seed, what, command }) => (
            <li key={seed}>
              <button
                type="button"
                className="btn small"
                onClick={() => view.choose({ seed, run: 'new', at: undefined, item: undefined })}
              >
                Seed {seed}
              </button>
              <span>{what}</span>
              <CopyButton text={command} label="Copy as command" title={command} />
            </li>
          ))}
        </ol>
      )}
      {rest > 0 && <p className="drill-prose">And {rest} more.</p>}
    </Pane>
  )
}
