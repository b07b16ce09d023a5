/**
 * `cluster.json`: what a supervisor must know of its cluster after its own death. Replaced atomically at each change. Ids
 * of processes are notes, not proof: a process counts as a node of this cluster only when pid, start time and the lock in
 * its data directory agree.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { EngineError } from '../../shared/bytes/errors.ts'

export const CLUSTER_FILE = 'cluster.json'

const port = z.number().int().min(1).max(65_535)
const clusterFile = z.object({
  v: z.literal(1),
  name: z.string().min(1),
  createdWallMs: z.number(),
  nodes: z
    .array(
      z.object({
        replica: z.number().int().min(0),
        ports: z.object({ client: port, replica: port, inspection: port }),
        process: z.object({ pid: z.number().int(), started: z.string(), startedWallMs: z.number() }).optional(),
      }),
    )
    .min(1),
  /** Where the link proxies listen: nodes that run know these ports. */
  links: z.array(z.object({ from: z.number().int(), to: z.number().int(), port })).optional(),
})
export type ClusterFile = z.infer<typeof clusterFile>
export type ClusterFileNode = ClusterFile['nodes'][number]

/** The file in `directory`, or undefined when there is none. @throws EngineError BadClusterFile */
export function readClusterFile(directory: string): ClusterFile | undefined {
  const path = join(directory, CLUSTER_FILE)
  if (!existsSync(path)) return undefined
  let json: unknown
  try {
    json = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw bad(path, (error as Error).message)
  }
  const parsed = clusterFile.safeParse(json)
  if (!parsed.success) throw bad(path, z.prettifyError(parsed.error))
  if (parsed.data.nodes.some((node, index) => node.replica !== index)) throw bad(path, 'replicas are not 0, 1, 2, …')
  return parsed.data
}

export function writeClusterFile(directory: string, file: ClusterFile): void {
  mkdirSync(directory, { recursive: true })
  const path = join(directory, CLUSTER_FILE)
  writeFileSync(`${path}.tmp`, `${JSON.stringify(file, undefined, 2)}\n`)
  renameSync(`${path}.tmp`, path)
}

export const removeClusterFile = (directory: string): void => rmSync(join(directory, CLUSTER_FILE), { force: true })

const bad = (path: string, detail: string): EngineError =>
  new EngineError('BadClusterFile', `${path} is not a cluster file: ${detail}`, {
    path,
    advice: 'choose another directory, or move this file away (running nodes are then not found any more)',
  })
