/** What is to be shown, and the steps on the way there with where the run stands. */
import type { DrillRunAnswer } from '../../../shared/inspection/drills.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { duration } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import type { Look } from '../../ui/states.ts'
import type { DrillView } from './drill-screen.tsx'
import { commandOf } from './head.tsx'

type Step = Omit<DrillRunAnswer['steps'][number], 'count'>

export function StoryPanes({ view }: { view: DrillView }) {
  const { drill, search } = view
  const copy = (
    <span className="push">
      <CopyButton text={commandOf(view)} label="Copy as command" />
    </span>
  )
  return (
    <>
      <Pane title="Goal" actions={copy}>
        <p className="drill-prose">{drill.goal}</p>
      </Pane>
      {search.broken === '1' && (
        <Pane title="With its rule off" label={drill.rule}>
          <p className="drill-prose">
            {drill.brokenStory} It must fail, and <code>{drill.noticedBy}</code> must be who notices.
          </p>
        </Pane>
      )}
    </>
  )
}

const LOOKS: Readonly<Record<Step['state'], Look>> = {
  ahead: { glyph: 'prepared', colour: 'none', word: 'ahead' },
  waiting: { glyph: 'stopped', colour: 'change', word: 'next' },
  now: { glyph: 'recover', colour: 'recover', word: 'now' },
  done: { glyph: 'ok', colour: 'ok', word: 'done' },
  stopped: { glyph: 'fail', colour: 'danger', word: 'ended here' },
  not_reached: { glyph: 'absent', colour: 'none', word: 'not reached' },
}

export function StepsPane({ view }: { view: DrillView }) {
  const { drill, run, search } = view
  const planned =
    search.broken === '1' ? drill.steps.broken : search.world === 'real' ? drill.steps.real : drill.steps.sim
  const steps: readonly Step[] =
    (run?.sweep ? undefined : run?.steps) ?? planned.map(({ text }) => ({ text, state: 'ahead', tookMs: null }))
  const done = steps.filter(({ state }) => state === 'done').length
  return (
    <Pane
      title="Steps"
      actions={
        <span className="push age" data-testid="drill-progress">
          {run && !run.sweep ? `${done} of ${steps.length}, ${duration(run.tookMs)}` : steps.length}
        </span>
      }
      testId="drill-steps"
    >
      <ol className="drill-steps">
        {steps.map(({ text, state, tookMs }, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: steps keep their places
            key={index}
            data-state={state}
            aria-current={state === 'now' || state === 'waiting' ? 'step' : undefined}
          >
            <Glyph name={LOOKS[state].glyph} state={LOOKS[state].colour} />
            <span>
              {text}
              <span className="sr">, {LOOKS[state].word}</span>
            </span>
            <span className="num">{tookMs === null ? '' : duration(tookMs)}</span>
          </li>
        ))}
      </ol>
    </Pane>
  )
}
