import { replicaIds } from '../../shared/inspection/belief.ts'
import { useCell } from './cell.ts'
import { shown } from './store.ts'

/** Replicas of the shown cluster, in order; the same array until one comes or goes. */
export const useReplicaIds = (): readonly number[] =>
  useCell(
    shown,
    state => replicaIds(state.view),
    (a, b) => a.length === b.length && a.every((id, index) => id === b[index]),
  )
