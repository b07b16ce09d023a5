import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeClusterFile } from '../cluster/cluster-file.ts'
import { findNodes } from '../cluster/find-nodes.ts'
import { nodeArguments } from '../cluster/launcher.ts'
import { nodeFiles } from '../cluster/node-files.ts'
import { findProcess } from '../node/process-identity.ts'
import { endLeftRun, leftRunWords } from './left-run.ts'

let roof: string
let directory: string
const children: ChildProcess[] = []
beforeEach(() => {
  // A blank in the path, as in many a home.
  roof = mkdtempSync(join(tmpdir(), 'left run-'))
  directory = join(roof, 'run')
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(roof, { recursive: true, force: true })
})

/** A process that waits, with these words on its command line. */
async function waiting(...words: string[]): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', '--', ...words], { stdio: 'ignore' })
  children.push(child)
  await once(child, 'spawn')
  return child as ChildProcess & { readonly pid: number }
}

/** As whoever is killed between the start of a node and its note leaves them: no lock, nothing in the cluster file. */
async function unnoted(replica: number, where = directory): Promise<ChildProcess & { readonly pid: number }> {
  return waiting(...nodeArguments({ args: [] }, replica, nodeFiles(where, replica).configFile))
}

function writeCluster(): void {
  const ports = { client: 1, replica: 2, inspection: 3 }
  writeClusterFile(directory, {
    v: 1,
    name: 'left',
    createdWallMs: 1,
    nodes: [0, 1].map(replica => ({ replica, ports })),
  })
}

test('a node that was started and never noted is ended, and nothing else that names the directory', async () => {
  writeCluster()
  const nodes = [await unnoted(0), await unnoted(1)]
  const editor = await waiting(join(directory, 'cluster.json'))
  const deeper = await unnoted(0, join(directory, 'drill'))
  const sibling = await unnoted(0, join(roof, 'run-2'))

  const ended = await endLeftRun(directory)
  expect(new Set(ended)).toEqual(new Set(nodes.map(({ pid }) => pid)))
  for (const { pid } of nodes) expect(findProcess(pid)).toBeUndefined()
  for (const { pid } of [editor, deeper, sibling]) expect(findProcess(pid)).toBeDefined()
  expect(existsSync(directory)).toBe(false)
  expect(leftRunWords(ended!)).toContain(`pid ${ended!.join(', ')}`)
})

test('where nothing was started nothing is ended, and where nothing was left nothing is said', async () => {
  expect(await endLeftRun(directory)).toBeUndefined()
  writeCluster()
  expect(findNodes(directory)).toEqual([])
  expect(await endLeftRun(directory)).toEqual([])
  expect(leftRunWords([])).toContain('no process was left')
})
