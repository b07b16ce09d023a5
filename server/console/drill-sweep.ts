/** A drill over many seeds: one after the other, and what went wrong on which. */
import type { Drill } from '../../shared/drills/contract.ts'
import { runDrill } from '../../shared/drills/run.ts'
import { isCancelled, type Means, type Run } from './drill-answers.ts'

/** What a single run would tell is told of the first seed that goes wrong. */
export async function runSweep(run: Run, sweep: NonNullable<Run['sweep']>, { hash, open }: Means): Promise<void> {
  const { drill, order } = run
  const { broken } = order
  const first = BigInt(order.seed ?? 1)
  const begunMs = performance.now()
  try {
    for (; sweep.done < sweep.total && !isCancelled(run); sweep.done++) {
      const seed = (first + BigInt(sweep.done)).toString()
      const choice = { world: 'sim', broken, seed } as const
      const result = await runDrill(drill, choice, open, { hash, cancelled: () => isCancelled(run) })
      if (isCancelled(run)) break
      if (!result.asExpected) {
        const red = result.findings.find(({ verdict }) => verdict !== 'pass')
        const what = red ? `${red.step}: ${red.seen}` : `${drill.broken.noticedBy} has not noticed`
        sweep.red.push({ seed, verdict: result.verdict, what, command: commandOf(drill, broken, seed) })
      }
      if (sweep.red.length === 0 || (sweep.red.length === 1 && !result.asExpected)) {
        run.result = result
        run.seed = seed
      }
      run.endedMs = performance.now() - begunMs
    }
    run.state = isCancelled(run) ? 'cancelled' : 'done'
  } catch (error) {
    run.state = 'failed'
    run.error = (error as Error).message
  }
}

const commandOf = ({ id }: Drill, broken: boolean, seed: string): string =>
  `npm run -s quorumscope -- drill run ${id}${broken ? ' --broken' : ''} --seed ${seed}`
