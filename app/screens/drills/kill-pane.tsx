/** From the last kill of the live cluster to the seed of the simulator that comes nearest, and the script that shows it again. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { NearestSeed } from '../../../shared/inspection/drills.ts'
import { useForbidden } from '../../data/actions.ts'
import { DRILL_ACT, drillQueries, findNearest } from '../../data/drills.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { duration } from '../../ui/format.ts'
import { Pane } from '../../ui/pane.tsx'

type Kill = NearestSeed['kill']

export function KillPane() {
  const { data } = useQuery(drillQueries.kill())
  const forbidden = useForbidden()
  const [found, setFound] = useState<NearestSeed>()
  const kill = data?.kill
  if (!kill) return null
  const search = async (): Promise<void> => setFound(await findNearest())
  return (
    <Pane
      title="The last kill of the live cluster"
      label="seen by this console"
      testId="drill-kill"
      actions={
        <span className="push">
          <ActButton name="Find the nearest seed" pendingKey={DRILL_ACT} onAct={() => void search()} why={forbidden}>
            Find the nearest seed
          </ActButton>
        </span>
      }
    >
      <p className="drill-prose">{killWords(kill)}</p>
      {found && (
        <div className="drill-prose" role="status" data-testid="nearest">
          <p>
            Of {found.tried} seeds the nearest is <b className="num">{found.seed}</b>: {outcomeWords(found)}
          </p>
          <p className="drill-acts">
            <CopyButton text={found.script} label="Copy script" title="Save it as kill.json" />
            <CopyButton text={found.command} label="Copy as command" />
          </p>
        </div>
      )}
    </Pane>
  )
}

const killWords = (kill: Kill): string =>
  [
    `node-${kill.node}${roleWords(kill)}, was killed in view ${kill.view}.`,
    outcomeWords(kill),
    kill.backAfterMs === null ? 'It has not come back yet.' : `It served again after ${duration(kill.backAfterMs)}.`,
  ].join(' ')

/** Who leads is known only once a node has told. */
const roleWords = ({ node, primary }: Kill): string =>
  primary === null
    ? ', whose role nobody had told yet'
    : `, ${primary === node ? 'the primary' : 'a backup'} of metadata`

function outcomeWords({
  leader,
  newView,
  electedAfterMs,
}: Pick<Kill, 'leader' | 'newView' | 'electedAfterMs'>): string {
  if (leader === null) return 'Nobody else took the lead.'
  const when = electedAfterMs === null ? '' : ` after ${duration(electedAfterMs)}`
  return `node-${leader} led view ${newView}${when}.`
}
