import { resolve } from 'node:path'
import type { Command } from 'commander'

/** `inspect DIR [--verify] [--json]`: a data directory, offline. Exit 0 all well, 1 damage, 2 no node directory. */
export function registerInspect(program: Command): void {
  program
    .command('inspect')
    .description('say what is in the data directory of a node, without changing a byte of it')
    .argument('<dir>', 'the directory of one node, with metadata/ and streams/ in it')
    .option('--verify', 'compute every checksum', false)
    .option('--json', 'print one JSON object', false)
    .action(async (dir: string, options: { verify: boolean; json: boolean }) => {
      process.exitCode = await runInspect(dir, options, process.stdout, process.stderr)
    })
}

/** Runs one inspection and prints it, text of failures to `err`; answers the exit status. */
export async function runInspect(
  dir: string,
  options: { readonly verify: boolean; readonly json: boolean },
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
