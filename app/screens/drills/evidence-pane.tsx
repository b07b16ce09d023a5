/** What happened, in order: each finding in words, and behind it what exactly was asked and what was found. */
import type { DrillFinding } from '../../../shared/inspection/drills.ts'
import { isActive } from '../../data/drills.ts'
import { count, duration } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import type { DrillView } from './drill-screen.tsx'
import { SurgeryTable } from './free-pane.tsx'
import { verdictLooks } from './looks.tsx'

/** Answers that came as asked are many and say little. */
const isPlain = ({ verdict, found, asked }: DrillFinding): boolean =>
  verdict === 'pass' && (found?.includes('"is": "answer"') === true || asked?.text.startsWith('the answer is') === true)

export function EvidencePane({ view }: { view: DrillView }) {
  const { drill, run, search, choose } = view
  if (!run)
    return (
      <Pane title="What happens">
        <div className="drill-prose">
          <p>Say what you expect, then run it. Nothing here touches the cluster that this console watches.</p>
          <p>
            <b>Where to look.</b> {drill.look}
          </p>
        </div>
      </Pane>
    )
  const plain = run.findings.filter(isPlain).length
  const shown = search.all === '1' ? run.findings : run.findings.filter(finding => !isPlain(finding))
  return (
    <>
      <Pane
        title="What happened"
        label="each line opens what was asked and what was found"
        testId="drill-evidence"
        actions={
          plain > 0 && (
            <button
              type="button"
              className="btn small quiet push"
              aria-pressed={search.all === '1'}
              onClick={() => choose({ all: search.all === '1' ? undefined : '1' })}
            >
              {search.all === '1' ? 'Without' : 'With'} {count(plain, 'plain answer')}
            </button>
          )
        }
      >
        {shown.length === 0 ? (
          <p className="drill-prose">{isActive(run) ? 'Nothing was judged yet.' : 'Nothing was judged.'}</p>
        ) : (
          <ol className="drill-findings">
            {shown.map(finding => (
              <Finding
                key={finding.key}
                finding={finding}
                decisive={finding.what === drill.decisive}
                open={search.item === finding.key}
                onToggle={() => choose({ item: search.item === finding.key ? undefined : finding.key })}
              />
            ))}
          </ol>
        )}
      </Pane>
      {!isActive(run) && run.surgery.length > 0 && (
        <Pane title="Surgery" label="what was done to files, and what stood there before" testId="drill-operated">
          <SurgeryTable surgery={run.surgery} />
        </Pane>
      )}
      {!run.broken && (
        <Pane title="Where to look">
          <p className="drill-prose">{drill.look}</p>
        </Pane>
      )}
    </>
  )
}

function Finding(props: { finding: DrillFinding; decisive: boolean; open: boolean; onToggle: () => void }) {
  const { key, what, verdict, seen, atMs, asked, found } = props.finding
  const look = verdictLooks[verdict]
  const id = `evidence-${key}`
  return (
    <li data-open={props.open} data-decisive={props.decisive} data-testid={`finding-${key}`} data-verdict={verdict}>
      <button
        type="button"
        className="finding-head"
        aria-expanded={props.open}
        aria-controls={id}
        onClick={props.onToggle}
      >
        <span className="num">{duration(atMs)}</span>
        <Glyph name={look.glyph} state={look.colour} />
        <span className="finding-words">
          <b>{what}</b>
          <span className="sr">: {look.word}. </span>
          {props.decisive && <span className="chip plain">the lesson</span>}
          <span className="finding-seen">{seen}</span>
        </span>
      </button>
      {props.open && (
        <div id={id} className="finding-evidence" data-testid="evidence-open">
          <h3>Must hold</h3>
          <p>{asked?.text ?? 'An action that could not be done.'}</p>
          {asked && (
            <>
              <h3>Exactly as asked</h3>
              <pre>{asked.exact}</pre>
            </>
          )}
          <h3>Found</h3>
          <pre>{found ?? 'Kept with the run; told when it has ended.'}</pre>
        </div>
      )}
    </li>
  )
}
