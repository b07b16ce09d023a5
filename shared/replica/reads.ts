/** Commands that the connected node answers by itself (spec wire.md §3.1, §3.4, §3.5, §6). They may be stale on a backup. */
import { DecodeError } from '../bytes/errors.ts'
import { Micros } from '../bytes/units.ts'
import { encodeValue } from '../metadata/option-values.ts'
import { TOPIC_OPTIONS } from '../metadata/topic-options.ts'
import { streamDetailsView, topicDetailsView, topicView } from '../metadata/views.ts'
import { decodeRequest, encodeBody } from '../protocol/codec.ts'
import { type ClientCommand, ClientCommands, commandOfCode } from '../protocol/command-codes.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { localReply } from '../protocol/replies.ts'
import type { Roster } from '../protocol/roster.ts'
import { SERVER_VERSION } from '../protocol/session.ts'
import { type ClientInfo, NO_USER, type Stats } from '../protocol/system.ts'
import type { Connection } from './client-door.ts'
import type { HostFacts } from './contract.ts'
import { deny, type Exchange } from './exchange.ts'
import { flushRequest } from './flush-requests.ts'
import { offsetReadRequest } from './offset-requests.ts'
import type { Parts } from './parts.ts'
import { pollRequest } from './polls.ts'
import { statsOf } from './topic-stats.ts'

type Reader = (parts: Parts, exchange: Exchange) => Uint8Array

/** A reader whose request and reply have the codecs of its command. */
const reader =
  <Q, R>(command: ClientCommand<Q, R>, read: (parts: Parts, request: Q, exchange: Exchange) => R): Reader =>
  (parts, exchange) =>
    encodeBody(command.reply, read(parts, decodeRequest(command.request, exchange.body), exchange))

const READERS: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [ClientCommands.stats.code, reader(ClientCommands.stats, parts => stats(parts))],
  [ClientCommands.roster.code, reader(ClientCommands.roster, parts => roster(parts))],
  [
    ClientCommands.describeOptions.code,
    reader(ClientCommands.describeOptions, (_, { scope }) => describeOptions(scope)),
  ],
  [
    ClientCommands.me.code,
    reader(ClientCommands.me, (_, _request, exchange) => ({
      ...withoutCount(clientInfo(exchange.connection)),
      groups: [],
    })),
  ],
  [
    ClientCommands.getClient.code,
    reader(ClientCommands.getClient, (parts, { clientId }) => {
      const found = outside(parts).find(connection => clientNumber(connection) === clientId)
      return found && { ...withoutCount(clientInfo(found)), groups: [] }
    }),
  ],
  [ClientCommands.listClients.code, reader(ClientCommands.listClients, parts => outside(parts).map(clientInfo))],
  [
    ClientCommands.listTokens.code,
    reader(ClientCommands.listTokens, (parts, _request, { connection }) => {
      const own = parts.core.machine.state.tokens.get(connection.session?.userId ?? NO_USER) ?? []
      return own
        .map(({ name, expiryAt }) => ({ name, expiryAt: expiryAt ?? Micros(0n) }))
        .sort((a, b) => (a.name < b.name ? -1 : 1))
    }),
  ],
  [
    ClientCommands.getStream.code,
    reader(ClientCommands.getStream, (parts, request) => {
      const stream = parts.core.machine.state.stream(request.stream)
      return stream && streamDetailsView(stream, statsOf(parts.core.machine.state, parts.partitions))
    }),
  ],
  [
    ClientCommands.listStreams.code,
    reader(ClientCommands.listStreams, parts =>
      [...parts.core.machine.state.streams].map(stream =>
        streamDetailsView(stream, statsOf(parts.core.machine.state, parts.partitions)),
      ),
    ),
  ],
  [
    ClientCommands.getTopic.code,
    reader(ClientCommands.getTopic, (parts, request) => {
      const { state } = parts.core.machine
      const stream = state.stream(request.stream)
      const topic = stream && state.topic(stream, request.topic)
      return topic && topicDetailsView(stream.id, topic, statsOf(parts.core.machine.state, parts.partitions))
    }),
  ],
  [
    ClientCommands.listTopics.code,
    reader(ClientCommands.listTopics, (parts, request) => {
      const stream = parts.core.machine.state.stream(request.stream)
      return stream
        ? [...stream.topics].map(topic =>
            topicView(stream.id, topic, statsOf(parts.core.machine.state, parts.partitions)),
          )
        : []
    }),
  ],
])

/** What says nothing of the replicated state: the node, its connections, the options there are. */
const BESIDE_STATE: ReadonlySet<number> = new Set(
  [
    ClientCommands.roster,
    ClientCommands.describeOptions,
    ClientCommands.me,
    ClientCommands.getClient,
    ClientCommands.listClients,
  ].map(({ code }) => code),
)

