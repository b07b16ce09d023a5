/** Which processes belong to a directory: by what their command lines name, so that none can hide behind a lost note. */
import { commandLines } from '../../cluster/find-nodes.ts'

/** Pids of all processes of this machine whose command line names something under the directory. */
export function processesUnder(directory: string): number[] {
  return commandLines().flatMap(({ pid, line }) => (line.includes(`${directory}/`) ? [pid] : []))
}
