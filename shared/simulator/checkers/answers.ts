/**
 * Checker 11 (spec drills.md §2.5): every answer about the metadata that any client gets is what the model says. It executes
 * the canonical log, op by op, and looks at the frames of client connections as they are sent and as they arrive.
 *
 * The reply to a committed op is compared with the outcome of that very op. A read is answered by the connected node alone
 * and may be old (spec wire.md §1.7), but no older than what that node had applied when the request was sent, nor than the
 * last op that it answered this session with, and no newer than what is committed when the answer arrives: within that
 * window one prefix of the log must say the same.
 */
import { decodeRequest } from '../../protocol/codec.ts'
import { ClientCommands, commandOf } from '../../protocol/command-codes.ts'
import { Command } from '../../protocol/commands.ts'
import { ErrorCode, isTransient } from '../../protocol/error-codes.ts'
import { prepareLayout, type ReplyHeader, requestLayout } from '../../protocol/headers.ts'
import { isMetadata, Operation } from '../../protocol/operations.ts'
import { readServerFrame } from '../../protocol/replies.ts'
import { frameBody } from '../../protocol/seal.ts'
import type { Stream, StreamDetails, StreamRef } from '../../protocol/streams.ts'
import type { Stats } from '../../protocol/system.ts'
import type { OptionEntry } from '../../protocol/tlv.ts'
import type { TopicDetails, TopicHeader, TopicRef } from '../../protocol/topics.ts'
import type { TokenInfo } from '../../protocol/users.ts'
import type { Checker } from './checker.ts'
import type { DurableState } from './durable.ts'
import {
  EMPTY,
  execute,
  type ModelResult,
  type ModelState,
  type ModelStream,
  type ModelTopic,
  named,
  valueText,
} from './model.ts'

/** What it looks at of the main checker. */
interface CanonicalLog extends Pick<Checker, 'canonical' | 'appliedBy' | 'fail'> {
  readonly durable: readonly Pick<DurableState, 'entry'>[]
}

/** What a request asks, and the oldest prefix that may answer it. */
interface Asked {
  readonly frame: Uint8Array
  readonly node: number
  readonly from: number
  /** It creates a token and has been sent before, by whichever connection. */
  readonly repeated: boolean
}

/** The user of every client: there is no other. */
const ROOT = 0

export class Answers {
  /** Answers that had something to be compared with. */
  compared = 0
  /** Of those, reads. */
  reads = 0
  private readonly checker: CanonicalLog
  /** Outcome of op n at n; in front of the first op there is nothing. */
  private readonly outcomes: ModelResult[] = [{ state: EMPTY, code: 0 }]
  private readonly asked = new Map<number, Asked>()
  /** By connection: the last op that the session has seen. */
  private readonly seen = new Map<number, number>()
  /** Creations of tokens that have been sent, by client and request. */
  private readonly creations = new Set<string>()

  constructor(checker: CanonicalLog) {
    this.checker = checker
  }

  /** Executes what has been applied since; an op whose bytes no disk gives holds the model up until one does. */
  follow(): void {
    const { canonical, durable } = this.checker
    while (this.outcomes.length <= canonical.length) {
      const op = this.outcomes.length
      const { checksum } = canonical[op - 1]!
      let bytes: Uint8Array | undefined
      for (const disk of durable) bytes ??= disk.entry(BigInt(op), checksum)
      if (!bytes) return
      const { operation, timestamp } = prepareLayout.decode(bytes)
      this.outcomes.push(execute(this.outcomes[op - 1]!.state, { operation, timestamp, body: frameBody(bytes) }))
    }
  }

  /** A client hands a frame to its connection with a node. */
  requested(connection: number, node: number, frame: Uint8Array): void {
    const from = Math.max(this.checker.appliedBy(node), this.seen.get(connection) ?? 0)
    const { client, request, operation } = requestLayout.decode(frame)
    const creation = `${client}/${request}`
    const repeated = this.creations.has(creation)
    if (operation === Operation.CreatePersonalAccessToken) this.creations.add(creation)
    this.asked.set(connection, { frame, node, from, repeated })
  }

