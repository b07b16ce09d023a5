/**
 * Bodies that the primary builds in place of what a client sent (spec metadata-storage.md §4.3): concrete partition ids and
 * resolved options, so that apply needs nothing but the body.
 *
 *   create topic:      block32 CreateTopic | block32 derived options | count u32 | assignments
 *   create partitions: block32 PartitionsChange | count u32 | assignments, ids as offsets from a base resolved at apply
 *   assignment:        partition u32 | consensusGroup u64
 */
import { block32, list32, struct, u32, u64 } from '../protocol/codec.ts'
import { options } from '../protocol/tlv.ts'
import { createTopic, partitionsChange } from '../protocol/topics.ts'

const assignment = struct({ partition: u32, consensusGroup: u64() })

export const createTopicWithAssignments = struct({
  request: block32(createTopic),
  derivedOptions: block32(options),
  assignments: list32(assignment),
})

export const createPartitionsWithAssignments = struct({
  request: block32(partitionsChange),
  assignments: list32(assignment),
})
