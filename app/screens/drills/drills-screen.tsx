/** The library of drills, by what they teach, each with how its last run ended. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { DrillsAnswer } from '../../../shared/inspection/drills.ts'
import { drillQueries } from '../../data/drills.ts'
import { count } from '../../ui/format.ts'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { State } from '../../ui/state.tsx'
import { type ExportColumn, TableExport } from '../../ui/table-export.tsx'
import { KillPane } from './kill-pane.tsx'
import { runLook, worldWords } from './looks.tsx'
import { drillsSituation } from './situation.ts'
import './drills.css'

type DrillLine = DrillsAnswer['drills'][number]

export default function DrillsScreen() {
  const { data, error, refetch } = useQuery(drillQueries.list())
  const { data: going } = useQuery(drillQueries.run(data?.active ?? undefined))
  return (
    <div className="screen drills">
      {data && <Now words={drillsSituation(data, going)} />}
      <header className="screen-head">
        <h1 className="title">Drills</h1>
        <span className="label wrap">
          Break something on purpose, say first what will follow, and get a verdict from evidence.
        </span>
        {data && (
          <span className="push row">
            <span className="label">{count(data.drills.length, 'drill')}</span>
            <TableExport name="drills" rows={data.drills} columns={DRILL_COLUMNS} />
          </span>
        )}
      </header>
      {data?.cleaned != null && (
        <p className="verdict warn small" role="status" data-testid="cleaned">
          {data.cleaned}
        </p>
      )}
      {error && !data && <Problem error={error} what="The drills could not be read." retry={() => void refetch()} />}
      {!data && !error && <Skeleton what="the drills" rows={8} />}
      {data &&
        lessonsOf(data.drills).map(([lesson, drills]) => <Lesson key={lesson} lesson={lesson} drills={drills} />)}
      <KillPane />
    </div>
  )
}

const DRILL_COLUMNS: readonly ExportColumn<DrillLine>[] = [
  { id: 'id', data: drill => drill.id },
  { id: 'title', data: drill => drill.title },
  { id: 'lesson', data: drill => drill.lesson },
  { id: 'teaches', data: drill => drill.teaches },
  { id: 'worlds', data: drill => drill.worlds.join(' ') },
  { id: 'rule', data: drill => drill.rule },
  { id: 'lastRun', data: drill => drill.last?.run },
  { id: 'lastVerdict', data: drill => drill.last?.verdict },
  { id: 'lastAsExpected', data: drill => drill.last?.asExpected },
]

function lessonsOf(drills: readonly DrillLine[]): [string, DrillLine[]][] {
  const lessons = new Map<string, DrillLine[]>()
  for (const drill of drills) lessons.set(drill.lesson, [...(lessons.get(drill.lesson) ?? []), drill])
  return [...lessons]
}

function Lesson(props: { lesson: string; drills: readonly DrillLine[] }) {
  return (
    <Pane
      title={props.lesson.charAt(0).toUpperCase() + props.lesson.slice(1)}
      label={count(props.drills.length, 'drill')}
    >
      <Scroll name={`Drills about ${props.lesson}`}>
        <table className="table library">
          <thead>
            <tr>
              <th scope="col">Drill</th>
              <th scope="col">Teaches</th>
              <th scope="col">Runs in</th>
              <th scope="col">Last verdict</th>
            </tr>
          </thead>
          <tbody>
            {props.drills.map(({ id, title, teaches, worlds, last }) => (
              <tr key={id} data-testid={`drill-${id}`}>
                <th scope="row">
                  <Link to="/drills/$id" params={{ id }}>
                    <span className="num">{id}</span> {title}
                  </Link>
                </th>
                <td className="wrap">{teaches}</td>
                <td>{worlds.includes('real') ? 'simulator, real processes' : 'simulator'}</td>
                <td>
                  {last ? (
                    <span title={worldWords(last)}>
                      <State look={runLook(last)} />
                    </span>
                  ) : (
                    <span className="ink-3">not run yet</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Pane>
  )
}
