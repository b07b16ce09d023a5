/** The roster of a cluster, `[[cluster.nodes]]` (spec metadata-storage.md §8.3, drills.md CF-10). */
import { ReplicaId } from '../../../shared/bytes/units.ts'
import type { RosterNode } from '../../../shared/replica/contract.ts'
import type { Problems } from './problems.ts'
import { integer, Problem, text } from './values.ts'

/** Replica ids travel in one bit each of a u32 mask (consensus.md §1.1). */
export const REPLICAS_MAX = 32

export interface RosterEntry extends RosterNode {
  /** Where peers reach this replica. */
  readonly replicaHost: string
  readonly replicaPort: number
}

const FIELDS = new Set(['name', 'ip', 'replica_id', 'ports', 'advertised_address', 'advertised_addresses'])
const PORTS = new Set(['tcp', 'quic', 'http', 'websocket', 'tcp_replica'])
const port = integer(0, 65_535)

/**
 * Reads and checks all entries, in the order of their replica ids. What is wrong goes to `problems`.
 * @param http whether the nodes serve HTTP: then each needs a port for it
 */
export function readRoster(
  nodes: readonly unknown[],
  source: string,
  http: boolean,
  problems: Problems,
): RosterEntry[] {
  const fail = (key: string, message: string): void => problems.add(key, source, message)
  if (nodes.length === 0) fail('cluster.nodes', 'is empty, but the cluster is enabled')
  if (nodes.length > REPLICAS_MAX) {
    fail('cluster.nodes', `has ${nodes.length} entries, at most ${REPLICAS_MAX} replicas make a cluster`)
  }
  const entries: RosterEntry[] = []
  for (const [index, raw] of nodes.slice(0, REPLICAS_MAX).entries()) {
    const entry = readEntry(raw, `cluster.nodes[${index}]`, nodes.length, http, fail)
    if (entry) entries.push(entry)
  }
  checkUnique(entries, fail)
  return entries.sort((a, b) => a.replica - b.replica)
}

function readEntry(
  raw: unknown,
  at: string,
  count: number,
  http: boolean,
  fail: (key: string, message: string) => void,
): RosterEntry | undefined {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    fail(at, 'is not a table')
    return undefined
  }
  const table = raw as Record<string, unknown>
  for (const field of Object.keys(table)) if (!FIELDS.has(field)) fail(`${at}.${field}`, 'is not a key of this section')
  if (table.advertised_addresses !== undefined) {
    fail(`${at}.advertised_addresses`, 'addresses per client network are not supported; set advertised_address')
  }
  const word = (field: string, required: boolean): string => {
    const value = table[field] === undefined && !required ? '' : text.parse(table[field] ?? '')
    if (value instanceof Problem) {
      fail(`${at}.${field}`, value.message)
      return ''
    }
    if (required && value.trim() === '') fail(`${at}.${field}`, 'is missing or blank')
    return value.trim()
  }
  const name = word('name', true)
  const ip = word('ip', true)
  const advertised = word('advertised_address', false)
  if (advertised !== '' && !/^[A-Za-z0-9.:-]+$/.test(advertised)) {
    fail(`${at}.advertised_address`, 'is neither an address nor a host name')
  }
  const id = integer(0, Math.max(0, count - 1)).parse(table.replica_id)
  if (id instanceof Problem) fail(`${at}.replica_id`, id.message)

  const ports = (table.ports ?? {}) as Record<string, unknown>
  if (typeof ports !== 'object' || Array.isArray(ports)) {
    fail(`${at}.ports`, 'is not a table')
    return undefined
  }
  for (const field of Object.keys(ports)) {
    const value = port.parse(ports[field])
    if (!PORTS.has(field)) fail(`${at}.ports.${field}`, 'is not a key of this section')
    else if (value instanceof Problem) fail(`${at}.ports.${field}`, value.message)
    else if (value === 0) fail(`${at}.ports.${field}`, 'is 0; peers and clients must know the port beforehand')
  }
  const needed = (field: 'tcp' | 'tcp_replica' | 'http'): number => {
    if (ports[field] === undefined) fail(`${at}.ports.${field}`, 'is missing')
    const value = port.parse(ports[field])
    return value instanceof Problem ? 0 : value
  }
  const tcp = needed('tcp')
  const replicaPort = needed('tcp_replica')
  const httpPort = http ? needed('http') : 0
  if (id instanceof Problem) return undefined
  return {
    replica: ReplicaId(id),
    name,
    ip: advertised === '' ? ip : advertised,
    // 0 tells clients that a transport is off (wire.md §6.1)
    ports: { tcp, quic: 0, http: httpPort, websocket: 0 },
    replicaHost: ip,
    replicaPort,
  }
}

function checkUnique(entries: readonly RosterEntry[], fail: (key: string, message: string) => void): void {
  const seen = new Map<string, string>()
  const once = (what: string, value: string, where: string): void => {
    const first = seen.get(`${what} ${value}`)
    if (first !== undefined) fail(where, `${what} ${value} is already taken by ${first}`)
    else seen.set(`${what} ${value}`, where)
  }
  for (const entry of entries) {
    const at = `cluster.nodes of replica ${entry.replica}`
    once('replica_id', String(entry.replica), `${at}, replica_id`)
    once('name', entry.name, `${at}, name`)
    if (entry.ports.tcp !== 0) once('address', `${entry.replicaHost}:${entry.ports.tcp}`, `${at}, ports.tcp`)
    if (entry.ports.http !== 0) once('address', `${entry.replicaHost}:${entry.ports.http}`, `${at}, ports.http`)
    if (entry.replicaPort !== 0)
      once('address', `${entry.replicaHost}:${entry.replicaPort}`, `${at}, ports.tcp_replica`)
  }
}
