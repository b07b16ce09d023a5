/** Messages as a client gets them, and what is stored of consumers. */
import { z } from 'zod'
import type { Hash } from '../../../shared/bytes/hash.ts'
import {
  consumersAnswer,
  POLL_COUNT_MAX,
  polledAnswer,
  pollStrategy,
  storeOffsetBody,
  storeOffsetResult,
} from '../../../shared/inspection/polls.ts'
import { DiskError } from '../../../shared/storage/disk.ts'
import { consumersOnDisk } from '../consumer-files.ts'
import { ConsoleError } from '../errors.ts'
import type { Hub } from '../hub.ts'
import type { Readers } from '../readers.ts'
import { nodeId, type Routes, smallInt, u64Text } from '../route.ts'
import type { Topics } from '../topics.ts'

const U64_MAX = 2n ** 64n - 1n
const u64 = u64Text.transform(BigInt).refine(value => value <= U64_MAX, 'is above 2^64 - 1')
const partition = z.object({ s: smallInt(2 ** 20 - 1), t: smallInt(4095), p: smallInt(999_999) })
const ofNode = partition.extend({ id: nodeId })
const key = ({ s, t, p }: z.output<typeof partition>) => ({ stream: s, topic: t, partition: p })

export function messageRoutes(routes: Routes, hub: Hub, readers: Readers, topics: Topics, hash: Hash): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/nodes/:id/partitions/:s/:t/:p/messages',
      summary: 'Polls a partition as a client of this node would; nothing is committed for the consumer',
      params: ofNode,
      query: z.object({
        strategy: pollStrategy.default('last'),
        /** Offset, or microseconds since 1970; other strategies have none. */
        value: u64.default(0n),
        count: z.coerce.number().int().min(1).max(POLL_COUNT_MAX).default(20),
        /** A number, or a name. */
        consumer: z.string().min(1).max(255).default('0'),
      }),
      answer: polledAnswer,
    },
    ({ params, query }) => readers.poll(params.id, key(params), query),
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/nodes/:id/partitions/:s/:t/:p/messages/:offset/payload',
      summary: 'The whole payload of one message, as a file',
      params: ofNode.extend({ offset: u64 }),
      answer: { mediaType: 'application/octet-stream' },
    },
    async ({ params, reply }) => {
      const payload = await readers.payload(params.id, key(params), params.offset)
      const { s, t, p, offset } = params
      return reply
        .header('content-disposition', `attachment; filename="${s}.${t}.${p}-${offset}.bin"`)
        .type('application/octet-stream')
        .send(Buffer.from(payload))
    },
  )
  routes.add(
    {
      method: 'GET',
      path: '/api/nodes/:id/partitions/:s/:t/:p/consumers',
      summary: 'Offsets stored for consumers and groups, from the files of the node, whether it runs or not',
      params: ofNode,
      answer: consumersAnswer,
    },
    async ({ params }) => {
      const { dataDirectory, state } = hub.status(params.id)
      try {
        return await consumersOnDisk(params.id, dataDirectory, key(params), hash, state === 'running')
      } catch (error) {
        if (!(error instanceof DiskError)) throw error
        const origin = { code: error.code, message: error.message }
        throw new ConsoleError('CON_NODE_ERROR', `The files of node-${params.id} cannot be read.`, origin)
      }
    },
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/partitions/:s/:t/:p/offsets',
      summary: 'Store up to where a consumer has read; answered once a quorum has it',
      params: partition,
      body: storeOffsetBody,
      answer: storeOffsetResult,
    },
    async ({ params, body }) => {
      const offset = u64.safeParse(body.offset)
      if (!offset.success) throw new ConsoleError('CON_BAD_REQUEST', `body.offset ${offset.error.issues[0]!.message}`)
      return { consumer: await topics.storeOffset(key(params), body.consumer, offset.data), offset: body.offset }
    },
  )
}
