/** Two runs of one drill, finding by finding: where they differ, and how long each took. */
import { useQuery } from '@tanstack/react-query'
import type { DrillFinding, DrillRunAnswer } from '../../../shared/inspection/drills.ts'
import { drillQueries } from '../../data/drills.ts'
import { count, duration } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { type ExportColumn, TableFoot } from '../../ui/table-export.tsx'
import type { DrillView } from './drill-screen.tsx'
import { verdictLooks, worldWords } from './looks.tsx'

interface Pair {
  readonly what: string
  readonly one: DrillFinding | undefined
  readonly other: DrillFinding | undefined
}

/** Findings of the same words, in order: keys of two worlds need not be the same. */
export function pairs(one: readonly DrillFinding[], other: readonly DrillFinding[]): Pair[] {
  const rest = [...other]
  const found: Pair[] = one.map(finding => {
    const at = rest.findIndex(({ what }) => what === finding.what)
    return { what: finding.what, one: finding, other: at < 0 ? undefined : rest.splice(at, 1)[0] }
  })
  return [...found, ...rest.map(finding => ({ what: finding.what, one: undefined, other: finding }))]
}

const pairColumns = (one: number, other: number): readonly ExportColumn<Pair>[] => [
  { id: 'finding', data: pair => pair.what },
  { id: `verdictOfRun${one}`, data: pair => pair.one?.verdict },
  { id: `seenInRun${one}`, data: pair => pair.one?.seen },
  { id: `verdictOfRun${other}`, data: pair => pair.other?.verdict },
  { id: `seenInRun${other}`, data: pair => pair.other?.seen },
]

const differs = ({ one, other }: Pair): boolean => one?.verdict !== other?.verdict || one?.seen !== other?.seen

export function ComparePane({ view, run, other }: { view: DrillView; run: DrillRunAnswer; other: number }) {
  const { data, error, refetch } = useQuery(drillQueries.run(other))
  const all = data ? pairs(run.findings, data.findings) : []
  const shown = all.filter(differs)
  return (
    <Pane
      title={`Run ${run.run} beside run ${other}`}
      testId="drill-compare"
      actions={
        <button type="button" className="btn small quiet push" onClick={() => view.choose({ with: undefined })}>
          Close
        </button>
      }
    >
      {error && !data && (
        <Problem error={error} what={`Run ${other} could not be read.`} retry={() => void refetch()} />
      )}
      {!data && !error && <Skeleton what={`run ${other}`} rows={4} />}
      {data && (
        <>
          <p className="drill-prose">
            {worldWords(run)}, {duration(run.tookMs)}, beside {worldWords(data)}, {duration(data.tookMs)}.{' '}
            {shown.length === 0
              ? `All ${count(all.length, 'finding')} are the same.`
              : `${count(shown.length, 'finding')} of ${all.length} differ.`}
          </p>
          {shown.length > 0 && (
            <Scroll name="Findings that differ">
              <table className="table compare">
                <thead>
                  <tr>
                    <th scope="col">Finding</th>
                    <th scope="col">Run {run.run}</th>
                    <th scope="col">Run {data.run}</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map(({ what, one, other: beside }) => (
                    <tr key={`${one?.key}/${beside?.key}`}>
                      <th scope="row">{what}</th>
                      <td>{said(one)}</td>
                      <td>{said(beside)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              <TableFoot name="findings that differ" rows={shown} columns={pairColumns(run.run, data.run)} />
            </Scroll>
          )}
        </>
      )}
    </Pane>
  )
}

function said(finding: DrillFinding | undefined) {
  if (!finding) return <span className="ink-3">not come to</span>
  const { glyph, colour, word } = verdictLooks[finding.verdict]
  return (
    <span>
      <Glyph name={glyph} state={colour} /> <span className="sr">{word}: </span>
      {finding.seen}
    </span>
  )
}
