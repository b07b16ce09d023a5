import { type Command, Option } from 'commander'
import type { NodeOptions } from '../node/main.ts'

/** `node --replica-id N`: one replica in the foreground. */
export function registerNode(program: Command): void {
  program
    .command('node')
    .description('run one replica in the foreground')
    .option('--replica-id <n>', 'which entry of cluster.nodes this process is; may be left out when the cluster is off')
    .option('--config <file>', 'TOML file; IGGY_CONFIG_PATH otherwise, embedded defaults without either')
    .option('-f, --fresh', 'remove the data directory first', false)
    .option('--with-default-root-credentials', 'use iggy/iggy for what the environment does not set', false)
    .addOption(
      new Option(
        '--test-faults <kind>',
        'take faults from tests at /faults; volatile: SIGKILL loses what was not synced',
      )
        .choices(['plain', 'volatile'])
        .hideHelp(),
    )
    .addOption(
      new Option('--arm <query...>', 'failpoints that are armed from the start, with --test-faults').hideHelp(),
    )
    .addOption(
      new Option('--measure <switch...>', 'switches of a benchmark; only with an empty data directory').hideHelp(),
    )
    .action(async (options: NodeOptions) => {
      const { runNode } = await import('../node/main.ts')
      await runNode(options)
    })
}
