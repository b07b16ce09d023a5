/**
 * The only way a node dies of itself. Writes one line to stderr synchronously, so that it is on its way before the process
 * ends, and exits with the status that says why. The supervisor reads that line back from the log.
 */
import { writeSync } from 'node:fs'
import { EngineError } from '../../shared/bytes/errors.ts'
import { ExitStatus, type Halt } from '../../shared/storage/ports.ts'

/** What each exit status means, in words (design.md §2). */
export const exitMeaning: Readonly<Record<number, string>> = {
  [ExitStatus.Clean]: 'clean stop',
  [ExitStatus.UnreconcilableLogHead]: 'the log head cannot be reconciled',
  [ExitStatus.WedgedSuperblock]: 'the superblock cannot be written',
  [ExitStatus.Configuration]: 'wrong configuration',
  [ExitStatus.RefusedBoot]: 'refused to boot from this data directory',
  [ExitStatus.Unavailable]: 'a port or the data directory is in use',
  [ExitStatus.Internal]: 'an internal error',
  [ExitStatus.FailedPersist]: 'a write to disk failed',
}

/** One line of the log that says why a node ended; `quorumscopeExit` marks it. */
export interface ExitLine {
  readonly quorumscopeExit: 1
  readonly status: number
  readonly meaning: string
  readonly code: string
  readonly message: string
  readonly path?: string
  /** Where in the file, and what was expected there and found. */
  readonly position?: number
  readonly expected?: string
  readonly actual?: string
  readonly op?: string
  readonly advice?: string
}

export function exitLine(status: number, error: unknown): ExitLine {
  const engine = error instanceof EngineError ? error : undefined
  const { path, position, expected, actual, op, advice } = engine?.context ?? {}
  return {
    quorumscopeExit: 1,
    status,
    meaning: exitMeaning[status] ?? `status ${status}`,
    code: engine?.code ?? 'InternalError',
    message: error instanceof Error ? error.message : String(error),
    ...(path !== undefined && { path }),
    ...(position !== undefined && { position }),
    ...(expected !== undefined && { expected }),
    ...(actual !== undefined && { actual }),
    ...(op !== undefined && { op: op.toString() }),
    ...(advice !== undefined && { advice }),
  }
}

function forPeople(line: ExitLine, stack: string | undefined): string {
  const parts = [`${line.meaning} (exit ${line.status}), ${line.code}: ${line.message}`]
  if (line.path !== undefined)
    parts.push(`  path: ${line.path}${line.position === undefined ? '' : `, byte ${line.position}`}`)
  if (line.expected !== undefined) parts.push(`  expected: ${line.expected}`)
  if (line.actual !== undefined) parts.push(`  found: ${line.actual}`)
  if (line.op !== undefined) parts.push(`  op: ${line.op}`)
  if (line.advice !== undefined) parts.push(`  next: ${line.advice}`)
  if (stack !== undefined) parts.push(stack)
  return `${parts.join('\n')}\n`
}

/** Writes all of `text`; a full pipe answers EAGAIN, and dying silently would be worse than a short busy wait. */
function writeAll(text: string): void {
  const bytes = Buffer.from(text)
  let at = 0
  for (let attempt = 0; at < bytes.length && attempt < 1000; attempt++) {
    try {
      at += writeSync(2, bytes, at)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

/** Ends the process: a JSON line for programs, plain words where a person is watching. */
export function die(status: number, error: unknown): never {
  const line = exitLine(status, error)
  const stack = status === ExitStatus.Internal && error instanceof Error ? error.stack : undefined
  if (process.stderr.isTTY) writeAll(forPeople(line, stack))
  else writeAll(`${JSON.stringify(stack === undefined ? line : { ...line, stack })}\n`)
  process.exit(status)
}

export const processHalt: Halt = { fatal: die }
