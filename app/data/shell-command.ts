/**
 * What the page does as a line of shell, for "copy as command" beside every action. The token is never in it: such a line is
 * meant to be pasted somewhere, and takes it from `$QUORUMSCOPE_TOKEN`.
 */
import type { LoadCommand, NodeAction } from '../../shared/inspection/api.ts'
import type { ClusterSize } from './confirming.ts'

export interface ShellCommand {
  /** What it does: "Kill node-0". */
  readonly name: string
  readonly text: string
}

/** One request of the API, as the page makes it. */
export function requestCommand(path: string, body: object, origin: string): string {
  // A name may hold an apostrophe, which would end the quotes of the shell.
  const quoted = JSON.stringify(body).replaceAll("'", String.raw`'\''`)
  return `curl -X POST ${origin}${path} -H "authorization: Bearer $QUORUMSCOPE_TOKEN" -H "idempotency-key: $(date +%s%N)" -H 'content-type: application/json' -d '${quoted}'`
}

const SIGNALS: Readonly<Partial<Record<NodeAction, string>>> = {
  kill: 'KILL',
  terminate: 'TERM',
  pause: 'STOP',
  resume: 'CONT',
}

/** @param process what the console says of the process: a signal goes straight to it, anything else through the console */
export function nodeCommand(
  id: number,
  action: NodeAction,
  process: { readonly pid: number | null } | undefined,
  origin: string,
): string {
  const signal = SIGNALS[action]
  if (signal !== undefined && process?.pid) return `kill -${signal} ${process.pid}`
  return requestCommand(`/api/nodes/${id}/${action}`, {}, origin)
}

export const loadCommand = (command: LoadCommand, origin: string): string =>
  requestCommand('/api/load', command, origin)

export const resetCommand = (nodes: ClusterSize, origin: string): string =>
  requestCommand('/api/clusters/current/reset', { nodes }, origin)
