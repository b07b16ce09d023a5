/**
 * The command line (design.md §7). Commands load their code when they run, so that a node process never loads the
 * console. Wrong usage exits with 2.
 */
import { Command } from 'commander'
import { registerBench } from './bench.ts'
import { registerConsole } from './console.ts'
import { registerDrill } from './drill.ts'
import { registerInspect } from './inspect.ts'
import { registerNode } from './node.ts'
import { registerSim } from './sim.ts'

const program = new Command('quorumscope')
  .description('A browser console for a replicated log, and the replicated log it watches')
  .showHelpAfterError()
  .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : 2))

registerConsole(program)
registerNode(program)
registerInspect(program)
registerSim(program)
registerBench(program)
registerDrill(program)

await program.parseAsync()