  /** A frame has arrived at the client; the connection is lockstep, so it answers what was sent last. */
  answered(connection: number, frame: Uint8Array): void {
    const asked = this.asked.get(connection)
    this.asked.delete(connection)
    if (!asked || frame[60] !== Command.Reply) return
    const answer = readServerFrame(frame)
    // A denial by status entered no log, and these codes speak of the request and not of an op.
    if (answer.kind !== 'reply' || answer.header.status !== 0) return
    if (isTransient(answer.code) || answer.code === ErrorCode.RequestAlreadyApplied) return
    const { operation, code } = requestLayout.decode(asked.frame)
    this.follow()
    if (operation === Operation.NonReplicated) this.read(connection, asked, code, answer.payload)
    else if (isMetadata(operation)) this.wrote(connection, asked, answer.header, answer.code, answer.payload)
  }

  private wrote(
    connection: number,
    { node, repeated }: Asked,
    header: ReplyHeader,
    code: number,
    payload: Uint8Array,
  ): void {
    const op = Number(header.commit)
    const entry = this.checker.canonical[op - 1]
    const wrong = (how: string) =>
      this.checker.fail('model-answer', `request ${header.request} is answered as op ${op}, ${how}`, node)
    // A secret is given once (spec metadata-storage.md §4.7): the repetition of its request is refused, as whatever op is last.
    if (code === ErrorCode.PersonalAccessTokenAlreadyExists && repeated) {
      if (!this.checker.canonical.some(each => isOf(each, header))) wrong('and was never committed')
      return
    }
    if (!entry) {
      wrong('which nobody has applied')
      return
    }
    if (!isOf(entry, header)) {
      wrong('which is of another request')
      return
    }
    this.seen.set(connection, Math.max(op, this.seen.get(connection) ?? 0))
    const outcome = this.outcomes[op]
    if (!outcome) return
    this.compared++
    const { stream, topic } = outcome
    const expected = stream ? modelStream(stream) : topic && modelTopic(topic, true)
    if (outcome.code !== code) wrong(`with code ${code}, and the log says ${outcome.code}`)
    else if (expected !== undefined) {
      const told = stream
        ? streamText(decodeRequest(ClientCommands.createStream.reply, payload))
        : topicText(decodeRequest(ClientCommands.createTopic.reply, payload))
      if (told !== expected) wrong(`with ${told}, and the log says ${expected}`)
    }
  }

  private read(connection: number, { frame, node, from }: Asked, code: number, payload: Uint8Array): void {
    const reader = READERS.get(code)
    const to = this.outcomes.length - 1
    // The log is not known as far as it may have been read.
    if (!reader || to < this.checker.canonical.length) return
    this.compared++
    this.reads++
    const told = reader.told(payload)
    const request = frameBody(frame)
    const says = (op: number) => reader.expected(this.outcomes[op]!.state, request)
    for (let op = from; op <= to; op++) {
      if (says(op) !== told) continue
      this.seen.set(connection, op)
      return
    }
    const what = `${commandOf(Operation.NonReplicated, code)!.name} is answered with ${told}`
    let older = from - 1
    while (older >= 0 && says(older) !== told) older--
    if (older >= 0)
      this.checker.fail('stale-answer', `${what}, as of op ${older}; the session is at op ${from} by then`, node)
    else this.checker.fail('model-answer', `${what}, which no op up to ${to} explains; op ${to} says ${says(to)}`, node)
  }
}

/** A reply that carries a secret echoes the request (spec wire.md §1.5); its session may have begun under another client id. */
const isOf = (entry: Checker['canonical'][number] | undefined, { client, request, operation }: ReplyHeader): boolean =>
  entry !== undefined &&
  entry.request === request &&
  entry.operation === operation &&
  (entry.client === client || operation === Operation.CreatePersonalAccessToken)

interface Reader {
  told(payload: Uint8Array): string
  expected(state: ModelState, request: Uint8Array): string
}

