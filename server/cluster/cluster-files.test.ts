import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadNodeConfig } from '../node/config.ts'
import { CLUSTER_FILE, type ClusterFile, readClusterFile, writeClusterFile } from './cluster-file.ts'
import { chooseFreePorts, isFree, PORT_SHARE } from './free-ports.ts'
import { asCommand, defaultEntry, nodeArguments, nodeEnvironment } from './launcher.ts'
import { nodeFiles, writeNodeConfig } from './node-files.ts'
import { exitLineOf, openLog, tailOf } from './node-log.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'cluster-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const cluster = (count: number): ClusterFile => ({
  v: 1,
  name: 'files',
  createdWallMs: 1,
  nodes: Array.from({ length: count }, (_, replica) => ({
    replica,
    ports: { client: 20_000 + replica, replica: 21_000 + replica, inspection: 22_000 + replica },
  })),
})

const load = (replica: number) =>
  loadNodeConfig({
    replicaId: String(replica),
    configFile: nodeFiles(directory, replica).configFile,
    withDefaultRootCredentials: false,
    environment: { IGGY_ROOT_USERNAME: 'iggy', IGGY_ROOT_PASSWORD: 'iggy' },
    workingDirectory: directory,
  })

describe('the configuration a node is started with', () => {
  test.each([3, 5])('says where all %d replicas are, and is accepted by the node', count => {
    for (let replica = 0; replica < count; replica++) {
      writeNodeConfig(directory, cluster(count), replica, {}, (_from, _to, real) => real)
      const config = load(replica)
      expect(config.warnings).toEqual([])
      expect(config.client.port).toBe(20_000 + replica)
      expect(config.inspection.port).toBe(22_000 + replica)
      expect(config.dataDirectory).toBe(join(directory, `node-${replica}`))
      expect(config.links!.listen.port).toBe(21_000 + replica)
      expect(config.links!.peers.map(peer => peer.port)).toEqual(
        Array.from({ length: count }, (_, other) => 21_000 + other).filter(port => port !== 21_000 + replica),
      )
    }
  })

  test('of a single node is solo', () => {
    writeNodeConfig(directory, cluster(1), 0, {}, (_from, _to, real) => real)
    const config = load(0)
    expect(config.replica.clusterEnabled).toBe(false)
    expect(config.links).toBeUndefined()
    expect(config.client.port).toBe(20_000)
  })

  test('sends a peer through a proxy by the ordered pair, and takes extra settings', () => {
    const proxy = (from: number, to: number) => 30_000 + 10 * from + to
    writeNodeConfig(
      directory,
      cluster(3),
      1,
      { 'cluster.heartbeat_timeout': '3s', 'metadata.journal_slots': 300 },
      proxy,
    )
    const config = load(1)
    expect(config.links!.listen.port).toBe(21_001)
    expect(config.links!.peers.map(peer => peer.port)).toEqual([30_010, 30_012])
    expect(config.replica.timers.normalHeartbeat).toBe(300)
    expect(config.replica.metadata.journalSlots).toBe(300)
  })
})

describe('the cluster file', () => {
  test('reads back what was written, and is absent where there is none', () => {
    expect(readClusterFile(directory)).toBeUndefined()
    const file = cluster(3)
    file.nodes[1]!.process = { pid: 5, started: 'x', startedWallMs: 9 }
    writeClusterFile(directory, file)
    expect(readClusterFile(directory)).toEqual(file)
  })

  test.each([
    ['no JSON', '{'],
    ['another version', JSON.stringify({ ...cluster(3), v: 2 })],
    ['a port that is none', JSON.stringify(cluster(3)).replace('20000', '0')],
    ['replicas out of order', JSON.stringify({ ...cluster(3), nodes: cluster(3).nodes.reverse() })],
  ])('with %s is refused by its path, and kept', (_what, text) => {
    writeFileSync(join(directory, CLUSTER_FILE), text)
    expect(() => readClusterFile(directory)).toThrow(/cluster\.json is not a cluster file/)
    expect(readFileSync(join(directory, CLUSTER_FILE), 'utf8')).toBe(text)
  })
})

