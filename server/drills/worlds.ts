/** The worlds that drills run in on this machine: the simulator in this process, or node processes in a directory of their own. */
import type { Hash } from '../../shared/bytes/hash.ts'
import type { OpenWorlds } from '../../shared/drills/run.ts'
import { SimulatedRunner } from '../../shared/simulator/scenario-runner.ts'
import type { LaunchEntry } from '../cluster/launcher.ts'
import { RealRunner } from '../cluster/scenario-runner.ts'
import { endLeftRun } from './left-run.ts'

export interface DrillWorldsOptions {
  /** How node processes are started; default: as this process was. */
  readonly entry?: LaunchEntry
  /** Of real runs, one at a time. Default: a temporary one for each. */
  readonly directory?: string
}

export function drillWorlds(hash: Hash, { entry, directory }: DrillWorldsOptions = {}): OpenWorlds {
  return async (world, { scenario, seed, volatileDisk, ruleOff }) => {
    if (world === 'sim') {
      const breathe = () => new Promise<void>(resolve => setImmediate(resolve))
      const rules = ruleOff && { [ruleOff]: false }
      const options = { seed: BigInt(seed), hash, breathe, ...(rules && { rules }) }
      return { runner: new SimulatedRunner(scenario.cluster, options), close: async () => {} }
    }
    // A run that could not be opened may have left its directory.
    if (directory !== undefined) await endLeftRun(directory)
    const runner = await RealRunner.open(scenario.cluster, {
      hash,
      volatileDisk,
      ...(entry && { entry }),
      ...(directory !== undefined && { directory }),
    })
    return { runner, close: () => runner.close() }
  }
}
