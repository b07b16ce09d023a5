/** Worlds for the tests of this folder. */
import { createHash } from '../../bytes/hash.ts'
import type { GroupSummary } from '../../inspection/snapshots.ts'
import { METADATA_GROUP } from '../../protocol/groups.ts'
import { World, type WorldOptions } from '../world.ts'

export const hash = await createHash()

/** Behind every promise that can settle; a turn of the event loop now and then, for timeouts of the test runner. */
let breaths = 0
export const breathe = (): Promise<void> =>
  new Promise(resolve => {
    if (++breaths % 1_024 === 0) setImmediate(resolve)
    else process.nextTick(resolve)
  })

export const newWorld = (options: Partial<WorldOptions> & { readonly seed: bigint; readonly nodes: number }): World =>
  new World({ hash, breathe, ...options })

/** Starts the nodes, each at a moment of its own within `withinMs`. */
export function startWithin(world: World, ids: readonly number[], withinMs: number): void {
  for (const id of ids) world.timeline.after(world.below(withinMs * 1_000), () => world.start(id))
}

/** Starts all nodes at once and waits until they run and know each other. */
export async function startAll(world: World): Promise<void> {
  const ids = world.nodes.map(node => node.id)
  for (const id of ids) world.start(id)
  const connected = () =>
    ids.every(id => world.isRunning(id) && ids.every(peer => peer === id || world.links.isConnected(id, peer)))
  if (!(await world.until(connected, 10_000))) throw new Error('the nodes did not come up')
}

export const runningIds = (world: World): number[] =>
  world.nodes.map(node => node.id).filter(id => world.isRunning(id)) as number[]

/** Every group of every running node, the metadata group included. */
export const groupsOf = (world: World, id: number): (GroupSummary & { node: number })[] => {
  const { inspect } = world.replica(id)
  return [inspect.group(METADATA_GROUP)!, ...inspect.groups()].map(group => ({ ...group, node: id }))
}

/** Whether all running nodes report the same commit, fully applied, on every group. */
export function commitsAgree(world: World): boolean {
  const commits = new Map<string, Set<string>>()
  const ids = runningIds(world)
  for (const id of ids) {
    for (const group of groupsOf(world, id)) {
      if (group.status !== 'normal' || group.commitMin !== group.commitMax) return false
      commits.set(group.group, (commits.get(group.group) ?? new Set()).add(group.commitMin))
    }
  }
  const everywhere = ids.every(id => groupsOf(world, id).length === commits.size)
  return everywhere && [...commits.values()].every(values => values.size === 1)
}

/** The `.log` files of one partition on one node's disk, by name. */
export async function logFiles(world: World, id: number, directory: string): Promise<Map<string, Uint8Array>> {
  const { disk } = world.nodes[id]!
  const files = new Map<string, Uint8Array>()
  for (const path of disk.paths()) {
    if (path.startsWith(`${directory}/`) && path.endsWith('.log'))
      files.set(path.slice(directory.length + 1), disk.peek(path)!)
  }
  return files
}
