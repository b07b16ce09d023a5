/** Streams and topics: what there is, as a node says, and making more through the client protocol. */
import { z } from 'zod'
import {
  createStreamBody,
  createStreamResult,
  createTopicBody,
  createTopicResult,
  type TopicsAnswer,
  topicsAnswer,
  writeBody,
  writeResult,
} from '../../../shared/inspection/api.ts'
import { nodePath, nodeTopicsAnswer } from '../../../shared/inspection/node-api.ts'
import { ConsoleError } from '../errors.ts'
import type { Hub } from '../hub.ts'
import { type Routes, smallInt } from '../route.ts'
import type { Topics } from '../topics.ts'
import { wallUs } from '../wall.ts'

const partition = z.object({ s: smallInt(2 ** 20 - 1), t: smallInt(4095), p: smallInt(999_999) })

export function topicRoutes(routes: Routes, hub: Hub, topics: Topics): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/topics',
      summary: 'Streams and topics, as the node says that was heard last',
      answer: topicsAnswer,
    },
    async (): Promise<TopicsAnswer> => {
      let last: unknown
      for (const id of hub.answering()) {
        try {
          const { streams } = nodeTopicsAnswer.parse(await hub.ask(id, nodePath.topics))
          return { streams, reportedBy: id, heardWallUs: wallUs() }
        } catch (error) {
          last = error
        }
      }
      throw last instanceof ConsoleError ? last : new ConsoleError('CON_NODE_DOWN', 'No node answers.')
    },
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/streams',
      summary: 'Create a stream',
      body: createStreamBody,
      answer: createStreamResult,
    },
    ({ body }) => topics.createStream(body.name),
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/topics',
      summary: 'Create a topic in a stream',
      body: createTopicBody,
      answer: createTopicResult,
    },
    async ({ body }) => {
      const made = await topics.createTopic({
        stream: body.stream,
        topic: body.name,
        partitions: body.partitions,
        policy: body.policy,
        segmentSizeBytes: body.segmentSizeBytes,
      })
      return { stream: made.stream, id: made.topic, name: made.name, partitions: made.partitions }
    },
  )
  routes.add(
    {
      method: 'POST',
      path: '/api/partitions/:s/:t/:p/messages',
      summary: 'Write messages of text to a partition; answered once they are acknowledged',
      params: partition,
      body: writeBody,
      answer: writeResult,
    },
    ({ params: { s, t, p }, body }) => topics.write({ stream: s, topic: t, partition: p }, body.messages),
  )
}
