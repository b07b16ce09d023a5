/** Streams and topics: what there is, as a node says, and making more through the client protocol. */
import {
  createStreamBody,
  createStreamResult,
  createTopicBody,
  createTopicResult,
  type TopicsAnswer,
  topicsAnswer,
} from '../../../shared/inspection/api.ts'
import { nodePath, nodeTopicsAnswer } from '../../../shared/inspection/node-api.ts'
import { ConsoleError } from '../errors.ts'
import type { Hub } from '../hub.ts'
import type { Routes } from '../route.ts'
import type { Topics } from '../topics.ts'
import { wallUs } from '../wall.ts'

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
}
