/** One request of a scenario, through the client protocol; whoever compares what clients are told hears of it. */
import type { Client, PollStrategy } from '../client/client.ts'
import type { TopicOptions } from '../client/topic-options.ts'
import { encodeBody } from '../protocol/codec.ts'
import { ClientCommands } from '../protocol/command-codes.ts'
import type { ClientRequest, ScenarioTopicOptions } from './language.ts'
import type { OutcomeReading } from './reading.ts'
import type { Witness } from './runner.ts'

/** @throws ClientError as the client does */
export async function ask(
  client: Client,
  call: ClientRequest,
  witness: Witness | undefined,
  hashOf: (bytes: Uint8Array) => string,
): Promise<OutcomeReading> {
  switch (call.request) {
    case 'createStream': {
      const stream = await client.createStream(call.stream)
      return { state: 'ok', reply: hashOf(encodeBody(ClientCommands.createStream.reply, stream)) }
    }
    case 'deleteStream':
      await client.deleteStream(call.stream)
      return { state: 'ok' }
    case 'createTopic':
      await client.createTopic(call.stream, call.topic, call.partitions, call.options && optionsOf(call.options))
      witness?.topicMade(`${call.stream}/${call.topic}`, call.options?.enforceFsync === true)
      return { state: 'ok' }
    case 'deleteTopic':
      await client.deleteTopic(call.stream, call.topic)
      return { state: 'ok' }
    case 'purgeTopic':
      await client.purgeTopic(call.stream, call.topic)
      witness?.topicPurged(`${call.stream}/${call.topic}`)
      return { state: 'ok' }
    case 'send': {
      const to = { kind: 'partition', partition: call.partition } as const
      const messages = call.payloads.map(payload => ({ payload }))
      const confirmed = await client.sendMessages(call.stream, call.topic, to, messages)
      for (const [index, payload] of call.payloads.entries())
        if (confirmed) witness?.confirmed(partitionOf(call), confirmed.baseOffset + BigInt(index), payload, true)
      if (!confirmed) return { state: 'ok' }
      const { baseOffset } = confirmed
      const offsets = call.payloads.map((_, index) => (baseOffset + BigInt(index)).toString())
      return { state: 'ok', baseOffset: baseOffset.toString(), offsets }
    }
    case 'poll': {
      const { stream, topic, partition, count, from, polls = 1 } = call
      let strategy: PollStrategy =
        typeof from === 'string' ? { kind: from } : { kind: 'offset', offset: BigInt(from.offset) }
      const brought: (readonly [bigint, string])[] = []
      for (let poll = 0; poll < polls; poll++) {
        const { messages } = await client.poll({ stream, topic, partition, strategy, count })
        const found = messages.map(({ offset, payload }) => [offset, textOf(payload)] as const)
        for (const [offset, payload] of found) witness?.confirmed(partitionOf(call), offset, payload, false)
        if (from === 'first' && poll === 0 && messages.length < count)
          witness?.readBack(partitionOf(call), new Map(found))
        brought.push(...found)
        const last = found.at(-1)
        if (last) strategy = { kind: 'offset', offset: last[0] + 1n }
      }
      return {
        state: 'ok',
        payloads: brought.map(([, payload]) => payload),
        offsets: brought.map(([offset]) => offset.toString()),
      }
    }
    case 'listStreams': {
      const streams = await client.streams()
      const reply = hashOf(encodeBody(ClientCommands.listStreams.reply, streams))
      return { state: 'ok', payloads: streams.map(stream => stream.name), reply }
    }
    case 'ping':
      await client.ping()
      return { state: 'ok' }
  }
}

function optionsOf({ messageExpiry, maxTopicSize, segmentSize, ...rest }: ScenarioTopicOptions): TopicOptions {
  const { sizeOfMessagesRequiredToSave: sizeToSave, ...plain } = rest
  return {
    ...plain,
    ...(messageExpiry !== undefined && { messageExpiry: BigInt(messageExpiry) }),
    ...(maxTopicSize !== undefined && { maxTopicSize: BigInt(maxTopicSize) }),
    ...(segmentSize !== undefined && { segmentSize: BigInt(segmentSize) }),
    ...(sizeToSave !== undefined && { sizeOfMessagesRequiredToSave: BigInt(sizeToSave) }),
  }
}

const partitionOf = ({ stream, topic, partition }: { stream: string; topic: string; partition: number }): string =>
  `${stream}/${topic}/${partition}`

const textOf = (bytes: Uint8Array): string => Array.from(bytes, byte => String.fromCharCode(byte)).join('')