test('chosen ports are free and different, and a taken one is known as taken', async () => {
  const ports = await chooseFreePorts('127.0.0.1', 15)
  expect(new Set(ports).size).toBe(15)
  expect(await Promise.all(ports.map(port => isFree('127.0.0.1', port)))).toEqual(ports.map(() => true))
  const server = createServer()
  await new Promise<void>(resolve => server.listen(ports[0], '127.0.0.1', resolve))
  expect(await isFree('127.0.0.1', ports[0]!)).toBe(false)
  await new Promise(resolve => server.close(resolve))
})

test('a port that is spoken for is not chosen, though nobody listens on it', async () => {
  const even = new Set(Array.from({ length: 32_768 }, (_, index) => index * 2))
  const ports = await chooseFreePorts('127.0.0.1', 5, even)
  expect(ports.map(port => port % 2)).toEqual([1, 1, 1, 1, 1])
})

test('two that choose at the same time never choose the same, each in its share, and none chooses a port twice', async () => {
  const chosen: number[][] = []
  try {
    for (const share of ['1/3', '2/3', '3/3']) {
      process.env[PORT_SHARE] = share
      chosen.push([...(await chooseFreePorts('127.0.0.1', 100)), ...(await chooseFreePorts('127.0.0.1', 100))])
    }
  } finally {
    delete process.env[PORT_SHARE]
  }
  expect(new Set(chosen.flat()).size).toBe(600)
  for (const ports of chosen) expect(new Set(ports.map(port => (port >> 1) % 3)).size).toBe(1)
})

describe('the log of a node', () => {
  const path = () => join(directory, 'node.log')
  const exit = (status: number) => JSON.stringify({ quorumscopeExit: 1, status, code: 'C', message: 'm', meaning: 'x' })

  test('gives its last lines, and only the last words of the latest life', () => {
    writeFileSync(path(), `one\ntwo\n${exit(74)}\n`)
    const { sizeBytes } = openLog(path())
    expect(exitLineOf(path(), 0)?.status).toBe(74)
    expect(exitLineOf(path(), sizeBytes)).toBeUndefined()
    writeFileSync(path(), `three\n${exit(65)}\n{"quorumscopeExit":1,"sta`, { flag: 'a' })
    expect(exitLineOf(path(), sizeBytes)?.status).toBe(65)
    expect(tailOf(path(), 2)).toEqual([exit(65), '{"quorumscopeExit":1,"sta'])
    expect(tailOf(join(directory, 'absent'), 5)).toEqual([])
  })

  test('of any length costs a bounded read, and its first line is whole', () => {
    writeFileSync(path(), Array.from({ length: 100_000 }, (_, index) => `line ${index}`).join('\n'))
    const lines = tailOf(path(), 1_000_000)
    expect(lines.at(-1)).toBe('line 99999')
    expect(lines.length).toBeLessThan(50_000)
    expect(lines[0]).toMatch(/^line \d+$/)
    const first = Number(lines[0]!.slice(5))
    expect(lines.length).toBe(100_000 - first)
  })
})

test('a node gets a clean environment and can be started by hand with one line of shell', () => {
  process.env.IGGY_SYSTEM_PATH = '/elsewhere'
  try {
    const environment = nodeEnvironment({ username: 'iggy', password: "it's" })
    expect(environment).toMatchObject({ UV_THREADPOOL_SIZE: '16', IGGY_ROOT_PASSWORD: "it's" })
    expect(environment.IGGY_SYSTEM_PATH).toBeUndefined()
    const command = asCommand(nodeArguments(defaultEntry(), 2, '/a b/node-2.toml'), environment)
    expect(command).toContain(`IGGY_ROOT_PASSWORD='it'\\''s'`)
    expect(command).toMatch(/ node --replica-id 2 --config '\/a b\/node-2\.toml'$/)
  } finally {
    delete process.env.IGGY_SYSTEM_PATH
  }
})
