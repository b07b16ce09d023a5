/** Where a write of the metadata plane goes that reached a backup (spec wire.md §7; drills.md MF-14). */
import { isIPv6 } from 'node:net'
import type { RosterNode } from '../../../shared/replica/contract.ts'

/**
 * The same path and query at another node; undefined when that one serves no HTTP. All nodes of a cluster are taken to speak
 * the same scheme.
 */
export function redirectTo(
  node: Pick<RosterNode, 'ip' | 'ports'> | undefined,
  tls: boolean,
  pathAndQuery: string,
): string | undefined {
  if (!node || node.ports.http === 0) return undefined
  const host = isIPv6(node.ip) ? `[${node.ip}]` : node.ip
  return `${tls ? 'https' : 'http'}://${host}:${node.ports.http}${pathAndQuery}`
}
