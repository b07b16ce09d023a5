/** Operations and their classes (spec consensus.md §2.3, wire.md §1.3). */
export const Operation = {
  Reserved: 0,
  Register: 1,
  NonReplicated: 2,
  Logout: 3,
  CreateTopicWithAssignments: 64,
  CreatePartitionsWithAssignments: 65,
  RemoveConsumerGroupMember: 66,
  CompleteConsumerGroupRevocation: 67,
  TruncatePartition: 68,
  CreateStream: 128,
  UpdateStream: 129,
  DeleteStream: 130,
  PurgeStream: 131,
  CreateTopic: 132,
  UpdateTopic: 133,
  DeleteTopic: 134,
  PurgeTopic: 135,
  CreatePartitions: 136,
  DeletePartitions: 137,
  DeleteSegments: 138,
  CreateConsumerGroup: 139,
  DeleteConsumerGroup: 140,
  CreateUser: 141,
  UpdateUser: 142,
  DeleteUser: 143,
  ChangePassword: 144,
  UpdatePermissions: 145,
  CreatePersonalAccessToken: 146,
  DeletePersonalAccessToken: 147,
  JoinConsumerGroup: 148,
  LeaveConsumerGroup: 149,
  SendMessages: 160,
  StoreConsumerOffset: 161,
  DeleteConsumerOffset: 162,
} as const
export type OperationName = keyof typeof Operation
export type Operation = (typeof Operation)[OperationName]

const operationNames = new Map<number, OperationName>(
  Object.entries(Operation).map(([name, value]) => [value, name as OperationName]),
)
/** Name of an operation byte, or undefined for an illegal one. */
export const operationName = (operation: number): OperationName | undefined => operationNames.get(operation)

/** Journal-only operations; a client may not send them. */
export const isInternal = (operation: number): boolean => operation >= 64 && operation <= 127
/** Operations of the metadata state machines. DeleteSegments is in neither plane: its owner commits a TruncatePartition. */
export const isMetadata = (operation: number): boolean =>
  operationNames.has(operation) &&
  (isInternal(operation) || (operation >= 128 && operation <= 149)) &&
  operation !== Operation.DeleteSegments
export const isPartition = (operation: number): boolean => operation >= 160 && operationNames.has(operation)
/** Operations that travel through the metadata group: metadata, Register and Logout. */
export const isMetadataPlane = (operation: number): boolean =>
  isMetadata(operation) || operation === Operation.Register || operation === Operation.Logout
/** Operations whose reply body starts with a result section (SendMessages and DeleteSegments have none). */
export const isResultFramed = (operation: number): boolean =>
  isMetadata(operation) || operation === Operation.StoreConsumerOffset || operation === Operation.DeleteConsumerOffset
