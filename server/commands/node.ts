import type { Command } from 'commander'

/** `node --replica-id N`: one replica in the foreground. */
export function registerNode(program: Command): void {
  program
    .command('node')
    .description('run one replica in the foreground')
    .option('--replica-id <n>', 'which entry of cluster.nodes this process is; may be left out when the cluster is off')
    .option('--config <file>', 'TOML file; IGGY_CONFIG_PATH otherwise, embedded defaults without either')
    .option('-f, --fresh', 'remove the data directory first', false)
    .option('--with-default-root-credentials', 'use iggy/iggy for what the environment does not set', false)
    .action(
      async (options: { replicaId?: string; config?: string; fresh: boolean; withDefaultRootCredentials: boolean }) => {
        const { runNode } = await import('../node/main.ts')
        await runNode(options)
      },
    )
}