/** A NonReplicated request of a bound connection. */
export function readRequest(parts: Parts, exchange: Exchange) {
  const { code } = exchange.header
  const { session } = exchange.connection
  if (code === ClientCommands.poll.code) return pollRequest(parts, exchange)
  if (code === ClientCommands.getOffset.code && session) return offsetReadRequest(parts, exchange, session)
  if (code === ClientCommands.flushBuffer.code) return flushRequest(parts, exchange)
  const read = READERS.get(code)
  if (!read) {
    // Known to the protocol and not served here, or sent under the wrong operation; unknown to everybody.
    const status = commandOfCode(code) ? ErrorCode.FeatureUnavailable : ErrorCode.InvalidCommand
    return deny(parts, exchange, status)
  }
  if (BESIDE_STATE.has(code)) return answerRead(parts, exchange, read)
  parts.readBarrier.pass(
    parts.core.tick,
    () => answerRead(parts, exchange, read),
    () => deny(parts, exchange, ErrorCode.TransientNotAccepted),
  )
}

function answerRead(parts: Parts, exchange: Exchange, read: Reader) {
  try {
    const body = read(parts, exchange)
    exchange.answer(localReply(exchange.header, { commit: parts.metadata.group.commitMax }, body))
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    deny(parts, exchange, ErrorCode.InvalidCommand)
  }
}

/** One leader at most: the metadata primary, unless this node is between views (§6.2). */
export function roster({ core, metadata }: Parts): Roster {
  const { config } = core
  const settled = metadata.group.snapshot().status === 'normal'
  return {
    clusterName: config.clusterEnabled ? config.clusterName : 'single-node',
    nodes: config.nodes.map(node => ({
      name: config.clusterEnabled ? node.name : 'iggy-node',
      ip: node.ip,
      ...node.ports,
      role: settled && node.replica === metadata.group.primary() ? 'leader' : 'follower',
      status: 'healthy',
    })),
  }
}

/** Connections of the protocol itself; sessions of HTTP are not shown (§3.1). */
const outside = ({ door }: Parts): Connection[] => [...door.connections.values()].filter(({ local }) => !local)

const clientNumber = (connection: Connection): number => connection.id >>> 0

const clientInfo = (connection: Connection): ClientInfo => ({
  clientId: clientNumber(connection),
  userId: connection.session?.userId ?? NO_USER,
  transport: 'tcp',
  address: connection.address,
  groupsCount: 0,
})

function withoutCount({ groupsCount: _, ...info }: ClientInfo) {
  return info
}

function describeOptions(scope: string) {
  if (scope !== 'topic') return []
  return TOPIC_OPTIONS.map(option => ({
    key: option.key,
    kind: option.kind,
    defaultValue: encodeValue(option.kind, option.default),
    description: option.description,
  }))
}

function stats({ core, partitions, door }: Parts): Stats {
  const { streams } = core.machine.state
  const topics = [...streams].flatMap(stream => [...stream.topics])
  const of = statsOf(core.machine.state, partitions)
  const counted = [...partitions.live.values()].map(({ key }) => of(key))
  const total = (of: (stats: (typeof counted)[number]) => bigint) => counted.reduce((sum, stats) => sum + of(stats), 0n)
  const now = core.ports.clock.nowMicros()
  const runTime = BigInt(Math.round(core.ports.clock.monoMicros()))
  return {
    ...UNKNOWN_HOST,
    ...core.ports.hostFacts?.(),
    runTime,
    startTime: Micros(now > runTime ? now - runTime : 0n),
    messagesSizeBytes: total(stats => stats.sizeBytes),
    streamsCount: streams.size,
    topicsCount: topics.length,
    partitionsCount: topics.reduce((sum, topic) => sum + topic.partitions.length, 0),
    segmentsCount: counted.reduce((sum, stats) => sum + stats.segments, 0),
    messagesCount: total(stats => stats.messages),
    clientsCount: door.connections.size,
    consumerGroupsCount: 0,
    serverVersion: SERVER_VERSION,
    serverSemver: SERVER_SEMVER,
    cacheMetrics: [],
  }
}

/** `SERVER_VERSION` in decimal packing (§3.1.1). */
const SERVER_SEMVER = 9000

/** What only the process knows; zeros and blanks where nobody tells. */
const UNKNOWN_HOST = {
  processId: 0,
  cpuUsage: 0,
  totalCpuUsage: 0,
  memoryUsage: 0n,
  totalMemory: 0n,
  availableMemory: 0n,
  readBytes: 0n,
  writtenBytes: 0n,
  hostname: '',
  osName: '',
  osVersion: '',
  kernelVersion: '',
  threadsCount: 0,
  freeDiskSpace: 0n,
  totalDiskSpace: 0n,
} satisfies HostFacts
