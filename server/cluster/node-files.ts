/** Where the files of a supervised node lie, and the configuration file it is started with. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import type { ClusterFile } from './cluster-file.ts'

/** All nodes of a local cluster share the machine. */
export const HOST = '127.0.0.1'

export interface NodeFiles {
  readonly dataDirectory: string
  readonly configFile: string
  readonly logFile: string
}

export const nodeName = (replica: number): string => `node-${replica}`

export const nodeFiles = (directory: string, replica: number): NodeFiles => ({
  dataDirectory: join(directory, nodeName(replica)),
  configFile: join(directory, `${nodeName(replica)}.toml`),
  logFile: join(directory, `${nodeName(replica)}.log`),
})

/** What the last boots of the node found on its disk, see server/console/disk. */
export const bootsFileOf = (dataDirectory: string): string => `${dataDirectory}.boots.json`

/** Which port `from` dials to reach `to`; a link proxy answers with its own. */
export type PeerPort = (from: number, to: number, real: number) => number

/** Settings by dotted key, e.g. `cluster.heartbeat_timeout`: over those of the supervisor. */
export type ExtraSettings = Readonly<Record<string, string | number | boolean>>

/** Writes the configuration of one node: the roster as this node sees it, its paths and its ports. */
export function writeNodeConfig(
  directory: string,
  cluster: ClusterFile,
  replica: number,
  extra: ExtraSettings,
  peerPort: PeerPort,
): void {
  const { dataDirectory, configFile } = nodeFiles(directory, replica)
  const own = cluster.nodes[replica]!
  const clustered = cluster.nodes.length > 1
  const config: Record<string, unknown> = {
    system: { path: dataDirectory },
    tcp: { address: `${HOST}:${own.ports.client}` },
    inspection: { address: `${HOST}:${own.ports.inspection}` },
    cluster: {
      enabled: clustered,
      name: cluster.name,
      ...(clustered && {
        nodes: cluster.nodes.map(node => ({
          name: nodeName(node.replica),
          ip: HOST,
          replica_id: node.replica,
          ports: {
            tcp: node.ports.client,
            tcp_replica:
              node.replica === replica ? node.ports.replica : peerPort(replica, node.replica, node.ports.replica),
          },
        })),
      }),
    },
  }
  for (const [key, value] of Object.entries(extra)) set(config, key.split('.'), value)
  const head = '# Written by the supervisor at each start of the cluster; changes made here are lost.\n'
  writeFileSync(configFile, `${head}${stringify(config)}\n`)
}

function set(table: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first, ...rest] = path
  if (rest.length === 0) table[first!] = value
  else {
    table[first!] ??= {}
    set(table[first!] as Record<string, unknown>, rest, value)
  }
}
