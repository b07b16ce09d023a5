/** The last boot, step by step, with every verdict: what was found on disk and what was done about it. */

import { useQuery } from '@tanstack/react-query'
import { msOf, type NodeView } from '../../../shared/inspection/view.ts'
import { queries } from '../../data/queries.ts'
import { Age } from '../../ui/age.tsx'
import { count, grouped, visible } from '../../ui/format.ts'
import { Glyph, type GlyphName, type StateColour } from '../../ui/glyph.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { TableExport } from '../../ui/table-export.tsx'

const GOOD = /^(ok|valid|present|clean|complete|whole|opened|accepted|proved|done)$/
const NOTHING = /^(empty|absent|none|fresh|created|skipped)$/
const BAD = /refus|corrupt|unreadable|fail|damage/
const CHANGED = /cut|trunc|floor|rebuil|drop|repair|anchor|orphan|fenced|torn|set aside/

/** The node's own word decides; a word that says neither good nor bad is shown without a judgement. */
function lookOf(verdict: string): { glyph: GlyphName; colour: StateColour } {
  if (GOOD.test(verdict)) return { glyph: 'ok', colour: 'ok' }
  if (NOTHING.test(verdict)) return { glyph: 'absent', colour: 'none' }
  if (BAD.test(verdict)) return { glyph: 'refused', colour: 'danger' }
  if (CHANGED.test(verdict)) return { glyph: 'change', colour: 'change' }
  return { glyph: 'commit', colour: 'none' }
}

export function BootTab({ id, node }: { id: number; node: NodeView }) {
  const running = node.process?.state === 'running'
  const answer = useQuery({ ...queries.recovery(id), enabled: running })
  const data = answer.data?.reporter.node === id ? answer.data : undefined
  if (!data) {
    if (answer.error)
      return (
        <Problem
          error={answer.error}
          what={`node-${id} did not tell its last boot`}
          retry={() => void answer.refetch()}
        />
      )
    if (!running) {
      const refusal = node.process?.refusal
      return (
        <p className="note">
          {refusal ? (
            <>
              The last boot refused: <b>{visible(refusal.code)}</b> {visible(refusal.message)}{' '}
              {refusal.path && <code>{visible(refusal.path)}</code>}
            </>
          ) : (
            'The process does not run; its boot steps come with its next start.'
          )}
        </p>
      )
    }
    return <Skeleton what="boot steps" rows={8} />
  }
  return (
    <Scroll name="Boot steps" className="nd-scroll">
      <div className="pane-head sub">
        <h2>What the boot did</h2>
        <span className="label">{count(data.steps.length, 'step')}, in the order they were taken</span>
        <TableExport
          name="boot steps"
          rows={data.steps}
          columns={[
            { id: 'number', data: step => step.at },
            { id: 'step', data: step => step.step },
            { id: 'verdict', data: step => step.verdict },
            { id: 'path', data: step => step.path },
            { id: 'found', data: step => JSON.stringify(step.detail) },
          ]}
        />
        <Age atMs={msOf(data.reporter.takenWallUs)} by={`node-${id}`} push />
      </div>
      {data.steps.length === 0 ? (
        <p className="note">No steps: the data directory was fresh.</p>
      ) : (
        <table className="table" data-testid="boot-steps">
          <thead>
            <tr>
              <th scope="col" className="n">
                #
              </th>
              <th scope="col">Step</th>
              <th scope="col">Verdict</th>
              <th scope="col">Path</th>
              <th scope="col">Found</th>
            </tr>
          </thead>
          <tbody>
            {data.steps.map((step, index) => {
              const look = lookOf(step.verdict)
              return (
                // biome-ignore lint/suspicious/noArrayIndexKey: steps are a finished list in order; two may read alike
                <tr key={index}>
                  <td className="n">{grouped(index + 1)}</td>
                  <td className="ink-1">{visible(step.step)}</td>
                  <td>
                    <span className="state">
                      <Glyph name={look.glyph} state={look.colour} />
                      {visible(step.verdict)}
                    </span>
                  </td>
                  <td className="m ellipsis" title={step.path}>
                    {visible(step.path)}
                  </td>
                  <td className="wrap">
                    {Object.entries(step.detail)
                      .map(
                        ([key, value]) =>
                          `${key.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)} ${typeof value === 'number' ? grouped(value) : visible(String(value))}`,
                      )
                      .join(', ')}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      )}
    </Scroll>
  )
}
