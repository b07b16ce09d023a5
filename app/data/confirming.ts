import { actOnNode, resetCluster } from './actions.ts'
import { createCell } from './cell.ts'
import { shown } from './store.ts'

export interface Confirming {
  readonly title: string
  readonly words: string
  /** What must be typed first. */
  readonly typeThis: string
  readonly act: string
  readonly run: () => void
}

/** What waits for its name to be typed. */
export const confirming = createCell<Confirming | undefined>(undefined)

export const askToWipe = (node: number): void =>
  confirming.set({
    title: `Wipe node-${node}`,
    words: `Removes the data directory of node-${node}: its log, its votes, everything. What its peers have of it they send back once it starts; what only it had is gone.`,
    typeThis: `node-${node}`,
    act: `Wipe node-${node}`,
    run: () => void actOnNode(node, 'wipe'),
  })

export const CLUSTER_SIZES = [1, 3, 5] as const
export type ClusterSize = (typeof CLUSTER_SIZES)[number]

export const askToReset = (nodes: ClusterSize): void => {
  const { name } = shown.get().view
  const size = nodes === 1 ? 'one node' : `${nodes} nodes`
  confirming.set({
    title: `Start anew with ${size}`,
    words: `Stops every node of ${name}, removes the data of all of them, and starts a new cluster of ${size} in the same directory. Recordings stay.`,
    typeThis: name,
    act: `Start anew with ${size}`,
    run: () => void resetCluster(nodes),
  })
}
