/** Reading a node's log file: its last lines, and the line that says why it ended. */
import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import type { ExitLine } from '../node/halt.ts'

/** A longer log is put aside (one generation) when its node starts. */
const ROTATE_BYTES = 16 * 1024 * 1024
/** Far more than the last words of a process need. */
const TAIL_BYTES = 256 * 1024

/** Opens the log for appending and returns the descriptor and the size it has now. */
export function openLog(path: string): { fd: number; sizeBytes: number } {
  if (existsSync(path) && statSync(path).size > ROTATE_BYTES) renameSync(path, `${path}.1`)
  const fd = openSync(path, 'a', 0o600)
  return { fd, sizeBytes: fstatSync(fd).size }
}

/** The last `lines` lines after byte `from`, oldest first. An absent log has none. */
export function tailOf(path: string, lines: number, from = 0): string[] {
  if (!existsSync(path)) return []
  const fd = openSync(path, 'r')
  try {
    const size = fstatSync(fd).size
    const start = Math.max(Math.min(from, size), size - TAIL_BYTES)
    const bytes = Buffer.alloc(size - start)
    const length = readSync(fd, bytes, 0, bytes.length, start)
    const all = bytes.toString('utf8', 0, length).split('\n')
    // The first line is cut when the window begins inside the file.
    if (start > from) all.shift()
    return all.filter(line => line !== '').slice(-lines)
  } finally {
    closeSync(fd)
  }
}

/** What the node that logged after byte `from` said as it ended. */
export function exitLineOf(path: string, from: number): ExitLine | undefined {
  for (const line of tailOf(path, 200, from).reverse()) {
    if (!line.includes('"quorumscopeExit"')) continue
    try {
      const parsed = JSON.parse(line) as ExitLine
      if (parsed.quorumscopeExit === 1) return parsed
    } catch {
      // half a line, cut by a crash
    }
  }
  return undefined
}
