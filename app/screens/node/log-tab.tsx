/**
 * The last lines that the process printed, also those of a process that is gone: why it ended stands there. Whoever has
 * scrolled down keeps what he reads; new lines count up until he returns to the top.
 */
import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { LogAnswer } from '../../../shared/inspection/files.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { queries } from '../../data/queries.ts'
import { linesSince } from '../../data/tail.ts'
import { Age } from '../../ui/age.tsx'
import { clock, count, grouped, visible } from '../../ui/format.ts'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { TableSave } from '../../ui/table-save.tsx'
import { logLine } from './log-line.ts'

export function LogTab({ id }: { id: number }) {
  const answer = useQuery(queries.log(id))
  const [held, setHeld] = useState<LogAnswer | undefined>(undefined)
  const box = useRef<HTMLElement>(null)
  const told = answer.data?.node === id ? answer.data : undefined
  const data = held?.node === id ? held : told
  if (!data)
    return answer.error ? (
      <Problem error={answer.error} what={`The log of node-${id} is not known`} retry={() => void answer.refetch()} />
    ) : (
      <Skeleton what="the log" rows={8} />
    )
  const lines = data.lines.map(logLine).reverse()
  const newer = held && told ? linesSince(held.lines, told.lines) : 0
  return (
    <Scroll
      name={`Log of node-${id}`}
      className="nd-scroll"
      ref={box}
      onScroll={event => {
        const away = event.currentTarget.scrollTop > 4
        if (away && held === undefined) setHeld(told)
        if (!away && held !== undefined) setHeld(undefined)
      }}
    >
      <div className="pane-head sub">
        <h2>Log</h2>
        <span className="label">
          last {count(lines.length, 'line')} of <code>{visible(data.path)}</code>, newest first
        </span>
        <TableSave
          name={`log of node-${id}`}
          rows={lines}
          columns={[
            { id: 'atMs', data: line => line.atMs },
            { id: 'level', data: line => line.level },
            { id: 'message', data: line => line.message },
            { id: 'line', data: line => line.raw },
          ]}
        />
        {newer !== 0 && (
          <button
            type="button"
            className="btn small push"
            onClick={() => {
              setHeld(undefined)
              box.current?.scrollTo({ top: 0 })
            }}
          >
            {newer === undefined ? `more than ${grouped(told!.lines.length)} newer` : `${grouped(newer)} newer`}
          </button>
        )}
        <Age atMs={msOf(data.takenWallUs)} by="read by the console" push={newer === 0} />
      </div>
      {lines.length === 0 ? (
        <p className="note">Nothing was printed: the process was never started.</p>
      ) : (
        <table className="table" data-testid="log">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Level</th>
              <th scope="col">What it said</th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no names, and two may read alike
              <tr key={index} data-level={line.level}>
                <td className="m">{line.atMs === undefined ? '' : clock(line.atMs)}</td>
                <td>{line.level}</td>
                <td className="wrap">
                  {visible(line.message)} <span className="ink-3">{visible(line.rest)}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Scroll>
  )
}
