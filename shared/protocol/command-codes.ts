/**
 * Client commands (spec wire.md §3): their legacy code, the operation that carries them, and the codecs of request and
 * reply. A read travels as operation NonReplicated with its code in the header; every replicated command has an operation of
 * its own. Replies are given without their result section.
 */
import { type Codec, empty, rest } from './codec.ts'
import * as groups from './consumer-groups.ts'
import * as messages from './messages.ts'
import { Operation } from './operations.ts'
import { roster } from './roster.ts'
import { loginReply, passwordLogin } from './session.ts'
import * as streams from './streams.ts'
import * as system from './system.ts'
import * as topics from './topics.ts'
import * as users from './users.ts'

export interface ClientCommand<Q = unknown, R = unknown> {
  readonly name: string
  /** Legacy command code; it stands in the header when the operation is NonReplicated. */
  readonly code: number
  readonly operation: Operation
  readonly request: Codec<Q>
  readonly reply: Codec<R>
}

const command = <Q, R>(
  name: string,
  code: number,
  operation: Operation,
  request: Codec<Q>,
  reply: Codec<R>,
): ClientCommand<Q, R> => ({ name, code, operation, request, reply })
const read = <Q, R>(name: string, code: number, request: Codec<Q>, reply: Codec<R>) =>
  command(name, code, Operation.NonReplicated, request, reply)

export const ClientCommands = {
  ping: read('ping', 1, empty, empty),
  stats: read('stats', 10, empty, system.stats),
  snapshot: read('snapshot', 11, system.snapshotRequest, rest),
  roster: read('cluster.metadata', 12, empty, roster),
  describeOptions: read('options.describe', 13, system.describeOptions, system.describeOptionsReply),
  me: read('me', 20, empty, system.clientDetails),
  getClient: read('client.get', 21, system.getClient, system.getClientReply),
  listClients: read('client.list', 22, empty, system.listClientsReply),
  getUser: read('user.get', 31, users.userRef, users.getUserReply),
  listUsers: read('user.list', 32, empty, users.listUsersReply),
  createUser: command('user.create', 33, Operation.CreateUser, users.createUser, users.userDetails),
  deleteUser: command('user.delete', 34, Operation.DeleteUser, users.userRef, empty),
  updateUser: command('user.update', 35, Operation.UpdateUser, users.updateUser, empty),
  updatePermissions: command('user.permissions', 36, Operation.UpdatePermissions, users.updatePermissions, empty),
  changePassword: command('user.password', 37, Operation.ChangePassword, users.changePassword, empty),
  logout: command('logout', 39, Operation.Logout, empty, empty),
  login: command('login', 40, Operation.Register, passwordLogin, loginReply),
  listTokens: read('pat.list', 41, empty, users.listTokensReply),
  createToken: command(
    'pat.create',
    42,
    Operation.CreatePersonalAccessToken,
    users.createToken,
    users.createTokenReply,
  ),
  deleteToken: command('pat.delete', 43, Operation.DeletePersonalAccessToken, users.deleteToken, empty),
  poll: read('message.poll', 100, messages.pollMessages, messages.pollReply),
  send: command('message.send', 101, Operation.SendMessages, messages.sendMessages, messages.sendReply),
  flushBuffer: read('message.flush', 102, messages.flushBuffer, empty),
  getOffset: read('offset.get', 120, messages.getOffset, messages.getOffsetReply),
  storeOffset: command('offset.store', 121, Operation.StoreConsumerOffset, messages.storeOffset, empty),
  deleteOffset: command('offset.delete', 122, Operation.DeleteConsumerOffset, messages.deleteOffset, empty),
  getStream: read('stream.get', 200, streams.streamRef, streams.getStreamReply),
  listStreams: read('stream.list', 201, empty, streams.listStreamsReply),
  createStream: command('stream.create', 202, Operation.CreateStream, streams.createStream, streams.stream),
  deleteStream: command('stream.delete', 203, Operation.DeleteStream, streams.streamRef, empty),
  updateStream: command('stream.update', 204, Operation.UpdateStream, streams.updateStream, empty),
  purgeStream: command('stream.purge', 205, Operation.PurgeStream, streams.streamRef, empty),
  getTopic: read('topic.get', 300, topics.topicRef, topics.getTopicReply),
  listTopics: read('topic.list', 301, streams.streamRef, topics.listTopicsReply),
  createTopic: command('topic.create', 302, Operation.CreateTopic, topics.createTopic, topics.topicDetails),
  deleteTopic: command('topic.delete', 303, Operation.DeleteTopic, topics.topicRef, empty),
  updateTopic: command('topic.update', 304, Operation.UpdateTopic, topics.updateTopic, empty),
  purgeTopic: command('topic.purge', 305, Operation.PurgeTopic, topics.topicRef, empty),
  createPartitions: command('partition.create', 402, Operation.CreatePartitions, topics.partitionsChange, empty),
  deletePartitions: command('partition.delete', 403, Operation.DeletePartitions, topics.partitionsChange, empty),
  deleteSegments: command('segment.delete', 503, Operation.DeleteSegments, topics.deleteSegments, empty),
  getGroup: read('group.get', 600, groups.groupRef, groups.getGroupReply),
  listGroups: read('group.list', 601, topics.topicRef, groups.listGroupsReply),
  createGroup: command('group.create', 602, Operation.CreateConsumerGroup, groups.createGroup, groups.groupDetails),
  deleteGroup: command('group.delete', 603, Operation.DeleteConsumerGroup, groups.groupRef, empty),
  joinGroup: command('group.join', 604, Operation.JoinConsumerGroup, groups.groupRef, empty),
  leaveGroup: command('group.leave', 605, Operation.LeaveConsumerGroup, groups.groupRef, empty),
  syncGroup: read('group.sync', 606, groups.groupRef, groups.syncGroupReply),
} as const
export type ClientCommandName = keyof typeof ClientCommands

// biome-ignore lint/suspicious/noExplicitAny: a command looked up by number has types that only its user knows
const all = Object.values(ClientCommands) as readonly ClientCommand<any, any>[]
const byCode = new Map(all.map(entry => [entry.code, entry]))
const byOperation = new Map(
  all.filter(entry => entry.operation !== Operation.NonReplicated).map(entry => [entry.operation as number, entry]),
)
/** Operations that the log gives another number than the client (§1.5). */
const JOURNALED: Readonly<Record<number, number>> = {
  [Operation.CreateTopicWithAssignments]: Operation.CreateTopic,
  [Operation.CreatePartitionsWithAssignments]: Operation.CreatePartitions,
  [Operation.TruncatePartition]: Operation.DeleteSegments,
}

/** The command of a code, whatever its operation; undefined for an unknown one, 38 and 44 (legacy logins) included. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export const commandOfCode = (code: number): ClientCommand<any, any> | undefined => byCode.get(code)

/** The command of a request's operation and code, or of a reply's operation; undefined when there is none. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function commandOf(operation: number, code = 0): ClientCommand<any, any> | undefined {
  if (operation !== Operation.NonReplicated) return byOperation.get(JOURNALED[operation] ?? operation)
  const found = byCode.get(code)
  return found?.operation === Operation.NonReplicated ? found : undefined
}
