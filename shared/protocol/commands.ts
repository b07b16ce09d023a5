/** Frame commands, the byte at offset 60 of every header (spec consensus.md §2.2, wire.md §1). */
export const Command = {
  Reserved: 0,
  Ping: 1,
  Pong: 2,
  PingClient: 3,
  PongClient: 4,
  Request: 5,
  Prepare: 6,
  PrepareOk: 7,
  Reply: 8,
  Commit: 9,
  StartViewChange: 10,
  DoViewChange: 11,
  StartView: 12,
  Eviction: 13,
  ReplicaHello: 14,
  ReplicaChallenge: 15,
  ReplicaFinish: 16,
  RequestStartView: 17,
  RequestPrepares: 18,
  RepairPrepare: 19,
  RepairDone: 20,
  RangeEvicted: 21,
  RequestStateTransfer: 22,
  StateTransferTarget: 23,
  RequestStateChunk: 24,
  StateChunk: 25,
  ForwardRegister: 26,
  ForwardRegisterResult: 27,
  ForwardLogout: 28,
  ForwardLogoutResult: 29,
  ForwardRequestResult: 30,
} as const
export type CommandName = keyof typeof Command
export type Command = (typeof Command)[CommandName]

const commandNames = new Map<number, CommandName>(
  Object.entries(Command).map(([name, value]) => [value, name as CommandName]),
)
/** Name of a command byte, or undefined for an illegal one. */
export const commandName = (command: number): CommandName | undefined => commandNames.get(command)
