import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
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
    .addOption(
      new Option('--assume-unreserved', 'a plan that takes superblocks of 66 bytes, whose reservation is unknown')
        .default(false)
        .implies({ plan: true }),
    )
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
  const disk = new DirectoryDisk(directory, { readOnly: true, linkedDirectories: options.plan ?? false })
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
    const noDirectory = error.code.startsWith('DISK_') && error.context.path === ''
    const message = `${directory}: ${noDirectory ? 'cannot be read as a directory' : error.message}`
    if (options.json) {
      const told = { code: error.code, message, ...(advice !== '' && { advice: error.context.advice }) }
      out.write(`${JSON.stringify({ ok: false, directory, findings: [], error: told })}\n`)
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
  const [{ createHash }, { planBoot }, { liveOwner, NODE_LOCK }] = await Promise.all([
    import('../../shared/bytes/hash.ts'),
    import('../../shared/replica/plan.ts'),
    import('../node/directory-lock.ts'),
  ])
  await disk.list('')
  const inUseBy = liveOwner(join(directory, NODE_LOCK))?.pid
  const scheduler = { yield: () => new Promise<void>(done => setImmediate(done)) }
  const plan = await planBoot(disk, { hash: await createHash(), scheduler, assumeUnreserved })
  const ok = plan.verdict === 'boots' && inUseBy === undefined
  if (json) {
    const identity = { ...plan.identity, cluster: plan.identity.cluster.toString() }
    const steps = plan.steps.map(step => ({
      ...step,
      wouldWrite: plan.writes.filter(({ path }) => path === step.path),
    }))
    out.write(`${JSON.stringify({ ok, directory, inUseBy, ...plan, identity, steps })}\n`)
  } else out.write(planText(directory, plan, inUseBy))
  return ok ? 0 : 1
}

/** What every boot writes about itself; no plan lists it. */
const OWN_FILES = 'process.lock and runtime/'

function planText(directory: string, plan: BootPlan, inUseBy: number | undefined): string {
  const { identity, verdict, message, advice, steps, refused, writes } = plan
  const pending = steps.filter(step => step.verdict === 'pending')
  const lines = [
    `${directory}: node ${identity.replica} of ${identity.replicaCount} (${identity.foundIn})`,
    ...(inUseBy === undefined
      ? []
      : [
          `process ${inUseBy} runs on this directory: a boot ends with DirectoryInUse until it has ended, and files may change`,
        ]),
    `verdict: ${verdict}${message === undefined ? '' : `: ${message}`}`,
    ...(advice === undefined ? [] : [`advice: ${advice}`]),
    ...(verdict === 'WrongLength' ? ['see what a boot would do otherwise: --plan --assume-unreserved'] : []),
    '',
    'steps',
    ...steps.map(stepLine),
    '',
    writes.length === 0 ? `a boot would write nothing but ${OWN_FILES}` : `a boot would write, besides ${OWN_FILES}`,
    ...writes.map(({ operation, path, offset, length, hash, to }) => {
      const range =
        length === undefined ? (offset === undefined ? '' : ` to ${offset}`) : ` ${length} at ${offset}, ${hash}`
      return `  ${operation.padEnd(8)} ${path}${range}${to === undefined ? '' : ` -> ${to}`}`
    }),
  ]
  if (pending.length > 0)
    lines.push('', 'committed before, and done as soon as the node runs', ...pending.map(stepLine))
  if (refused.length > 0) {
    lines.push('', 'partitions that it would not serve')
    for (const { path, code, message: why, advice: todo } of refused)
      lines.push(`  ${path}: ${code}: ${why}`, ...(todo === undefined ? [] : [`    ${todo}`]))
  }
  return `${lines.join('\n')}\n`
}

/** Texts are told with the refusal itself, and names of other files are long: what is left are counts and offsets. */
function stepLine({ step, path, verdict, detail }: BootPlan['steps'][number]): string {
  const facts = Object.entries(detail).filter(([key]) => key !== 'message' && key !== 'advice')
  const told = facts.map(([key, value]) => `${key}=${value}`).join(' ')
  return `  ${step.padEnd(12)} ${verdict.padEnd(16)} ${path}${told === '' ? '' : `  ${told}`}`
}