/** Ids, names, times, options and counts of children; what a node counts of messages is its own. */
const READERS: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [
    ClientCommands.listStreams.code,
    {
      told: payload => lines(decodeRequest(ClientCommands.listStreams.reply, payload).map(streamText)),
      expected: ({ streams }) => lines(streams.map(modelStream)),
    },
  ],
  [
    ClientCommands.getStream.code,
    {
      told: payload => detailsText(decodeRequest(ClientCommands.getStream.reply, payload)),
      expected: ({ streams }, request) => {
        const stream = named(streams, streamOf(request).stream)
        return stream ? lines([modelStream(stream), ...stream.topics.map(topic => modelTopic(topic, false))]) : NOTHING
      },
    },
  ],
  [
    ClientCommands.listTopics.code,
    {
      told: payload => lines(decodeRequest(ClientCommands.listTopics.reply, payload).map(headerText)),
      expected: ({ streams }, request) =>
        lines((named(streams, streamOf(request).stream)?.topics ?? []).map(topic => modelTopic(topic, false))),
    },
  ],
  [
    ClientCommands.getTopic.code,
    {
      told: payload => {
        const topic = decodeRequest(ClientCommands.getTopic.reply, payload)
        return topic ? topicText(topic) : NOTHING
      },
      expected: ({ streams }, request) => {
        const at: TopicRef = decodeRequest(ClientCommands.getTopic.request, request)
        const topic = named(named(streams, at.stream)?.topics ?? [], at.topic)
        return topic ? modelTopic(topic, true) : NOTHING
      },
    },
  ],
  [
    ClientCommands.listTokens.code,
    {
      told: payload => lines(decodeRequest(ClientCommands.listTokens.reply, payload).map(tokenText).sort()),
      expected: ({ tokens }) =>
        lines(
          tokens
            .filter(({ userId }) => userId === ROOT)
            .map(tokenText)
            .sort(),
        ),
    },
  ],
  [
    ClientCommands.stats.code,
    {
      told: payload => {
        const stats: Stats = decodeRequest(ClientCommands.stats.reply, payload)
        return counts(stats.streamsCount, stats.topicsCount, stats.partitionsCount)
      },
      expected: ({ streams }) => {
        const topics = streams.flatMap(stream => stream.topics)
        return counts(streams.length, topics.length, topics.flatMap(topic => topic.partitions).length)
      },
    },
  ],
])

const NOTHING = 'nothing'
const lines = (each: readonly string[]): string => `[${each.join(', ')}]`
const counts = (streams: number, topics: number, partitions: number): string => `${streams} ${topics} ${partitions}`
const streamOf = (request: Uint8Array): StreamRef => decodeRequest(ClientCommands.getStream.request, request)

const streamText = ({ id, name, createdAt, topicsCount }: Stream): string =>
  `stream ${id} ${name} of ${createdAt} with ${topicsCount} topics`
const modelStream = ({ id, name, createdAt, topics }: ModelStream): string =>
  `stream ${id} ${name} of ${createdAt} with ${topics.length} topics`

const detailsText = (stream: StreamDetails | undefined): string =>
  stream ? lines([streamText(stream), ...stream.topics.map(headerText)]) : NOTHING

const optionText = (side: string) => (entry: OptionEntry) => `${side} ${entry.key}=${valueText(entry)}`
const headerText = ({ id, name, createdAt, partitionsCount, explicitOptions, derivedOptions }: TopicHeader): string => {
  const options = [...explicitOptions.map(optionText('sent')), ...derivedOptions.map(optionText('derived'))]
  return `topic ${id} ${name} of ${createdAt} with ${partitionsCount} partitions and ${lines(options.sort())}`
}
const topicText = (topic: TopicDetails): string => `${headerText(topic)} ${lines(topic.partitions.map(partitionText))}`
const modelTopic = ({ id, name, createdAt, partitions, options }: ModelTopic, whole: boolean): string => {
  const texts = options.map(({ key, explicit, value }) => `${explicit ? 'sent' : 'derived'} ${key}=${value}`)
  const head = `topic ${id} ${name} of ${createdAt} with ${partitions.length} partitions and ${lines(texts.sort())}`
  return whole ? `${head} ${lines(partitions.map(partitionText))}` : head
}
const partitionText = ({ id, createdAt }: { readonly id: number; readonly createdAt: bigint }): string =>
  `partition ${id} of ${createdAt}`
const tokenText = ({ name, expiryAt }: TokenInfo | { readonly name: string; readonly expiryAt: bigint }): string =>
  `token ${name} until ${expiryAt}`
