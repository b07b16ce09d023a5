/** Processes: what they are doing, and the few things that can be done to them (design.md §4). */
import { z } from 'zod'
import { EngineError } from '../../../shared/bytes/errors.ts'
import {
  type ActionResult,
  actionResult,
  type ClusterNode,
  clusterNode,
  currentCluster,
  type NodeAction,
  nodeAction,
  resetBody,
  resetResult,
} from '../../../shared/inspection/api.ts'
import { filesAnswer, logAnswer } from '../../../shared/inspection/files.ts'
import type { Supervisor } from '../../cluster/contract.ts'
import type { DiskHistory } from '../disk/disk-history.ts'
import { ConsoleError, type ConsoleErrorCode } from '../errors.ts'
import type { Hub } from '../hub.ts'
import { IdempotentActions } from '../idempotency.ts'
import { nodeId, type Routes } from '../route.ts'
import { wallUs } from '../wall.ts'

const ACTIONS: Record<
  NodeAction,
  { readonly words: string; readonly run: (supervisor: Supervisor, id: number) => Promise<unknown> }
> = {
  kill: { words: 'SIGKILL: the process ends at once, nothing is flushed', run: (s, id) => s.kill(id) },
  terminate: { words: 'SIGTERM: a clean stop, everything is flushed', run: (s, id) => s.terminate(id) },
  pause: { words: 'SIGSTOP: the process keeps its sockets and does nothing', run: (s, id) => s.pause(id) },
  resume: { words: 'SIGCONT', run: (s, id) => s.resume(id) },
  start: { words: 'Start the process on its data directory', run: (s, id) => s.start(id) },
  wipe: { words: 'Remove the data directory of a node without a process', run: (s, id) => s.wipe(id) },
}

/** Lines of a node's log in one answer. */
const LOG_LINES_MAX = 1000

/** @param reset starts a new cluster of so many nodes in the place of this one, and ends this console's run */
export function nodeRoutes(routes: Routes, hub: Hub, disk: DiskHistory, reset?: (nodes: number) => void): void {
  const params = z.object({ id: nodeId })

  routes.add(
    {
      method: 'GET',
      path: '/api/clusters/current',
      summary: 'The cluster: every node, its process and what it last said',
      answer: currentCluster,
    },
    () => hub.current(),
  )
  routes.add(
    { method: 'GET', path: '/api/nodes/:id', summary: 'One node', params, answer: clusterNode },
    ({ params }) => hub.node(params.id),
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/nodes/:id/log',
      summary: 'The last lines that the process printed, newest last',
      params,
      query: z.object({ lines: z.coerce.number().int().min(1).max(LOG_LINES_MAX).default(100) }),
      answer: logAnswer,
    },
    ({ params, query }) => {
      const { logFile } = hub.status(params.id)
      const lines = hub.supervisor.logTail(params.id, query.lines)
      return { node: params.id, takenWallUs: wallUs(), path: logFile, lines }
    },
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/nodes/:id/files',
      summary: 'Files of the data directory: now, as the last boot found them, and as the boot before did',
      params,
      answer: filesAnswer,
    },
    ({ params }) => disk.files(hub.status(params.id)),
  )

  const resets = new IdempotentActions<true>()
  routes.add(
    {
      method: 'POST',
      path: '/api/clusters/current/reset',
      summary: 'Stop every node, remove their data, and start a new cluster of 1, 3 or 5 nodes',
      body: resetBody,
      headers: { 'Idempotency-Key': 'A fresh random value; the same one when this very request is repeated.' },
      answer: resetResult,
    },
    async ({ body: { nodes, run = hub.run }, request, reply }) => {
      if (reset === undefined) throw new ConsoleError('CON_WRONG_STATE', 'This console cannot start a cluster anew.')
      if (run !== hub.run) throw new ConsoleError('CON_WRONG_STATE', 'That cluster is gone: another one was started.')
      const { repeated } = await resets.run(request.headers['idempotency-key'], `reset to ${nodes}`, async () => true)
      // The answer first: the console that gives it ends.
      if (!repeated) reply.raw.once('close', () => reset(nodes))
      const { directory } = hub.supervisor.status()
      return {
        nodes,
        command: `rm -r ${quoted(directory)}/node-*; npm start -- --nodes ${nodes} --data ${quoted(directory)}`,
      }
    },
  )

  const actions = new IdempotentActions<ClusterNode>()
  for (const action of nodeAction.options) {
    routes.add(
      {
        method: 'POST',
        path: `/api/nodes/:id/${action}`,
        summary: ACTIONS[action].words,
        params,
        headers: { 'Idempotency-Key': 'A fresh random value; the same one when this very request is repeated.' },
        answer: actionResult,
      },
      async ({ params: { id }, request }): Promise<ActionResult> => {
        const command = commandFor(hub, id, action)
        const key = request.headers['idempotency-key']
        const { repeated, answer } = await actions.run(key, `${action} node-${id}`, async () => {
          try {
            await ACTIONS[action].run(hub.supervisor, id)
          } catch (error) {
            throw understand(error, action, id)
          }
          if (action === 'wipe') hub.emit('data_wiped', { node: id })
          return hub.node(id)
        })
        return { action, repeated, node: answer, command }
      },
    )
  }
}

/** The same by hand. Made before the action, while there is a pid to name. */
function commandFor(hub: Hub, id: number, action: NodeAction): string {
  const node = hub.status(id)
  const signal = { kill: 'KILL', terminate: 'TERM', pause: 'STOP', resume: 'CONT' } as const
  if (action === 'start') return node.command
  if (action === 'wipe') return `rm -r ${quoted(node.dataDirectory)}`
  return node.pid === undefined ? `# node-${id} has no process` : `kill -${signal[action]} ${node.pid}`
}

const quoted = (path: string): string => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

const CODES: Readonly<Record<string, ConsoleErrorCode>> = {
  NoSuchNode: 'CON_NO_SUCH_NODE',
  WrongState: 'CON_WRONG_STATE',
  StartTimedOut: 'CON_START_TIMED_OUT',
  StopTimedOut: 'CON_OUTCOME_UNKNOWN',
}

function understand(error: unknown, action: NodeAction, id: number): Error {
  if (!(error instanceof EngineError)) return error as Error
  const code = CODES[error.code] ?? (action === 'start' ? 'CON_NODE_REFUSED' : 'CON_INTERNAL')
  return new ConsoleError(code, `${action} node-${id}: ${error.message}`, { code: error.code, message: error.message })
}
