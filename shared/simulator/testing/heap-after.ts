import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const program = fileURLToPath(new URL('./memory.ts', import.meta.url))

/** Bytes of heap that a cluster of three uses after about each of these numbers of ops, in a process that does nothing else. */
export async function heapAfter(ops: readonly number[]): Promise<number[]> {
  const args = ['--expose-gc', '--import', 'tsx', program, ...ops.map(String)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}
