/** The pipeline of a group as its node tells it: how many of how many, and who has acknowledged what. Pure. */
import type { GroupSnapshotJson } from '../../../shared/inspection/snapshots.ts'
import { grouped } from '../../ui/format.ts'

type Pipelined = Pick<GroupSnapshotJson, 'pipeline' | 'requestQueue' | 'depths'>

/** `3 of 32`; without the depth where the node does not tell it: a recording of an older build. */
const of = (taken: number, most: number | undefined): string =>
  most === undefined ? grouped(taken) : `${grouped(taken)} of ${grouped(most)}`

export const prepared = ({ pipeline, depths }: Pipelined): string => of(pipeline.length, depths?.prepares)
export const queued = ({ requestQueue, depths }: Pipelined): string => of(requestQueue, depths?.requests)

/** A slot: its op and for each node whether it has acknowledged it; undefined: it is free. */
export type Slot = { readonly op: string; readonly acks: readonly boolean[]; readonly quorum: boolean } | undefined

/** Every slot, oldest prepare first; those that are free are behind. Without a depth, those that are taken. */
export function slotsOf({ pipeline, depths }: Pipelined, ids: readonly number[]): Slot[] {
  const slots: Slot[] = pipeline.map(({ op, acks, quorum }) => ({ op, quorum, acks: ids.map(id => acks.includes(id)) }))
  while (slots.length < (depths?.prepares ?? 0)) slots.push(undefined)
  return slots
}
