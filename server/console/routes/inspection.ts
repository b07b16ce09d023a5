/**
 * What one node says of itself, passed on as it said it: the answer is of that node and of nobody else, with its reporter.
 * The schema of each answer is the node's own; an answer that does not fit is an error, never a half-read page.
 */
import { z } from 'zod'
import type { Hash } from '../../../shared/bytes/hash.ts'
import { journalSnapshot, sessionSnapshot, walEntrySnapshot, walScanSnapshot } from '../../../shared/inspection/logs.ts'
import {
  BATCHES_LIMIT_MAX,
  BYTES_LENGTH_MAX,
  countersAnswer,
  groupAnswer,
  INDEX_LIMIT_MAX,
  nodePath,
  POSITION_MAX_BYTES,
} from '../../../shared/inspection/node-api.ts'
import {
  batchesSnapshot,
  bytesSnapshot,
  clientSnapshot,
  groupSummary,
  indexSnapshot,
  partitionSnapshot,
  recoverySnapshot,
  reporter,
  superblocksSnapshot,
  walSnapshot,
} from '../../../shared/inspection/snapshots.ts'
import { ConsoleError } from '../errors.ts'
import type { Hub } from '../hub.ts'
import { superblocksOnDisk, walEntryOnDisk, walOnDisk, walScanOnDisk } from '../offline.ts'
import { nodeId, type Routes, smallInt, u64Text } from '../route.ts'

const groupsAnswer = z.object({ reporter, groups: z.array(groupSummary) })
const watchAnswer = z.object({ watching: z.string() })

