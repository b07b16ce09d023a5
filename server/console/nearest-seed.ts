/** Looks among seeds of the simulated world for the run that comes nearest to the last kill of the live cluster. */
import type { Hash } from '../../shared/bytes/hash.ts'
import { distanceOf, type KillOutcome, killOutcome, killScript, type SeenKill } from '../../shared/drills/nearest.ts'
import { Recorder } from '../../shared/drills/recording.ts'
import type { OpenWorlds } from '../../shared/drills/run.ts'
import type { NearestSeed } from '../../shared/inspection/drills.ts'
import { runScenario } from '../../shared/scenario/run.ts'
import { ConsoleError } from './errors.ts'

export class NearestSeeds {
  readonly #hash: Hash
  readonly #open: OpenWorlds
  readonly #seen: () => SeenKill | undefined
  #busy = false
  #closed = false

  constructor(hash: Hash, open: OpenWorlds, seen: () => SeenKill | undefined) {
    this.#hash = hash
    this.#open = open
    this.#seen = seen
  }

  /** @throws ConsoleError CON_NO_SUCH_THING when nothing was killed, CON_DRILL_RUNNING while another search goes on */
  async search(seeds: number): Promise<NearestSeed> {
    const kill = this.#seen()
    if (!kill) throw new ConsoleError('CON_NO_SUCH_THING', 'No node was killed in the life of this console.')
    if (this.#busy) throw new ConsoleError('CON_DRILL_RUNNING', 'A search for the nearest seed is going on.')
    this.#busy = true
    try {
      const script = killScript(kill)
      let best: { seed: string; outcome: KillOutcome; distance: number } | undefined
      let tried = 0
      for (; tried < seeds && !this.#closed; tried++) {
        const seed = String(tried + 1)
        const outcome = killOutcome(script, await this.#record(script, seed))
        const distance = distanceOf(kill, outcome)
        if (!best || distance < best.distance) best = { seed, outcome, distance }
      }
      if (!best) throw new ConsoleError('CON_STOPPING', 'The console is stopping.')
      const { seed, outcome } = best
      return {
        kill: { ...kill },
        tried,
        seed,
        ...outcome,
        script: JSON.stringify(script, null, 1),
        command: `npm run -s quorumscope -- drill run kill.json --seed ${seed}`,
      }
    } finally {
      this.#busy = false
    }
  }

  close(): void {
    this.#closed = true
  }

  async #record(scenario: ReturnType<typeof killScript>, seed: string) {
    const { runner, close } = await this.#open('sim', { scenario, seed, volatileDisk: false })
    try {
      const recorder = new Recorder(runner)
      await runScenario(scenario, runner, {
        hash: this.#hash,
        beforeStep: key => recorder.step(key),
        onLook: () => recorder.look(),
        cancelled: () => this.#closed,
      })
      return recorder.recording()
    } finally {
      await close()
    }
  }
}
