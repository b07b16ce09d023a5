import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { ExitStatus } from '../../shared/storage/ports.ts'
import { endWith } from './end.ts'

/** npm may hand on the signal that the terminal has sent already: two within this time are one. */
const ONE_PRESS_MS = 500

const OTHER_PORT = 'choose another --port, or leave it out for a free one'
const OTHER_DIRECTORY = 'choose another directory with --data, or mend this one'
/** What to do about errors of the system, by their code. */
const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: OTHER_PORT,
  EADDRNOTAVAIL: 'name an address of this machine with --host',
  EACCES: OTHER_DIRECTORY,
  EEXIST: OTHER_DIRECTORY,
  ENOTDIR: OTHER_DIRECTORY,
  EROFS: OTHER_DIRECTORY,
  ENOSPC: OTHER_DIRECTORY,
}

interface ConsoleCommandOptions {
  readonly nodes?: number
  readonly port?: number
  readonly data: string
  readonly host: string
  readonly readOnly?: boolean
}

/** `console [--nodes N] [--port P] [--data DIR] [--host H] [--read-only]`: a local cluster and its page. */
export function registerConsole(program: Command): void {
  program
    .command('console')
    .description('start or adopt a local cluster and serve its page')
    .option('--nodes <n>', 'number of nodes of a new cluster: 1, 3 or 5', nodeCount)
    .option('--port <port>', 'port of the page; 4600 unless taken, then a free one', portNumber)
    .option('--data <dir>', 'directory of the cluster', '.quorumscope')
    .option('--host <host>', 'address to bind to', '127.0.0.1')
    .option('--read-only', 'change nothing; the default when --host is not a loopback address')
    .option('--no-read-only', 'allow changes with the token, also when --host is not a loopback address')
    .action(async (options: ConsoleCommandOptions) => {
      endWith(await runConsole(options, line => process.stdout.write(`${line}\n`)))
    })
}

function nodeCount(text: string): number {
  if (!/^[135]$/.test(text)) throw new InvalidArgumentError('a cluster has 1, 3 or 5 nodes')
  return Number(text)
}

function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('a port is 0 to 65535')
  return Number(text)
}

/** Runs until SIGINT or SIGTERM; answers the exit status. */
export async function runConsole(options: ConsoleCommandOptions, say: (line: string) => void): Promise<number> {
  const [
    { openSupervisor },
    { isReadOnly, newTokens, ROOT, serveConsole },
    { EngineError },
    leftRun,
    { endLeftCommands },
  ] = await Promise.all([
    import('../cluster/supervisor.ts'),
    import('../console/serve.ts'),
    import('../../shared/bytes/errors.ts'),
    import('../drills/left-run.ts'),
    import('../drills/command-runs.ts'),
  ])
  const directory = resolve(options.data)
  const readOnly = isReadOnly(options.host, options.readOnly)
  const asked = untilSignal()
  const tokens = newTokens()
  let { nodes, port } = options
  try {
    for (let first = true; ; first = false) {
      const supervisor = await openSupervisor({ directory, root: ROOT, ...(nodes !== undefined && { nodes }) })
      for (const id of supervisor.adopted) {
        const node = supervisor.status().nodes[id]!
        say(`node-${id} was running already (pid ${node.pid}); it is adopted`)
      }
      let running: Awaited<ReturnType<typeof serveConsole>>
      let reset: (nodes: number) => void = () => {}
      const anew = new Promise<number>(done => {
        reset = done
      })
      try {
        const ended = first ? await leftRun.endLeftRun(leftRun.drillDirectory(directory)) : undefined
        const left = [...(ended ? [leftRun.leftRunWords(ended)] : []), ...(first ? await endLeftCommands() : [])]
        for (const words of left) say(words)
        const leftDrill = left.length > 0 ? left.join(' ') : undefined
        running = await serveConsole({ supervisor, host: options.host, port, readOnly, say, leftDrill, tokens, reset })
      } catch (error) {
        await supervisor.close({ stopNodes: false })
        throw error
      }
      port = running.port
      if (first) {
        say(`Quorumscope  ${running.url}`)
        if (!readOnly) say(`to only look  ${running.viewerUrl}`)
        say(`cluster in ${directory}${readOnly ? ', read-only' : ''}; Ctrl-C stops it`)
      }
      const starting = startNodes(supervisor, say)
      nodes = await Promise.race([asked, anew])
      if (nodes === undefined) {
        await stop(running, starting, supervisor, say)
        return ExitStatus.Clean
      }
      say(`starting anew, nodes: ${nodes}`)
      await running.close()
      await starting
      await supervisor.destroy()
    }
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException
    const advice = error instanceof EngineError ? error.context.advice : ADVICE[code]
    // The system's own messages begin with their code.
    const words = code && !message.includes(code) ? `${code}: ${message}` : message
    process.stderr.write(`${words}\n${advice ? `${advice}\n` : ''}`)
    return ExitStatus.Configuration
  }
}

type LocalSupervisor = Awaited<ReturnType<typeof import('../cluster/supervisor.ts')['openSupervisor']>>

async function stop(
  console: { close(): Promise<void> },
  starting: Promise<void>,
  supervisor: LocalSupervisor,
  say: (line: string) => void,
): Promise<void> {
  say('stopping; once more to leave the nodes running')
  const pressedMs = performance.now()
  const leave = () => {
    if (performance.now() - pressedMs > ONE_PRESS_MS) process.exit(ExitStatus.Clean)
  }
  process.on('SIGINT', leave).on('SIGTERM', leave)
  await console.close()
  await starting
  await supervisor.close({ stopNodes: true })
}

/** A node that will not start does not end the console: its page says why. */
async function startNodes(supervisor: LocalSupervisor, say: (line: string) => void): Promise<void> {
  try {
    await supervisor.startAll()
    const nodes = supervisor.status().nodes.map(node => `${node.name} ${node.ports.client}`)
    say(`client ports: ${nodes.join(', ')}`)
  } catch (error) {
    say(`not every node started: ${(error as Error).message}`)
  }
}

function untilSignal(): Promise<undefined> {
  return new Promise(done => {
    const stop = () => {
      process.off('SIGINT', stop)
      process.off('SIGTERM', stop)
      done(undefined)
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
}