export function inspectionRoutes(routes: Routes, hub: Hub, hash: Hash): void {
  const node = z.object({ id: nodeId })
  const group = node.extend({ group: u64Text })
  const partition = node.extend({ s: smallInt(2 ** 20 - 1), t: smallInt(4095), p: smallInt(999_999) })
  const segment = partition.extend({ base: u64Text })
  const position = z.coerce.number().int().min(0).max(POSITION_MAX_BYTES)

  const read = <P extends z.ZodType, Q extends z.ZodType>(
    path: string,
    summary: string,
    params: P,
    query: Q,
    answer: z.ZodType,
    where: (params: z.output<P>, query: z.output<Q>) => string,
  ): void =>
    routes.add({ method: 'GET', path: `/api/nodes/:id/${path}`, summary, params, query, answer }, async context => {
      const { id } = context.params as { id: number }
      return agreed(id, answer, await hub.ask(id, where(context.params as z.output<P>, context.query as z.output<Q>)))
    })
  const none = z.object({})
  const key = ({ s, t, p }: z.output<typeof partition>) => ({ stream: s, topic: t, partition: p })

  read('groups', 'Every group of the node, one line each', node, none, groupsAnswer, () => '/groups')
  read('groups/:group', 'One group: views, log, pipeline, votes, timers', group, none, groupAnswer, ({ group }) =>
    nodePath.group(group),
  )
  read('groups/:group/counters', 'Exact counters of a group', group, none, countersAnswer, ({ group }) =>
    nodePath.counters(group),
  )
  /** What a directory can tell as well as its process: asked of the process, and read from the files when there is none. */
  const readOrOpen = <P extends typeof node>(
    path: string,
    summary: string,
    params: P,
    answer: z.ZodType,
    where: (params: z.output<P>) => string,
    onDisk: (params: z.output<P>, dataDirectory: string) => Promise<unknown>,
  ): void =>
    routes.add(
      {
        method: 'GET',
        path: `/api/nodes/:id/${path}`,
        summary: `${summary}; from the directory when the node has no process`,
        params,
        answer,
      },
      async context => {
        const given = context.params as z.output<P>
        const { id } = given as { id: number }
        const { state, dataDirectory } = hub.status(id)
        if (state === 'stopped' || state === 'crashed' || state === 'refused') return onDisk(given, dataDirectory)
        return agreed(id, answer, await hub.ask(id, where(given)))
      },
    )
  readOrOpen(
    'superblocks',
    'Both slots of every group, and which one wins',
    node,
    superblocksSnapshot,
    () => nodePath.superblocks,
    ({ id }, directory) => superblocksOnDisk(id, directory, hash),
  )
  readOrOpen(
    'wal',
    'The write-ahead log of the metadata group',
    node,
    walSnapshot,
    () => nodePath.wal,
    ({ id }, directory) => walOnDisk(id, directory, hash),
  )
  read('clients', 'Connections and the client table', node, none, clientSnapshot, () => nodePath.clients)
  readOrOpen(
    'wal/entries/:op',
    'One entry of the write-ahead log: its bytes, verified',
    node.extend({ op: u64Text }),
    walEntrySnapshot,
    ({ op }) => nodePath.walEntry(op),
    async ({ id, op }, directory) => {
      const entry = await walEntryOnDisk(id, directory, hash, BigInt(op))
      if (!entry) throw new ConsoleError('CON_NO_SUCH_THING', `the log of node-${id} does not hold op ${op}`)
      return entry
    },
  )
  readOrOpen(
    'wal/scan',
    'A scan of the log file as it is now; it changes nothing',
    node,
    walScanSnapshot,
    () => nodePath.walScan,
    ({ id }, directory) => walScanOnDisk(id, directory, hash),
  )
  read(
    'clients/:client',
    'One session and the replies that are kept for it',
    node.extend({ client: z.string().regex(/^[0-9a-f]{1,32}$/) }),
    none,
    sessionSnapshot,
    ({ client }) => nodePath.session(client),
  )
  read('recovery', 'The last boot, step by step', node, none, recoverySnapshot, () => nodePath.recovery)
  read(
    'partitions/:s/:t/:p',
    'Segment chain, journal, flusher and offsets of a partition',
    partition,
    none,
    partitionSnapshot,
    params => nodePath.partition(key(params)),
  )
  read(
    'partitions/:s/:t/:p/journal',
    'Ops of a partition group that are in memory',
    partition,
    none,
    journalSnapshot,
    params => nodePath.journal(key(params)),
  )
  read(
    'partitions/:s/:t/:p/segments/:base/index',
    'Index entries of one segment: between two places of its log, thinned evenly to the limit, or from the floor of an offset on',
    segment,
    z.object({
      from: position.default(0),
      to: position.default(POSITION_MAX_BYTES),
      offset: u64Text.optional(),
      limit: z.coerce.number().int().min(1).max(INDEX_LIMIT_MAX).default(INDEX_LIMIT_MAX),
    }),
    indexSnapshot,
    (params, ask) => nodePath.index(key(params), params.base, ask),
  )
  read(
    'partitions/:s/:t/:p/segments/:base/batches',
    'Batches of one segment from a batch boundary on, each verified',
    segment,
    z.object({
      from: position.default(0),
      limit: z.coerce.number().int().min(1).max(BATCHES_LIMIT_MAX).default(100),
    }),
    batchesSnapshot,
    (params, { from, limit }) => nodePath.batches(key(params), params.base, from, limit),
  )
  read(
    'partitions/:s/:t/:p/segments/:base/bytes',
    'Bytes of a segment or index file, as hex',
    segment,
    z.object({
      kind: z.enum(['log', 'index']).default('log'),
      position: position.default(0),
      length: z.coerce.number().int().min(1).max(BYTES_LENGTH_MAX).default(4096),
    }),
    bytesSnapshot,
    (params, { kind, position, length }) => nodePath.bytes(key(params), params.base, kind, position, length),
  )
  // It changes nothing that lasts, but it costs the node work: so it is a POST, with the token.
  routes.add(
    {
      method: 'POST',
      path: '/api/nodes/:id/watch/:group',
      summary: 'Ask the node for every flow event of a group for 30 s',
      params: group,
      answer: watchAnswer,
    },
    async ({ params }) =>
      watchAnswer.parse(
        (await hub.http.get(params.id, hub.endpoint(params.id), nodePath.watch(params.group), 'POST')).json,
      ),
  )
}

function agreed(id: number, schema: z.ZodType, json: unknown): unknown {
  const result = schema.safeParse(json)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  throw new ConsoleError('CON_NODE_ERROR', `node-${id} answered with something else than agreed`, {
    code: 'BadAnswer',
    message: `${issue.path.join('.')}: ${issue.message}`,
  })
}
