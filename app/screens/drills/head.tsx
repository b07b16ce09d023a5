/** What is run, where, and the acts: run, step, cancel. R runs, N takes the next step. */
import { useEffect } from 'react'
import { useForbidden } from '../../data/actions.ts'
import { cancelDrill, DRILL_ACT, isActive } from '../../data/drills.ts'
import { pressedKey } from '../../keys.ts'
import { prefs } from '../../prefs.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import type { DrillView } from './drill-screen.tsx'
import { whyNot } from './verdict-pane.tsx'

export function DrillHead({ view }: { view: DrillView }) {
  const { drill, run, search, choose } = view
  const forbidden = useForbidden()
  const active = run !== undefined && isActive(run)
  const broken = search.broken === '1'
  const real = search.world === 'real' && !broken
  const why = whyNot(view, forbidden)
  const whyNext = forbidden ?? (run?.state === 'waiting' ? undefined : 'The run is at work on a step.')
  const presenting = search.present === '1'
  useKeys({
    r: () => why === undefined && view.start(presenting),
    n: () => {
      if (run?.state === 'waiting') view.next()
      else if (presenting && why === undefined) view.start(true)
    },
  })
  return (
    <header className="screen-head drill-head">
      <h1 className="title">
        {drill.id} {drill.title}
      </h1>
      <span className="label">teaches {drill.teaches}</span>
      <span className="push" />
      <Segmented
        name="World"
        value={real ? 'real' : 'sim'}
        options={[
          { value: 'sim', label: 'Simulator' },
          ...(drill.worlds.includes('real') ? [{ value: 'real', label: 'Real processes' } as const] : []),
        ]}
        onChange={world =>
          choose({ world: world === 'real' ? 'real' : undefined, ...(world === 'real' && { broken: undefined }) })
        }
      />
      {!real && (
        <label className="field seed">
          <span className="label">Seed</span>
          <input
            inputMode="numeric"
            size={6}
            placeholder="1"
            value={search.seed ?? ''}
            onChange={({ target }) => {
              const digits = target.value
                .replace(/\D/g, '')
                .replace(/^0+(?=\d)/, '')
                .slice(0, 18)
              choose({ seed: digits === '' ? undefined : digits })
            }}
          />
        </label>
      )}
      <button
        type="button"
        className="chip"
        aria-pressed={broken}
        title={`The same story with the rule ${drill.rule} switched off; in the simulator only`}
        onClick={() => choose({ broken: broken ? undefined : '1', ...(!broken && { world: undefined }) })}
      >
        Break the rule
      </button>
      {!active && (
        <ActButton name="Run by hand" pendingKey={DRILL_ACT} onAct={view.byHand} why={why} className="chip">
          By hand
        </ActButton>
      )}
      <button
        type="button"
        className="chip"
        aria-pressed={presenting}
        title="Big type, one step at a time; N takes the next one"
        onClick={() => choose({ present: presenting ? undefined : '1' })}
      >
        Present
      </button>
      <span className="drill-run-acts">
        {active ? (
          <>
            {run.stepwise && (
              <ActButton
                name="Next step"
                pendingKey={DRILL_ACT}
                onAct={view.next}
                why={whyNext}
                className="btn main-act"
              >
                Next <kbd>N</kbd>
              </ActButton>
            )}
            <ActButton
              name={run.free ? 'End the run' : 'Cancel the run'}
              pendingKey={DRILL_ACT}
              onAct={() => void cancelDrill(run.run)}
              why={forbidden ?? (run.state === 'cancelling' ? 'It is being ended.' : undefined)}
              className="btn"
            >
              {run.free ? 'End' : 'Cancel'}
            </ActButton>
          </>
        ) : (
          <>
            <ActButton
              name="Run step by step"
              pendingKey={DRILL_ACT}
              onAct={() => view.start(true)}
              why={why}
              className={presenting ? 'btn main-act' : 'btn'}
            >
              Step{presenting && <kbd> N</kbd>}
            </ActButton>
            <ActButton
              name={run ? 'Run again' : 'Run'}
              pendingKey={DRILL_ACT}
              onAct={() => view.start(false)}
              why={why}
              className={presenting ? 'btn' : 'btn main-act'}
              testId="drill-run"
            >
              {run ? 'Run again' : 'Run'} <kbd>R</kbd>
            </ActButton>
          </>
        )}
      </span>
    </header>
  )
}

export function commandOf({ drill, search }: DrillView): string {
  const broken = search.broken === '1'
  const real = search.world === 'real' && !broken
  const seed = search.seed !== undefined && !real ? ` --seed ${search.seed}` : ''
  return `npm run -s quorumscope -- drill run ${drill.id}${real ? ' --real' : ''}${broken ? ' --broken' : ''}${seed}`
}

function useKeys(keys: Readonly<Record<string, () => unknown>>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const act = keys[pressedKey(event) ?? '']
      const typing = (event.target as HTMLElement).matches('input, textarea, select, [contenteditable]')
      if (!act || typing || event.defaultPrevented || event.repeat || !prefs.get().singleKeys) return
      event.preventDefault()
      act()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })
}
