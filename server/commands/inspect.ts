import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { BootPlan } from '../../shared/replica/plan.ts'
import type { Disk } from '../../shared/storage/disk.ts'

/**
 * `inspect DIR [--verify] [--plan [--assume-unreserved]] [--json]`: a data directory, offline. Exit 0 all well, 1 damage or a
 * boot that would refuse something, 2 no node directory.
 */
export function registerInspect(program: Command): void {
  program
    .command('inspect')
    .description('say what is in the data directory of a node, without changing a byte of it')
    .argument('<dir>', 'the directory of one node, with metadata/ and streams/ in it')
    .option('--verify', 'compute every checksum', false)
    .option('--plan', 'say what a boot would do with it, and every write that it would make', false)
    .option('--assume-unreserved', 'with --plan: take superblocks of 66 bytes, whose reservation is unknown', false)
    .option('--json', 'print one JSON object', false)
    .action(async (dir: string, options: InspectCommandOptions) => {
      process.exitCode = await runInspect(dir, options, process.stdout, process.stderr)
    })
}

export interface InspectCommandOptions {
  readonly verify: boolean
  readonly json: boolean
  readonly plan?: boolean
  readonly assumeUnreserved?: boolean
}

/** Runs one inspection and prints it, text of failures to `err`; answers the exit status. */
export async function runInspect(
  dir: string,
  options: InspectCommandOptions,
  out: { write(text: string): unknown },
  err: { write(text: string): unknown },
): Promise<0 | 1 | 2> {
  const [{ createHash }, { EngineError }, { inspectDirectory }, { inspectionText }, { DirectoryDisk }] =
    await Promise.all([
      import('../../shared/bytes/hash.ts'),
      import('../../shared/bytes/errors.ts'),
      import('../../shared/storage/inspect/inspect.ts'),
      import('../../shared/storage/inspect/text.ts'),
      import('../node/directory-disk.ts'),
    ])
  const directory = resolve(dir)
  const disk = new DirectoryDisk(directory, { readOnly: true })
  const scheduler = { yield: () => new Promise<void>(done => setImmediate(done)) }
  try {
    if (options.plan) return await printPlan(directory, disk, options, out)
    const inspection = await inspectDirectory(disk, { hash: await createHash(), verify: options.verify, scheduler })
    out.write(
      options.json ? `${JSON.stringify({ directory, ...inspection })}\n` : inspectionText(inspection, directory),
    )
    return inspection.ok ? 0 : 1
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    const advice = error.context.advice === undefined ? '' : `\n${error.context.advice}`
    const message = `${directory}: ${error.code.startsWith('DISK_') ? 'cannot be read as a directory' : error.message}`
    if (options.json) {
      out.write(`${JSON.stringify({ ok: false, directory, findings: [], error: { code: error.code, message } })}\n`)
    } else err.write(`${message}${advice}\n`)
    return 2
  }
}

async function printPlan(
  directory: string,
  disk: Disk,
  { json, assumeUnreserved = false }: InspectCommandOptions,
  out: { write(text: string): unknown },
): Promise<0 | 1> {
  const [{ createHash }, { planBoot }] = await Promise.all([
    import('../../shared/bytes/hash.ts'),
    import('../../shared/replica/plan.ts'),
  ])
  const scheduler = { yield: () => new Promise<void>(done => setImmediate(done)) }
  const plan = await planBoot(disk, { hash: await createHash(), scheduler, assumeUnreserved })
  const ok = plan.verdict === 'boots'
  if (json) {
    const identity = { ...plan.identity, cluster: plan.identity.cluster.toString() }
    const steps = plan.steps.map(step => ({
      ...step,
      wouldWrite: plan.writes.filter(({ path }) => path === step.path),
    }))
    out.write(`${JSON.stringify({ ok, directory, ...plan, identity, steps })}\n`)
  } else out.write(planText(directory, plan))
  return ok ? 0 : 1
}

function planText(directory: string, { identity, verdict, message, steps, refused, writes }: BootPlan): string {
  const lines = [
    `${directory}: node ${identity.replica} of ${identity.replicaCount} (${identity.foundIn})`,
    `verdict: ${verdict}${message === undefined ? '' : `: ${message}`}`,
    '',
    'steps',
    ...steps.map(({ step, path, verdict: result }) => `  ${step.padEnd(12)} ${result.padEnd(16)} ${path}`),
    '',
    writes.length === 0 ? 'a boot would write nothing' : 'a boot would write',
    ...writes.map(({ operation, path, offset, length, hash, to }) => {
      const range =
        length === undefined ? (offset === undefined ? '' : ` to ${offset}`) : ` ${length} at ${offset}, ${hash}`
      return `  ${operation.padEnd(8)} ${path}${range}${to === undefined ? '' : ` -> ${to}`}`
    }),
  ]
  if (refused.length > 0) {
    lines.push('', 'partitions that it would not serve')
    for (const { path, code, message: why } of refused) lines.push(`  ${path}: ${code}: ${why}`)
  }
  return `${lines.join('\n')}\n`
}
