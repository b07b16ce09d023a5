/** Sets of replicas as bits of a number: at most 32 replicas, and no allocation on the way of an acknowledgement. */
import { ReplicaId } from '../bytes/units.ts'

export type ReplicaSet = number

export const setOf = (replica: ReplicaId): ReplicaSet => (1 << replica) >>> 0
export const setHas = (set: ReplicaSet, replica: ReplicaId): boolean => (set & (1 << replica)) !== 0
export const setAdd = (set: ReplicaSet, replica: ReplicaId): ReplicaSet => (set | (1 << replica)) >>> 0
export const setDelete = (set: ReplicaSet, replica: ReplicaId): ReplicaSet => (set & ~(1 << replica)) >>> 0

export function setSize(set: ReplicaSet): number {
  let rest = set >>> 0
  let size = 0
  while (rest !== 0) {
    rest &= rest - 1
    size++
  }
  return size
}

export function setMembers(set: ReplicaSet): ReplicaId[] {
  const members: ReplicaId[] = []
  for (let replica = 0; replica < 32; replica++) if (setHas(set, ReplicaId(replica))) members.push(ReplicaId(replica))
  return members
}
